#include "tuner/app/study_spec.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "proto/workload.h"
#include "tuner/app/error.h"
#include "tuner/app/example_data.h"
#include "tuner/app/model_source.h"
#include "tuner/search/search_strategy.h"
#include "tuner/study/search_preset.h"
#include "tuner/task_scheduler/task_scheduler.h"

namespace burnish {
namespace {

std::string Absolute(const std::string& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal().string();
}

// Of names, paths and shapes: what people write, and far less than a message may have.
constexpr size_t kTextBytesMax = 4096;
constexpr size_t kEntriesMax = 4096;  // Of shapes; of layers and ranges of the largest models.
constexpr size_t kLayersMax = 1 << 20;
constexpr double kTimeMaxNs = 365.0 * 24 * 3600 * 1e9;

absl::Status CheckNumbers(const StudySpec& spec) {
  struct Bounds {
    const char* name;
    double got, least, most;
  };
  const Bounds all[] = {
      {"trials", static_cast<double>(spec.trials_max), -1, kStudyTrialsMax},
      {"time", static_cast<double>(spec.time_max_ns), 0, kTimeMaxNs},
      {"until-gain", spec.gain_min, 0, 1},
      {"early-stopping", static_cast<double>(spec.early_stopping_trials), 0, 1e6},
      {"batch", static_cast<double>(spec.batch), 1, 65536},
      {"accuracy", spec.error_max, 0, 1},
      {"opt-level", static_cast<double>(spec.opt_level), 0, 3},
      {"priority", static_cast<double>(spec.priority), -1000, 1000},
  };
  for (const Bounds& field : all) {
    // Written so that NaN is refused.
    if (field.got >= field.least && field.got <= field.most) continue;
    return MakeError(ErrorCode::kUsage,
                     absl::StrCat("got `", field.name, "` ", field.got, ", want ", field.least,
                                  " to ", field.most),
                     absl::StrCat("`", field.name, "`"));
  }
  return absl::OkStatus();
}

absl::Status CheckName(absl::string_view option, const std::string& name,
                       const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return absl::OkStatus();
  return MakeError(ErrorCode::kUsage,
                   absl::StrCat("got `", option, "` ", name.substr(0, kTextBytesMax),
                                ", want one of ", absl::StrJoin(known, ", ")),
                   absl::StrCat("`", option, "`"));
}

absl::Status CheckSizes(const StudySpec& spec) {
  size_t longest = std::max({spec.task.size(), spec.model_path.size(), spec.target.size(),
                             spec.out_path.size(), spec.data_path.size()});
  for (const auto& [name, shape] : spec.shapes) {
    longest = std::max({longest, name.size(), shape.size()});
  }
  for (const auto& [layer, type] : spec.layer_types) longest = std::max(longest, layer.size());
  for (const auto& [value, range] : spec.ranges) longest = std::max(longest, value.size());
  if (longest <= kTextBytesMax && spec.shapes.size() <= kEntriesMax &&
      spec.layer_types.size() <= kLayersMax && spec.ranges.size() <= kLayersMax) {
    return absl::OkStatus();
  }
  return MakeError(ErrorCode::kUsage,
                   absl::StrCat("got a text of ", longest, " bytes, ", spec.shapes.size(),
                                " shapes, ", spec.layer_types.size(), " types and ",
                                spec.ranges.size(), " ranges of layers; want at most ",
                                kTextBytesMax, ", ", kEntriesMax, " and ", kLayersMax),
                   "the study's specification");
}

}  // namespace

absl::Status CheckStudySpec(const StudySpec& spec) {
  RETURN_IF_ERROR(CheckSizes(spec));
  RETURN_IF_ERROR(CheckNumbers(spec));
  RETURN_IF_ERROR(
      WithError(FindSearchPreset(spec.scheduler).status(), ErrorCode::kUsage, "`scheduler`"));
  RETURN_IF_ERROR(CheckName("strategy", spec.strategy, SearchStrategyNames()));
  RETURN_IF_ERROR(CheckName("task-scheduler", spec.task_scheduler, TaskSchedulerNames()));
  RETURN_IF_ERROR(CheckName("cost-model", spec.cost_model, CostModelNames()));
  return CheckShapes(spec.shapes);
}

absl::StatusOr<StudySpec> CompleteStudySpec(StudySpec spec) {
  const absl::StatusOr<SearchPreset> preset = FindSearchPreset(spec.scheduler);
  RETURN_IF_ERROR(WithError(preset.status(), ErrorCode::kUsage, spec.scheduler));
  if (!preset->tunes) spec.trials_max = 0;
  if (!preset->analytic) spec.no_default = true;
  if (!spec.model_path.empty()) {
    spec.model_path = Absolute(spec.model_path);
    ASSIGN_OR_RETURN(const std::string bytes, ReadModelFile(spec.model_path));
    spec.model_sha256 = Sha256Bytes(bytes);
  }
  if (!spec.out_path.empty()) spec.out_path = Absolute(spec.out_path);
  if (!spec.data_path.empty() && spec.data_path != kRandomData) {
    spec.data_path = Absolute(spec.data_path);
  }
  RETURN_IF_ERROR(CheckStudySpec(spec));
  return spec;
}

}  // namespace burnish
