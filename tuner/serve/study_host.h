// The daemon's studies: several at once, each in a process of its own (study_process.h), against
// one farm and one database. Whatever a study does to its process, the others go on; one whose
// processes have crashed twice is parked. No network here; tuner_service.h is that.
#ifndef TUNER_SERVE_STUDY_HOST_H_
#define TUNER_SERVE_STUDY_HOST_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/event_log.h"
#include "db/open.h"
#include "proto/study.h"
#include "tuner/app/machine_row.h"
#include "tuner/serve/study_process.h"
#include "tuner/study/study_types.h"

namespace burnish {

struct StudyHostOptions {
  const Database* database = nullptr;  // Not null, outlives the host.
  const Clock* clock = nullptr;        // Not null, outlives the host.
  std::string tracker = {};            // Address.
  StudyProgram program = {};           // Of the studies' processes.
  MachineRowOptions row = {};          // Which calibration row new studies get.
  std::string models_folder = {};      // Of model files that were sent; made when one comes.
  int running_max = 4;                 // Others wait in line, oldest first.
};

// How a study that this host runs, or ran, stands.
struct StudyNews {
  int64_t version = 0;  // Grows with every change; 0: the host knows nothing of the study.
  std::optional<StudyProgress> progress;
  bool ended = false;
  StopReason reason = StopReason::kNone;  // Of the end.
  absl::Status error;                     // Why it ended before it was done; OK: it is done.
};

// Thread-safe.
class StudyHost {
 public:
  explicit StudyHost(const StudyHostOptions& options);
  // As Stop.
  ~StudyHost();

  // Takes up the studies that an earlier daemon was asked for and did not end. Errors: B05xx.
  absl::Status TakeUp();

  // Bytes of the spec's model file, which from now on is where the spec says. Errors: B0604: not
  // those of the spec's hash; B0204: the file cannot be kept.
  absl::Status KeepModel(StudySpec& spec, absl::string_view model) const;
  // The study is durable when this returns its id. Prepares beside others, and waits where too many
  // do. Errors: of the model and the spec (B01xx, B03xx), B05xx, B0901.
  absl::StatusOr<std::string> Submit(StudySpec spec);
  // `id`: whole. One that runs or waits is left as it is. Errors: B0601, B0602 it is done, B0606
  // another process runs it, B05xx.
  absl::Status Resume(const std::string& id);

  // A line of the log about the study; `kind`: as of EventLog::Add.
  void Say(absl::string_view kind, const std::string& id, absl::string_view text);

  // Waits until the study's version is not `seen`, or the timeout.
  StudyNews Wait(const std::string& id, int64_t seen, absl::Duration timeout);

  // Ends all runs with their studies resumable, and to be taken up by the next daemon.
  void Stop();

 private:
  static constexpr int kPreparingMax = 4;

  struct Run {
    std::shared_ptr<StudyProcess> process;  // While it runs.
    std::thread thread;
    StudyNews news;
  };

  void Enqueue(const std::string& id);  // With the lock held.
  void StartWaiting();                  // With the lock held.
  void RunStudy(const std::string& id);
  absl::StatusOr<StudyProcessEnd> RunInProcess(const std::string& id);
  // Stores what became of the study, where its process has not. True: it is to be tried again.
  bool Settle(const std::string& id, StudyProcessEnd& end);
  bool SettleCrash(const std::string& id, StudyProcessEnd& end);
  // Tried until it is written or the host stops (state_writer.h); without the lock held.
  void SetState(const std::string& id, StudyState state, absl::string_view detail);
  bool WaitOrStop(absl::Duration time);
  void NoteProgress(const std::string& id, const StudyProgress& progress);
  void End(const std::string& id, const StudyProcessEnd& end);
  void Forget();  // Old ends, with the lock held.

  const StudyHostOptions options_;
  EventLog log_;
  // Places for those that prepare, each in a process of its own: a model's graph is large, but one
  // that takes long is not to hold up all others. New studies and runs apart, since a run of which
  // nobody waits for the answer may take minutes.
  std::counting_semaphore<> creating_{kPreparingMax};
  std::counting_semaphore<> starting_{kPreparingMax};
  std::mutex mutex_;  // For all below.
  std::condition_variable changed_;
  std::map<std::string, Run> runs_;  // By study id; with the last of those that have ended.
  std::deque<std::string> waiting_;
  std::deque<std::string> ended_;  // Oldest first.
  int running_count_ = 0;
  bool stopping_ = false;
};

}  // namespace burnish

#endif  // TUNER_SERVE_STUDY_HOST_H_
