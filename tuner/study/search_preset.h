// Named sets of sketch rules and search settings: what `--scheduler` chooses.
// Sources: Zheng et al., "Ansor", OSDI 2020, section 4 (rules) and 5 (population, cost model); Shao
// et al., "Tensor Program Optimization with Probabilistic Programs", NeurIPS 2022, section 4.
#ifndef TUNER_STUDY_SEARCH_PRESET_H_
#define TUNER_STUDY_SEARCH_PRESET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace burnish {

struct SearchPreset {
  const char* name;
  const char* help;  // For people.
  bool tunes;        // False: default schedules and history only, no trials.
  // Default schedules in the population and the analytic model under the cost model; false is as
  // `no_default`.
  bool analytic;
  bool algorithms;  // That round otherwise, where the caller's accuracy allows it.
  bool prefetch;    // The decision whether to prefetch.
  uint32_t spaces;  // Of SketchOptions.
};

// By what a user writes; "burnish" first.
absl::Span<const SearchPreset> SearchPresets();
// Of StudySpec::cost_model, sorted.
std::vector<std::string> CostModelNames();
// INVALID_ARGUMENT: an unknown name; the message lists the known ones.
absl::StatusOr<SearchPreset> FindSearchPreset(absl::string_view name);

}  // namespace burnish

#endif  // TUNER_STUDY_SEARCH_PRESET_H_
