#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "db/memory/memory_record_store.h"
#include "db/memory/memory_study_store.h"
#include "proto/record.h"
#include "tests/sim/ideal_study.h"
#include "tests/sim/sim_client.h"
#include "tests/sim/sim_tuner.h"
#include "tests/sim/sim_worker.h"
#include "tests/sim/study_watch.h"
#include "tuner/measure/tracker_measurer.h"
#include "tuner/study/crashing_stores.h"
#include "tuner/study/study_checker.h"
#include "tuner/study/study_session.h"
#include "tuner/study/study_storage.h"
#include "tuner/study/synthetic_study.h"
#include "tuner/study/trial_id.h"

namespace burnish::sim {
namespace {

// As StudyRunner's loop: how late it looks up without results.
constexpr absl::Duration kLookUp = absl::Seconds(1);
constexpr int kInFlightMax = 6;
// As StudyRunner: for how long results of what is cancelled are awaited.
constexpr absl::Duration kCancelTimeout = absl::Seconds(10);
// How many writes a dying tuner still makes, at most: about two rounds.
constexpr double kLastWritesMax = 12;

class StudyTuner : public SimTuner {
 public:
  StudyTuner(const TunerWorld& world, const StudyTunerOptions& options);

  void Start() override;
  void Kill(double level) override;
  bool HasProcess() const override { return process_ != nullptr; }
  void SetDiskFull(bool full) override;
  void SetDiskSlow(bool slow) override { is_slow_ = slow; }
  void StepClock(absl::Duration by) override { clock_.StepWall(by); }
  bool IsDone() const override {
    return is_parked_ || is_cancelled_ ||
           (is_done_ && process_ != nullptr && process_->client.IsQuiet());
  }
  void CheckEnd() override;
  std::string Describe() const override {
    return absl::StrCat(
        world_.id, " has ", records_.CountTrials(world_.id)->trial_count, " of ",
        options_.trial_count, " trials", is_done_ ? ", done" : "",
        process_ == nullptr ? ", dead"
        : process_->client.IsQuiet()
            ? ""
            : absl::StrCat(", ", process_->client.state().open_count, " jobs open"));
  }

 private:
  // What dies with the process.
  struct Process {
    Process(StudyTuner* tuner, int64_t life);

    CrashPoint crash;
    CrashingRecordStore records;
    CrashingStudyStore studies;
    SimClient client;
    TrackerMeasurer inner;
    CrashingMeasurer measurer;
    StudyRunnerOptions options;
    StudySession session;
    bool has_started = false;
  };

  void In(absl::Duration delay, void (StudyTuner::*action)()) {
    world_.loop->At(delay, [this, action, life = life_] {
      if (process_ != nullptr && life == life_) (this->*action)();
    });
  }
  void StepSoon();
  void Step();
  absl::Status Cancel();
  void ScanRecords();
  void CheckIdeal();
  absl::Status TryStep();
  void End(absl::Duration pause);
  bool IsSafe(const std::string& job_id);
  // How many trials are open, and whether all of them kill whoever tries them.
  absl::StatusOr<std::pair<int64_t, bool>> CountOpen();

