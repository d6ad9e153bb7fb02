#include "tuner/study/study_retry.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/status_macros.h"
#include "tuner/study/study_log.h"
#include "tuner/study/study_storage.h"
#include "tuner/study/trial_id.h"

namespace burnish {
namespace {

constexpr int kPageEntries = 1000;

// What the log says of trials.
struct Logged {
  std::map<std::string, int> task_of;   // By trial id.
  std::map<int, int64_t> next_numbers;  // By task.
  std::set<std::string> lifted;
};

absl::StatusOr<Logged> ReadLogged(const StudyLog& log, const std::string& study_id) {
  Logged logged{.lifted = LiftedTrials(log.events())};
  for (const StudyEvent& event : log.events()) {
    if (event.kind != StudyEventKind::kRound) continue;
    for (const std::string& id : event.trial_ids) {
      ASSIGN_OR_RETURN(const int64_t number, ParseTrialNumber(study_id, event.task_index, id));
      int64_t& next = logged.next_numbers[event.task_index];
      next = std::max(next, number + 1);
      logged.task_of[id] = event.task_index;
    }
  }
  return logged;
}

}  // namespace

absl::StatusOr<int> LiftPoison(const RecordStore& records, StudyStore& studies,
                               const std::string& study_id, absl::string_view only) {
  ASSIGN_OR_RETURN(StudyLog log, StudyLog::Open(&studies, study_id));
  ASSIGN_OR_RETURN(Logged logged, ReadLogged(log, study_id));
  struct Task {
    std::vector<std::string> lifted;
    std::vector<Trial> trials;
  };
  std::map<int, Task> tasks;
  EntryQuery query{.study_id = study_id, .limit = kPageEntries};
  while (true) {
    ASSIGN_OR_RETURN(const EntryPage page, records.ScanEntries(query));
    for (const MeasurementEntry& entry : page.entries) {
      const Failure* failure = entry.measurement.failure();
      // Candidate 0 is no trial, and its task has gone on without it.
      if (entry.purpose != Purpose::kTrial || failure == nullptr ||
          failure->kind != FailureKind::kPoisoned || logged.lifted.contains(entry.trial_id)) {
        continue;
      }
      if (!only.empty() && only != entry.trial_id) continue;
      const auto task = logged.task_of.find(entry.trial_id);
      if (task == logged.task_of.end()) continue;
      const int64_t number = logged.next_numbers[task->second]++;
      tasks[task->second].lifted.push_back(entry.trial_id);
      tasks[task->second].trials.push_back(
          {TrialIdOf(study_id, task->second, number), number, entry.candidate.trace});
    }
    if (static_cast<int>(page.entries.size()) < kPageEntries) break;
    query.after_row_id = page.last_row_id;
  }
  int count = 0;
  for (const auto& [task_index, task] : tasks) {
    // The old one first: a crash behind it leaves room in the budget, one the other way round would
    // leave a budget that is spent twice. A crash behind the jobs is what StudyStorage mends.
    RETURN_IF_ERROR(log.Append(
        {{.kind = StudyEventKind::kLifted, .task_index = task_index, .trial_ids = task.lifted}}));
    RETURN_IF_ERROR(PutTrials(studies, study_id, task_index, /*asked=*/0, task.trials));
    StudyEvent round{.kind = StudyEventKind::kRound, .task_index = task_index};
    for (const Trial& trial : task.trials) round.trial_ids.push_back(trial.trial_id);
    RETURN_IF_ERROR(log.Append({round}));
    count += static_cast<int>(task.lifted.size());
  }
  return count;
}

}  // namespace burnish
