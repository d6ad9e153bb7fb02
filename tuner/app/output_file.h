// Files that a user named with --out.
#ifndef TUNER_APP_OUTPUT_FILE_H_
#define TUNER_APP_OUTPUT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace burnish {

// All or nothing for a regular file (WriteFileAtomically). A pipe or a device such as /dev/stdout
// is written to, never replaced. Errors: B0204, B0907 no space left.
absl::Status WriteOutput(const std::string& path, absl::string_view bytes);

}  // namespace burnish

#endif  // TUNER_APP_OUTPUT_FILE_H_
