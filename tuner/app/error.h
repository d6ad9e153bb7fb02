// What went wrong, for whoever has to act on it: each kind of error has a number that never
// changes.
//
// Libraries say what happened (absl::Status). The application knows what it was doing, and attaches
// the number, the thing that the error is about, and sometimes a hint. How an error is printed,
// what a user may do about it in general, and with which code a process then exits belong to the
// front end (tuner/cli/error_text.h). So do the names that options have there: a text says
// "`precision` int8", and the command line makes it "--precision int8".
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
  kWrongShape = 307,
  kNotBundle = 401,
  kDamagedBundle = 402,
  kOtherCpu = 403,
  kTensorMismatch = 404,
  kUnknownTensor = 405,
  kRunFailed = 406,
  kOutputDiffers = 407,
  kBadExamples = 408,
  kNotDatabase = 501,
  kNewerDatabase = 502,
  kLockedDatabase = 503,
  kDatabasePermission = 504,
  kDatabaseFull = 505,
  kDamagedDatabase = 506,
  kDatabaseIo = 507,
  kDatabaseFolder = 508,
  kDatabaseScheme = 509,
  kNoDatabase = 510,
  kNoStudy = 601,
  kStudyState = 602,
  kNoRecord = 603,
  kModelChanged = 604,
  kNothingMeasured = 605,
  kStudyOwned = 606,
  kStudyParked = 607,
  kStudyOfAnother = 608,
  kTrackerUnreachable = 701,
  kTrackerProtocol = 702,
  kNoWorker = 703,
  kServerUnreachable = 704,
  kNoServer = 705,
  kNoMatchingWorker = 706,
  kServerProtocol = 707,
  kTunerRefused = 708,
  kProgramMissing = 801,
  kCrashLoop = 802,
  kBuildFailed = 803,
  kOverAccuracy = 804,
  kInternal = 901,
  kIo = 902,
  kOutOfMemory = 903,
  kPermission = 904,
  kInterrupted = 905,
  kUnavailable = 906,
  kDiskFull = 907,
};

// By number.
absl::Span<const ErrorCode> AllErrorCodes();
// Nothing where no error has that number, as from a newer version.
std::optional<ErrorCode> FindErrorCode(int number);
std::string ErrorName(ErrorCode code);  // "B0101"

// `where`: the file, argument or address that it is about; `hint`: what to do next. Either may be
// empty. A status that carries a code already is returned as it is: the innermost knows best.
absl::Status WithError(const absl::Status& status, ErrorCode code, absl::string_view where = "",
                       absl::string_view hint = "");
absl::Status MakeError(ErrorCode code, absl::string_view cause, absl::string_view where = "",
                       absl::string_view hint = "");

// What was attached.
struct ErrorParts {
  std::optional<ErrorCode> code;
  std::string where, hint;
};
ErrorParts PartsOf(const absl::Status& status);

// `status` with the hint, unless it is OK or has one already.
absl::Status WithHint(const absl::Status& status, absl::string_view hint);

// The attached code, or one by the status's own code.
ErrorCode ErrorCodeOf(const absl::Status& status);

}  // namespace burnish

#endif  // TUNER_APP_ERROR_H_
