// Errors as the command line tells them: a text, a hint, and an exit code of sysexits.h for every
// kind. docs/cli.md lists them all.
//
// Texts of libraries end in "; hint: ..." where the cause suggests the next step. An option that
// the application names, as `precision`, is shown as its flag.
#ifndef TUNER_CLI_ERROR_TEXT_H_
#define TUNER_CLI_ERROR_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tuner/app/error.h"

namespace burnish {

struct ErrorInfo {
  ErrorCode code;
  int exit_code;      // sysexits.h; 130 for an interruption.
  const char* title;  // For docs/cli.md.
  const char* hint;   // Where neither the library nor the command knows better; may be empty.
};

// By number; one for each of AllErrorCodes().
absl::Span<const ErrorInfo> AllErrors();
const ErrorInfo& InfoOf(ErrorCode code);

int ExitCodeOf(const absl::Status& status);  // 0 when OK.

// error[B0201]: cannot open x.npy: No such file or directory
//   where: x.npy
//   hint: ...
std::string FormatError(const absl::Status& status, bool color);

// The same for programs, as one line: {"error":{"code":"B0201","message":"...","where":"...",
// "hint":"..."},"schema":1}. What is empty is left out.
std::string ErrorJson(const absl::Status& status);

}  // namespace burnish

#endif  // TUNER_CLI_ERROR_TEXT_H_
