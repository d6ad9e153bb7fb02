#include "tuner/cli/build_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/numerics.h"
#include "tuner/app/error.h"
#include "tuner/app/precision.h"
#include "tuner/app/value_text.h"
#include "tuner/app/workload_facts.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

// "", "bf16", or what the algorithm's says: "NAME F4, error 2.1e-06" as measured, or "NAME F4,
// error 7.0e-06 assumed".
std::string RoundingText(const TaskReport& task) {
  const Numerics& numerics = task.numerics;
  const std::string type =
      task.works_in == DType::kF32 ? "" : absl::StrCat(DTypeName(task.works_in));
  if (numerics.kind != NumericsClass::kAlgorithm) return type;
  const Algorithm* algorithm = FindAlgorithm(numerics.algorithm);
  return absl::StrFormat("%s%s%s %s%d, error %.1e%s", type, type.empty() ? "" : ", ",
                         numerics.algorithm, algorithm != nullptr ? algorithm->parameter_label : "",
                         numerics.parameter, ErrorOf(numerics),
                         numerics.error >= 0 ? "" : " assumed");
}

// "51 of 54 layers in bf16; in f32: conv1, fc\n", "" where nothing was chosen.
std::string LayersText(const std::vector<LayerReport>& layers) {
  constexpr size_t kNamesMax = 20;  // Of some hundred; all are in the JSON.
  std::map<std::string, int> counts;
  std::vector<std::string> wide;
  for (const LayerReport& layer : layers) {
    if (layer.type == DType::kF32) {
      wide.push_back(layer.name);
    } else {
      ++counts[std::string(DTypeName(layer.type))];
    }
  }
  if (layers.empty()) return "";
  std::string text = counts.empty() ? "no layer in fewer bits" : "";
  for (const auto& [type, count] : counts) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", count, " of ", layers.size(), " layers in ",
                    type);
  }
  if (wide.empty() || counts.empty()) return text + "\n";
  const size_t more = wide.size() - std::min(wide.size(), kNamesMax);
  wide.resize(wide.size() - more);
  absl::StrAppend(&text, "; in f32: ", absl::StrJoin(wide, ", "),
                  more > 0 ? absl::StrCat(" and ", more, " more") : "", "\n");
  return text;
}

// "57 steps, 28 kernels; 28 tuned; weights 98 MiB, ..."
std::string WhatText(const BuiltModel& built) {
  std::map<std::string, int> origins;
  for (const TaskReport& task : built.tasks)
    ++origins[std::string(ScheduleOriginName(task.origin))];
  std::string text = absl::StrCat(built.step_count, " steps, ", built.kernel_count, " kernels;");
  for (const auto& [origin, count] : origins) absl::StrAppend(&text, " ", count, " ", origin, ",");
  text.back() = ';';
  absl::StrAppend(&text, " weights ", FormatBytes(static_cast<double>(built.weights_bytes)),
                  ", activations ", FormatBytes(static_cast<double>(built.arena_bytes)),
                  ", bundle ", FormatBytes(static_cast<double>(built.bundle.size())));
  return text;
}

// "about 9.9 ms a run on 2 threads of znver4, by the cost model"
std::string ExpectedText(const BuiltModel& built, const BuildReportFacts& facts) {
  const ExpectedTime expected = ExpectedTimeOf(built);
  if (expected.ns <= 0) return "how fast is not known before it is timed";
  const bool is_looped = std::any_of(built.tasks.begin(), built.tasks.end(),
                                     [](const TaskReport& task) { return task.is_looped; });
  std::string text =
      absl::StrCat(expected.unknown > 0 ? "at least " : "about ", FormatNs(expected.ns), " a run",
                   facts.has_sizes ? " of the greatest sizes" : "",
                   is_looped ? " with each loop once" : "", " on ", facts.target.threads,
                   facts.target.threads == 1 ? " thread of " : " threads of ", facts.target.arch);
  if (expected.measured == 0) return absl::StrCat(text, ", by the cost model");
  if (expected.measured == static_cast<int>(built.tasks.size())) {
    return absl::StrCat(text, ", by what its tasks were measured at");
  }
  return absl::StrCat(text, ", measured for ", expected.measured, " of ", built.tasks.size(),
                      " tasks, else by the cost model");
}

// "; error 2.1e-06, measured on random inputs", "" where all is computed as in f32.
std::string ErrorText(const BuiltModel& built) {
  if (built.measured_error.has_value()) {
    return absl::StrFormat("; error %.1e, measured on %s", *built.measured_error,
                           built.measured_on);
  }
  if (built.expected_error <= 0) return "";
  return absl::StrFormat("; error %.1e expected: the model does not run on this machine",
                         built.expected_error);
}

}  // namespace

