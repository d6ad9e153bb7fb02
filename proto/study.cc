#include "proto/study.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/calibration.pb.h"
#include "proto/study.pb.h"

namespace burnish {
namespace {

absl::Status OutOfBounds(absl::string_view field, double got, absl::string_view want) {
  return absl::InvalidArgumentError(absl::StrFormat("study: got %s=%g, want %s", field, got, want));
}

// A study of before has none.
constexpr absl::string_view kPrecisionOfBefore = "f32";

absl::Status CheckPrecision(const v1::StudySpec& spec) {
  constexpr absl::string_view kPrecisions[] = {"",    kPrecisionOfBefore, "bf16", "f16", "int8",
                                               "auto"};
  if (std::find(std::begin(kPrecisions), std::end(kPrecisions), spec.precision()) ==
      std::end(kPrecisions)) {
    return absl::InvalidArgumentError(absl::StrCat("study: got precision '", spec.precision(),
                                                   "', want f32, bf16, f16, int8 or auto"));
  }
  for (const auto& [node, type] : spec.layer_types()) {
    if (type == "f32" || type == "bf16" || type == "f16" || type == "i8") continue;
    return absl::InvalidArgumentError(absl::StrCat("study: got type '", type, "' of layer '", node,
                                                   "', want f32, bf16, f16 or i8"));
  }
  for (const auto& [value, range] : spec.ranges()) {
    if (std::isfinite(range.least()) && std::isfinite(range.greatest()) &&
        range.least() <= range.greatest()) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrFormat("study: got range %g to %g of '%s'",
                                                      range.least(), range.greatest(), value));
  }
  if (!spec.data_sha256().empty() && spec.data_sha256().size() != 32) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "study: got data_sha256 of %d bytes, want none or 32", spec.data_sha256().size()));
  }
  return absl::OkStatus();
}

