#include "tuner/app/target_text.h"

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "tuner/app/error.h"

namespace burnish {

absl::StatusOr<Target> ResolveTarget(absl::string_view text, int threads) {
  absl::StatusOr<Target> target =
      text == "host" ? HostTarget(HostCpuInfo(), threads) : ParseTarget(text);
  if (!target.ok()) {
    const bool known = absl::IsUnimplemented(target.status());
    return WithError(target.status(), known ? ErrorCode::kNotAvailableYet : ErrorCode::kTarget,
                     absl::StrCat("target ", text));
  }
  if (threads > 0) target->threads = threads;
  return target;
}

}  // namespace burnish
