// What tuning was worth, as a study's detail says it: the one lasting place that does.
#ifndef TUNER_STUDY_GAIN_TEXT_H_
#define TUNER_STUDY_GAIN_TEXT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "tuner/study/study_types.h"

namespace burnish {

// NetworkText, or of a single operator how much faster it is; empty: not measured.
std::string GainText(const RefineProgress& refine);

// In a detail with a GainText: time with default schedules over that with the best, measured in
// turn; nothing: it says none.
std::optional<double> GainIn(absl::string_view detail);

// Why a study that is over would gain nothing by more trials, and what it saved by that; empty: it
// has had its trials or its time.
std::string NothingMoreText(StopReason reason, const StudyProgress& progress);

}  // namespace burnish

#endif  // TUNER_STUDY_GAIN_TEXT_H_
