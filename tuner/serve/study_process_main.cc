#include "tuner/serve/study_process_main.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "base/stop_signals.h"
#include "proto/study_process.pb.h"
#include "tuner/app/compile_cache.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/new_study.h"
#include "tuner/app/study_run.h"
#include "tuner/app/study_view.h"
#include "tuner/app/tuning.h"
#include "tuner/serve/tuner_messages.h"

namespace burnish {
namespace {

constexpr size_t kOrderBytesMax = 64 << 20;  // A specification; a model's bytes are in a file.

// Its thread has SIGTERM and SIGINT, all others do not.
class Interrupts {
 public:
  Interrupts() : thread_([this] { Watch(); }) {}
  ~Interrupts() {
    stop_ = true;
    thread_.join();
  }

  // Null: nothing is to be interrupted any more.
  void Attach(StudyRun* run) {
    const std::lock_guard<std::mutex> lock(mutex_);
    run_ = run;
    if (interrupted_ && run_ != nullptr) run_->Interrupt();
  }

 private:
  void Watch() {
    // So that the end of the process need not send itself a signal.
    constexpr absl::Duration kPoll = absl::Milliseconds(100);
    while (!stop_) {
      if (signals_.Wait(kPoll) == 0) continue;
      const std::lock_guard<std::mutex> lock(mutex_);
      interrupted_ = true;
      if (run_ != nullptr) run_->Interrupt();
    }
  }

  const StopSignals signals_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  bool interrupted_ = false;  // Guarded by mutex_, as run_.
  StudyRun* run_ = nullptr;
  std::thread thread_;
};

void Say(const v1::StudyReport& report) {
  // Nobody reads any more: then nobody waits for this process, and it is killed.
  WriteFrame(STDOUT_FILENO, report.SerializeAsString()).IgnoreError();
}

void SayEnd(StopReason reason, const absl::Status& error) {
  v1::StudyReport report;
  *report.mutable_end() = ToProto(StudyEnding{.reason = reason, .error = error});
  Say(report);
}

absl::StatusOr<std::string> Create(const Database& database, const v1::NewStudyOrder& order,
                                   const StudyProcessHooks& hooks) {
  ASSIGN_OR_RETURN(const StudySpec spec, FromProto(order.spec()));
  if (hooks.before_preparing != nullptr) hooks.before_preparing(spec);
  ASSIGN_OR_RETURN(const Tuning tuning, PrepareTuning(spec));
  return StoreNewStudy(database, Clock::Real(), tuning, order.title());
}

absl::StatusOr<Tuning> Prepare(const Database& database, const std::string& id,
                               const StudyProcessHooks& hooks) {
  const absl::StatusOr<StudySummary> summary = database.studies->Get(id);
  RETURN_IF_ERROR(DatabaseError(summary.status(), database.url));
  ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(summary->study));
  if (hooks.before_preparing != nullptr) hooks.before_preparing(spec);
  ASSIGN_OR_RETURN(Tuning tuning, PrepareTuning(spec));
  tuning.graph = {};  // The weights: a run needs the tasks alone.
  return tuning;
}

absl::StatusOr<StudyResult> Run(const Database& database, const v1::RunStudyOrder& order,
                                const StudyProcessHooks& hooks, Interrupts& interrupts) {
  ASSIGN_OR_RETURN(const Tuning tuning, Prepare(database, order.study_id(), hooks));
  v1::StudyReport prepared;
  prepared.set_prepared(true);
  Say(prepared);
  if (hooks.before_running != nullptr) hooks.before_running(tuning.spec);
  const CompileCache cache(order.cache());
  StudyRun run({.study_id = order.study_id(),
                .tuning = &tuning,
                .database = &database,
                .clock = &Clock::Real(),
                .tracker = order.tracker(),
                .cache = &cache,
                .on_progress =
                    [](const StudyProgress& progress) {
                      v1::StudyReport report;
                      *report.mutable_progress() = ToProto(progress);
                      Say(report);
                    },
                // A daemon outlives its farm's absences.
                .patience = absl::InfiniteDuration()});
  interrupts.Attach(&run);
  absl::StatusOr<StudyResult> result = run.Run();
  interrupts.Attach(nullptr);
  return result;
}

absl::Status Obey(const v1::StudyOrder& order, const StudyProcessHooks& hooks,
                  Interrupts& interrupts) {
  ASSIGN_OR_RETURN(const Database database,
                   OpenUserDatabase(order.database(), DatabaseAccess::kChange));
  if (order.has_create()) {
    v1::StudyReport report;
    ASSIGN_OR_RETURN(*report.mutable_created(), Create(database, order.create(), hooks));
    Say(report);
    return absl::OkStatus();
  }
  const std::string& id = order.run().study_id();
  ASSIGN_OR_RETURN(const StudyResult result, Run(database, order.run(), hooks, interrupts));
  v1::StudyReport report;
  *report.mutable_progress() = ToProto(result.progress);
  Say(report);
  SayEnd(result.reason, StopError(result, id));
  return absl::OkStatus();
}

}  // namespace

int StudyProcessMain(const StudyProcessHooks& hooks) {
  Interrupts interrupts;
  const absl::StatusOr<std::optional<std::string>> bytes = ReadFrame(STDIN_FILENO, kOrderBytesMax);
  v1::StudyOrder order;
  if (!bytes.ok() || !bytes->has_value() || !order.ParseFromString(**bytes)) {
    LogError("got no order; this program is started by `tuner serve`");
    return 64;  // EX_USAGE
  }
  const absl::Status status = Obey(order, hooks, interrupts);
  if (!status.ok()) SayEnd(StopReason::kNone, status);
  return 0;
}

}  // namespace burnish
