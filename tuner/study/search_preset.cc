#include "tuner/study/search_preset.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

// auto_scheduler and meta_schedule have the names that PyTorch's users know from TVM. They are not
// those tuners' spaces: they are this one's without what its prior and its algorithms add.
constexpr SearchPreset kPresets[] = {
    {.name = "burnish",
     .help = "all rules, started from the analytic model",
     .tunes = true,
     .analytic = true,
     .algorithms = true,
     .prefetch = true},
    {.name = "auto_scheduler",
     .help =
         "the rules of burnish without prefetches and algorithms; the analytic model is withheld",
     .tunes = true,
     .analytic = false,
     .algorithms = false,
     .prefetch = false},
    {.name = "meta_schedule",
     .help = "the same as auto_scheduler in this version",
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
