#include "tuner/app/error.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"

namespace burnish {
namespace {

// As payloads of a status, so that libraries between who makes an error and who prints it need not
// know of them: they pass statuses on.
constexpr char kCodeUrl[] = "burnish/error-code";
constexpr char kWhereUrl[] = "burnish/error-where";
constexpr char kHintUrl[] = "burnish/error-hint";

// By number. The status of an error that the application makes itself says whether to try again
// (UNAVAILABLE, ABORTED) or never (INVALID_ARGUMENT).
constexpr std::pair<ErrorCode, absl::StatusCode> kKinds[] = {
    {ErrorCode::kUsage, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kSettings, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kTarget, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kNotAvailableYet, absl::StatusCode::kUnavailable},
    {ErrorCode::kNoInputFile, absl::StatusCode::kNotFound},
    {ErrorCode::kBadNpy, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kInputPermission, absl::StatusCode::kPermissionDenied},
    {ErrorCode::kOutputFile, absl::StatusCode::kAborted},
    {ErrorCode::kBadModel, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kUnsupportedOperator, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kShapeMissing, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kModelTooLarge, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kUnknownModel, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kBadSpec, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kWrongShape, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kNotBundle, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kDamagedBundle, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kOtherCpu, absl::StatusCode::kUnavailable},
    {ErrorCode::kTensorMismatch, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kUnknownTensor, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kRunFailed, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kOutputDiffers, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kBadExamples, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kNotDatabase, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kNewerDatabase, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kLockedDatabase, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kDatabasePermission, absl::StatusCode::kPermissionDenied},
    {ErrorCode::kDatabaseFull, absl::StatusCode::kAborted},
    {ErrorCode::kDamagedDatabase, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kDatabaseIo, absl::StatusCode::kAborted},
    {ErrorCode::kDatabaseFolder, absl::StatusCode::kNotFound},
    {ErrorCode::kDatabaseScheme, absl::StatusCode::kUnavailable},
    {ErrorCode::kNoDatabase, absl::StatusCode::kNotFound},
    {ErrorCode::kNoStudy, absl::StatusCode::kNotFound},
    {ErrorCode::kStudyState, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kNoRecord, absl::StatusCode::kNotFound},
    {ErrorCode::kModelChanged, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kNothingMeasured, absl::StatusCode::kUnavailable},
    {ErrorCode::kStudyOwned, absl::StatusCode::kUnavailable},
    {ErrorCode::kStudyParked, absl::StatusCode::kUnavailable},
    {ErrorCode::kStudyOfAnother, absl::StatusCode::kPermissionDenied},
    {ErrorCode::kTrackerUnreachable, absl::StatusCode::kUnavailable},
    {ErrorCode::kTrackerProtocol, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kNoWorker, absl::StatusCode::kNotFound},
    {ErrorCode::kServerUnreachable, absl::StatusCode::kUnavailable},
    {ErrorCode::kNoServer, absl::StatusCode::kUnavailable},
    {ErrorCode::kNoMatchingWorker, absl::StatusCode::kUnavailable},
    {ErrorCode::kServerProtocol, absl::StatusCode::kFailedPrecondition},
    {ErrorCode::kTunerRefused, absl::StatusCode::kPermissionDenied},
    {ErrorCode::kProgramMissing, absl::StatusCode::kUnavailable},
    {ErrorCode::kCrashLoop, absl::StatusCode::kUnavailable},
    {ErrorCode::kBuildFailed, absl::StatusCode::kInternal},
    {ErrorCode::kOverAccuracy, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kInternal, absl::StatusCode::kInternal},
    {ErrorCode::kIo, absl::StatusCode::kAborted},
    {ErrorCode::kOutOfMemory, absl::StatusCode::kInvalidArgument},
    {ErrorCode::kPermission, absl::StatusCode::kPermissionDenied},
    {ErrorCode::kInterrupted, absl::StatusCode::kCancelled},
    {ErrorCode::kUnavailable, absl::StatusCode::kUnavailable},
    {ErrorCode::kDiskFull, absl::StatusCode::kAborted},
};

std::string Payload(const absl::Status& status, const char* url) {
  const absl::optional<absl::Cord> payload = status.GetPayload(url);
  return payload.has_value() ? std::string(*payload) : "";
}

}  // namespace

absl::Span<const ErrorCode> AllErrorCodes() {
  static const std::vector<ErrorCode>& codes = *[] {
    auto* all = new std::vector<ErrorCode>();
    for (const auto& [code, kind] : kKinds) all->push_back(code);
    return all;
  }();
  return codes;
}

std::optional<ErrorCode> FindErrorCode(int number) {
  for (const auto& [code, kind] : kKinds) {
    if (static_cast<int>(code) == number) return code;
  }
  return std::nullopt;
}

std::string ErrorName(ErrorCode code) { return absl::StrFormat("B%04d", static_cast<int>(code)); }

absl::Status WithError(const absl::Status& status, ErrorCode code, absl::string_view where,
                       absl::string_view hint) {
  if (status.ok() || status.GetPayload(kCodeUrl).has_value()) return status;
  absl::Status result = status;
  const std::string number = absl::StrCat(static_cast<int>(code));
  result.SetPayload(kCodeUrl, absl::Cord(absl::string_view(number)));
  if (!where.empty()) result.SetPayload(kWhereUrl, absl::Cord(where));
  if (!hint.empty()) result.SetPayload(kHintUrl, absl::Cord(hint));
  return result;
}

absl::Status MakeError(ErrorCode code, absl::string_view cause, absl::string_view where,
                       absl::string_view hint) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const auto& kind) { return kind.first == code; });
  CHECK(found != std::end(kKinds)) << "no entry for " << static_cast<int>(code);
  return WithError(absl::Status(found->second, cause), code, where, hint);
}

ErrorParts PartsOf(const absl::Status& status) {
  ErrorParts parts{.where = Payload(status, kWhereUrl), .hint = Payload(status, kHintUrl)};
  if (const std::string code = Payload(status, kCodeUrl); !code.empty()) {
    parts.code = static_cast<ErrorCode>(std::stoi(code));
  }
  return parts;
}

absl::Status WithHint(const absl::Status& status, absl::string_view hint) {
  if (status.ok() || hint.empty() || status.GetPayload(kHintUrl).has_value()) return status;
  absl::Status result = status;
  result.SetPayload(kHintUrl, absl::Cord(hint));
  return result;
}

// Nobody said what it was doing: libraries mean bad arguments by INVALID_ARGUMENT, and what comes
// without a meaning of its own is a bug of ours.
ErrorCode ErrorCodeOf(const absl::Status& status) {
  const std::string payload = Payload(status, kCodeUrl);
  if (!payload.empty()) return static_cast<ErrorCode>(std::stoi(payload));
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return ErrorCode::kUsage;
    case absl::StatusCode::kNotFound:
      return ErrorCode::kNoInputFile;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return ErrorCode::kPermission;
    case absl::StatusCode::kResourceExhausted:
      return ErrorCode::kOutOfMemory;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDataLoss:
      return ErrorCode::kIo;
    case absl::StatusCode::kCancelled:
      return ErrorCode::kInterrupted;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return ErrorCode::kUnavailable;
    case absl::StatusCode::kUnimplemented:
      return ErrorCode::kNotAvailableYet;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace burnish
