#include "tuner/study/study_checker.h"

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/study/study_replay.h"
#include "tuner/study/study_storage.h"
#include "tuner/study/task_history.h"
#include "tuner/study/task_search.h"

namespace burnish {
namespace {

absl::Status Wrong(absl::string_view trial, absl::string_view what) {
  return absl::InternalError(absl::StrCat("trial ", trial, " ", what));
}

using Ids = std::set<std::string>;

// What the log says of trials.
struct Logged {
  Ids begun, told, dropped;
};

absl::StatusOr<Logged> ReadEvents(const std::vector<StudyEvent>& events, const Ids& recorded) {
  Logged logged;
  for (const StudyEvent& event : events) {
    if (event.kind == StudyEventKind::kLifted) continue;
    for (const std::string& id : event.trial_ids) {
      if (event.kind == StudyEventKind::kRound) {
        if (!logged.begun.insert(id).second) return Wrong(id, "was suggested twice");
        continue;
      }
      if (!logged.begun.contains(id)) return Wrong(id, "ended before it was suggested");
      Ids& ended = event.kind == StudyEventKind::kUpdate ? logged.told : logged.dropped;
      if (!ended.insert(id).second) return Wrong(id, "ended twice");
      if ((event.kind == StudyEventKind::kUpdate) != recorded.contains(id)) {
        return Wrong(id, "was told without a result, or dropped with one");
      }
    }
  }
  return logged;
}

absl::StatusOr<Ids> ReadEntries(const StudyRunnerOptions& options, const Ids& lifted) {
  Ids recorded, candidates, with_reference;
  int64_t trial_count = 0;
  EntryQuery query{.study_id = options.study_id};
  while (true) {
    ASSIGN_OR_RETURN(const EntryPage page, options.records->ScanEntries(query));
    if (page.entries.empty()) break;
    for (const MeasurementEntry& entry : page.entries) {
      if (entry.purpose == Purpose::kRefine) continue;
      if (!recorded.insert(entry.trial_id).second) return Wrong(entry.trial_id, "is stored twice");
      const std::string task = entry.candidate.workload.id;
      if (entry.purpose == Purpose::kReference) {
        with_reference.insert(task);
        continue;
      }
      ++trial_count;
      if (!with_reference.contains(task)) return Wrong(entry.trial_id, "came before candidate 0");
      if (lifted.contains(entry.trial_id)) continue;
      if (!candidates.insert(entry.candidate.Id()).second) {
        return Wrong(entry.trial_id, "is of a candidate that was measured before");
      }
    }
    query.after_row_id = page.last_row_id;
  }
  ASSIGN_OR_RETURN(const TrialCounts counts, options.records->CountTrials(options.study_id));
  if (counts.trial_count != trial_count) {
    return absl::InternalError(
        absl::StrCat("got ", counts.trial_count, " trials counted, want ", trial_count));
  }
  return recorded;
}

}  // namespace

absl::Status CheckStudy(const StudyRunnerOptions& options) {
  ASSIGN_OR_RETURN(const StudyLog log, StudyLog::Open(options.studies, options.study_id));
  ASSIGN_OR_RETURN(const Ids recorded, ReadEntries(options, LiftedTrials(log.events())));
  ASSIGN_OR_RETURN(const Logged logged, ReadEvents(log.events(), recorded));
  ASSIGN_OR_RETURN(const std::vector<OpenJob> jobs, options.studies->OpenJobs(options.study_id));
  Ids open;
  for (const OpenJob& job : jobs) open.insert(job.trial_id);
  for (const std::string& id : recorded) {
    if (!logged.begun.contains(id)) return Wrong(id, "has a result but was never suggested");
  }
  for (const std::string& id : logged.begun) {
    if (!recorded.contains(id) && !logged.dropped.contains(id) && !open.contains(id)) {
      return Wrong(id, "has been lost");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReplay(const StudyRunnerOptions& options) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<StudyStorage> storage,
      StudyStorage::Open(options.records, options.studies, options.study_id, options.tasks));
  std::vector<std::unique_ptr<TaskSearch>> tasks(options.tasks.size());
  ASSIGN_OR_RETURN(std::vector<TaskTools> tools,
                   options.make_tools(options.tasks, options.target, options.spec));
  int64_t round = 0;
  for (const StudyEvent& event : storage->events()) {
    if (!IsOfTask(event.kind)) continue;
    std::unique_ptr<TaskSearch>& task = tasks.at(event.task_index);
    if (event.kind == StudyEventKind::kHistory) {
      const StudyTaskSpec& spec = options.tasks[event.task_index];
      ASSIGN_OR_RETURN(TaskHistory history,
                       ReadTaskHistory(*options.records, spec,
                                       {.target = options.target,
                                        .codegen_epoch = options.codegen_epoch,
                                        .method_version = options.method_version,
                                        .row_id_max = event.number}));
      ASSIGN_OR_RETURN(
          task, TaskSearch::Create({.study_id = options.study_id,
                                    .task_index = event.task_index,
                                    .task = spec,
                                    .spec = options.spec,
                                    .target = options.target,
                                    .codegen_epoch = options.codegen_epoch,
                                    .tools = std::move(tools.at(event.task_index)),
                                    .history = std::move(history),
                                    .enumerated_points_max = options.enumerated_points_max}));
      continue;
    }
    if (event.kind == StudyEventKind::kRound && event.number > 0) {
      ++round;
      ASSIGN_OR_RETURN(const std::vector<Trial> trials,
                       task->Suggest(static_cast<int>(event.number)));
      if (trials.size() != event.trial_ids.size()) {
        return absl::InternalError(absl::StrCat("round ", round, ": got ", trials.size(),
                                                " trials, want ", event.trial_ids.size()));
      }
      for (size_t i = 0; i < trials.size(); ++i) {
        const std::string* trace = storage->TraceOf(event.trial_ids[i]);
        if (trials[i].trial_id != event.trial_ids[i] || trace == nullptr ||
            trials[i].trace != *trace) {
          return Wrong(event.trial_ids[i], absl::StrCat("differs on replay, in round ", round));
        }
      }
    }
    RETURN_IF_ERROR(ReplayEvent(*storage, event, tasks));
    if (event.kind == StudyEventKind::kSnapshot) {
      RETURN_IF_ERROR(task->Train());
      if (task->snapshot_id() != event.snapshot_id) {
        return absl::InternalError(absl::StrCat("after round ", round, ": another model"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace burnish
