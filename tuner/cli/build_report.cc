#include "tuner/cli/build_report.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/numerics.h"
#include "tuner/app/error.h"
#include "tuner/app/value_text.h"
#include "tuner/app/workload_facts.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

// "", "NAME F4, error 2.1e-06" as measured, or "NAME F4, error 7.0e-06 assumed".
std::string RoundingText(const Numerics& numerics) {
  if (numerics.kind != NumericsClass::kAlgorithm) return "";
  const Algorithm* algorithm = FindAlgorithm(numerics.algorithm);
  return absl::StrFormat("%s %s%d, error %.1e%s", numerics.algorithm,
                         algorithm != nullptr ? algorithm->parameter_label : "", numerics.parameter,
                         ErrorOf(numerics), numerics.error >= 0 ? "" : " assumed");
}

}  // namespace

absl::StatusOr<SelectOptions> ParseAccuracy(const std::string& text) {
  SelectOptions options;
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

std::string BuildReportSummary(const BuiltModel& built) {
  std::map<std::string, int> origins;
  for (const TaskReport& task : built.tasks)
    ++origins[std::string(ScheduleOriginName(task.origin))];
  std::string text = absl::StrCat(built.step_count, " steps, ", built.kernel_count, " kernels;");
  for (const auto& [origin, count] : origins) absl::StrAppend(&text, " ", count, " ", origin, ",");
  text.back() = ';';
  absl::StrAppend(&text, " weights ", FormatBytes(static_cast<double>(built.weights_bytes)),
                  ", activations ", FormatBytes(static_cast<double>(built.arena_bytes)),
                  ", bundle ", FormatBytes(static_cast<double>(built.bundle.size())), "\n");
  if (built.expected_error > 0) {
    absl::StrAppendFormat(&text, "error of steps by other algorithms together %.1e expected, ",
                          built.expected_error);
    if (built.measured_error.has_value()) {
      absl::StrAppendFormat(&text, "%.1e measured on random inputs\n", *built.measured_error);
    } else {
      absl::StrAppend(&text, "not measured: the model does not run on this machine\n");
    }
  } else if (built.measured_error.has_value()) {
    absl::StrAppendFormat(&text, "error of 16-bit storage %.1e, measured on random inputs\n",
                          *built.measured_error);
  }
  return text;
}

std::string BuildReportText(const BuiltModel& built, int columns) {
  TextTable table({{"task"},
                   {"steps", TextTable::kRight},
                   {"MFLOP", TextTable::kRight},
                   {"schedule"},
                   {"rounding"},
                   {"recorded", TextTable::kRight},
                   {"passed over"}});
  for (const TaskReport& task : built.tasks) {
    table.AddRow({WorkloadTitle(task.name, task.workload), absl::StrCat(task.weight),
                  absl::StrFormat("%.1f", static_cast<double>(task.flop_count) * 1e-6),
                  std::string(ScheduleOriginName(task.origin)), RoundingText(task.numerics),
                  task.latency_ns > 0 ? FormatNs(static_cast<double>(task.latency_ns)) : "-",
                  task.rejected.empty() ? "" : absl::StrCat(task.rejected.size(), " schedules")});
  }
  return absl::StrCat(table.ToText(columns), "\n", BuildReportSummary(built));
}

Json BuildReportJson(const BuiltModel& built) {
  Json tasks = Json::array();
  for (const TaskReport& task : built.tasks) {
    tasks.push_back(
        {{"name", task.name},
         {"workload", task.workload_id},
         {"steps", task.weight},
         {"flop_count", task.flop_count},
         {"schedule", std::string(ScheduleOriginName(task.origin))},
         {"algorithm", task.numerics.algorithm},
         {"parameter", task.numerics.parameter},
         {"error", task.numerics.error >= 0 ? Json(task.numerics.error) : Json(nullptr)},
         {"recorded_ms",
          task.latency_ns > 0 ? Json(static_cast<double>(task.latency_ns) * 1e-6) : Json(nullptr)},
         {"passed_over", task.rejected}});
  }
  return {{"steps", built.step_count},
          {"kernels", built.kernel_count},
          {"weights_bytes", built.weights_bytes},
          {"arena_bytes", built.arena_bytes},
          {"bundle_bytes", built.bundle.size()},
          {"expected_error", built.expected_error},
          {"measured_error",
           built.measured_error.has_value() ? Json(*built.measured_error) : Json(nullptr)},
          {"tasks", tasks}};
}

}  // namespace burnish
