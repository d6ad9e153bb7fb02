#include "tuner/study/gain_text.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "tuner/study/stop_rule.h"

namespace burnish {
namespace {

constexpr absl::string_view kNetwork = "network: ";  // As of NetworkText.
constexpr absl::string_view kOperator = "operator: ";
constexpr absl::string_view kTimes = "x as fast as with its default schedule";

// What stands behind the last `label`: what came before it, such as a worker's id, may hold one.
absl::string_view Behind(absl::string_view text, absl::string_view label) {
  const size_t at = text.rfind(label);
  return at == absl::string_view::npos ? absl::string_view() : text.substr(at + label.size());
}

std::optional<double> NumberBefore(absl::string_view text, absl::string_view unit) {
  double number = 0;
  const size_t end = text.find(unit);
  if (end == absl::string_view::npos || !absl::SimpleAtod(text.substr(0, end), &number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::string GainText(const RefineProgress& refine) {
  const bool is_operator =
      refine.gains_only && refine.task_gains.size() == 1 && refine.task_gains[0] > 0;
  if (!is_operator) return NetworkText(refine);
  return absl::StrFormat("%s%.2f%s", kOperator, refine.task_gains[0], kTimes);
}

std::optional<double> GainIn(absl::string_view detail) {
  if (const auto times = NumberBefore(Behind(detail, kOperator), kTimes)) return times;
  const absl::string_view network = Behind(detail, kNetwork);
  const std::optional<double> percent = NumberBefore(network, " % ");
  if (!percent.has_value()) return std::nullopt;
  if (absl::StrContains(network, "which are taken")) return 1;
  const bool is_slower = absl::StrContains(network, " % slower");
  const double ratio = 1 + (is_slower ? *percent : -*percent) / 100;
  return ratio > 0 ? std::optional<double>(1 / ratio) : std::nullopt;
}

std::string NothingMoreText(StopReason reason, const StudyProgress& progress) {
  if (reason != StopReason::kGain && reason != StopReason::kNoTaskLeft) return "";
  std::string text = "nothing more to gain here: ";
  if (reason == StopReason::kGain) {
    absl::StrAppendFormat(&text, "the next trials promise %.2f %% of the whole",
                          100 * progress.predicted_gain);
  } else {
    text += "each task is at its bound, searched to its end, or long without gain";
  }
  const int64_t budget = progress.trials_max < 0 ? kTrialsUntilGainMax : progress.trials_max;
  const int64_t saved = budget - progress.trial_count;
  if (saved <= 0 || progress.trial_count <= 0) return text;
  const double share = static_cast<double>(saved) / static_cast<double>(progress.trial_count);
  absl::StrAppendFormat(&text, "; saves %d of at most %d trials, %.1f h at the rate so far", saved,
                        budget, absl::ToDoubleHours(share * progress.elapsed));
  return text;
}

}  // namespace burnish
