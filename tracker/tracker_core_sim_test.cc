// The real cores of tracker, worker agent and tuner client over a simulated network and clock, in
// one thread and from one seed: messages are delayed, reordered, lost and repeated; workers, tuners
// and the tracker are killed and started again; workers report faults; jobs kill workers. Whatever
// happens, each job's result is recorded exactly once, and in the end nothing is left anywhere.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tracker/client_core.h"
#include "tracker/retry_after.h"
#include "tracker/tracker_core.h"
#include "worker/agent/agent_core.h"

namespace burnish {
namespace {

constexpr absl::Duration kHang = absl::Seconds(5);
constexpr absl::Duration kCallTimeout = absl::Seconds(8);
constexpr absl::Duration kFaultsEnd = absl::Seconds(90);
constexpr absl::Duration kGiveUp = absl::Seconds(900);

struct Faults {
  double drop = 0;          // Of each message.
  double repeat = 0;        // Of each request.
  double worker_fault = 0;  // Of each execution.
  bool kills = false;       // Of workers, tuners and the tracker.
  bool killer_jobs = false;
  bool cancels = false;
};

class Simulation {
 public:
  Simulation(uint64_t seed, const Faults& faults);

  // Runs until all is quiet. Returns what went wrong; empty: nothing.
  std::string Run();

 private:
  struct Slot {
    std::optional<JobSpec> job;
    int64_t execution = 0;  // Which one: an old one's end is ignored.
  };
  struct Worker {
    std::string id;
    std::vector<SlotInfo> infos;
    int64_t boot = 0;
    std::unique_ptr<AgentCore> agent;
    std::vector<Slot> slots;
    int64_t call = 0;  // The latest; only its answer counts for going on.
    absl::Time closed_at = absl::InfiniteFuture();  // Dead, and the tracker knows since.
  };
  struct Tuner {
    std::string id;
    int64_t life = 0;
    std::unique_ptr<ClientCore> client;
    std::map<std::string, JobSpec> jobs;  // Its whole budget.
    std::set<std::string> submitted;      // Handed to a client, in any life.
    std::set<std::string> recorded;
    int64_t call = 0;
    bool submitting = false;
  };
  struct HangingWorker {
    int64_t sequence = 0;
    std::function<void(std::optional<WorkerOrders>)> reply;
  };
  struct HangingTuner {
    CollectRequest request;
    std::function<void(const Collected&)> reply;
    int64_t number = 0;
  };
  struct Event {
    absl::Time at;
    int64_t number = 0;
    std::function<void()> action;
    bool operator>(const Event& other) const {
      return std::tie(at, number) > std::tie(other.at, other.number);
    }
  };

  void At(absl::Duration delay, std::function<void()> action) {
    events_.push({now_ + delay, ++event_count_, std::move(action)});
  }
  bool FaultTime() const { return now_ < absl::UnixEpoch() + kFaultsEnd; }
  bool Chance(double probability) { return rng_.Uniform() < probability; }
  absl::Duration Milliseconds(int64_t low, int64_t high) {
    return absl::Milliseconds(rng_.Between(low, high));
  }
  // Delivers, late, perhaps twice, perhaps never.
  void Send(std::function<void()> deliver, bool may_repeat);

  void MakeWorker(int index);
  void MakeTuner(int index);
  void StartTracker();
  void StartWorker(Worker& worker);
  void StartTuner(Tuner& tuner);
  void Kill();

  void BreakCall(Worker& worker, int64_t boot);
  void CallSynchronize(Worker& worker);
  void TakeOrders(Worker& worker, const WorkerOrders& orders);
  void BeginExecution(Worker& worker, int slot_index, const JobSpec& job);
  void EndExecution(Worker& worker, int slot_index);

  void SubmitMore(Tuner& tuner);
  void CallSubmit(Tuner& tuner);
  void CallCollect(Tuner& tuner);
  void Record(Tuner& tuner, const std::vector<ResultEntry>& results);
  void CheckOutcome(const JobSpec& job, const JobOutcome& outcome);

  void ServeSynchronize(const WorkerReport& report,
                        std::function<void(std::optional<WorkerOrders>)> reply);
  void ServeCollect(const CollectRequest& request, std::function<void(const Collected&)> reply);
  void AfterTracker();
  void CheckTracker();
  bool IsQuiet();
  void Fail(const std::string& what) {
    if (error_.empty()) error_ = absl::StrCat(what, " at ", absl::FormatTime(now_));
  }

