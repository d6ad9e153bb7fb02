#include "tests/sim/simulation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "tests/sim/event_loop.h"
#include "tests/sim/network.h"
#include "tests/sim/rogue.h"
#include "tests/sim/sim_tracker.h"
#include "tests/sim/sim_tuner.h"
#include "tests/sim/sim_worker.h"
#include "tests/sim/tracker_model.h"
#include "tests/sim/verdict.h"

namespace burnish::sim {
namespace {

// After the last fault everything has to end within this: three losses of a job that hangs until
// its time limit of 60 s (a run of tracker_measurer), as long again for what waits behind it, and
// two hundred jobs that take seconds each, one after the other.
constexpr absl::Duration kProgressBound = absl::Seconds(1000);

// Whom the seed brings together.
struct Cast {
  int worker_count = 0;
  int job_tuner_count = 0;
  int study_tuner_count = 0;
  bool one_priority = true;
  bool has_labels = false;
  TrackerOptions tracker = {};
  int64_t artifact_bytes_max = 64 << 10;
  double long_share = ExecutorWorld().long_share;
  double fault_share = 0;
  ClientLimits client = {};

  int tuner_count() const { return job_tuner_count + study_tuner_count; }
};

// Each of them so short now and then that it passes within a run.
void ChooseTimes(Rng& rng, TrackerOptions& options) {
  const auto now_and_then = [&rng](int64_t seconds, absl::Duration& time) {
    if (rng.Below(3) == 0) time = absl::Seconds(seconds);
  };
  now_and_then(6, options.lease_duration);
  now_and_then(15, options.tuner_timeout);  // Above what a call may take.
  now_and_then(5, options.orphan_timeout);
  now_and_then(4, options.waiting_max);
  now_and_then(2, options.fetch_timeout);
  now_and_then(20, options.lost_worker_memory);
  now_and_then(8, options.verdict_timeout);
  now_and_then(4, options.recovery_period);
}

// How much it takes to give a job up.
void ChooseLosses(Rng& rng, TrackerOptions& options) {
  if (rng.Below(3) == 0) options.losses_max = static_cast<int>(rng.Between(1, 2));
  if (rng.Below(4) == 0) options.refusals_max = static_cast<int>(rng.Between(1, 3));
  if (rng.Below(3) == 0) options.deaths_max = rng.Below(2) == 0 ? 1 : 3;
  if (rng.Below(4) == 0) options.interruptions_max = static_cast<int>(rng.Between(1, 4));
}

// Likewise so low that it is met.
void ChooseLimits(Rng& rng, Cast& cast) {
  TrackerOptions& options = cast.tracker;
  if (rng.Below(3) == 0) options.results_per_reply_max = static_cast<int>(rng.Between(1, 3));
  if (rng.Below(4) == 0) options.result_bytes_per_reply_max = rng.Between(20, 80);
  if (rng.Below(4) == 0) options.acknowledged_memory = static_cast<int>(rng.Between(1, 12));
  if (rng.Below(3) == 0) options.hurried_discards = static_cast<int>(rng.Between(1, 4));
  if (rng.Below(3) == 0) cast.client.batch_jobs_max = static_cast<size_t>(rng.Between(1, 4));
  if (rng.Below(4) == 0) cast.client.acknowledgements_per_call = 2;
  // Room for those in flight and their reference, which others then drive out now and then.
  if (rng.Below(3) == 0) {
    cast.artifact_bytes_max = std::max(1, cast.study_tuner_count) * rng.Between(330, 900);
  }
  // One place less than those need who mean no good.
  options.tuners_max = cast.tuner_count() + Rogue::kTunerCount - 1;
  if (rng.Below(2) == 0) options.share_tuners_min = rng.Between(1, 2);
  options.workers_max = cast.worker_count + (rng.Below(2) == 0 ? 0 : 1);
  // A study keeps the results of its builds until it has its runs'.
  if (cast.study_tuner_count > 0) return;
  if (rng.Below(3) == 0) options.results_max = rng.Between(4, 20);
  if (rng.Below(3) == 0) {
    options.held_results_max = static_cast<int>(rng.Between(1, 4));
    // Else what nobody remembers to be acknowledged keeps slots from work for a minute each.
    options.acknowledged_memory = TrackerOptions().acknowledged_memory;
  }
  // Above the largest job and result, below what all have together.
  if (rng.Below(3) == 0) options.job_bytes_max = rng.Between(800, 1600);
  if (rng.Below(3) == 0) options.result_bytes_max = rng.Between(400, 1000);
  if (rng.Below(3) == 0) cast.client.batch_bytes_max = static_cast<size_t>(rng.Between(20, 400));
  if (rng.Below(4) == 0) options.lanes_max = rng.Between(2, 8);
  // As low as the largest job and result.
  if (rng.Below(2) == 0) {
    options.share_jobs_min = rng.Between(1, 4);
    options.share_bytes_min = 800;
    options.share_lanes_min = rng.Between(1, 2);
  }
}

Cast CastOf(uint64_t seed) {
  Rng rng(RngStream{.seed = seed, .purpose = "cast"});
  Cast cast;
  cast.worker_count = static_cast<int>(rng.Between(1, 4));
  cast.job_tuner_count = static_cast<int>(rng.Between(0, 3));
  cast.study_tuner_count = static_cast<int>(rng.Between(cast.job_tuner_count == 0 ? 1 : 0, 2));
  cast.one_priority = rng.Below(3) != 0;
  cast.tracker.results_per_reply_max = 8;
  cast.tracker.queue_quantum = 4;
  // A candidate that kills whoever runs it is parked within a run's time.
  cast.tracker.interruptions_max = 8;
  cast.tracker.interruption_pause_max = absl::Seconds(4);
  // Small, so that it is full now and then, and smaller than a batch. What is done has room of its
  // own: a trial's build job stays until its run job has a result.
  cast.tracker.jobs_max = rng.Below(3) == 0 ? rng.Between(8, 56) : 1000;
  cast.has_labels = rng.Below(3) == 0;
  // What goes wrong then meets jobs that are executed.
  if (rng.Below(4) == 0) cast.long_share = 0.6;
  if (rng.Below(5) == 0) cast.fault_share = 0.01 * static_cast<double>(rng.Between(2, 15));
  ChooseTimes(rng, cast.tracker);
  ChooseLosses(rng, cast.tracker);
  ChooseLimits(rng, cast);
  return cast;
}

class Simulation {
 public:
  Simulation(uint64_t seed, const std::vector<Fault>& plan, Bug bug);
  SimulationResult Run();

