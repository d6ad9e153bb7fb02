#include "tuner/app/compare_studies.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "db/record_summary.h"
#include "tuner/app/database.h"
#include "tuner/app/study_view.h"

namespace burnish {
namespace {

// 0: it failed.
int64_t RankNs(const Measurement& measurement) {
  Record record;
  Summarize({&measurement, 1}, record);
  return record.successful() ? record.rank_ns : 0;
}

struct Loaded {
  std::string id;
  std::vector<StudyTask> tasks;
  TaskCurves curves;

  // 0: a task has none.
  double ModelNs() const {
    double sum_ns = 0;
    for (const StudyTask& task : tasks) {
      const auto best_ns = static_cast<double>(curves.Of(task.workload_id).best_ns());
      if (best_ns == 0) return 0;
      sum_ns += task.weight * best_ns;
    }
    return sum_ns;
  }
};

absl::StatusOr<Loaded> Load(const Database& database, const std::string& name) {
  Loaded loaded;
  ASSIGN_OR_RETURN(loaded.id, ResolveStudyId(database, name));
  absl::StatusOr<std::vector<StudyTask>> tasks = database.studies->Tasks(loaded.id);
  RETURN_IF_ERROR(DatabaseError(tasks.status(), database.url));
  loaded.tasks = *std::move(tasks);
  RETURN_IF_ERROR(VisitEntries(database, loaded.id, [&](absl::Span<const MeasurementEntry> page) {
    loaded.curves.Add(page);
  }));
  return loaded;
}

StudyPair::Side SideOf(const TaskCurve& own, const TaskCurve& other) {
  const int64_t wanted_ns = std::max(own.best_ns(), other.best_ns());
  const bool both = own.best_ns() > 0 && other.best_ns() > 0;
  return {.best_ns = own.best_ns(),
          .trial_count = own.trial_count,
          .reached_at = both ? own.TrialsTo(wanted_ns) : 0};
}

}  // namespace

int64_t TaskCurve::TrialsTo(int64_t wanted_ns) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [wanted_ns](const Step& step) {
    return step.best_ns <= wanted_ns;
  });
  return found == steps.end() ? 0 : found->trial;
}

void TaskCurves::Add(absl::Span<const MeasurementEntry> entries) {
  for (const MeasurementEntry& entry : entries) {
    if (entry.purpose != Purpose::kTrial) continue;
    TaskCurve& curve = curves_[entry.candidate.workload.id];
    ++curve.trial_count;
    const int64_t rank_ns = RankNs(entry.measurement);
    if (rank_ns > 0 && (curve.steps.empty() || rank_ns < curve.best_ns())) {
      curve.steps.push_back({.trial = curve.trial_count, .best_ns = rank_ns});
    }
  }
}

const TaskCurve& TaskCurves::Of(const std::string& workload_id) const {
  static const TaskCurve* const kNone = new TaskCurve();
  const auto found = curves_.find(workload_id);
  return found == curves_.end() ? *kNone : found->second;
}

absl::StatusOr<StudyPair> CompareStudies(const Database& database, const std::string& first,
                                         const std::string& second) {
  ASSIGN_OR_RETURN(const Loaded a, Load(database, first));
  ASSIGN_OR_RETURN(const Loaded b, Load(database, second));
  StudyPair pair{
      .first_id = a.id, .second_id = b.id, .first_ns = a.ModelNs(), .second_ns = b.ModelNs()};
  std::vector<StudyTask> tasks = a.tasks;
  for (const StudyTask& task : b.tasks) {
    const bool known = std::any_of(a.tasks.begin(), a.tasks.end(), [&task](const StudyTask& own) {
      return own.workload_id == task.workload_id;
    });
    if (!known) tasks.push_back(task);
  }
  for (const StudyTask& task : tasks) {
    const TaskCurve& own = a.curves.Of(task.workload_id);
    const TaskCurve& other = b.curves.Of(task.workload_id);
    pair.tasks.push_back({.name = task.name,
                          .weight = task.weight,
                          .first = SideOf(own, other),
                          .second = SideOf(other, own)});
  }
  return pair;
}

}  // namespace burnish
