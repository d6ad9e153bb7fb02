// Finds the programs that belong to this one.
#ifndef BASE_SELF_PATH_H_
#define BASE_SELF_PATH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

// The path of the program `label`, "folder/name" as in bazel-bin ("base/burnish-launcher").
// Installed, all programs lie in one folder and only "name" counts. Relative to /proc/self/exe with
// links resolved, so neither PATH nor the working folder matters. NOT_FOUND names the place where
// it should be.
absl::StatusOr<std::string> FindProgram(absl::string_view label);

// The rule by itself. `self`: absolute path of the running program.
std::string ProgramPath(absl::string_view self, absl::string_view label);

}  // namespace burnish

#endif  // BASE_SELF_PATH_H_
