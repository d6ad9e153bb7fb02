#include "tuner/study/study_claim.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace burnish {

bool IsHeld(const StudyLease& lease, int64_t now_ns) {
  return !lease.owner.empty() && lease.expires_ns > now_ns && !HasEnded(lease.owner);
}

absl::StatusOr<std::unique_ptr<StudyClaim>> StudyClaim::Take(StudyClaimOptions options) {
  std::unique_ptr<StudyClaim> claim(new StudyClaim(std::move(options)));
  const StudyClaimOptions& own = claim->options_;
  ASSIGN_OR_RETURN(const StudySummary summary, own.studies->Get(own.study_id));
  const std::string& holder = summary.lease.owner;
  // The store compares it with the holder once more, inside of its transaction.
  RETURN_IF_ERROR(claim->Write(own.has_ended(holder) ? holder : ""));
  return claim;
}

StudyClaim::~StudyClaim() {
  // Of one that was lost nothing is ours to give back; the store would know that, too.
  if (!lost_.ok()) return;
  const absl::Status status = options_.studies->ReleaseLease(options_.study_id, options_.owner);
  if (!status.ok()) {
    LogWarning(absl::StrCat("study ", options_.study_id, " stays this process's until ",
                            absl::FormatDuration(kLeaseDuration),
                            " from now: ", std::string(status.message())));
  }
}

absl::Status StudyClaim::Write(absl::string_view dead_owner) {
  const absl::Time now = options_.clock->WallNow();
  const StudyLease lease{.owner = options_.owner,
                         .expires_ns = absl::ToUnixNanos(now + kLeaseDuration)};
  RETURN_IF_ERROR(
      options_.studies->TakeLease(options_.study_id, lease, absl::ToUnixNanos(now), dead_owner));
  renewed_at_ = options_.clock->SteadyNow();
  return absl::OkStatus();
}

absl::Status StudyClaim::Keep() {
  if (!lost_.ok()) return lost_;
  if (options_.clock->SteadyNow() - renewed_at_ < kLeaseRenewal) return absl::OkStatus();
  const absl::Status status = Write("");
  if (absl::IsFailedPrecondition(status)) lost_ = status;
  return lost_;
}

}  // namespace burnish
