#include "tests/sim/sim_tracker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish::sim {
namespace {

// As in tracker_service.cc: how long a call with nothing to say hangs.
constexpr absl::Duration kHang = absl::Seconds(5);
// Lives of a tracker are this many leases apart.
constexpr int64_t kEpochsPerLife = 1'000'000;

CollectRequest WithClient(CollectRequest request) {
  request.client = TrackerModel::ClientOf(request.tuner_id);
  return request;
}

}  // namespace

SimTracker::SimTracker(EventLoop* loop, Verdict* verdict, TrackerModel* model,
                       const TrackerOptions& options, int64_t artifact_bytes_max, Bug bug)
    : loop_(loop),
      verdict_(verdict),
      model_(model),
      options_(options),
      artifact_bytes_max_(artifact_bytes_max),
      bug_(bug) {}

void SimTracker::Start() {
  if (is_alive()) return;
  TrackerOptions options = options_;
  options.first_epoch = ++life_ * kEpochsPerLife;
  model_->Start(loop_->now(), options);
  core_ = std::make_unique<SuspectTracker>(options, loop_->now(), bug_);
  ForgetArtifacts();
  next_tick_ = absl::InfiniteFuture();
}

void SimTracker::Kill() {
  core_.reset();
  const absl::Status gone = absl::UnavailableError("the tracker died");
  for (auto& [id, call] : std::exchange(worker_calls_, {})) call.reply(gone);
  for (auto& [id, call] : std::exchange(tuner_calls_, {})) call.reply(gone);
}

void SimTracker::Synchronize(WorkerReport report, OrdersReply reply) {
  if (!is_alive()) return reply(absl::UnavailableError("no tracker"));
  report.address = TrackerModel::AddressOf(report.worker_id);
  const absl::StatusOr<SyncReply> answer = core_->Synchronize(loop_->now(), report);
  model_->Reported(loop_->now(), report, answer);
  if (!answer.ok()) {
    reply(answer.status());
  } else {
    // A newer call of the same worker ends an older one; one that has to echo its epoch first does
    // not.
    const auto old = worker_calls_.find(report.worker_id);
    if (answer->admitted && old != worker_calls_.end()) {
      old->second.reply(absl::AbortedError("a newer call came"));
      worker_calls_.erase(old);
    }
    if (answer->urgent) {
      if (answer->admitted) {
        model_->Ordered(loop_->now(), StatusOf(report.worker_id), answer->orders);
      }
      reply(answer->orders);
    } else {
      worker_calls_[report.worker_id] = {report.incarnation, report.sequence, std::move(reply)};
      loop_->At(kHang, [this, id = report.worker_id, sequence = report.sequence,
                        incarnation = report.incarnation, life = life_] {
        const auto call = worker_calls_.find(id);
        if (!is_alive() || life != life_ || call == worker_calls_.end() ||
            call->second.sequence != sequence || call->second.incarnation != incarnation) {
          return;
        }
        AnswerWorker(id);
        After();
      });
    }
  }
  After();
}

void SimTracker::AnswerWorker(const std::string& id) {
  auto call = worker_calls_.extract(id);
  if (call.empty()) return;
  const std::optional<WorkerOrders> orders =
      core_->OrdersFor(loop_->now(), id, call.mapped().sequence);
  if (!orders.has_value()) return call.mapped().reply(absl::AbortedError("a newer call came"));
  model_->Ordered(loop_->now(), StatusOf(id), *orders);
  call.mapped().reply(*orders);
}

absl::StatusOr<int64_t> SimTracker::Submit(const std::string& tuner_id,
                                           const std::vector<JobSpec>& jobs, bool resubmission) {
  if (!is_alive()) return absl::UnavailableError("no tracker");
  const absl::StatusOr<int64_t> session =
      core_->Submit(loop_->now(), tuner_id, jobs, resubmission, TrackerModel::ClientOf(tuner_id));
  model_->Submitted(loop_->now(), tuner_id, jobs, resubmission, session);
  After();
  return session;
}