absl::StatusOr<SelectOptions> ParseAccuracy(const std::string& text, const std::string& precision) {
  SelectOptions options;
  if (text.empty()) {
    options.error_budget = DefaultAccuracy(precision);
    return options;
  }
  if (text == "strict") {
    options.strict = true;
    return options;
  }
  double error = 0;
  if (!absl::SimpleAtod(text, &error) || !(error > 0) || error > 1) {
    return MakeError(ErrorCode::kUsage, absl::StrCat("got --accuracy ", text), "--accuracy",
                     "a number above 0 and at most 1 such as 1e-4, or strict");
  }
  options.error_budget = error;
  return options;
}

ExpectedTime ExpectedTimeOf(const BuiltModel& built) {
  ExpectedTime expected;
  for (const TaskReport& task : built.tasks) {
    const bool is_measured = task.latency_ns > 0;
    const double ns = is_measured ? static_cast<double>(task.latency_ns) : task.estimated_ns;
    ++(is_measured ? expected.measured : ns > 0 ? expected.estimated : expected.unknown);
    expected.ns += ns * static_cast<double>(task.weight);
  }
  return expected;
}

std::string BuildReportText(const BuiltModel& built, const BuildReportFacts& facts) {
  const auto untuned =
      std::count_if(built.tasks.begin(), built.tasks.end(),
                    [](const TaskReport& task) { return task.origin != ScheduleOrigin::kTuned; });
  const std::string next =
      untuned == 0 ? "` times it, with --profile each step"
                   : absl::StrCat("` times it; `tuner submit` with the same model tunes ", untuned,
                                  untuned == 1 ? " task" : " tasks");
  return absl::StrCat("wrote ", facts.out, ": ", WhatText(built), "\n", ExpectedText(built, facts),
                      ErrorText(built), "\n", LayersText(built.layers), "next: `tuner bench ",
                      facts.out, next, "\n");
}

std::string BuildTableText(const BuiltModel& built, int columns) {
  TextTable table({{"task"},
                   {"steps", TextTable::kRight},
                   {"MFLOP", TextTable::kRight},
                   {"schedule"},
                   {"rounding"},
                   {"recorded", TextTable::kRight},
                   {"estimated", TextTable::kRight},
                   {"passed over"}});
  const auto time = [](double ns) { return ns > 0 ? FormatNs(ns) : "-"; };
  for (const TaskReport& task : built.tasks) {
    table.AddRow({WorkloadTitle(task.name, task.workload), absl::StrCat(task.weight),
                  absl::StrFormat("%.1f", static_cast<double>(task.flop_count) * 1e-6),
                  std::string(ScheduleOriginName(task.origin)), RoundingText(task),
                  time(static_cast<double>(task.latency_ns)), time(task.estimated_ns),
                  task.rejected.empty() ? "" : absl::StrCat(task.rejected.size(), " schedules")});
  }
  return absl::StrCat(table.ToText(columns), "\n");
}

Json BuildReportJson(const BuiltModel& built) {
  Json tasks = Json::array();
  for (const TaskReport& task : built.tasks) {
    tasks.push_back(
        {{"name", task.name},
         {"workload", task.workload_id},
         {"steps", task.weight},
         {"type", std::string(DTypeName(task.works_in))},
         {"flop_count", task.flop_count},
         {"schedule", std::string(ScheduleOriginName(task.origin))},
         {"algorithm", task.numerics.algorithm},
         {"parameter", task.numerics.parameter},
         {"error", task.numerics.error >= 0 ? Json(task.numerics.error) : Json(nullptr)},
         {"recorded_ms",
          task.latency_ns > 0 ? Json(static_cast<double>(task.latency_ns) * 1e-6) : Json(nullptr)},
         {"estimated_ms", task.estimated_ns > 0 ? Json(task.estimated_ns * 1e-6) : Json(nullptr)},
         {"passed_over", task.rejected}});
  }
  Json layers = Json::array();
  for (const LayerReport& layer : built.layers) {
    layers.push_back({{"name", layer.name}, {"type", std::string(DTypeName(layer.type))}});
  }
  const ExpectedTime expected = ExpectedTimeOf(built);
  const bool is_known = expected.ns > 0;
  const char* const by = expected.measured == 0    ? "cost model"
                         : expected.estimated == 0 ? "measurements"
                                                   : "both";
  return {{"steps", built.step_count},
          {"kernels", built.kernel_count},
          {"weights_bytes", built.weights_bytes},
          {"arena_bytes", built.arena_bytes},
          {"bundle_bytes", built.bundle.size()},
          {"expected_ms", is_known ? Json(expected.ns * 1e-6) : Json(nullptr)},
          {"expected_by", is_known ? Json(by) : Json(nullptr)},
          {"expected_error", built.expected_error},
          {"measured_error",
           built.measured_error.has_value() ? Json(*built.measured_error) : Json(nullptr)},
          {"measured_on", built.measured_on.empty() ? Json(nullptr) : Json(built.measured_on)},
          {"layers", std::move(layers)},
          {"tasks", tasks}};
}

}  // namespace burnish
