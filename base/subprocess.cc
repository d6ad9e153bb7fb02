#include "base/subprocess.h"

#include <memory>

#include "base/status_macros.h"

namespace burnish {

absl::StatusOr<ExitInfo> RunSubprocess(const SubprocessOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Child> child,
                   Child::Start({.program = options.program,
                                 .args = options.args,
                                 .extra_env = options.extra_env,
                                 .working_folder = options.working_folder,
                                 .limits = options.limits,
                                 .dies_with_parent = options.dies_with_parent,
                                 .stderr_bytes_max = options.stderr_bytes_max}));
  return child->Finish(options.stdin_bytes, options.timeout, options.stdout_bytes_max);
}

}  // namespace burnish