  const TunerWorld world_;
  const StudyTunerOptions options_;
  Rng rng_;
  SimClock clock_;
  SyntheticStudy study_;
  StudyWatch watch_;
  // The disk.
  MemoryRecordStore records_;
  MemoryStudyStore studies_;
  bool is_full_ = false;
  bool is_slow_ = false;
  int64_t life_ = 0;
  bool step_is_due_ = false;
  bool is_done_ = false;
  bool is_parked_ = false;  // Its process is gone; what is open kills whoever tries it.
  bool is_to_be_cancelled_ = false;
  bool is_cancelled_ = false;  // Its process is gone.
  int64_t scanned_row_ = 0;
  std::unique_ptr<Process> process_;
};

SyntheticStudyOptions Synthetic(const TunerWorld& world, const StudyTunerOptions& options) {
  StudySpec spec{.trials_max = options.trial_count,
                 .deterministic = options.deterministic,
                 .seed = world.seed};
  return {.task_count = options.task_count, .seed = world.seed, .spec = spec};
}

StudyTuner::StudyTuner(const TunerWorld& world, const StudyTunerOptions& options)
    : world_(world),
      options_(options),
      rng_(RngStream{.seed = world.seed, .purpose = "study tuner", .task = world.id}),
      clock_(*world.loop),
      study_(Synthetic(world, options)),
      watch_(world.verdict, {.study_id = world.id,
                             .seed = world.seed,
                             .in_flight_max = kInFlightMax,
                             .task_count = options.task_count,
                             .deterministic = options.deterministic,
                             .confirms = options.confirms}) {
  NewStudy study = study_.New();
  study.id = world_.id;
  CHECK_OK(CreateStudy(studies_, study));
  if (options.cancelled_at == absl::InfiniteDuration()) return;
  world.loop->At(options.cancelled_at, [this] { is_to_be_cancelled_ = !is_done_; });
}

StudyTuner::Process::Process(StudyTuner* tuner, int64_t life)
    : crash{.writes_left = 1 << 30},
      records(&tuner->records_, &crash),
      studies(&tuner->studies_, &crash),
      client(
          tuner->world_.loop, tuner->world_.network, tuner->world_.tracker, tuner->world_.verdict,
          {.tuner_id = tuner->world_.id,
           .node = tuner->world_.node,
           .bug = tuner->world_.bug,
           .limits = tuner->world_.limits,
           .is_safe = [tuner](const std::string& id) { return tuner->IsSafe(id); },
           .on_results = [tuner] { tuner->StepSoon(); },
           .on_job = [tuner](const JobSpec& job,
                             bool resubmission) { tuner->watch_.CheckJob(job, resubmission); },
           .on_result = [tuner](const ResultEntry& result) { tuner->watch_.NoteResult(result); }}),
      inner({.client = &client,
             .study = tuner->world_.id,
             .session = absl::StrCat(life),
             .has_thread = false}),
      measurer(&tuner->watch_, &crash),
      options(tuner->study_.Options(&records, &studies, &measurer, &tuner->clock_)),
      session(options) {
  tuner->watch_.Begin(&inner);
  options.study_id = tuner->world_.id;
  options.in_flight_max = kInFlightMax;
  options.confirm_best = tuner->options_.confirms;
  if (tuner->world_.bug != Bug::kImpossibleBelieved) return;
  options.make_tools = [make = options.make_tools](absl::Span<const StudyTaskSpec> tasks,
                                                   const Target& target, const StudySpec& spec) {
    absl::StatusOr<std::vector<TaskTools>> tools = make(tasks, target, spec);
    for (TaskTools& task : *tools) task.least = nullptr;
    return tools;
  };
}

void StudyTuner::Start() {
  if (process_ != nullptr || is_cancelled_) return;
  ++life_;
  step_is_due_ = false;
  is_done_ = is_parked_ = false;  // As far as this process knows.
  process_ = std::make_unique<Process>(this, life_);
  SetDiskFull(is_full_);
  In(absl::Milliseconds(rng_.Between(1, 500)), &StudyTuner::Step);
}

void StudyTuner::Kill(double level) {
  if (process_ == nullptr) return;
  if (level < 0.5) return End(absl::InfiniteDuration());
  // In the midst of its work: at one of the next writes.
  process_->crash.writes_left = static_cast<int64_t>((level - 0.5) * 2 * kLastWritesMax);
  process_->crash.last_applies = rng_.Below(2) == 0;
}

void StudyTuner::SetDiskFull(bool full) {
  is_full_ = full;
  if (process_ == nullptr) return;
  process_->crash.refusal =
      full ? absl::ResourceExhaustedError("no space left on device") : absl::OkStatus();
}

void StudyTuner::End(absl::Duration pause) {
  ++life_;
  process_.reset();
  if (pause == absl::InfiniteDuration()) return;  // Whoever killed it starts it again.
  world_.loop->At(pause, [this] { Start(); });
}

void StudyTuner::StepSoon() {
  if (std::exchange(step_is_due_, true)) return;
  In(absl::Milliseconds(is_slow_ ? rng_.Between(100, 5000) : rng_.Between(1, 20)),
     &StudyTuner::Step);
}

void StudyTuner::Step() {
  step_is_due_ = false;
  const absl::Status status = is_done_ ? absl::OkStatus() : TryStep();
  if (is_parked_ || is_cancelled_) return End(absl::InfiniteDuration());
  if (process_->crash.dead) return End(absl::Milliseconds(rng_.Between(100, 5000)));
  if (!status.ok()) {
    // A parked one has said how it ended.
    if (!absl::IsUnavailable(status)) process_->session.Fail(status);
    // Somebody resumes it.
    return End(absl::Milliseconds(rng_.Between(500, 3000)));
  }
  // Results of an earlier process may come after the end, and are unwanted.
  if (is_done_) process_->inner.Collect(absl::ZeroDuration());
  In(kLookUp, &StudyTuner::StepSoon);
}

absl::Status StudyTuner::TryStep() {
  StudySession& session = process_->session;
  if (!process_->has_started) {
    process_->has_started = true;
    // One that died as it said that it was done is done too.
    if (studies_.Get(world_.id)->study.state == StudyState::kDone) {
      process_->inner.AllResubmitted();
      is_done_ = true;
      return absl::OkStatus();
    }
    if (const auto reason = session.Start(); !reason.ok()) return reason.status();
  }
  while (true) {
    if (is_to_be_cancelled_) return Cancel();
    const absl::StatusOr<StopReason> reason = session.Fill();
    if (!reason.ok()) return reason.status();
    if (session.open_count() == 0) {
      const StopReason judged = session.Judge(*reason);
      const bool is_over = judged == StopReason::kTrials || judged == StopReason::kNoTaskLeft ||
                           judged == StopReason::kNothingMeasured;
      if (!is_over && judged != StopReason::kParked) {
        return absl::InternalError(absl::StrCat("it ended for ", StopReasonName(judged)));
      }
      if (const auto finished = session.Finish(judged); !finished.ok()) return finished.status();
      if (is_over) {
        is_done_ = true;
        return absl::OkStatus();
      }
      const auto open = CountOpen();
      if (!open.ok()) return open.status();
      is_parked_ = open->second;
      // Else somebody resumes it: on a farm that is well again there is a result.
      return is_parked_ ? absl::OkStatus() : absl::UnavailableError("it is parked");
    }
    const absl::StatusOr<int> count = session.Collect(absl::ZeroDuration());
    if (!count.ok()) return count.status();
    if (*count == 0) return absl::OkStatus();
    ScanRecords();
    watch_.CheckTaken(session.Progress());
  }
}

absl::Status StudyTuner::Cancel() {
  RETURN_IF_ERROR(process_->session.CancelOpen(kCancelTimeout));
  RETURN_IF_ERROR(process_->session.Finish(StopReason::kCancelled).status());
  is_cancelled_ = true;
  return absl::OkStatus();
}

void StudyTuner::ScanRecords() {
  while (true) {
    const absl::StatusOr<EntryPage> page =
        records_.ScanEntries({.study_id = world_.id, .after_row_id = scanned_row_});
    if (!page.ok() || page->entries.empty()) return;
    for (const MeasurementEntry& entry : page->entries) watch_.NoteRecord(entry);
    scanned_row_ = page->last_row_id;
  }
}

bool StudyTuner::IsSafe(const std::string& job_id) {
  // Of a process alone: the reference's builds, of which nothing is stored.
  if (job_id.rfind("ref/", 0) == 0) return true;
  // What was dropped nobody will ask for.
  if (is_to_be_cancelled_) return true;
  ScanRecords();
  return watch_.IsRecorded(job_id.substr(0, job_id.rfind('#')));
}

absl::StatusOr<std::pair<int64_t, bool>> StudyTuner::CountOpen() {
  const absl::StatusOr<std::vector<OpenJob>> jobs = studies_.OpenJobs(world_.id);
  if (!jobs.ok()) return jobs.status();
  FakeMeasurer* const nobody = nullptr;
  const StudyRunnerOptions options = study_.Options(&records_, &studies_, nobody, &clock_);
  const auto storage = StudyStorage::Open(&records_, &studies_, world_.id, options.tasks);
  if (!storage.ok()) return storage.status();
  bool all_kill = true;
  int64_t count = 0;
  for (const OpenJob& job : *jobs) {
    const std::string* trace = (*storage)->TraceOf(job.trial_id);
    if (trace == nullptr) continue;
    ++count;
    const StudyTaskSpec& task = options.tasks[job.task_index];
    const Candidate candidate = {.workload = task.workload,
                                 .target = options.target,
                                 .contract = task.contract,
                                 .trace = *trace,
                                 .codegen_epoch = options.codegen_epoch};
    // Candidate 0 has no fate: it is what the others are compared with.
    const absl::StatusOr<int64_t> number =
        ParseTrialNumber(world_.id, job.task_index, job.trial_id);
    const bool is_reference = number.ok() && *number == kReferenceNumber;
    all_kill &= !is_reference && IsKiller(world_.seed, candidate.Id());
  }
  return std::pair(count, all_kill);
}

void StudyTuner::CheckEnd() {
  Verdict& verdict = *world_.verdict;
  FakeMeasurer* const nobody = nullptr;
  StudyRunnerOptions options = study_.Options(&records_, &studies_, nobody, &clock_);
  options.study_id = world_.id;
  if (const absl::Status status = CheckStudy(options); !status.ok()) {
    verdict.Fail("a study's log and results agree",
                 absl::StrCat(world_.id, ": ", status.message()));
  }
  // What nobody gives a result of keeps its place in the budget.
  const int64_t count = records_.CountTrials(world_.id)->trial_count;
  const auto open = CountOpen();
  const int64_t open_count = open.ok() ? open->first : 0;
  const bool is_spent =
      is_cancelled_ ? open_count == 0 && count <= options_.trial_count
                    : count + open_count == options_.trial_count && (open_count == 0 || is_parked_);
  if (!is_spent) {
    verdict.Fail("a study spends its budget exactly",
                 absl::StrCat(world_.id, ": ", count, " and ", open_count, " parked of ",
                              options_.trial_count));
  }
  // What was dropped has left no trace to compare with.
  const absl::Status replayed = is_cancelled_ ? absl::OkStatus() : CheckReplay(options);
  if (!replayed.ok()) {
    verdict.Fail("a study replays", absl::StrCat(world_.id, ": ", replayed.message()));
  }
  const StudyState state = studies_.Get(world_.id)->study.state;
  if (is_cancelled_ != (state == StudyState::kCancelled)) {
    verdict.Fail("a study's state says how it ended", world_.id);
  }
  bool is_true =
      !is_cancelled_ && !watch_.has_given_up();  // Nothing but the candidates has had a say.
  int64_t row = 0;
  while (true) {
    const absl::StatusOr<EntryPage> page =
        records_.ScanEntries({.study_id = world_.id, .after_row_id = row});
    if (!page.ok() || page->entries.empty()) break;
    for (const MeasurementEntry& entry : page->entries) {
      const Failure* failure = entry.measurement.failure();
      is_true &= failure == nullptr || failure->kind == FailureKind::kWrongResult;
    }
    row = page->last_row_id;
  }
  if (is_true && options_.deterministic) CheckIdeal();
}

void StudyTuner::CheckIdeal() {
  const absl::StatusOr<StudyCourse> ideal = CourseOnIdealFarm(
      study_, {.study_id = world_.id, .seed = world_.seed, .in_flight_max = kInFlightMax});
  const absl::StatusOr<StudyCourse> mine = CourseOf(records_, studies_, world_.id);
  if (!ideal.ok() || !mine.ok() || *mine != *ideal) {
    world_.verdict->Fail("a deterministic study tries the same whatever the farm does",
                         absl::StrCat(world_.id, ": ", ideal.status().ToString()));
  }
}

}  // namespace

std::unique_ptr<SimTuner> MakeStudyTuner(const TunerWorld& world,
                                         const StudyTunerOptions& options) {
  return std::make_unique<StudyTuner>(world, options);
}

}  // namespace burnish::sim
