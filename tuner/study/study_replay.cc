#include "tuner/study/study_replay.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/study/trial_id.h"

namespace burnish {

absl::Status ReplayEvent(const StudyStorage& storage, const StudyEvent& event,
                         absl::Span<const std::unique_ptr<TaskSearch>> tasks) {
  switch (event.kind) {
    case StudyEventKind::kSession:
    case StudyEventKind::kHistory:
    // A snapshot is no state of its own: the model is what it was taught, and the caller teaches it
    // again where the events stand.
    case StudyEventKind::kSnapshot:
    // The searches know what they were told; only the study counts otherwise.
    case StudyEventKind::kLifted:
    case StudyEventKind::kParked:
    case StudyEventKind::kPaused:
      return absl::OkStatus();
    case StudyEventKind::kRound: {
      std::vector<Trial> trials;
      for (const std::string& id : event.trial_ids) {
        // Each is begun first, also where its result follows: kUpdate tells pending trials only.
        // A trial that was dropped later has left no trace; its number is taken all the same.
        const std::string* trace = storage.TraceOf(id);
        ASSIGN_OR_RETURN(const int64_t number,
                         ParseTrialNumber(storage.study_id(), event.task_index, id));
        trials.push_back({id, number, trace == nullptr ? "" : *trace});
      }
      tasks[event.task_index]->Begin(trials);
      return absl::OkStatus();
    }
    case StudyEventKind::kUpdate: {
      std::vector<TrialResult> results;
      for (const std::string& id : event.trial_ids) {
        const auto stored = storage.results().find(id);
        // Results are written before their update. An update without its result is no crash of this
        // program but a database that lost rows: to go on would repeat a search that never was.
        if (stored == storage.results().end()) {
          return absl::DataLossError(
              absl::StrCat("the log names trial ", id, ", of which there is no result"));
        }
        results.push_back(stored->second.result);
      }
      return tasks[event.task_index]->Tell(results);
    }
    case StudyEventKind::kDropped:
      // At its place in the order: Suggest depends on what was pending then.
      tasks[event.task_index]->Drop(event.trial_ids);
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace burnish
