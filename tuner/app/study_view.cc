#include "tuner/app/study_view.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "db/damaged_study.h"
#include "proto/study.pb.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/workload_facts.h"
#include "tuner/study/study_log.h"
#include "tuner/study/study_storage.h"

namespace burnish {
namespace {

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

// What only the log knows. It is read where it may say something: a long study's is megabytes.
absl::Status ReadFromLog(const Database& database, int64_t now_ns, StudyView& view) {
  TrialCounts& counts = view.counts;
  const auto poisoned = counts.failure_counts.find(FailureKind::kPoisoned);
  const bool is_poisoned = poisoned != counts.failure_counts.end();
  const bool is_running = view.summary.study.state == StudyState::kRunning;
  if (!is_poisoned && !is_running) return absl::OkStatus();
  const absl::StatusOr<StudyLog> log =
      StudyLog::Open(database.studies.get(), view.summary.study.id);
  RETURN_IF_ERROR(DatabaseError(log.status(), database.url));
  if (is_running) view.paused = PausedWorkers(log->events(), now_ns);
  if (!is_poisoned) return absl::OkStatus();
  // Poisoned trials that were lifted are in the store, and not in the budget.
  const auto lifted = static_cast<int64_t>(LiftedTrials(log->events()).size());
  counts.trial_count -= lifted;
  poisoned->second -= lifted;
  if (poisoned->second <= 0) counts.failure_counts.erase(poisoned);
  return absl::OkStatus();
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
    return WithError(DamagedStudy(study.id, "its specification is no message"),
                     ErrorCode::kDamagedDatabase);
  }
  absl::StatusOr<StudySpec> spec = FromProto(message);
  if (spec.ok()) return spec;
  return WithError(DamagedStudy(study.id, spec.status().message()), ErrorCode::kDamagedDatabase);
}

absl::StatusOr<StudyView> LoadStudyView(const Database& database, const std::string& id,
                                        int64_t now_ns) {
  StudyView view;
  absl::StatusOr<StudySummary> summary = database.studies->Get(id);
  if (!summary.ok()) return DatabaseError(summary.status(), database.url);
  view.summary = *std::move(summary);
  ASSIGN_OR_RETURN(view.spec, ParseStudySpec(view.summary.study));
  absl::StatusOr<TrialCounts> counts = database.records->CountTrials(id);
  if (!counts.ok()) return DatabaseError(counts.status(), database.url);
  view.counts = *std::move(counts);
  RETURN_IF_ERROR(ReadFromLog(database, now_ns, view));
  const absl::StatusOr<std::vector<StudyTask>> tasks = database.studies->Tasks(id);
  if (!tasks.ok()) return DatabaseError(tasks.status(), database.url);
  for (const StudyTask& task : *tasks) {
    ASSIGN_OR_RETURN(TaskView task_view, LoadTask(database, task, view.summary.study.target));
    view.tasks.push_back(std::move(task_view));
  }
  return view;
}

}  // namespace burnish