  Rng rng_;
  const Faults faults_;
  absl::Time now_ = absl::UnixEpoch();
  int64_t event_count_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::unique_ptr<TrackerCore> tracker_;  // Null: down.
  int64_t tracker_life_ = 0;
  absl::Time next_tick_ = absl::InfiniteFuture();
  std::map<std::string, HangingWorker> hanging_workers_;
  std::map<std::string, HangingTuner> hanging_tuners_;
  int64_t hang_count_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Tuner>> tuners_;
  std::string error_;
};

Simulation::Simulation(uint64_t seed, const Faults& faults) : rng_(seed), faults_(faults) {
  StartTracker();
  const int worker_count = static_cast<int>(rng_.Between(2, 5));
  for (int i = 0; i < worker_count; ++i) MakeWorker(i);
  const int tuner_count = static_cast<int>(rng_.Between(1, 3));
  for (int i = 0; i < tuner_count; ++i) MakeTuner(i);
  if (faults_.kills) At(Milliseconds(500, 5000), [this] { Kill(); });
}

void Simulation::MakeWorker(int index) {
  auto worker = std::make_unique<Worker>();
  worker->id = absl::StrCat("worker", index);
  // The first one can do everything, so that every job can be done.
  if (index == 0 || Chance(0.5)) worker->infos.push_back({.kind = JobKind::kBuild});
  if (index == 0 || worker->infos.empty() || Chance(0.5)) {
    worker->infos.push_back({.kind = JobKind::kRun, .device_keys = {"cpu"}});
  }
  StartWorker(*worker);
  workers_.push_back(std::move(worker));
}

void Simulation::MakeTuner(int index) {
  auto tuner = std::make_unique<Tuner>();
  tuner->id = absl::StrCat("tuner", index);
  const int job_count = static_cast<int>(rng_.Between(5, 40));
  for (int i = 0; i < job_count; ++i) {
    const bool is_killer = faults_.killer_jobs && Chance(0.05);
    const std::string id = absl::StrCat(tuner->id, "/", is_killer ? "killer" : "job", i);
    const bool is_build = Chance(0.5);
    tuner->jobs[id] = {.id = id,
                       .kind = is_build ? JobKind::kBuild : JobKind::kRun,
                       .device_key = is_build ? "" : "cpu",
                       .study = tuner->id,
                       .priority = static_cast<int32_t>(rng_.Between(0, 1)),
                       .cost = static_cast<int32_t>(rng_.Between(1, 4)),
                       .timeout = Chance(0.2) ? absl::Seconds(5) : absl::ZeroDuration(),
                       .payload = absl::StrCat("payload of ", id)};
  }
  StartTuner(*tuner);
  tuners_.push_back(std::move(tuner));
}

void Simulation::Send(std::function<void()> deliver, bool may_repeat) {
  if (FaultTime() && Chance(faults_.drop)) return;
  const bool twice = may_repeat && FaultTime() && Chance(faults_.repeat);
  const auto delay = [this] { return Chance(0.05) ? Milliseconds(10, 3000) : Milliseconds(0, 20); };
  if (twice) At(delay(), deliver);
  At(delay(), std::move(deliver));
}

void Simulation::StartTracker() {
  ++tracker_life_;
  tracker_ = std::make_unique<TrackerCore>(
      // Copies are in tests/sim: this model knows of one lease a job.
      TrackerOptions{.copy_silence = absl::InfiniteDuration(),
                     .interruption_pause_max = absl::Seconds(5),
                     .jobs_max = 60,
                     .results_per_reply_max = 8,
                     .queue_quantum = 4,
                     .first_epoch = rng_.Between(1, int64_t{1} << 60)},
      now_);
  next_tick_ = absl::InfiniteFuture();
}

void Simulation::StartWorker(Worker& worker) {
  ++worker.boot;
  worker.agent = std::make_unique<AgentCore>(
      // In no order: nothing may depend on which is higher.
      AgentIdentity{
          .worker_id = worker.id, .host = "host", .incarnation = rng_.Between(1, 1 << 30)},
      worker.infos);
  worker.closed_at = absl::InfiniteFuture();
  worker.slots.assign(worker.infos.size(), Slot());
  At(Milliseconds(0, 100), [this, &worker, boot = worker.boot] {
    if (worker.boot == boot) CallSynchronize(worker);
  });
}

void Simulation::StartTuner(Tuner& tuner) {
  ++tuner.life;
  tuner.client = std::make_unique<ClientCore>(tuner.id);
  tuner.submitting = false;
  std::vector<JobSpec> again;
  for (const std::string& id : tuner.submitted) {
    if (!tuner.recorded.contains(id)) again.push_back(tuner.jobs.at(id));
  }
  // It may collect before it has said what it still waits for.
  At(Milliseconds(0, 100), [this, &tuner, life = tuner.life] {
    if (tuner.life == life) CallCollect(tuner);
  });
  At(Milliseconds(0, 3000), [this, &tuner, again, life = tuner.life] {
    if (tuner.life != life) return;
    Record(tuner, tuner.client->Add(again, /*resubmission=*/true));
    tuner.client->AllResubmitted();
    SubmitMore(tuner);
  });
}

void Simulation::Kill() {
  if (!FaultTime()) return;
  At(Milliseconds(500, 20000), [this] { Kill(); });
  const double choice = rng_.Uniform();
  if (choice < 0.3) {
    if (tracker_ == nullptr) return;
    tracker_.reset();
    for (const auto& worker : workers_) worker->closed_at = absl::InfiniteFuture();
    hanging_workers_.clear();
    hanging_tuners_.clear();
    At(Milliseconds(0, 3000), [this] { StartTracker(); });
  } else if (choice < 0.75) {
    Worker& worker = *workers_[rng_.Below(workers_.size())];
    ++worker.boot;  // Whatever was under way for it is void.
    BreakCall(worker, worker.boot);
    At(Milliseconds(0, 20000), [this, &worker, boot = worker.boot] {
      if (worker.boot == boot) StartWorker(worker);
    });
  } else {
    Tuner& tuner = *tuners_[rng_.Below(tuners_.size())];
    ++tuner.life;
    At(Milliseconds(0, 3000), [this, &tuner, life = tuner.life] {
      if (tuner.life == life) StartTuner(tuner);
    });
  }
}

// ---- A worker ----

// Its process has died: the kernel closes its connection, which breaks the call that hangs.
void Simulation::BreakCall(Worker& worker, int64_t boot) {
  At(Milliseconds(0, 20), [this, &worker, boot] {
    const auto call = hanging_workers_.find(worker.id);
    if (tracker_ == nullptr || worker.boot != boot || call == hanging_workers_.end()) return;
    tracker_->CallBroke(now_, worker.id, call->second.sequence);
    hanging_workers_.erase(call);
    worker.closed_at = now_;
    AfterTracker();
  });
}

void Simulation::CallSynchronize(Worker& worker) {
  const WorkerReport report = worker.agent->MakeReport();
  const int64_t call = ++worker.call;
  const int64_t boot = worker.boot;
  const auto answered = [this, &worker, boot, call](std::optional<WorkerOrders> orders) {
    Send(
        [this, &worker, boot, call, orders] {
          if (worker.boot != boot || !orders.has_value()) return;
          TakeOrders(worker, *orders);
          if (worker.call == call) CallSynchronize(worker);
        },
        /*may_repeat=*/false);
  };
  Send([this, report, answered] { ServeSynchronize(report, answered); }, /*may_repeat=*/true);
  At(kCallTimeout, [this, &worker, boot, call] {
    if (worker.boot == boot && worker.call == call) CallSynchronize(worker);
  });
}

void Simulation::TakeOrders(Worker& worker, const WorkerOrders& orders) {
  for (const SlotAction& action : worker.agent->Apply(orders)) {
    if (action.kind == SlotAction::Kind::kStart) {
      BeginExecution(worker, action.slot_index, action.job);
    } else {
      // It takes a moment to stop.
      Slot& slot = worker.slots[action.slot_index];
      At(Milliseconds(0, 200),
         [this, &worker, i = action.slot_index, boot = worker.boot, execution = slot.execution] {
           if (worker.boot != boot || worker.slots[i].execution != execution) return;
           if (worker.slots[i].job.has_value()) EndExecution(worker, i);
         });
    }
  }
}

void Simulation::BeginExecution(Worker& worker, int slot_index, const JobSpec& job) {
  Slot& slot = worker.slots[slot_index];
  if (slot.job.has_value()) Fail("a slot executes two jobs");
  slot.job = job;
  const int64_t execution = ++slot.execution;
  const absl::Duration duration = Chance(0.1) ? Milliseconds(1000, 8000) : Milliseconds(0, 500);
  At(duration, [this, &worker, slot_index, execution, boot = worker.boot] {
    if (worker.boot != boot || worker.slots[slot_index].execution != execution) return;
    if (worker.slots[slot_index].job.has_value()) EndExecution(worker, slot_index);
  });
}

void Simulation::EndExecution(Worker& worker, int slot_index) {
  const JobSpec job = *std::exchange(worker.slots[slot_index].job, std::nullopt);
  if (absl::StrContains(job.id, "killer")) {
    ++worker.boot;
    BreakCall(worker, worker.boot);
    At(Milliseconds(0, 500), [this, &worker, boot = worker.boot] {
      if (worker.boot == boot) StartWorker(worker);
    });
    return;
  }
  JobOutcome outcome = absl::StrCat("result of ", job.payload);
  if (FaultTime() && Chance(faults_.worker_fault)) outcome = WorkerFault{.message = "disk full"};
  worker.agent->Finished(slot_index, std::move(outcome));
  CallSynchronize(worker);
}

// ---- A tuner ----

void Simulation::SubmitMore(Tuner& tuner) {
  std::vector<JobSpec> jobs;
  for (const auto& [id, job] : tuner.jobs) {
    if (tuner.submitted.contains(id) || jobs.size() >= 7) continue;
    jobs.push_back(job);
    tuner.submitted.insert(id);
  }
  const bool more = !jobs.empty();
  if (more && faults_.cancels && FaultTime() && Chance(0.3)) {
    const std::string id = jobs[rng_.Below(jobs.size())].id;
    At(Milliseconds(0, 2000), [this, &tuner, id] {
      Send(
          [this, &tuner, id] {
            if (tracker_ == nullptr) return;
            tracker_->Cancel(now_, tuner.id, {id}, "");
            AfterTracker();
          },
          /*may_repeat=*/true);
    });
  }
  Record(tuner, tuner.client->Add(std::move(jobs), /*resubmission=*/false));
  CallSubmit(tuner);
  if (!more) return;
  At(Milliseconds(10, 1500), [this, &tuner, life = tuner.life] {
    if (tuner.life == life) SubmitMore(tuner);
  });
}

void Simulation::CallSubmit(Tuner& tuner) {
  if (tuner.submitting) return;
  const std::optional<SubmitBatch> batch = tuner.client->NextBatch();
  if (!batch.has_value()) return;
  tuner.submitting = true;
  const auto done = std::make_shared<bool>(false);
  const auto finish = [this, &tuner, done, life = tuner.life](std::optional<int64_t> session,
                                                              absl::Duration pause) {
    if (tuner.life != life || std::exchange(*done, true)) return;
    if (session.has_value()) {
      tuner.client->BatchTaken(*session);
    } else {
      tuner.client->BatchFailed(/*too_many=*/true);
    }
    tuner.submitting = false;
    At(pause, [this, &tuner, life] {
      if (tuner.life == life) CallSubmit(tuner);
    });
  };
  Send(
      [this, &tuner, finish, batch] {
        if (tracker_ == nullptr) return;
        const absl::StatusOr<int64_t> session =
            tracker_->Submit(now_, tuner.id, batch->jobs, batch->resubmission);
        AfterTracker();
        const absl::Duration pause = GetRetryAfter(session.status()).value_or(absl::ZeroDuration());
        Send([finish, session,
              pause] { finish(session.ok() ? std::optional(*session) : std::nullopt, pause); },
             /*may_repeat=*/false);
      },
      /*may_repeat=*/true);
  At(kCallTimeout, [finish] { finish(std::nullopt, absl::ZeroDuration()); });
}

void Simulation::CallCollect(Tuner& tuner) {
  const CollectRequest request = tuner.client->MakeCollect();
  const int64_t call = ++tuner.call;
  const auto reply = [this, &tuner, call, request, life = tuner.life](const Collected& collected) {
    Send(
        [this, &tuner, call, request, life, collected] {
          if (tuner.life != life || tuner.call != call) return;
          Record(tuner, tuner.client->Collect(request, collected));
          CallSubmit(tuner);
          CallCollect(tuner);
        },
        /*may_repeat=*/false);
  };
  Send([this, request, reply] { ServeCollect(request, reply); }, /*may_repeat=*/true);
  At(kCallTimeout, [this, &tuner, call, life = tuner.life] {
    if (tuner.life == life && tuner.call == call) CallCollect(tuner);
  });
}

void Simulation::Record(Tuner& tuner, const std::vector<ResultEntry>& results) {
  for (const ResultEntry& result : results) {
    // Between having a result and having it on disk a tuner may die.
    At(Milliseconds(0, 50), [this, &tuner, result, life = tuner.life] {
      if (tuner.life != life) return;
      if (!tuner.recorded.insert(result.job_id).second) {
        Fail(absl::StrCat("the result of ", result.job_id, " came twice"));
      }
      CheckOutcome(tuner.jobs.at(result.job_id), result.outcome);
      tuner.client->Acknowledge({result.job_id});
    });
  }
}

void Simulation::CheckOutcome(const JobSpec& job, const JobOutcome& outcome) {
  if (const auto* payload = std::get_if<std::string>(&outcome)) {
    if (*payload != absl::StrCat("result of ", job.payload)) Fail("another job's result");
    return;
  }
  const auto* failure = std::get_if<Failure>(&outcome);
  if (failure == nullptr) return Fail("a worker's fault went to a tuner");
  const bool may_be_cancelled = faults_.cancels;
  // Whatever a farm does that is only killed or cut off from time to time, a job is condemned for
  // losses alone: faults, silence, and leases that outlast its limit.
  const bool may_be_lost =
      faults_.worker_fault > 0 || faults_.drop > 0 || job.timeout > absl::ZeroDuration();
  const bool may_be_parked = may_be_lost || faults_.kills || absl::StrContains(job.id, "killer");
  const bool expected = (failure->kind == FailureKind::kCancelled && may_be_cancelled) ||
                        (failure->kind == FailureKind::kPoisoned && may_be_lost) ||
                        (failure->kind == FailureKind::kParked && may_be_parked);
  if (!expected) Fail(absl::StrCat("no reason for: ", failure->message));
}

// ---- The tracker's service ----

void Simulation::ServeSynchronize(const WorkerReport& report,
                                  std::function<void(std::optional<WorkerOrders>)> reply) {
  if (tracker_ == nullptr) return;
  // Perhaps a message that a dead process had sent: the tracker has to wait for its silence then.
  for (const auto& worker : workers_) {
    if (worker->id == report.worker_id) worker->closed_at = absl::InfiniteFuture();
  }
  const absl::StatusOr<SyncReply> orders = tracker_->Synchronize(now_, report);
  if (!orders.ok()) {
    reply(std::nullopt);
  } else if (orders->urgent) {
    if (orders->admitted) hanging_workers_.erase(report.worker_id);
    reply(orders->orders);
  } else {
    hanging_workers_[report.worker_id] = {.sequence = report.sequence, .reply = std::move(reply)};
    At(kHang, [this, id = report.worker_id, sequence = report.sequence, life = tracker_life_] {
      const auto call = hanging_workers_.find(id);
      if (tracker_ == nullptr || tracker_life_ != life || call == hanging_workers_.end() ||
          call->second.sequence != sequence) {
        return;
      }
      call->second.reply(tracker_->OrdersFor(now_, id, sequence));
      hanging_workers_.erase(id);
    });
  }
  AfterTracker();
}

void Simulation::ServeCollect(const CollectRequest& request,
                              std::function<void(const Collected&)> reply) {
  if (tracker_ == nullptr) return;
  const Collected collected = tracker_->Collect(now_, request);
  hanging_tuners_.erase(request.tuner_id);
  if (collected.urgent) {
    reply(collected);
  } else {
    hanging_tuners_[request.tuner_id] = {request, std::move(reply), ++hang_count_};
    At(kHang, [this, id = request.tuner_id, number = hang_count_] {
      const auto call = hanging_tuners_.find(id);
      if (call == hanging_tuners_.end() || call->second.number != number) return;
      call->second.reply(tracker_->Collect(now_, call->second.request));
      hanging_tuners_.erase(id);
    });
  }
  AfterTracker();
}

void Simulation::AfterTracker() {
  for (const std::string& id : tracker_->TakeReadyWorkers()) {
    const auto call = hanging_workers_.find(id);
    if (call == hanging_workers_.end()) continue;
    call->second.reply(tracker_->OrdersFor(now_, id, call->second.sequence));
    hanging_workers_.erase(call);
  }
  for (const std::string& id : tracker_->TakeReadyTuners()) {
    const auto call = hanging_tuners_.find(id);
    if (call == hanging_tuners_.end()) continue;
    call->second.reply(tracker_->Collect(now_, call->second.request));
    hanging_tuners_.erase(call);
  }
  CheckTracker();
  const absl::Time next = tracker_->NextTick();
  if (next >= next_tick_) return;
  next_tick_ = next;
  At(next - now_, [this, next, life = tracker_life_] {
    if (tracker_ == nullptr || tracker_life_ != life || next_tick_ != next) return;
    next_tick_ = absl::InfiniteFuture();
    tracker_->Tick(now_);
    if (tracker_->NextTick() <= now_) Fail("a tick left something to do");
    AfterTracker();
  });
}

void Simulation::CheckTracker() {
  const TrackerStatus status = tracker_->GetStatus(now_);
  if (status.queued_count < 0) Fail("more jobs leased than there are");
  std::set<std::string> leased;
  for (const WorkerStatus& worker : tracker_->ListWorkers(now_)) {
    for (const SlotStatus& slot : worker.slots) {
      if (slot.executing.has_value() && !leased.insert(slot.executing->job_id).second &&
          faults_.drop == 0 && !faults_.kills && !faults_.killer_jobs) {
        Fail(absl::StrCat(slot.executing->job_id, " is leased twice"));
      }
    }
  }
  for (const WorkerStatus& worker : tracker_->ListWorkers(now_)) {
    const auto owner = std::find_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
      return entry->id == worker.worker_id;
    });
    if (now_ - (*owner)->closed_at <= absl::Seconds(1)) continue;
    for (const SlotStatus& slot : worker.slots) {
      if (slot.executing.has_value()) Fail("a dead worker whose connection closed still has a job");
    }
  }
  const Counters& counters = status.counters;
  if (counters.finished > counters.submitted) Fail("more results than jobs");
  if (counters.acknowledged > counters.submitted) Fail("more acknowledged than submitted");
}

