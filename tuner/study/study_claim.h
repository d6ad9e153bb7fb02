// That this process and no other runs a study: the lease in the store, taken, kept and given back.
#ifndef TUNER_STUDY_STUDY_CLAIM_H_
#define TUNER_STUDY_STUDY_CLAIM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "db/study_store.h"
#include "tuner/study/study_owner.h"

namespace burnish {

struct StudyClaimOptions {
  StudyStore* studies = nullptr;  // These two are not null and outlive the claim.
  const Clock* clock = nullptr;
  std::string study_id = {};
  std::string owner = ThisProcess();
  // Whether a process has ended for certain, so that nobody waits for its lease.
  std::function<bool(absl::string_view owner)> has_ended = &HasEnded;
};

// Whether somebody runs the study: the lease has not expired, and its owner has not ended for
// certain. `now_ns`: wall time.
bool IsHeld(const StudyLease& lease, int64_t now_ns);

// Not thread-safe.
class StudyClaim {
 public:
  // FAILED_PRECONDITION: another process runs the study; the message names it. Other errors are the
  // store's.
  static absl::StatusOr<std::unique_ptr<StudyClaim>> Take(StudyClaimOptions options);
  // Gives it back, so that nobody has to wait for its end.
  ~StudyClaim();

  // To be called often: renews the lease when it is time. FAILED_PRECONDITION, from then on: it has
  // expired meanwhile, as of a machine that was suspended, and another process runs the study. That
  // the store cannot be written is no error: nobody else can write that he takes the study.
  absl::Status Keep();

 private:
  explicit StudyClaim(StudyClaimOptions options) : options_(std::move(options)) {}
  absl::Status Write(absl::string_view dead_owner);

  const StudyClaimOptions options_;
  absl::Time renewed_at_ = absl::InfinitePast();  // Steady.
  absl::Status lost_;
};

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_CLAIM_H_