void SimTracker::Collect(const CollectRequest& request, CollectReply reply) {
  if (!is_alive()) return reply(absl::UnavailableError("no tracker"));
  const bool may_collect = core_->MayCollect(WithClient(request));
  model_->CheckRoom(request.tuner_id, may_collect);
  if (!may_collect) return reply(absl::ResourceExhaustedError("too many tuners"));
  model_->Collecting(loop_->now(), request);
  const Collected collected = core_->Collect(loop_->now(), WithClient(request));
  model_->WasCollected(request, collected);
  if (const auto old = tuner_calls_.find(request.tuner_id); old != tuner_calls_.end()) {
    old->second.reply(absl::AbortedError("a newer call came"));
    tuner_calls_.erase(old);
  }
  if (collected.urgent) {
    reply(collected);
  } else {
    tuner_calls_[request.tuner_id] = {request, ++call_count_, std::move(reply)};
    loop_->At(kHang, [this, id = request.tuner_id, number = call_count_] {
      const auto call = tuner_calls_.find(id);
      if (!is_alive() || call == tuner_calls_.end() || call->second.number != number) return;
      AnswerTuner(id);
      After();
    });
  }
  After();
}

void SimTracker::AnswerTuner(const std::string& id) {
  auto call = tuner_calls_.extract(id);
  if (call.empty()) return;
  // What it acknowledges was taken when it came.
  CollectRequest request = call.mapped().request;
  model_->Collecting(loop_->now(), request);
  const Collected collected = core_->Collect(loop_->now(), WithClient(request));
  model_->WasCollected(request, collected);
  call.mapped().reply(collected);
}

absl::Status SimTracker::Cancel(const std::string& tuner_id, const std::vector<std::string>& ids,
                                const std::string& study) {
  if (!is_alive()) return absl::UnavailableError("no tracker");
  const int64_t count = core_->Cancel(loop_->now(), tuner_id, ids, study);
  model_->Cancelled(loop_->now(), tuner_id, ids, study, count);
  After();
  return absl::OkStatus();
}

void SimTracker::Drain(const std::string& worker_id, bool undo) {
  if (!is_alive()) return;
  core_->Drain(loop_->now(), worker_id, undo);
  model_->Drained(worker_id, undo);
  After();
}

void SimTracker::BreakWorkerCall(const std::string& worker_id, int64_t incarnation) {
  const auto call = worker_calls_.find(worker_id);
  if (!is_alive() || call == worker_calls_.end() || call->second.incarnation != incarnation) {
    return;
  }
  core_->CallBroke(loop_->now(), worker_id, call->second.sequence);
  model_->CallBroke(loop_->now(), worker_id, call->second.sequence);
  worker_calls_.erase(call);
  After();
}

void SimTracker::BreakTunerCall(const std::string& tuner_id) { tuner_calls_.erase(tuner_id); }

absl::Status SimTracker::PutArtifact(const std::string& worker_id, int64_t incarnation,
                                     const Lease& lease, const std::string& sha256,
                                     const std::string& bytes) {
  if (!is_alive()) return absl::UnavailableError("no tracker");
  const absl::Status status = core_->CheckBuildLease(loop_->now(), worker_id, incarnation, lease);
  model_->Delivered(loop_->now(), worker_id, incarnation, lease, status);
  if (status.ok()) KeepArtifact(sha256, bytes);
  return status;
}

void SimTracker::KeepArtifact(const std::string& sha256, const std::string& bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  artifacts_->Put(sha256, bytes);
  if (size > artifact_bytes_max_) return;
  std::erase_if(kept_, [&](const auto& kept) { return kept.first == sha256; });
  kept_.emplace_back(sha256, size);
  int64_t total = 0;
  for (const auto& [name, own_size] : kept_) total += own_size;
  for (; total > artifact_bytes_max_; kept_.pop_front()) total -= kept_.front().second;
  if (artifacts_->byte_count() != total ||
      artifacts_->count() != static_cast<int64_t>(kept_.size())) {
    verdict_->Fail("the content store keeps what fits",
                   absl::StrCat(artifacts_->byte_count(), " bytes, by the model ", total));
  }
}