bool Simulation::IsQuiet() {
  if (FaultTime() || tracker_ == nullptr) return false;
  for (const auto& tuner : tuners_) {
    if (tuner->recorded.size() != tuner->jobs.size()) return false;
    if (tuner->client->open_count() > 0 || tuner->client->has_acknowledgements()) return false;
  }
  const TrackerStatus status = tracker_->GetStatus(now_);
  return status.queued_count == 0 && status.leased_count == 0 && status.unacknowledged_count == 0 &&
         std::all_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->agent->IsEmpty(); });
}

std::string Simulation::Run() {
  while (!events_.empty() && error_.empty()) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    event.action();
    if (event.number % 64 == 0 && IsQuiet()) return error_;
    if (now_ > absl::UnixEpoch() + kGiveUp) {
      std::string left;
      for (const auto& tuner : tuners_) {
        absl::StrAppend(&left, tuner->id, ": ", tuner->recorded.size(), " of ", tuner->jobs.size(),
                        " recorded, ", tuner->client->open_count(), " open; ");
      }
      Fail(absl::StrCat("not finished: ", left));
    }
  }
  return error_;
}

void RunSeeds(uint64_t first, uint64_t count, const Faults& faults) {
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Simulation simulation(seed, faults);
    ASSERT_EQ(simulation.Run(), "") << "seed=" << seed;
  }
}

TEST(TrackerCoreSimTest, WithoutFaultsEveryJobHasItsOwnResult) { RunSeeds(0, 200, {}); }

TEST(TrackerCoreSimTest, LossyNetworkLosesNoJobAndRecordsNoneTwice) {
  RunSeeds(1000, 300, {.drop = 0.1, .repeat = 0.1});
}

TEST(TrackerCoreSimTest, KilledTrackersWorkersAndTunersLoseNoJobAndRecordNoneTwice) {
  RunSeeds(2000, 400, {.kills = true});
}

TEST(TrackerCoreSimTest, SickWorkersAndKillerJobsDoNotStopTheRest) {
  RunSeeds(3000, 200, {.worker_fault = 0.1, .killer_jobs = true});
}

TEST(TrackerCoreSimTest, EverythingAtOnce) {
  RunSeeds(4000, 1500,
           {.drop = 0.05,
            .repeat = 0.05,
            .worker_fault = 0.05,
            .kills = true,
            .killer_jobs = true,
            .cancels = true});
}

}  // namespace
}  // namespace burnish