absl::Status CheckSpec(const v1::StudySpec& spec) {
  RETURN_IF_ERROR(CheckPrecision(spec));
  if (spec.task().empty() == spec.model_path().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "study: got ", spec.task().empty() ? "neither" : "both", ", want a task or a model"));
  }
  if (!spec.model_sha256().empty() && spec.model_sha256().size() != 32) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "study: got model_sha256 of %d bytes, want none or 32", spec.model_sha256().size()));
  }
  if (spec.trials_max() < -1) return OutOfBounds("trials_max", spec.trials_max(), ">= -1");
  if (spec.time_max_ns() < 0) return OutOfBounds("time_max_ns", spec.time_max_ns(), ">= 0");
  // Written so that NaN is refused.
  if (!(spec.gain_min() >= 0)) return OutOfBounds("gain_min", spec.gain_min(), ">= 0");
  if (!(spec.error_max() >= 0)) return OutOfBounds("error_max", spec.error_max(), ">= 0");
  if (spec.early_stopping_trials() < 0) {
    return OutOfBounds("early_stopping_trials", spec.early_stopping_trials(), ">= 0");
  }
  if (spec.batch() < 1) return OutOfBounds("batch", spec.batch(), ">= 1");
  if (spec.opt_level() < 0 || spec.opt_level() > 3) {
    return OutOfBounds("opt_level", spec.opt_level(), "0..3");
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view StudyStateName(StudyState state) {
  switch (state) {
    case StudyState::kQueued:
      return "queued";
    case StudyState::kRunning:
      return "running";
    case StudyState::kInterrupted:
      return "interrupted";
    case StudyState::kDone:
      return "done";
    case StudyState::kFailed:
      return "failed";
    case StudyState::kCancelled:
      return "cancelled";
    case StudyState::kParked:
      return "parked";
  }
  return "unknown";
}

bool IsTerminal(StudyState state) {
  return state == StudyState::kDone || state == StudyState::kFailed ||
         state == StudyState::kCancelled;
}

bool CanFollow(StudyState from, StudyState to) {
  if (from == to) return true;
  switch (from) {
    case StudyState::kQueued:
    case StudyState::kRunning:
      return true;  // Also running to queued: a tuner that hands a study back.
    case StudyState::kInterrupted:
      return to != StudyState::kDone;  // It must run to get done.
    case StudyState::kParked:
      return to != StudyState::kDone;
    case StudyState::kFailed:
    case StudyState::kCancelled:
      return to == StudyState::kQueued || to == StudyState::kRunning;
    case StudyState::kDone:
      return to == StudyState::kQueued;  // `retry` has found it something to do.
  }
  return false;
}

v1::StudySpec ToProto(const StudySpec& spec) {
  v1::StudySpec message;
  message.set_task(spec.task);
  message.set_model_path(spec.model_path);
  message.set_model_sha256(spec.model_sha256);
  message.set_target(spec.target);
  message.set_trials_max(spec.trials_max);
  message.set_time_max_ns(spec.time_max_ns);
  message.set_gain_min(spec.gain_min);
  message.set_early_stopping_trials(spec.early_stopping_trials);
  message.mutable_shapes()->insert(spec.shapes.begin(), spec.shapes.end());
  message.set_batch(spec.batch);
  message.set_scheduler(spec.scheduler);
  message.set_strategy(spec.strategy);
  message.set_task_scheduler(spec.task_scheduler);
  message.set_cost_model(spec.cost_model);
  message.set_no_default(spec.no_default);
  message.set_deterministic(spec.deterministic);
  message.set_error_max(spec.error_max);
  message.set_strict(spec.strict);
  message.set_opt_level(spec.opt_level);
  message.set_seed(spec.seed);
  message.set_out_path(spec.out_path);
  message.set_priority(spec.priority);
  message.set_served(spec.served);
  message.set_no_refine(spec.no_refine);
  if (spec.calibration.has_value()) *message.mutable_calibration() = ToProto(*spec.calibration);
  message.set_client_sha256(spec.client_sha256);
  message.set_precision(spec.precision);
  message.set_data_path(spec.data_path);
  message.set_data_sha256(spec.data_sha256);
  message.mutable_layer_types()->insert(spec.layer_types.begin(), spec.layer_types.end());
  for (const auto& [value, range] : spec.ranges) {
    v1::ValueRange& stored = (*message.mutable_ranges())[value];
    stored.set_least(range.first);
    stored.set_greatest(range.second);
  }
  return message;
}

absl::StatusOr<StudySpec> FromProto(const v1::StudySpec& message) {
  RETURN_IF_ERROR(CheckSpec(message));
  std::map<std::string, std::pair<double, double>> ranges;
  for (const auto& [value, range] : message.ranges()) {
    ranges[value] = {range.least(), range.greatest()};
  }
  // Without a row that an older version of this program stored the study goes on by the table.
  ASSIGN_OR_RETURN(std::optional<CalibrationRow> calibration,
                   FromProtoIfKnown(message.has_calibration() ? &message.calibration() : nullptr));
  return StudySpec{
      .task = message.task(),
      .model_path = message.model_path(),
      .model_sha256 = message.model_sha256(),
      .target = message.target(),
      .trials_max = message.trials_max(),
      .time_max_ns = message.time_max_ns(),
      .gain_min = message.gain_min(),
      .early_stopping_trials = message.early_stopping_trials(),
      .shapes = {message.shapes().begin(), message.shapes().end()},
      .batch = message.batch(),
      .scheduler = message.scheduler(),
      .strategy = message.strategy(),
      .task_scheduler = message.task_scheduler(),
      .cost_model = message.cost_model(),
      .no_default = message.no_default(),
      .deterministic = message.deterministic(),
      .error_max = message.error_max(),
      .strict = message.strict(),
      .opt_level = message.opt_level(),
      .seed = message.seed(),
      .out_path = message.out_path(),
      .priority = message.priority(),
      .served = message.served(),
      .no_refine = message.no_refine(),
      .calibration = std::move(calibration),
      .client_sha256 = message.client_sha256(),
      .precision =
          message.precision().empty() ? std::string(kPrecisionOfBefore) : message.precision(),
      .data_path = message.data_path(),
      .data_sha256 = message.data_sha256(),
      .layer_types = {message.layer_types().begin(), message.layer_types().end()},
      .ranges = std::move(ranges),
  };
}

v1::StudyLogEntry ToProto(const StudyLogEntry& entry) {
  v1::StudyLogEntry message;
  message.set_kind(static_cast<v1::StudyLogEntry::Kind>(entry.kind));
  message.set_task_index(entry.task_index);
  for (const std::string& id : entry.trial_ids) message.add_trial_ids(id);
  message.set_snapshot_id(entry.snapshot_id);
  message.set_round(entry.round);
  return message;
}

absl::StatusOr<StudyLogEntry> FromProto(const v1::StudyLogEntry& message) {
  if (message.kind() < 1 || !v1::StudyLogEntry::Kind_IsValid(message.kind())) {
    return absl::InvalidArgumentError(
        absl::StrFormat("study log: got kind %d, want 1..3", message.kind()));
  }
  return StudyLogEntry{
      .kind = static_cast<StudyLogKind>(message.kind()),
      .task_index = message.task_index(),
      .trial_ids = {message.trial_ids().begin(), message.trial_ids().end()},
      .snapshot_id = message.snapshot_id(),
      .round = message.round(),
  };
}

}  // namespace burnish