bool SimTracker::GetArtifact(const std::string& sha256) {
  const auto kept = std::find_if(kept_.begin(), kept_.end(),
                                 [&](const auto& one) { return one.first == sha256; });
  const bool is_there = artifacts_->Get(sha256) != nullptr;
  if (is_there != (kept != kept_.end())) {
    verdict_->Fail("the content store forgets what was used least recently", "");
  }
  if (kept != kept_.end()) kept_.splice(kept_.end(), kept_, kept);
  return is_there;
}

void SimTracker::ForgetArtifacts() {
  artifacts_ = std::make_unique<ContentStore>(artifact_bytes_max_);
  kept_.clear();
}

WorkerStatus SimTracker::StatusOf(const std::string& worker_id) const {
  for (WorkerStatus& status : core_->ListWorkers(loop_->now())) {
    if (status.worker_id == worker_id) return std::move(status);
  }
  verdict_->Fail("a worker is shown as it is", worker_id);
  return {.worker_id = worker_id};
}

// What is allowed at any time, and changes nothing.
void SimTracker::Hurry() {
  ++hurry_count_;
  if (hurry_count_ % 3 == 0) {
    core_->Tick(loop_->now());
    model_->Observe(loop_->now(), View());
  }
  if (hurry_count_ % 5 == 0 && !worker_calls_.empty()) {
    AnswerWorker(std::string(worker_calls_.begin()->first));
  }
  if (hurry_count_ % 7 == 0 && !tuner_calls_.empty()) {
    AnswerTuner(std::string(tuner_calls_.begin()->first));
  }
}

void SimTracker::After() {
  if (!is_alive()) return;
  // First, so that a result is known to be right before it goes out.
  TrackerView view = View();
  model_->Observe(loop_->now(), view);
  if (is_hasty_) {
    Hurry();
    view = View();
    model_->Observe(loop_->now(), view);
  }
  // An answer to one may give another something to hear.
  while (true) {
    const std::vector<std::string> workers = core_->TakeReadyWorkers();
    const std::vector<std::string> tuners = core_->TakeReadyTuners();
    for (const std::string& id : workers) AnswerWorker(id);
    for (const std::string& id : tuners) AnswerTuner(id);
    if (workers.empty() && tuners.empty()) break;
    // What a tuner acknowledges it acknowledges again with the answer.
    view = View();
    model_->Observe(loop_->now(), view);
  }
  model_->CheckNobodyWaits(loop_->now(), view);
  ArmTimer();
}

TrackerView SimTracker::View() const {
  TrackerView view{.status = core_->GetStatus(loop_->now()),
                   .workers = core_->ListWorkers(loop_->now())};
  for (const auto& [id, call] : worker_calls_) view.hanging_workers[id] = call.sequence;
  for (const auto& [id, call] : tuner_calls_) view.hanging_tuners[id] = call.request;
  return view;
}

void SimTracker::ArmTimer() {
  const absl::Time next = core_->NextTick();
  if (next >= next_tick_) return;
  next_tick_ = next;
  loop_->At(next - loop_->now(), [this, next, life = life_] {
    if (!is_alive() || life != life_ || next_tick_ != next) return;
    next_tick_ = absl::InfiniteFuture();
    core_->Tick(loop_->now());
    if (core_->NextTick() <= loop_->now()) {
      verdict_->Fail("a tick does all that is due", absl::FormatTime(core_->NextTick()));
      return;
    }
    After();
  });
}

bool SimTracker::IsEmpty() const {
  if (!is_alive()) return false;
  const TrackerStatus status = core_->GetStatus(loop_->now());
  return status.queued_count == 0 && status.leased_count == 0 && status.unacknowledged_count == 0;
}

std::string SimTracker::Describe() const {
  if (!is_alive()) return "the tracker is away";
  const TrackerStatus status = core_->GetStatus(loop_->now());
  return absl::StrCat("the tracker has ", status.queued_count, " queued, ", status.leased_count,
                      " leased, ", status.unacknowledged_count, " done");
}

}  // namespace burnish::sim