 private:
  void MakeWorker(int index, Bug bug);
  void MakeTuner(int index, Bug bug);
  void Apply(const Fault& fault);
  void ApplyToNetwork(const Fault& fault);
  void ApplyToWorker(const Fault& fault, SimWorker& worker);
  void ApplyToTuner(const Fault& fault, SimTuner& tuner);
  void Flap(SimWorker& worker, absl::Time end);
  void Stutter(SimWorker& worker, absl::Time end);
  void FlapTuner(SimTuner& tuner, absl::Time end);
  void FlapTracker(absl::Time end);
  void FlapLink(int node, absl::Time end);
  // Undoes it when its time is up.
  void After(const Fault& fault, std::function<void()> undo) {
    loop_.At(fault.duration, std::move(undo));
  }
  bool IsQuiet() const;
  void CheckEnd();

  const uint64_t seed_;
  const std::vector<Fault> plan_;
  const Cast cast_;
  EventLoop loop_;
  Verdict verdict_;
  TrackerModel model_;
  Network network_;
  SimTracker tracker_;
  ExecutorWorld executors_;
  Rogue rogue_;
  Rng rng_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::vector<std::unique_ptr<SimTuner>> tuners_;
};

Simulation::Simulation(uint64_t seed, const std::vector<Fault>& plan, Bug bug)
    : seed_(seed),
      plan_(plan),
      cast_(CastOf(seed)),
      verdict_(loop_),
      model_(&verdict_, cast_.one_priority),
      network_(&loop_, seed, cast_.worker_count + cast_.tuner_count()),
      tracker_(&loop_, &verdict_, &model_, cast_.tracker, cast_.artifact_bytes_max, bug),
      executors_{.seed = seed, .long_share = cast_.long_share, .fault_share = cast_.fault_share},
      rogue_(&loop_, &tracker_, &executors_),
      rng_(RngStream{.seed = seed, .purpose = "simulation"}) {
  tracker_.Start();
  for (int i = 0; i < cast_.worker_count; ++i) MakeWorker(i, bug);
  for (int i = 0; i < cast_.tuner_count(); ++i) MakeTuner(i, bug);
  for (const Fault& fault : plan_) {
    loop_.At(fault.at, [this, fault] { Apply(fault); });
  }
}

void Simulation::MakeWorker(int index, Bug bug) {
  SimWorker::Options options{.id = absl::StrCat("worker", index), .node = index, .bug = bug};
  if (rng_.Below(2) == 0) options.calibration = {.machine = options.id, .threads = index + 1};
  // The first one can do everything, so that every job can be done.
  if (index == 0 || rng_.Below(2) == 0) options.slots.push_back({.kind = JobKind::kBuild});
  if (index == 0 || options.slots.empty() || rng_.Below(2) == 0) {
    options.slots.push_back({.kind = JobKind::kRun});
  }
  if (cast_.has_labels) {
    for (SlotInfo& slot : options.slots) {
      if (index == 0 || rng_.Below(2) == 0) slot.labels["isa"] = "wide";
      if (index == 0 || rng_.Below(2) == 0) slot.labels["memory"] = "much";
      if (index > 0 && rng_.Below(4) == 0) slot.labels["isa"] = "narrow";
      // The first one's are empty: any.
      if (index > 0 && slot.kind == JobKind::kRun) slot.device_keys.push_back("cpu");
      if (index > 0 && rng_.Below(4) == 0) slot.device_keys = {"abacus", "gpu"};
    }
  }
  auto worker =
      std::make_unique<SimWorker>(&loop_, &network_, &tracker_, &verdict_, &executors_, options);
  worker->Start();
  workers_.push_back(std::move(worker));
}

void Simulation::MakeTuner(int index, Bug bug) {
  const TunerWorld world{.loop = &loop_,
                         .network = &network_,
                         .tracker = &tracker_,
                         .verdict = &verdict_,
                         .seed = seed_ * 8 + index,
                         .id = absl::StrCat("tuner", index),
                         .node = cast_.worker_count + index,
                         .bug = bug,
                         .limits = cast_.client};
  std::unique_ptr<SimTuner> tuner;
  if (index < cast_.job_tuner_count) {
    tuner = MakeJobTuner(world, {.job_count = static_cast<int>(rng_.Between(5, 50)),
                                 .one_priority = cast_.one_priority,
                                 .has_killers = seed_ % 4 == 1,
                                 .cancels = rng_.Below(2) == 0,
                                 .has_labels = cast_.has_labels,
                                 .has_studies = rng_.Below(2) == 0,
                                 .worker_count = rng_.Below(3) == 0 ? cast_.worker_count : 0,
                                 .batch_size_max = rng_.Below(4) == 0 ? 50 : 7});
  } else {
    TunerWorld same_truth = world;
    same_truth.seed = seed_;
    tuner = MakeStudyTuner(
        same_truth, {.trial_count = static_cast<int>(rng_.Between(4, 16)),
                     .task_count = static_cast<int>(rng_.Between(1, 2)),
                     .deterministic = rng_.Below(3) == 0,
                     .confirms = rng_.Below(2) == 0,
                     .cancelled_at = rng_.Below(8) == 0 ? absl::Milliseconds(rng_.Between(1, 9000))
                                                        : absl::InfiniteDuration()});
  }
  tuner->Start();
  tuners_.push_back(std::move(tuner));
}

void Simulation::Apply(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kKillTracker:
      tracker_.Kill();
      return After(fault, [this] { tracker_.Start(); });
    case FaultKind::kFlappingTracker:
      return FlapTracker(loop_.now() + fault.duration);
    case FaultKind::kFlappingLink:
      for (int node = 0; node < cast_.worker_count; ++node) {
        if (fault.node != node && fault.node != kEverybody) continue;
        FlapLink(node, loop_.now() + fault.duration);
      }
      return;
    case FaultKind::kForgetArtifacts:
      return tracker_.ForgetArtifacts();
    case FaultKind::kHastyTracker:
      tracker_.set_hasty(true);
      return After(fault, [this] { tracker_.set_hasty(false); });
    case FaultKind::kRogueWorker:
      return rogue_.ActAsWorkerUntil(loop_.now() + fault.duration);
    case FaultKind::kRogueTuner:
      return rogue_.ActAsTunerUntil(loop_.now() + fault.duration);
    case FaultKind::kPartition:
    case FaultKind::kPartitionToNode:
    case FaultKind::kPartitionFrom:
    case FaultKind::kLoss:
    case FaultKind::kRepeat:
    case FaultKind::kDelay:
      return ApplyToNetwork(fault);
    case FaultKind::kKillTuner:
    case FaultKind::kFlappingTuner:
    case FaultKind::kDiskFull:
    case FaultKind::kDiskSlow:
    case FaultKind::kClockStep:
      return ApplyToTuner(fault, *tuners_[fault.node]);
    default:
      return ApplyToWorker(fault, *workers_[fault.node]);
  }
}

void Simulation::ApplyToNetwork(const Fault& fault) {
  const int to_node =
      fault.kind == FaultKind::kPartition || fault.kind == FaultKind::kPartitionToNode;
  const int from_node =
      fault.kind == FaultKind::kPartition || fault.kind == FaultKind::kPartitionFrom;
  const double loss = fault.kind == FaultKind::kLoss ? fault.level * 0.5 : 0;
  const double repeat = fault.kind == FaultKind::kRepeat ? fault.level : 0;
  const double delay = fault.kind == FaultKind::kDelay ? fault.level : 0;
  const auto add = [this, fault, to_node, from_node, loss, repeat, delay](int sign) {
    for (int node = 0; node < cast_.worker_count + cast_.tuner_count(); ++node) {
      if (fault.node != node && fault.node != kEverybody) continue;
      LinkState& link = network_.link(node);
      link.cut_to_node += sign * to_node;
      link.cut_from_node += sign * from_node;
      link.loss += sign * loss;
      link.repeat += sign * repeat;
      link.delay += sign * delay;
    }
  };
  add(1);
  After(fault, [add] { add(-1); });
}

void Simulation::ApplyToWorker(const Fault& fault, SimWorker& worker) {
  const std::string id = absl::StrCat("worker", fault.node);
  switch (fault.kind) {
    case FaultKind::kKillWorker:
      worker.Kill(/*breaks_calls=*/fault.level < 0.5);
      return After(fault, [&worker] { worker.StartIfDead(); });
    case FaultKind::kTwinWorker:
      if (fault.level > 0.5) worker.Start();
      return worker.Start();
    case FaultKind::kWaitingWorker:
      worker.set_waiting(true);
      return After(fault, [&worker] { worker.set_waiting(false); });
    case FaultKind::kStopWorker:
      return fault.level > 0.5 ? Stutter(worker, loop_.now() + fault.duration)
                               : worker.Stop(fault.duration);
    case FaultKind::kLeave:
      worker.Leave();
      return After(fault, [&worker] {
        worker.Kill(/*breaks_calls=*/true);
        worker.Start();
      });
    case FaultKind::kDrain:
      tracker_.Drain(id, /*undo=*/false);
      return After(fault, [this, id] { tracker_.Drain(id, /*undo=*/true); });
    case FaultKind::kSickWorker:
      worker.set_sick(fault.level);
      return After(fault, [&worker] { worker.set_sick(0); });
    case FaultKind::kSlowWorker:
      worker.set_slow(true);
      return After(fault, [&worker] { worker.set_slow(false); });
    case FaultKind::kFlappingWorker:
      return Flap(worker, loop_.now() + fault.duration);
    case FaultKind::kLyingWorker:
      worker.set_lying(fault.level);
      return After(fault, [&worker] { worker.set_lying(0); });
    case FaultKind::kHangingWorker:
      worker.set_hanging(true);
      return After(fault, [&worker] { worker.set_hanging(false); });
    default:
      return;
  }
}

void Simulation::Flap(SimWorker& worker, absl::Time end) {
  worker.Kill(/*breaks_calls=*/rng_.Below(2) == 0);
  loop_.At(absl::Milliseconds(rng_.Between(10, 500)), [this, &worker, end] {
    worker.StartIfDead();
    if (loop_.now() >= end) return;
    loop_.At(absl::Milliseconds(rng_.Between(100, 1500)), [this, &worker, end] {
      if (loop_.now() < end) Flap(worker, end);
    });
  });
}

void Simulation::Stutter(SimWorker& worker, absl::Time end) {
  // Longer than it takes to be called silent, as often as not.
  const absl::Duration stop = absl::Milliseconds(rng_.Between(100, 5000));
  worker.Stop(std::min(stop, end - loop_.now()));
  loop_.At(stop + absl::Milliseconds(rng_.Between(1, 500)), [this, &worker, end] {
    if (loop_.now() < end) Stutter(worker, end);
  });
}

void Simulation::FlapTuner(SimTuner& tuner, absl::Time end) {
  tuner.Kill(rng_.Uniform());
  loop_.At(absl::Milliseconds(rng_.Between(1, 300)), [this, &tuner, end] {
    tuner.Start();
    loop_.At(absl::Milliseconds(rng_.Between(100, 2500)), [this, &tuner, end] {
      if (loop_.now() < end) FlapTuner(tuner, end);
    });
  });
}

// Each life long enough for some calls, and some of them short.
void Simulation::FlapTracker(absl::Time end) {
  tracker_.Kill();
  loop_.At(absl::Milliseconds(rng_.Between(1, 300)), [this, end] {
    tracker_.Start();
    loop_.At(absl::Milliseconds(rng_.Between(50, 2500)), [this, end] {
      if (loop_.now() < end) FlapTracker(end);
    });
  });
}

void Simulation::FlapLink(int node, absl::Time end) {
  LinkState& link = network_.link(node);
  ++link.cut_to_node;
  ++link.cut_from_node;
  workers_[node]->BreakCalls();
  loop_.At(absl::Milliseconds(rng_.Between(1, 1500)), [this, node, end, &link] {
    --link.cut_to_node;
    --link.cut_from_node;
    loop_.At(absl::Milliseconds(rng_.Between(50, 2000)), [this, node, end] {
      if (loop_.now() < end) FlapLink(node, end);
    });
  });
}

void Simulation::ApplyToTuner(const Fault& fault, SimTuner& tuner) {
  switch (fault.kind) {
    case FaultKind::kKillTuner:
      tuner.Kill(fault.level);
      return After(fault, [&tuner] { tuner.Start(); });
    case FaultKind::kFlappingTuner:
      return FlapTuner(tuner, loop_.now() + fault.duration);
    case FaultKind::kDiskFull:
      tuner.SetDiskFull(true);
      return After(fault, [&tuner] { tuner.SetDiskFull(false); });
    case FaultKind::kDiskSlow:
      tuner.SetDiskSlow(true);
      return After(fault, [&tuner] { tuner.SetDiskSlow(false); });
    default:
      return tuner.StepClock(fault.duration);
  }
}

bool Simulation::IsQuiet() const {
  for (const auto& tuner : tuners_) {
    if (!tuner->IsDone()) return false;
  }
  for (const auto& worker : workers_) {
    if (!worker->IsEmpty()) return false;
  }
  return tracker_.IsEmpty();
}

void Simulation::CheckEnd() {
  for (const auto& tuner : tuners_) tuner->CheckEnd();
}

SimulationResult Simulation::Run() {
  absl::Time faults_end = EventLoop::kStart;
  for (const Fault& fault : plan_) {
    const absl::Duration lasts = std::max(fault.duration, absl::ZeroDuration());
    const bool is_step = fault.kind == FaultKind::kClockStep;
    faults_end = std::max(faults_end,
                          EventLoop::kStart + fault.at + (is_step ? absl::ZeroDuration() : lasts));
  }
  int64_t count = 0;
  while (verdict_.ok() && loop_.RunNext()) {
    ++count;
    if (loop_.now() < faults_end || count % 16 != 0) continue;
    if (IsQuiet()) {
      CheckEnd();
      break;
    }
    if (loop_.now() < faults_end + kProgressBound) continue;
    std::string left = tracker_.Describe();
    for (const auto& tuner : tuners_) absl::StrAppend(&left, "; ", tuner->Describe());
    for (const auto& worker : workers_) absl::StrAppend(&left, "; ", worker->Describe());
    verdict_.Fail("without faults all work ends", left);
  }
  uint64_t digest = static_cast<uint64_t>(absl::ToUnixNanos(loop_.now()));
  digest = digest * 31 + static_cast<uint64_t>(count);
  digest = digest * 31 + static_cast<uint64_t>(executors_.execution_count);
  return {.promise = verdict_.promise(),
          .detail = verdict_.detail(),
          .event_count = count,
          .grant_count = model_.grant_count(),
          .digest = digest};
}

}  // namespace

