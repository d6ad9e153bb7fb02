#include "tuner/app/study_view.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "proto/study.pb.h"
#include "tuner/app/error.h"
#include "tuner/app/workload_facts.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStudiesSearched = 10000;

absl::StatusOr<TaskView> LoadTask(const Database& database, const StudyTask& task,
                                  const std::string& target) {
  TaskView view{.task = task};
  absl::StatusOr<BestAnswer> best =
      database.records->Best({.workload_id = task.workload_id, .target = target});
  if (!best.ok()) return DatabaseError(best.status(), database.url);
  if (!best->records.empty()) view.best = std::move(best->records.front());
  const absl::StatusOr<std::optional<Workload>> workload =
      database.records->FindWorkload(task.workload_id);
  if (!workload.ok()) return DatabaseError(workload.status(), database.url);
  if (workload->has_value()) view.flop_count = WorkloadFlops((*workload)->text);
  return view;
}

Json OptionalMs(const std::optional<double>& ns) {
  return ns.has_value() ? Json(*ns * 1e-6) : Json(nullptr);
}

int64_t FailureCount(const TrialCounts& counts) {
  int64_t count = 0;
  for (const auto& [kind, number] : counts.failure_counts) count += number;
  return count;
}

}  // namespace

double TaskView::gflops() const {
  if (!best.has_value() || best->rank_ns <= 0) return 0;
  return static_cast<double>(flop_count.value_or(0)) / static_cast<double>(best->rank_ns);
}

std::optional<double> StudyView::model_ns() const {
  double total = 0;
  for (const TaskView& task : tasks) {
    if (!task.best.has_value()) return std::nullopt;
    total += task.task.weight * static_cast<double>(task.best->rank_ns);
  }
  return total;
}

absl::StatusOr<std::string> ResolveStudyId(const Database& database, absl::string_view id) {
  const absl::StatusOr<StudySummary> exact = database.studies->Get(id);
  if (exact.ok()) return exact->study.id;
  if (!absl::IsNotFound(exact.status()) && !absl::IsInvalidArgument(exact.status())) {
    return DatabaseError(exact.status(), database.url);
  }
  const absl::StatusOr<std::vector<StudySummary>> studies =
      database.studies->List({.limit = kStudiesSearched});
  if (!studies.ok()) return DatabaseError(studies.status(), database.url);
  std::vector<std::string> found;
  for (const StudySummary& summary : *studies) {
    if (!id.empty() && absl::StartsWith(summary.study.id, id)) found.push_back(summary.study.id);
  }
  if (found.size() == 1) return found.front();
  return MakeError(ErrorCode::kNoStudy,
                   found.empty() ? absl::StrCat("no study ", id)
                                 : absl::StrCat(found.size(), " studies begin with ", id),
                   database.url);
}

absl::StatusOr<StudySpec> ParseStudySpec(const Study& study) {
  v1::StudySpec message;
  if (!message.ParseFromString(study.spec)) {
    return MakeError(ErrorCode::kDamagedDatabase,
                     absl::StrCat("the specification of study ", study.id, " cannot be read"));
  }
  return FromProto(message);
}

absl::StatusOr<StudyView> LoadStudyView(const Database& database, const std::string& id) {
  StudyView view;
  absl::StatusOr<StudySummary> summary = database.studies->Get(id);
  if (!summary.ok()) return DatabaseError(summary.status(), database.url);
  view.summary = *std::move(summary);
  ASSIGN_OR_RETURN(view.spec, ParseStudySpec(view.summary.study));
  absl::StatusOr<TrialCounts> counts = database.records->CountTrials(id);
  if (!counts.ok()) return DatabaseError(counts.status(), database.url);
  view.counts = *std::move(counts);
  const absl::StatusOr<std::vector<StudyTask>> tasks = database.studies->Tasks(id);
  if (!tasks.ok()) return DatabaseError(tasks.status(), database.url);
  for (const StudyTask& task : *tasks) {
    ASSIGN_OR_RETURN(TaskView task_view, LoadTask(database, task, view.summary.study.target));
    view.tasks.push_back(std::move(task_view));
  }
  return view;
}

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

std::string StudyText(const StudyView& view) {
  const Study& study = view.summary.study;
  std::string text = absl::StrCat("study    ", study.id, "\nof       ", study.title, "\nstate    ",
                                  StudyStateName(study.state));
  if (!study.detail.empty()) absl::StrAppend(&text, " (", study.detail, ")");
  absl::StrAppend(&text, "\ntarget   ", study.target, "\ncreated  ", FormatWallNs(study.created_ns),
                  " UTC\ntrials   ", TrialsText(view), "\n");
  if (const std::optional<double> total = view.model_ns()) {
    absl::StrAppend(&text, "sum      ", FormatNs(*total), " (best latency times weight)\n");
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
  return absl::StrCat(text, "\n", table.ToText());
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
  return {{"schema", 1},
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
          {"model_ms", OptionalMs(view.model_ns())},
          {"tasks", tasks}};
}

}  // namespace burnish
