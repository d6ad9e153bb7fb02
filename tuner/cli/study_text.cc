#include "tuner/cli/study_text.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/measurement.h"
#include "tuner/cli/calibration_text.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

Json OptionalMs(const std::optional<double>& ns) {
  return ns.has_value() ? Json(*ns * 1e-6) : Json(nullptr);
}

int64_t FailureCount(const TrialCounts& counts) {
  int64_t count = 0;
  for (const auto& [kind, number] : counts.failure_counts) count += number;
  return count;
}

// "bf16, 3 operators in f32; error at most 2e-02 on random inputs"
std::string PrecisionText(const StudySpec& spec) {
  std::map<std::string, int> counts;
  for (const auto& [layer, type] : spec.layer_types) ++counts[type];
  std::string text = spec.precision;
  for (const auto& [type, count] : counts) {
    absl::StrAppend(&text, ", ", count, " operators in ", type);
  }
  absl::StrAppendFormat(&text, "; error at most %.0e on %s", spec.error_max,
                        spec.data_path.empty() ? "random inputs" : spec.data_path);
  return text;
}

}  // namespace

std::string TrialsText(const StudyView& view) {
  std::string text = absl::StrCat(view.counts.trial_count);
  if (view.spec.trials_max >= 0) absl::StrAppend(&text, " of ", view.spec.trials_max);
  const int64_t failures = FailureCount(view.counts);
  if (failures == 0) return text;
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : view.counts.failure_counts) {
    kinds.push_back(absl::StrCat(count, " ", FailureKindName(kind)));
  }
  return absl::StrCat(text, ", ", failures, " failed (", absl::StrJoin(kinds, ", "), ")");
}

std::string StudyText(const StudyView& view, int columns) {
  const Study& study = view.summary.study;
  std::string text = absl::StrCat("study    ", study.id, "\nof       ", study.title, "\nstate    ",
                                  StudyStateName(study.state));
  if (!study.detail.empty()) absl::StrAppend(&text, " (", study.detail, ")");
  absl::StrAppend(&text, "\ntarget   ", study.target, "\ncreated  ", FormatWallNs(study.created_ns),
                  " UTC\ntrials   ", TrialsText(view), "\nrow      ",
                  view.spec.calibration.has_value() ? CalibrationLine(*view.spec.calibration)
                                                    : "none: the microarchitecture's table",
                  "\n");
  if (view.spec.precision != "f32") {
    absl::StrAppend(&text, "floats   ", PrecisionText(view.spec), "\n");
  }
  if (const std::optional<double> total = view.model_ns()) {
    absl::StrAppend(&text, "sum      ", FormatNs(*total), " (best latency times weight)\n");
  }
  for (const PausedWorker& worker : view.paused) {
    absl::StrAppend(&text, "paused   ", worker.worker_id, " until ", FormatWallNs(worker.until_ns),
                    " UTC: its results were not confirmed",
                    worker.count > 1 ? absl::StrCat(", ", worker.count, " times") : "", "\n");
  }
  TextTable table({{"task"},
                   {"workload"},
                   {"weight", TextTable::kRight},
                   {"best", TextTable::kRight},
                   {"GFLOP/s", TextTable::kRight},
                   {"found by"}});
  for (const TaskView& task : view.tasks) {
    const bool measured = task.best.has_value();
    table.AddRow({task.task.name, ShortHash(task.task.workload_id),
                  absl::StrFormat("%g", task.task.weight),
                  measured ? FormatNs(static_cast<double>(task.best->rank_ns)) : "-",
                  task.gflops() > 0 ? absl::StrFormat("%.1f", task.gflops()) : "-",
                  measured ? task.best->first_trial_id : "-"});
  }
  return absl::StrCat(text, "\n", table.ToText(columns));
}

Json StudyJson(const StudyView& view) {
  const Study& study = view.summary.study;
  Json failures = Json::object();
  for (const auto& [kind, count] : view.counts.failure_counts) {
    failures[std::string(FailureKindName(kind))] = count;
  }
  Json tasks = Json::array();
  for (const TaskView& task : view.tasks) {
    std::optional<double> best_ns;
    if (task.best.has_value()) best_ns = static_cast<double>(task.best->rank_ns);
    tasks.push_back({{"name", task.task.name},
                     {"workload", HexString(task.task.workload_id)},
                     {"weight", task.task.weight},
                     {"best_ms", OptionalMs(best_ns)},
                     {"gflops", task.gflops()}});
  }
  Json paused = Json::array();
  for (const PausedWorker& worker : view.paused) {
    paused.push_back(
        {{"worker", worker.worker_id}, {"until_ns", worker.until_ns}, {"count", worker.count}});
  }
  return {
      {"schema", 1},
      {"study", study.id},
      {"title", study.title},
      {"state", std::string(StudyStateName(study.state))},
      {"detail", study.detail},
      {"target", study.target},
      {"created_ns", study.created_ns},
      {"updated_ns", study.updated_ns},
      {"trials", view.counts.trial_count},
      {"trials_max", view.spec.trials_max},
      {"failures", failures},
      {"open_jobs", view.summary.open_job_count},
      {"paused_workers", paused},
      {"model_ms", OptionalMs(view.model_ns())},
      {"precision", view.spec.precision},
      {"accuracy", view.spec.strict ? Json(nullptr) : Json(view.spec.error_max)},
      {"data", view.spec.data_path.empty() ? Json(nullptr) : Json(view.spec.data_path)},
      {"layer_types", view.spec.layer_types},
      {"calibration",
       view.spec.calibration.has_value() ? CalibrationJson(*view.spec.calibration) : Json(nullptr)},
      {"tasks", tasks}};
}

