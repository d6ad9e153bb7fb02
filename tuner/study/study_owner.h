// Which process runs a study: its name in the store, and whether it still is.
#ifndef TUNER_STUDY_STUDY_OWNER_H_
#define TUNER_STUDY_STUDY_OWNER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace burnish {

// How long a study stays its owner's without a word from it. Ten renewals, and longer than anything
// that the loop does without a look at the clock: making the tools of a large model takes a minute.
inline constexpr absl::Duration kLeaseDuration = absl::Minutes(3);
inline constexpr absl::Duration kLeaseRenewal = absl::Seconds(18);

// "process 1234 on HOST (...)", of this process: no other one, before or after it or on another
// machine, has the same.
std::string ThisProcess();

// Whether `owner`, as ThisProcess gave it, is known to have ended: its machine is this one, and has
// started again since, or has no such process any more. False where nobody here can tell.
bool HasEnded(absl::string_view owner);

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_OWNER_H_
