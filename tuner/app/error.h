// What goes wrong, for people and scripts: each kind of error has a number that never changes, an
// exit code of sysexits.h, and a hint. docs/cli.md lists them all.
//
// Libraries say what happened (absl::Status); a command that knows what it was doing attaches the
// number. Texts of this tree end in "; hint: ..." where the cause suggests the next step.
#ifndef TUNER_APP_ERROR_H_
#define TUNER_APP_ERROR_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace burnish {

// Printed as "B0101". Never reused.
enum class ErrorCode : int {
  kUsage = 101,
  kSettings = 102,
  kTarget = 103,
  kNotAvailableYet = 104,
  kNoInputFile = 201,
  kBadNpy = 202,
  kInputPermission = 203,
  kOutputFile = 204,
  kBadModel = 301,
  kUnsupportedOperator = 302,
  kShapeMissing = 303,
  kModelTooLarge = 304,
  kUnknownModel = 305,
  kBadSpec = 306,
  kNotBundle = 401,
  kDamagedBundle = 402,
  kOtherCpu = 403,
  kTensorMismatch = 404,
  kUnknownTensor = 405,
  kRunFailed = 406,
  kNotDatabase = 501,
  kNewerDatabase = 502,
  kLockedDatabase = 503,
  kDatabasePermission = 504,
  kDatabaseFull = 505,
  kDamagedDatabase = 506,
  kDatabaseIo = 507,
  kDatabaseFolder = 508,
  kDatabaseScheme = 509,
  kNoStudy = 601,
  kStudyState = 602,
  kNoRecord = 603,
  kModelChanged = 604,
  kTrackerUnreachable = 701,
  kTrackerProtocol = 702,
  kNoWorker = 703,
  kServerUnreachable = 704,
  kNoServer = 705,
  kNoMatchingWorker = 706,
  kProgramMissing = 801,
  kCrashLoop = 802,
  kBuildFailed = 803,
  kInternal = 901,
  kIo = 902,
  kOutOfMemory = 903,
  kPermission = 904,
  kInterrupted = 905,
  kUnavailable = 906,
  kDiskFull = 907,
};

struct ErrorInfo {
  ErrorCode code;
  int exit_code;      // sysexits.h; 130 for an interruption.
  const char* title;  // For docs/cli.md.
  const char* hint;   // Where neither the library nor the command knows better; may be empty.
};

// By number.
absl::Span<const ErrorInfo> AllErrors();
const ErrorInfo& InfoOf(ErrorCode code);
std::string ErrorName(ErrorCode code);  // "B0101"

// `where`: the file, argument or address that it is about; `hint`: what to do next. Either may be
// empty. A status that carries a code already is returned as it is: the innermost knows best.
absl::Status WithError(const absl::Status& status, ErrorCode code, absl::string_view where = "",
                       absl::string_view hint = "");
absl::Status MakeError(ErrorCode code, absl::string_view cause, absl::string_view where = "",
                       absl::string_view hint = "");

// What WithError attached.
struct ErrorParts {
  std::optional<ErrorCode> code;
  std::string where, hint;
};
ErrorParts PartsOf(const absl::Status& status);

// The attached code, or one by the status's own code.
ErrorCode ErrorCodeOf(const absl::Status& status);
int ExitCodeOf(const absl::Status& status);  // 0 when OK.

// error[B0201]: cannot open x.npy: No such file or directory
//   where: x.npy
//   hint: ...
std::string FormatError(const absl::Status& status, bool color);

}  // namespace burnish

#endif  // TUNER_APP_ERROR_H_