namespace {

// Two columns without titles.
std::string FactsText(const std::vector<std::pair<std::string, std::string>>& facts, int columns) {
  TextTable table({{""}, {"", TextTable::kLeft, /*wraps=*/true}});
  for (const auto& [name, value] : facts) table.AddRow({name, value});
  const std::string text = table.ToText(columns);
  return text.substr(text.find('\n') + 1);
}

std::string Age(absl::Time now, int64_t wall_ns) {
  return absl::StrCat(FormatWallNs(wall_ns), " UTC, ",
                      FormatAge(now - absl::FromUnixNanos(wall_ns)), " ago");
}

}  // namespace

std::string StudyRunText(const StudyView& view, absl::Time now, int columns) {
  const StudySummary& summary = view.summary;
  const StudyLease& lease = summary.lease;
  const std::string owner =
      lease.owner.empty()
          ? "nobody"
          : absl::StrCat(lease.owner, ", until ", FormatWallNs(lease.expires_ns), " UTC");
  return FactsText({{"run by", owner},
                    {"created", Age(now, summary.study.created_ns)},
                    {"changed", Age(now, summary.study.updated_ns)},
                    {"open jobs", absl::StrCat(summary.open_job_count)},
                    {"log", absl::StrCat(summary.log_length, " entries")},
                    {"crashes", absl::StrCat(summary.crash_count, " since it was last resumed")}},
                   columns);
}

std::string SpecificationText(const StudySpec& spec, int columns) {
  const auto is = [](bool yes) { return yes ? "yes" : "no"; };
  std::vector<std::pair<std::string, std::string>> facts;
  if (!spec.task.empty()) facts.emplace_back("task", spec.task);
  if (!spec.model_path.empty()) {
    facts.emplace_back("model", spec.model_path);
    facts.emplace_back("its hash", ShortHash(spec.model_sha256));
  }
  for (const auto& [input, shape] : spec.shapes) {
    facts.emplace_back("shape", absl::StrCat(input, "=", shape));
  }
  const bool until_gain = spec.trials_max == StudySpec::kTrialsUntilGain;
  facts.emplace_back(
      "trials", until_gain ? absl::StrFormat("until %g %% are left to gain", 100 * spec.gain_min)
                           : absl::StrCat("at most ", spec.trials_max));
  if (spec.time_max_ns > 0) {
    facts.emplace_back("time", FormatPeriod(absl::Nanoseconds(spec.time_max_ns)));
  }
  if (spec.early_stopping_trials > 0) {
    facts.emplace_back("ends a task",
                       absl::StrCat("after ", spec.early_stopping_trials, " trials without gain"));
  }
  facts.emplace_back("scheduler", spec.scheduler);
  facts.emplace_back("strategy", spec.strategy);
  facts.emplace_back("between tasks", spec.task_scheduler);
  facts.emplace_back("cost model", spec.cost_model);
  facts.emplace_back("seed", absl::StrCat(spec.seed));
  facts.emplace_back("accuracy", spec.strict ? "strict" : absl::StrFormat("%.0e", spec.error_max));
  facts.emplace_back("precision", spec.precision);
  facts.emplace_back("opt level", absl::StrCat(spec.opt_level));
  facts.emplace_back("priority", absl::StrCat(spec.priority));
  facts.emplace_back("refines", is(!spec.no_refine));
  facts.emplace_back("defaults", is(!spec.no_default));
  facts.emplace_back("deterministic", is(spec.deterministic));
  facts.emplace_back("of a daemon", is(spec.served));
  if (!spec.out_path.empty()) facts.emplace_back("bundle", spec.out_path);
  return FactsText(facts, columns);
}

Json StudyRunJson(const StudyView& view) {
  const StudyLease& lease = view.summary.lease;
  const bool is_owned = !lease.owner.empty();
  return {{"owner", is_owned ? Json(lease.owner) : Json(nullptr)},
          {"owned_until_ns", is_owned ? Json(lease.expires_ns) : Json(nullptr)},
          {"log_entries", view.summary.log_length},
          {"crashes", view.summary.crash_count}};
}

Json SpecificationJson(const StudySpec& spec) {
  const auto text = [](const std::string& value) {
    return value.empty() ? Json(nullptr) : Json(value);
  };
  return {{"task", text(spec.task)},
          {"model", text(spec.model_path)},
          {"model_sha256", text(HexString(spec.model_sha256))},
          {"input_shapes", spec.shapes},
          {"batch", spec.batch},
          {"time_max_s", spec.time_max_ns > 0 ? Json(static_cast<double>(spec.time_max_ns) * 1e-9)
                                              : Json(nullptr)},
          {"gain_min", spec.gain_min},
          {"early_stopping_trials", spec.early_stopping_trials},
          {"scheduler", spec.scheduler},
          {"strategy", spec.strategy},
          {"task_scheduler", spec.task_scheduler},
          {"cost_model", spec.cost_model},
          {"seed", spec.seed},
          {"opt_level", spec.opt_level},
          {"priority", spec.priority},
          {"refines", !spec.no_refine},
          {"defaults", !spec.no_default},
          {"deterministic", spec.deterministic},
          {"served", spec.served},
          {"out", text(spec.out_path)}};
}

}  // namespace burnish
