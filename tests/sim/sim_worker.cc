#include "tests/sim/sim_worker.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/build_job.h"
#include "proto/run_job.h"
#include "proto/workload.h"

namespace burnish::sim {
namespace {

// As in agent_client.cc.
constexpr absl::Duration kCallTimeout = absl::Seconds(12);
constexpr absl::Duration kBackoffMin = absl::Milliseconds(50);
constexpr absl::Duration kBackoffMax = absl::Seconds(2);
constexpr size_t kCallsMax = 4;
constexpr char kLie[] = "lie";
constexpr int kLiesPerReport = 4;
constexpr size_t kLastingLiesMax = 24;
constexpr uint64_t kLeasesLiedOf = 6;  // The last ones: the others are over.

// As ArtifactClient: for how long a build's bytes are offered, and how often.
constexpr absl::Duration kPutTimeout = absl::Seconds(10);
constexpr absl::Duration kPutPause = absl::Milliseconds(500);

uint64_t Fate(uint64_t seed, const std::string& purpose, const std::string& candidate_id) {
  return Rng(RngStream{.seed = seed, .purpose = purpose, .task = candidate_id}).Next();
}

}  // namespace

std::string ArtifactOf(const std::string& candidate_id) {
  return absl::StrCat("artifact of ", candidate_id);
}

bool IsKiller(uint64_t seed, const std::string& candidate_id) {
  // Of one run in four, one candidate in twelve.
  return seed % 4 == 1 && Fate(seed, "killer", candidate_id) % 12 == 0;
}
bool IsFailing(uint64_t seed, const std::string& candidate_id) {
  return Fate(seed, "failing", candidate_id) % 8 == 0;
}
int64_t TrueLatencyNs(uint64_t seed, const std::string& candidate_id) {
  // Above what the synthetic tasks call their bound: a study that reaches it has nothing left to
  // do.
  return 10'000'000 + static_cast<int64_t>(Fate(seed, "latency", candidate_id) % 1'000'000);
}
std::string PlainResult(const std::string& payload) { return absl::StrCat("result of ", payload); }

bool IsPlainLie(const std::string& payload) { return absl::StartsWith(payload, kLie); }

SimWorker::SimWorker(EventLoop* loop, Network* network, SimTracker* tracker, Verdict* verdict,
                     ExecutorWorld* world, const Options& options)
    : loop_(loop),
      network_(network),
      tracker_(tracker),
      verdict_(verdict),
      world_(world),
      options_(options),
      rng_(RngStream{.seed = world->seed, .purpose = "worker", .task = options.id}) {}

void SimWorker::Start() {
  auto process = std::make_shared<Process>();
  process->incarnation = ++last_incarnation_;
  process->agent =
      std::make_unique<SuspectAgent>(AgentIdentity{.worker_id = options_.id,
                                                   .host = options_.id,
                                                   .incarnation = process->incarnation,
                                                   .calibration = options_.calibration},
                                     options_.slots, options_.bug);
  process->slots.resize(options_.slots.size());
  processes_.push_back(process);
  In(process, absl::Milliseconds(rng_.Between(0, 100)), [this, process] { Pump(process); });
}

void SimWorker::set_lying(double share) {
  lying_share_ = share;
  tracker_->NoteLiar(options_.id);
}

void SimWorker::set_waiting(bool waiting) {
  is_waiting_ = waiting;
  for (const ProcessPtr& process : processes_) {
    In(process, absl::ZeroDuration(), [this, process, waiting] {
      for (size_t i = 0; i < process->slots.size(); ++i) {
        Execution& slot = process->slots[i];
        if (!slot.job.has_value() || slot.waiting == waiting) continue;
        slot.waiting = waiting;
        process->has_news = true;
        process->agent->SetWaiting(static_cast<int>(i), waiting);
      }
      Pump(process);
    });
  }
}

void SimWorker::Kill(bool breaks_calls) {
  for (const ProcessPtr& process : processes_) {
    if (!process->alive) continue;
    process->alive = false;
    if (!breaks_calls) continue;
    network_->ToTracker(options_.node, [this, incarnation = process->incarnation] {
      tracker_->BreakWorkerCall(options_.id, incarnation);
    });
  }
  std::erase_if(processes_, [](const ProcessPtr& process) { return !process->alive; });
}

void SimWorker::Exit(const ProcessPtr& process) {
  process->alive = false;
  network_->ToTracker(options_.node, [this, incarnation = process->incarnation] {
    tracker_->BreakWorkerCall(options_.id, incarnation);
  });
  std::erase_if(processes_, [](const ProcessPtr& other) { return !other->alive; });
}

void SimWorker::Stop(absl::Duration duration) {
  for (const ProcessPtr& process : processes_) process->stopped_until = loop_->now() + duration;
}

void SimWorker::BreakCalls() {
  for (const ProcessPtr& process : processes_) {
    tracker_->BreakWorkerCall(options_.id, process->incarnation);
    for (const int64_t call : std::set<int64_t>(process->calls)) {
      In(process, absl::ZeroDuration(), [this, process, call] {
        CallEnded(process, call, 0, absl::UnavailableError("the connection broke"));
      });
    }
  }
}

void SimWorker::Leave() {
  for (const ProcessPtr& process : processes_) {
    In(process, absl::ZeroDuration(), [this, process] {
      process->leaving = process->has_news = true;
      process->agent->Leave();
      Pump(process);
    });
  }
}

bool SimWorker::HasProcess() const { return !processes_.empty(); }

bool SimWorker::IsEmpty() const {
  return std::all_of(processes_.begin(), processes_.end(),
                     [](const ProcessPtr& process) { return process->agent->IsEmpty(); });
}

std::string SimWorker::Describe() const {
  std::string text = options_.id;
  for (const ProcessPtr& process : processes_) {
    for (const Execution& slot : process->slots) {
      absl::StrAppend(&text, slot.job.has_value() ? absl::StrCat(" does ", slot.job->id) : "");
      for (const Outcome& held : slot.outcomes) {
        absl::StrAppend(&text, " holds ", held.lease.job_id, "@", held.lease.epoch);
      }
    }
  }
  return text;
}

void SimWorker::In(const ProcessPtr& process, absl::Duration delay, std::function<void()> action) {
  loop_->At(delay, [this, process, action = std::move(action)] {
    if (!process->alive) return;
    const absl::Duration stopped = process->stopped_until - loop_->now();
    if (stopped > absl::ZeroDuration()) return In(process, stopped, action);
    action();
  });
}

void SimWorker::Pump(const ProcessPtr& process) {
  if (process->has_news && !process->agent->has_news()) {
    verdict_->Fail("a worker says at once what is new", options_.id);
  }
  while (process->alive) {
    const bool has_work =
        process->calls.empty() || (process->agent->has_news() && process->calls.size() < kCallsMax);
    if (!has_work) return;
    const absl::Duration pause = process->retry_at - loop_->now();
    if (pause > absl::ZeroDuration()) {
      In(process, pause, [this, process] { Pump(process); });
      return;
    }
    BeginCall(process);
  }
}

void SimWorker::BeginCall(const ProcessPtr& process) {
  WorkerReport report = process->agent->MakeReport();
  CheckReport(process, report);
  process->last_sequence = report.sequence;
  process->has_news = false;
  CheckHeld(process, report);
  if (lying_share_ > 0) RepeatLies(report);
  // Several at once: most are of jobs that have a result by now.
  for (int i = 0; i < kLiesPerReport; ++i) {
    if (lying_share_ > 0 && rng_.Uniform() < lying_share_) LieIn(report);
  }
  if (lying_share_ > 0) OfferLies(*process);
  const int64_t call = ++process->call_count;
  process->calls.insert(call);
  const auto ended = [this, process, call,
                      sequence = report.sequence](absl::StatusOr<WorkerOrders> orders) {
    In(process, absl::ZeroDuration(),
       [this, process, call, sequence, orders] { CallEnded(process, call, sequence, orders); });
  };
  network_->ToTracker(options_.node, [this, report, ended] {
    tracker_->Synchronize(report, [this, ended](absl::StatusOr<WorkerOrders> orders) {
      network_->ToNode(options_.node, [ended, orders] { ended(orders); });
    });
  });
  In(process, kCallTimeout, [this, process, call, sequence = report.sequence] {
    CallEnded(process, call, sequence, absl::DeadlineExceededError("no answer"));
  });
}

void SimWorker::CheckReport(const ProcessPtr& process, const WorkerReport& report) {
  if (report.worker_id != options_.id || report.host != options_.id ||
      report.incarnation != process->incarnation || report.epoch != process->epoch ||
      report.sequence <= process->last_sequence || report.leaving != process->leaving ||
      report.slots.size() != process->slots.size() || report.calibration != options_.calibration) {
    verdict_->Fail("a report is of its worker as it is", options_.id);
    return;
  }
  const bool is_empty = std::all_of(
      process->slots.begin(), process->slots.end(),
      [](const Execution& slot) { return !slot.job.has_value() && slot.outcomes.empty(); });
  if (process->agent->IsEmpty() != is_empty) {
    verdict_->Fail("a worker knows whether it is done", options_.id);
  }
  for (size_t i = 0; i < report.slots.size(); ++i) {
    const SlotReport& said = report.slots[i];
    const Execution& slot = process->slots[i];
    const std::optional<Lease> executing = slot.job.has_value() ? slot.lease : std::nullopt;
    bool is_right = said.info == options_.slots[i] && said.executing == executing &&
                    said.cancelling == (executing.has_value() && slot.cancelling) &&
                    said.waiting == (executing.has_value() && slot.waiting) &&
                    said.results.size() == slot.outcomes.size();
    for (size_t k = 0; k < said.results.size() && is_right; ++k) {
      const std::optional<JobOutcome>& outcome = said.results[k].outcome;
      is_right = said.results[k].lease == slot.outcomes[k].lease &&
                 outcome.has_value() != slot.outcomes[k].tracker_has_it &&
                 (!outcome.has_value() || *outcome == slot.outcomes[k].outcome);
    }
    if (!is_right) {
      verdict_->Fail("a report is of its worker as it is",
                     absl::StrCat(options_.id, " slot ", i, ": ", said.results.size(), " of ",
                                  slot.outcomes.size(), " results"));
    }
  }
}

void SimWorker::OfferLies(const Process& process) {
  const auto& begun = world_->begun_in_order;
  if (begun.empty() || rng_.Below(4) != 0) return;
  Lease lease = begun[begun.size() - 1 - rng_.Below(std::min<uint64_t>(begun.size(), 12))].second;
  if (rng_.Below(4) == 0) lease.epoch += rng_.Between(-3, 3);
  const int64_t incarnation = process.incarnation - (rng_.Below(4) == 0 ? 1 : 0);
  network_->ToTracker(options_.node, [this, lease, incarnation] {
    tracker_->PutArtifact(options_.id, incarnation, lease, Sha256Bytes(kLie), kLie).IgnoreError();
  });
}

void SimWorker::CheckHeld(const ProcessPtr& process, const WorkerReport& report) {
  std::vector<std::set<std::string>> held(report.slots.size());
  for (size_t i = 0; i < report.slots.size(); ++i) {
    for (const HeldResult& result : report.slots[i].results) {
      held[i].insert(result.lease.job_id);
      if (process->cancelled.contains({result.lease.job_id, result.lease.epoch})) {
        verdict_->Fail("what was told to stop has no result", result.lease.job_id);
      }
    }
    if (i >= process->held.size()) continue;
    for (const std::string& id : process->held[i]) {
      if (!held[i].contains(id)) verdict_->Fail("a worker keeps what it has done", id);
    }
  }
  process->held = std::move(held);
}

void SimWorker::LieIn(WorkerReport& report) {
  const auto& begun = world_->begun_in_order;
  if (begun.empty()) return;
  // Somebody's who may be at it still, of whatever kind; or under a number that nobody was given,
  // also of a job that waits.
  const uint64_t age = rng_.Below(std::min<uint64_t>(begun.size(), kLeasesLiedOf));
  auto [worker, lease] = begun[begun.size() - 1 - age];
  if (worker == options_.id) return;  // What it says of its own leases: Lie.
  if (rng_.Below(3) == 0) lease.epoch += rng_.Between(1000, 100'000);
  if (rng_.Below(3) == 0)
    lease.job_id = absl::StrCat("tuner", rng_.Below(3), "/job", rng_.Below(40));
  // What it first said of a lease stands for the tracker, so that it does not contradict itself.
  if (!lied_of_.insert({lease.job_id, lease.epoch}).second) return;
  const size_t index = rng_.Below(report.slots.size());
  SlotReport& slot = report.slots[index];
  if (slot.results.size() >= WorkerReport::kHeldResultsMax) return;
  HeldResult& result = slot.results.emplace_back();
  result.lease = std::move(lease);
  switch (rng_.Below(6)) {
    case 0:
      result.outcome = WorkerFault{
          .message = kLie, .interrupted = rng_.Below(2) == 0, .refused = rng_.Below(3) == 0};
      break;
    case 1:
      result.outcome = Failure{.kind = FailureKind::kPoisoned, .message = kLie};
      break;
    case 2:
      break;  // The tracker has it, it says.
    default:
      result.outcome = std::string(kLie);
  }
  if (lasting_lies_.size() < kLastingLiesMax && rng_.Below(2) == 0) {
    lasting_lies_.emplace_back(index, result);
  }
}

void SimWorker::RepeatLies(WorkerReport& report) {
  for (const auto& [index, result] : lasting_lies_) {
    std::vector<HeldResult>& results = report.slots[index].results;
    const bool has_it = std::any_of(results.begin(), results.end(), [&](const HeldResult& held) {
      return held.lease.job_id == result.lease.job_id;
    });
    if (!has_it && report.slots[index].executing != result.lease) results.push_back(result);
  }
}

void SimWorker::CallEnded(const ProcessPtr& process, int64_t call, int64_t sequence,
                          const absl::StatusOr<WorkerOrders>& orders) {
  if (process->calls.erase(call) == 0) return;  // Its time was up.
  if (orders.ok()) {
    process->failure_count = 0;
    process->retry_at = absl::InfinitePast();
    CarryOut(process, *orders);
  } else if (absl::IsFailedPrecondition(orders.status()) ||
             absl::IsInvalidArgument(orders.status())) {
    Exit(process);  // As worker_main does: it was replaced.
    return;
  } else if (!absl::IsAborted(orders.status())) {
    const absl::Duration pause =
        std::min(kBackoffMax, kBackoffMin * (int64_t{1} << std::min(process->failure_count++, 10)));
    process->retry_at = loop_->now() + pause * (0.5 + rng_.Uniform());
  }
  Pump(process);
}

void SimWorker::CarryOut(const ProcessPtr& process, const WorkerOrders& orders) {
  std::vector<std::optional<Lease>> before;
  for (const Execution& slot : process->slots) before.push_back(slot.lease);
  const std::vector<SlotAction> actions = process->agent->Apply(orders);
  CheckActions(process, orders, actions);
  if (!actions.empty() && orders.sequence != process->last_sequence) {
    verdict_->Fail("orders for the past have no effect",
                   absl::StrCat(options_.id, " obeys orders for report ", orders.sequence,
                                " after report ", process->last_sequence));
  }
  if (orders.sequence == process->last_sequence) NoteResults(*process, orders);
  for (const SlotAction& action : actions) {
    if (action.kind == SlotAction::Kind::kStart) {
      Begin(process, action.slot_index, action.job,
            orders.slots[action.slot_index].lease.value_or(Lease()));
      continue;
    }
    process->slots[action.slot_index].cancelling = process->has_news = true;
    if (const std::optional<Lease>& lease = before[action.slot_index]; lease.has_value()) {
      process->cancelled.insert({lease->job_id, lease->epoch});
    }
    // It takes a moment to stop.
    In(process, absl::Milliseconds(rng_.Between(0, 200)),
       [this, process, i = action.slot_index, number = process->slots[action.slot_index].number] {
         if (process->slots[i].number == number && process->slots[i].job.has_value()) {
           End(process, i);
         }
       });
  }
}

void SimWorker::CheckActions(const ProcessPtr& process, const WorkerOrders& orders,
                             const std::vector<SlotAction>& actions) {
  process->epoch = std::max(process->epoch, orders.epoch);
  if (orders.sequence != process->last_sequence || orders.slots.size() != process->slots.size()) {
    return;  // CarryOut says that there is nothing to do.
  }
  if (orders.draining != process->agent->draining()) {
    verdict_->Fail("a worker knows that it is drained", options_.id);
  }
  size_t count = 0;
  for (size_t i = 0; i < process->slots.size(); ++i) {
    const Execution& slot = process->slots[i];
    const SlotOrders& wanted = orders.slots[i];
    process->has_news |=
        std::any_of(slot.outcomes.begin(), slot.outcomes.end(), [&](const auto& outcome) {
          const std::vector<std::string>& send = wanted.send;
          return std::find(send.begin(), send.end(), outcome.lease.job_id) != send.end() &&
                 std::find(wanted.discard.begin(), wanted.discard.end(), outcome.lease.job_id) ==
                     wanted.discard.end();
        });
    const bool must_stop = slot.job.has_value() && wanted.lease != slot.lease && !slot.cancelling;
    const bool must_start =
        !slot.job.has_value() && wanted.lease.has_value() && wanted.job.has_value();
    if (!must_stop && !must_start) continue;
    const auto kind = must_stop ? SlotAction::Kind::kCancel : SlotAction::Kind::kStart;
    const bool is_right =
        count < actions.size() && actions[count].kind == kind &&
        actions[count].slot_index == static_cast<int>(i) &&
        (must_stop || (actions[count].job == *wanted.job && actions[count].lease == *wanted.lease));
    if (!is_right) verdict_->Fail("orders are obeyed", absl::StrCat(options_.id, " slot ", i));
    ++count;
  }
  if (count != actions.size()) verdict_->Fail("orders are obeyed", options_.id);
}

void SimWorker::NoteResults(Process& process, const WorkerOrders& orders) {
  const auto has = [](const std::vector<std::string>& ids, const Outcome& outcome) {
    return std::find(ids.begin(), ids.end(), outcome.lease.job_id) != ids.end();
  };
  for (size_t i = 0; i < orders.slots.size() && i < process.slots.size(); ++i) {
    for (Outcome& outcome : process.slots[i].outcomes) {
      outcome.tracker_has_it |= has(orders.slots[i].received, outcome);
      outcome.tracker_has_it &= !has(orders.slots[i].send, outcome);
    }
    for (const std::string& id : orders.slots[i].discard) {
      if (i < process.held.size()) process.held[i].erase(id);
      std::erase_if(process.slots[i].outcomes,
                    [&](const auto& outcome) { return outcome.lease.job_id == id; });
    }
  }
}

void SimWorker::Begin(const ProcessPtr& process, int slot_index, const JobSpec& job,
                      const Lease& lease) {
  Execution& slot = process->slots[slot_index];
  if (slot.job.has_value()) verdict_->Fail("a slot executes one job", job.id);
  if (!world_->begun.insert({lease.job_id, lease.epoch}).second) {
    verdict_->Fail("a lease begins once", absl::StrCat(lease.job_id, "@", lease.epoch));
  }
  world_->begun_in_order.emplace_back(options_.id, lease);
  if (lease.job_id != job.id) verdict_->Fail("a lease is of its job", job.id);
  ++world_->execution_count;
  slot.job = job;
  slot.lease = lease;
  slot.put_until = absl::InfiniteFuture();
  slot.cancelling = slot.waiting = false;
  process->has_news = true;
  if (is_waiting_) {
    slot.waiting = true;
    process->agent->SetWaiting(slot_index, true);
  }
  const int64_t number = ++slot.number;
  int64_t duration_ms =
      rng_.Uniform() < world_->long_share ? rng_.Between(500, 6000) : rng_.Between(0, 400);
  if (is_slow_) duration_ms = rng_.Between(1000, 60000);
  if (is_hanging_) return;
  In(process, absl::Milliseconds(duration_ms), [this, process, slot_index, number] {
    if (process->slots[slot_index].number != number) return;
    if (process->slots[slot_index].job.has_value()) End(process, slot_index);
  });
}

void SimWorker::End(const ProcessPtr& process, int slot_index) {
  Execution& slot = process->slots[slot_index];
  const absl::StatusOr<JobOutcome> executed = Execute(*process, *slot.job, *slot.lease);
  if (slot.put_until == absl::InfiniteFuture()) slot.put_until = loop_->now() + kPutTimeout;
  if (absl::IsUnavailable(executed.status()) && loop_->now() < slot.put_until) {
    return In(process, kPutPause, [this, process, slot_index, number = slot.number] {
      const Execution& now = process->slots[slot_index];
      if (now.number == number && now.job.has_value()) End(process, slot_index);
    });
  }
  slot.job.reset();
  ++slot.number;
  JobOutcome outcome = WorkerFault{.message = "the artifact could not be stored"};
  if (executed.ok()) outcome = *executed;
  if (std::holds_alternative<WorkerFault>(outcome) &&
      std::get<WorkerFault>(outcome).message == "killed") {
    Exit(process);
    loop_->At(absl::Milliseconds(rng_.Between(100, 1000)), [this] { Start(); });
    return;
  }
  if (!slot.cancelling) slot.outcomes.push_back({*slot.lease, outcome});
  process->has_news = true;
  process->agent->Finished(slot_index, std::move(outcome));
  Pump(process);
}

absl::StatusOr<JobOutcome> SimWorker::Execute(const Process& process, const JobSpec& job,
                                              const Lease& lease) {
  const double fault_share = std::max(sick_share_, world_->fault_share);
  if (fault_share > 0 && rng_.Uniform() < fault_share) {
    return WorkerFault{.message = "it is sick", .refused = rng_.Below(4) == 0};
  }
  if (lying_share_ > 0 && rng_.Uniform() < lying_share_) return Lie(process, job, lease);
  if (absl::StartsWith(job.payload, "plain ")) {
    if (absl::StrContains(job.payload, "killer")) return WorkerFault{.message = "killed"};
    if (absl::StrContains(job.payload, "poison")) return WorkerFault{.message = "it crashed"};
    return PlainResult(job.payload);
  }
  if (job.kind == JobKind::kBuild) return Build(process, job.payload, lease);
  return Measure(job.payload);
}

absl::StatusOr<JobOutcome> SimWorker::Lie(const Process& process, const JobSpec& job,
                                          const Lease& lease) {
  if (absl::StartsWith(job.payload, "plain ")) return std::string(kLie);
  JobOutcome truth;
  if (job.kind == JobKind::kBuild) {
    ASSIGN_OR_RETURN(truth, Build(process, job.payload, lease));
  } else {
    truth = Measure(job.payload);
  }
  const auto* payload = std::get_if<std::string>(&truth);
  if (payload == nullptr) return truth;
  switch (rng_.Below(4)) {
    case 0:
      return std::string(kLie);
    case 1:
      return Failure{.kind = FailureKind::kPoisoned, .message = kLie};
    default:
      break;
  }
  if (job.kind == JobKind::kBuild) {
    absl::StatusOr<BuildResult> built = DecodeBuildResult(*payload);
    built->candidate_id = Sha256Bytes(built->candidate_id);
    return Encode(*built);
  }
  absl::StatusOr<RunResult> run = DecodeRunResult(*payload);
  Measurement& measurement = run->measurements[0];
  if (rng_.Below(2) == 0 && measurement.latencies() != nullptr) {
    const int64_t latency_ns = rng_.Between(1, kImpossibleNsMax);
    measurement.outcome = Latencies{{ProcessLatencies{.latency_ns = {latency_ns}}}};
  } else {
    measurement.candidate_id = Sha256Bytes(measurement.candidate_id);
  }
  return Encode(*run);
}

absl::StatusOr<JobOutcome> SimWorker::Build(const Process& process, const std::string& payload,
                                            const Lease& lease) {
  const absl::StatusOr<BuildJob> job = DecodeBuildJob(payload);
  if (!job.ok()) {
    verdict_->Fail("a job arrives as it was sent", job.status().ToString());
    return WorkerFault{.message = "malformed"};
  }
  const std::string artifact = ArtifactOf(job->candidate_id);
  BuiltArtifact built{.contract = job->contract};
  built.build.artifact_sha256 = Sha256Bytes(artifact);
  built.build.codegen_epoch = job->codegen_epoch;
  built.numerics.kind = NumericsClass::kReassociated;
  if (network_->IsCut(options_.node)) return absl::UnavailableError("cut off");
  RETURN_IF_ERROR(tracker_->PutArtifact(options_.id, process.incarnation, lease,
                                        built.build.artifact_sha256, artifact));
  return Encode(BuildResult{.candidate_id = job->candidate_id, .outcome = std::move(built)});
}

JobOutcome SimWorker::Measure(const std::string& payload) {
  const absl::StatusOr<RunJob> job = DecodeRunJob(payload);
  if (!job.ok() || job->candidates.size() != 1) {
    verdict_->Fail("a job arrives as it was sent", job.status().ToString());
    return WorkerFault{.message = "malformed"};
  }
  if (network_->IsCut(options_.node) || !tracker_->is_alive())
    return WorkerFault{.message = "no artifact could be fetched"};
  const RunCandidate& candidate = job->candidates[0];
  ArtifactMissing missing;
  for (const std::string& sha256 :
       {candidate.artifact_sha256, candidate.reference_artifact_sha256}) {
    if (!sha256.empty() && !tracker_->GetArtifact(sha256)) missing.sha256.push_back(sha256);
  }
  if (!missing.sha256.empty()) return missing;
  if (Sha256Bytes(ArtifactOf(candidate.candidate_id)) != candidate.artifact_sha256) {
    verdict_->Fail("a run job names its own artifact", candidate.candidate_id);
  }
  const bool is_reference = candidate.artifact_sha256 == candidate.reference_artifact_sha256;
  const std::string& id = candidate.candidate_id;
  // Half of them take the worker's process down, the others only the runner's child.
  if (!is_reference && IsKiller(world_->seed, id)) {
    const bool takes_all = Fate(world_->seed, "killer", id) % 24 == 0;
    return WorkerFault{.message = takes_all ? "killed" : "it crashed"};
  }
  Measurement measurement{.candidate_id = candidate.candidate_id};
  measurement.environment.method_version = job->method.version;
  measurement.numerics.kind = NumericsClass::kReassociated;
  if (!is_reference && IsFailing(world_->seed, id)) {
    measurement.outcome = Failure{FailureKind::kWrongResult, "by fate"};
  } else {
    measurement.outcome =
        Latencies{{ProcessLatencies{.latency_ns = {TrueLatencyNs(world_->seed, id)}}}};
  }
  return Encode(RunResult{.measurements = {std::move(measurement)}});
}

}  // namespace burnish::sim