std::vector<Fault> PlanOf(uint64_t seed) {
  const Cast cast = CastOf(seed);
  return MakePlan(seed, {.worker_count = cast.worker_count, .tuner_count = cast.tuner_count()});
}

SimulationResult Simulate(uint64_t seed, const std::vector<Fault>& plan, Bug bug) {
  return Simulation(seed, plan, bug).Run();
}

std::vector<Fault> Minimise(uint64_t seed, const std::vector<Fault>& plan, Bug bug,
                            const std::string& promise) {
  std::vector<Fault> left = plan;
  size_t chunk = std::max<size_t>(1, left.size() / 2);
  while (!left.empty()) {
    bool any = false;
    for (size_t begin = 0; begin < left.size();) {
      std::vector<Fault> fewer(left.begin(), left.begin() + begin);
      const size_t end = std::min(left.size(), begin + chunk);
      fewer.insert(fewer.end(), left.begin() + end, left.end());
      if (Simulate(seed, fewer, bug).promise == promise) {
        left = std::move(fewer);
        any = true;
      } else {
        begin = end;
      }
    }
    if (chunk == 1 && !any) break;
    chunk = std::max<size_t>(1, chunk / 2);
  }
  return left;
}

std::string Explain(uint64_t seed, Bug bug, const SimulationResult& result) {
  const std::vector<Fault> plan = PlanOf(seed);
  const std::vector<Fault> few = Minimise(seed, plan, bug, result.promise);
  const SimulationResult again = Simulate(seed, few, bug);
  std::string text =
      absl::StrCat("seed ", seed, ": broken promise: ", result.promise, "\n  ", result.detail,
                   "\n  with ", few.size(), " of ", plan.size(), " faults:\n");
  for (const Fault& fault : few) absl::StrAppend(&text, "    ", fault.Text(), "\n");
  if (again.detail != result.detail) absl::StrAppend(&text, "  then: ", again.detail, "\n");
  return text;
}

}  // namespace burnish::sim
