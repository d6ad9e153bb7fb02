#include "tuner/study/search_preset.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// auto_scheduler and meta_schedule have the names that PyTorch's users know from TVM. They are the
// generator's rules, which are those of the two papers (tiles by a structure, rfactor, caches,
// places of producers), without what is this tuner's own: templates, the analytic model,
// algorithms.
constexpr SearchPreset kPresets[] = {
    {.name = "burnish",
     .help = "templates and the generator's sketches, started from the analytic model",
     .tunes = true,
     .analytic = true,
     .algorithms = true,
     .prefetch = true,
     .spaces = kTemplates | kGenerator},
    {.name = "templates",
     .help = "templates alone, started from the analytic model",
     .tunes = true,
     .analytic = true,
     .algorithms = true,
     .prefetch = true,
     .spaces = kTemplates},
    {.name = "generator",
     .help = "the generator's sketches alone, started from the analytic model",
     .tunes = true,
     .analytic = true,
     .algorithms = false,
     .prefetch = false,
     .spaces = kGenerator},
    {.name = "auto_scheduler",
     .help = "the generator's sketches alone; the analytic model is withheld",
     .tunes = true,
     .analytic = false,
     .algorithms = false,
     .prefetch = false,
     .spaces = kGenerator},
    {.name = "meta_schedule",
     .help = "the same as auto_scheduler in this version",
     .tunes = true,
     .analytic = false,
     .algorithms = false,
     .prefetch = false,
     .spaces = kGenerator},
    {.name = "default",
     .help = "no trials: history and the analytic model",
     .tunes = false,
     .analytic = true,
     .algorithms = true,
     .prefetch = true,
     .spaces = kTemplates},
};

}  // namespace

absl::Span<const SearchPreset> SearchPresets() { return kPresets; }

std::vector<std::string> CostModelNames() { return {"analytic", "random", "xgboost"}; }

absl::StatusOr<SearchPreset> FindSearchPreset(absl::string_view name) {
  std::string known;
  for (const SearchPreset& preset : kPresets) {
    if (name == preset.name) return preset;
    absl::StrAppend(&known, known.empty() ? "" : ", ", preset.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("got scheduler ", name, ", want one of ", known));
}

}  // namespace burnish
