// Runs a program to its end and returns what it said.
#ifndef BASE_SUBPROCESS_H_
#define BASE_SUBPROCESS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/child.h"

namespace burnish {

struct SubprocessOptions {
  std::string program = {};            // A path; not looked up in PATH.
  std::vector<std::string> args = {};  // Without the program's own name.
  std::string stdin_bytes = {};
  std::vector<std::string> extra_env = {};  // NAME=value, over this process's environment.
  std::string working_folder = {};          // Empty: this process's.
  absl::Duration timeout = absl::InfiniteDuration();
  size_t stdout_bytes_max = 64 << 20;  // The first bytes are kept, what follows is dropped.
  size_t stderr_bytes_max = 64 << 10;  // The last bytes are kept.
  ChildLimits limits = {};
  bool dies_with_parent = true;  // See ChildOptions.
};

// Returns when the program ended or the time was up; then nothing of its process group runs any
// more. How the program ended is data, whatever it was; a non-OK status means that it could not be
// started or watched.
absl::StatusOr<ExitInfo> RunSubprocess(const SubprocessOptions& options);

}  // namespace burnish

#endif  // BASE_SUBPROCESS_H_
