// The one place that starts processes. Private to base/child.
#ifndef BASE_SPAWN_H_
#define BASE_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace burnish {

struct SpawnRequest {
  std::string program = {};                   // A path; not looked up in PATH.
  std::vector<std::string> args = {};         // Without the program's own name.
  std::vector<std::string> environment = {};  // All of it, as NAME=value.
  std::string working_folder = {};            // Empty: this process's.
  std::vector<int> fds = {};  // Descriptor i of the child is fds[i]; all others are closed.
};

// The child leads its own process group, with default signal handlers and none blocked.
// From a thread that lives as long as this process: the kernel's parent death signal fires when the
// *thread* that spawned ends, and a thread of a pool may end at any time.
absl::StatusOr<pid_t> Spawn(const SpawnRequest& request);

// This process's environment with the entries of `extra` (NAME=value) put over it.
std::vector<std::string> EnvironmentWith(const std::vector<std::string>& extra);
// `extra`, and the options of the sanitizer that this was built with.
std::vector<std::string> EnvironmentOfSandbox(const std::vector<std::string>& extra);

}  // namespace burnish

#endif  // BASE_SPAWN_H_
