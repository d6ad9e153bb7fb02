#include "tuner/study/search_preset.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

// meta_schedule: what it adds to Ansor's rules, tensor intrinsics with their post-processing, has
// no use on the CPUs of this version, so its space is that of auto_scheduler.
constexpr SearchPreset kPresets[] = {
    {.name = "burnish",
     .help = "all rules, started from the analytic model",
     .tunes = true,
     .analytic = true,
     .algorithms = true,
     .prefetch = true},
    {.name = "auto_scheduler",
     .help = "Ansor's rules: tiling, inlining, staging; nothing known before the first trial",
     .tunes = true,
     .analytic = false,
     .algorithms = false,
     .prefetch = false},
    {.name = "meta_schedule",
     .help = "those of auto_scheduler and tensor intrinsics, of which CPUs have none yet",
     .tunes = true,
     .analytic = false,
     .algorithms = false,
     .prefetch = false},
    {.name = "default",
     .help = "no trials: history and the analytic model",
     .tunes = false,
     .analytic = true,
     .algorithms = true,
     .prefetch = true},
};

}  // namespace

absl::Span<const SearchPreset> SearchPresets() { return kPresets; }

absl::StatusOr<SearchPreset> FindSearchPreset(absl::string_view name) {
  std::string known;
  for (const SearchPreset& preset : kPresets) {
    if (name == preset.name) return preset;
    absl::StrAppend(&known, known.empty() ? "" : ", ", preset.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("got scheduler ", name, ", want one of ", known));
}

}  // namespace burnish
