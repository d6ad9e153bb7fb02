// Processes of this machine as /proc shows them: who is whose child, and what it runs.
#ifndef TESTS_E2E_KILL_PROCESS_TREE_H_
#define TESTS_E2E_KILL_PROCESS_TREE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace burnish {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';                    // As in /proc/PID/stat; 'Z': ended, not waited for.
  std::string program = {};            // Last part of the path; empty: ended, or another user's.
  std::vector<std::string> args = {};  // With the program's own name.

  bool HasArg(absl::string_view arg) const;
};

// A process that ends meanwhile may be missing or lack its program.
std::vector<Process> ListProcesses();

// Children of `parent` only, not theirs.
std::vector<Process> ChildrenOf(const std::vector<Process>& processes, pid_t parent);

// Those whose environment has `entry`, NAME=value, and that have not ended. This process does not
// count.
std::vector<Process> ProcessesWithEnvironment(absl::string_view entry);

// "12 builder --x", for messages.
std::string Describe(const Process& process);

}  // namespace burnish

#endif  // TESTS_E2E_KILL_PROCESS_TREE_H_
