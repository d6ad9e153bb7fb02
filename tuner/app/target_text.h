// What a user names as the target of a study or a bundle.
#ifndef TUNER_APP_TARGET_TEXT_H_
#define TUNER_APP_TARGET_TEXT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/target/target.h"

namespace burnish {

// `text`: "host" or a target's text. `threads` > 0 overrides its number of threads. Errors: B0103,
// B0104 a kind of target that this version does not have.
absl::StatusOr<Target> ResolveTarget(absl::string_view text, int threads);

}  // namespace burnish

#endif  // TUNER_APP_TARGET_TEXT_H_
