#include "tuner/serve/client_identity.h"

#include "absl/strings/str_cat.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/study_view.h"

namespace burnish {

absl::StatusOr<std::string> StoredClient(absl::string_view secret) {
  if (secret.empty()) return std::string();
  if (secret.size() >= kSecretBytesMin && secret.size() <= kSecretBytesMax) {
    return FingerprintOf(secret);
  }
  return MakeError(ErrorCode::kUsage,
                   absl::StrCat("got a client's secret of ", secret.size(), " bytes, want ",
                                kSecretBytesMin, " to ", kSecretBytesMax),
                   "client_secret");
}

absl::Status CheckClient(const Database& database, const std::string& study_id,
                         absl::string_view secret) {
  const absl::StatusOr<StudySummary> summary = database.studies->Get(study_id);
  RETURN_IF_ERROR(DatabaseError(summary.status(), database.url));
  ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(summary->study));
  if (spec.client_sha256.empty()) {
    // Of an older daemon or client, or of somebody on the daemon's machine.
    return MakeError(ErrorCode::kStudyOfAnother,
                     absl::StrCat(study_id, " was submitted by no client of this daemon"), study_id,
                     "on the daemon's machine: the same command with --db FILE and without "
                     "--server");
  }
  if (IsFingerprintOf(spec.client_sha256, secret)) return absl::OkStatus();
  return MakeError(ErrorCode::kStudyOfAnother,
                   absl::StrCat(study_id, " was submitted by another client"), study_id);
}

}  // namespace burnish
