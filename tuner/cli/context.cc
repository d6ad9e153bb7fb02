#include "tuner/cli/context.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/farm_secrets.h"
#include "proto/host_calibration.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/target_text.h"
#include "tuner/cli/client_secret.h"

namespace burnish {

absl::Status OutputStatus(FdStream& out) {
  out.flush();
  if (out.error() == 0) return absl::OkStatus();
  return MakeError(out.error() == ENOSPC ? ErrorCode::kDiskFull : ErrorCode::kOutputFile,
                   absl::StrCat("the output cannot be written: ", std::strerror(out.error())),
                   "stdout", "what was printed is not whole: make room for it, and ask again");
}

absl::StatusOr<std::string> Context::FindClientSecret() const {
  return ClientSecret(environment_.getenv);
}

DrainRight Context::FindDrainRight(const std::string& worker_id) const {
  return {.worker_secret = WorkerSecret(environment_.getenv, worker_id).value_or(""),
          .operator_secret = OperatorSecret(environment_.getenv).value_or("")};
}

void Context::Note(absl::string_view text) {
  if (!quiet()) err() << std::string(text) << "\n" << std::flush;
}

absl::Status Context::CheckOutput() { return OutputStatus(*environment_.out); }

absl::StatusOr<Database> Context::OpenDatabase(DatabaseAccess access) {
  const std::string& url = settings_.Get("db");
  if (url.empty()) {
    return MakeError(ErrorCode::kDatabaseFolder,
                     "no database: neither HOME nor XDG_DATA_HOME is set", "", "--db FILE");
  }
  return OpenUserDatabase(url, access);
}

MachineRowOptions Context::RowOptions(const std::string& tracker) const {
  return {.calibration = settings_.Get("calibration"),
          .host = {.folder = CalibrationFolder(environment_.getenv)},
          .tracker = tracker};
}

absl::StatusOr<std::optional<CalibrationRow>> Context::ResolveRow(const Target& target,
                                                                  const std::string& tracker) {
  ASSIGN_OR_RETURN(const MachineRow found, FindMachineRow(RowOptions(tracker), target));
  if (!found.trouble.ok()) {
    Note(absl::StrCat("no calibration row, the table of ", target.arch,
                      " does instead: ", std::string(found.trouble.message())));
  }
  return found.row;
}

std::string Context::CacheFolder() const {
  const std::string& folder = settings_.Get("cache");
  return folder == "none" ? "" : folder;
}

absl::StatusOr<Target> Context::ResolveTarget(int threads) const {
  return burnish::ResolveTarget(settings_.Get("target"), threads);
}

}  // namespace burnish
