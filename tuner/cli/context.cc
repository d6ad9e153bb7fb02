#include "tuner/cli/context.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/cpu_info.h"
#include "base/status_macros.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

ErrorCode DatabaseErrorCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return ErrorCode::kNotDatabase;
    case absl::StatusCode::kFailedPrecondition:
      return ErrorCode::kNewerDatabase;
    case absl::StatusCode::kUnavailable:
      return ErrorCode::kLockedDatabase;
    case absl::StatusCode::kPermissionDenied:
      return ErrorCode::kDatabasePermission;
    case absl::StatusCode::kResourceExhausted:
      return ErrorCode::kDatabaseFull;
    case absl::StatusCode::kDataLoss:
      return ErrorCode::kDamagedDatabase;
    case absl::StatusCode::kAborted:
      return ErrorCode::kDatabaseIo;
    case absl::StatusCode::kNotFound:
      return ErrorCode::kDatabaseFolder;
    case absl::StatusCode::kUnimplemented:
      return ErrorCode::kDatabaseScheme;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

std::string DatabasePath(absl::string_view url) {
  if (absl::ConsumePrefix(&url, "sqlite:")) return std::string(url);
  const size_t colon = url.find(':');
  const bool has_scheme =
      colon != absl::string_view::npos && url.substr(0, colon).find('/') == absl::string_view::npos;
  return has_scheme ? "" : std::string(url);
}

absl::Status DatabaseError(const absl::Status& status, absl::string_view url) {
  return status.ok() ? status : WithError(status, DatabaseErrorCode(status.code()), url);
}

void Context::Note(absl::string_view text) {
  if (!quiet()) err() << std::string(text) << "\n" << std::flush;
}

absl::StatusOr<Database> Context::OpenDatabase() {
  const SettingValue& setting = settings_.Find("db");
  if (setting.value.empty()) {
    return MakeError(ErrorCode::kDatabaseFolder,
                     "no database: neither HOME nor XDG_DATA_HOME is set", "", "--db FILE");
  }
  std::error_code error;  // Met again when the file is opened.
  if (const std::string path = DatabasePath(setting.value); !path.empty()) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  }
  absl::StatusOr<Database> database = burnish::OpenDatabase(setting.value);
  if (!database.ok()) return DatabaseError(database.status(), setting.value);
  return database;
}

absl::StatusOr<Target> Context::ResolveTarget(int threads) const {
  return burnish::ResolveTarget(settings_.Get("target"), threads);
}

absl::StatusOr<Target> ResolveTarget(absl::string_view text, int threads) {
  absl::StatusOr<Target> target =
      text == "host" ? HostTarget(HostCpuInfo(), threads) : ParseTarget(text);
  if (!target.ok()) {
    const bool known = absl::IsUnimplemented(target.status());
    return WithError(target.status(), known ? ErrorCode::kNotAvailableYet : ErrorCode::kTarget,
                     absl::StrCat("--target ", text));
  }
  if (threads > 0) target->threads = threads;
  return target;
}

}  // namespace burnish
