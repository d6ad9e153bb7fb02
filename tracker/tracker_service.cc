#include "tracker/tracker_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/entropy.h"
#include "base/event_log.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "proto/accept_core.h"
#include "proto/artifact_codec.h"
#include "proto/door.h"
#include "proto/measurement.h"
#include "proto/rpc.h"
#include "proto/rpc_server.h"
#include "proto/tracker.grpc.pb.h"
#include "tracker/content_store.h"
#include "tracker/event_lines.h"
#include "tracker/identities.h"
#include "tracker/retry_after.h"
#include "tracker/tracker_core.h"
#include "tracker/tracker_event.h"
#include "tracker/tracker_messages.h"

namespace burnish {
namespace {

// How late a lease may end or a hanging call be answered.
constexpr std::chrono::milliseconds kTimerPrecision(100);

// A call that may hang. Deletes itself when gRPC is done with it.
class HangingCall : public grpc::ServerUnaryReactor {
 public:
  using OnBroken = void (*)(void* owner, HangingCall* call);
  HangingCall(void* owner, OnBroken on_broken) : owner_(owner), on_broken_(on_broken) {}

  // The client is gone, or its time is up: the call leaves the map and must still be finished,
  // once.
  void OnCancel() override { on_broken_(owner_, this); }
  void OnDone() override { delete this; }

 private:
  void* owner_;
  OnBroken on_broken_;
};

struct HangingSync {
  HangingCall* call = nullptr;
  v1::SynchronizeResponse* response = nullptr;
  int64_t sequence = 0;
  absl::Time until;
};

struct HangingCollect {
  HangingCall* call = nullptr;
  v1::CollectResultsResponse* response = nullptr;
  CollectRequest request;
  absl::Time until;
};

// Calls to finish once the lock is released: gRPC may call back from within Finish. And events to
// log, which whoever reads the log may hold up.
class Answers {
 public:
  explicit Answers(EventLog& log) : log_(log) {}
  void Add(grpc::ServerUnaryReactor* call, grpc::Status status = grpc::Status::OK) {
    answers_.emplace_back(call, std::move(status));
  }
  void Add(std::vector<TrackerEvent> events) {
    std::move(events.begin(), events.end(), std::back_inserter(events_));
  }
  ~Answers() {
    for (auto& [call, status] : answers_) call->Finish(status);
    const absl::Time now = Clock::Real().SteadyNow();
    for (const TrackerEvent& event : events_) WriteEvent(now, event, log_);
  }

 private:
  EventLog& log_;
  std::vector<TrackerEvent> events_;
  std::vector<std::pair<grpc::ServerUnaryReactor*, grpc::Status>> answers_;
};

grpc::ServerUnaryReactor* FinishNow(grpc::CallbackServerContext* context,
                                    const absl::Status& status) {
  if (const std::optional<absl::Duration> delay = GetRetryAfter(status)) {
    context->AddTrailingMetadata(kRetryAfterMetadata,
                                 absl::StrCat(absl::ToInt64Milliseconds(*delay)));
  }
  grpc::ServerUnaryReactor* call = context->DefaultReactor();
  call->Finish(ToGrpc(status));
  return call;
}

}  // namespace

class TrackerService::Impl : public v1::Tracker::CallbackService {
 public:
  explicit Impl(const TrackerServiceOptions& options)
      : options_(options),
        greeter_(options.self, options.secret),
        core_(CoreOptions(options), Now()),
        tuners_({.noun = "tuner",
                 .way_out = "another process uses this name; end it, wait a minute until the "
                            "tracker has forgotten it, then resume"}),
        workers_({.noun = "worker",
                  .secret_required = options.require_identity,
                  .way_out = "another process uses this name; give this one its own (--id) or the "
                             "secret of that one, or wait ten minutes after its end, until the "
                             "tracker has forgotten it"}),
        store_(options.artifact_bytes_max) {}
  ~Impl() override;
  absl::Status Listen();
  const std::string& address() const { return server_->address(); }

  grpc::ServerUnaryReactor* Synchronize(grpc::CallbackServerContext* context,
                                        const v1::SynchronizeRequest* request,
                                        v1::SynchronizeResponse* response) override;
  grpc::ServerUnaryReactor* SubmitJobs(grpc::CallbackServerContext* context,
                                       const v1::SubmitJobsRequest* request,
                                       v1::SubmitJobsResponse* response) override;
  grpc::ServerUnaryReactor* CollectResults(grpc::CallbackServerContext* context,
                                           const v1::CollectResultsRequest* request,
                                           v1::CollectResultsResponse* response) override;
  grpc::ServerUnaryReactor* CancelJobs(grpc::CallbackServerContext* context,
                                       const v1::CancelJobsRequest* request,
                                       v1::CancelJobsResponse* response) override;
  grpc::ServerUnaryReactor* PutArtifact(grpc::CallbackServerContext* context,
                                        const v1::PutArtifactRequest* request,
                                        v1::PutArtifactResponse* response) override;
  grpc::ServerUnaryReactor* GetArtifact(grpc::CallbackServerContext* context,
                                        const v1::GetArtifactRequest* request,
                                        v1::GetArtifactResponse* response) override;
  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const v1::ListWorkersRequest* request,
                                        v1::ListWorkersResponse* response) override;
  grpc::ServerUnaryReactor* DrainWorker(grpc::CallbackServerContext* context,
                                        const v1::DrainWorkerRequest* request,
                                        v1::DrainWorkerResponse* response) override;
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest* request,
                                      v1::GetStatusResponse* response) override;

 private:
  static absl::Time Now() { return Clock::Real().SteadyNow(); }
  static TrackerOptions CoreOptions(const TrackerServiceOptions& options) {
    TrackerOptions core = options.core;
    core.first_epoch = EntropyNumber();
    return core;
  }

  // With the lock held.
  absl::Status Identify(const std::string& tuner_id, const std::string& secret) const {
    return tuners_.Check(tuner_id, secret, core_.KnowsTuner(tuner_id));
  }
  // After what was done for a tuner that Identify let in. `was_known`: before that.
  void Remember(const std::string& tuner_id, const std::string& secret, bool was_known) {
    if (core_.KnowsTuner(tuner_id)) tuners_.Bind(tuner_id, secret, was_known);
  }
  // What the worker reports, if it is the one that it says.
  absl::StatusOr<SyncReply> TakeReport(absl::Time now, const WorkerReport& report,
                                       const std::string& secret);
  void ForgetIdentities();
  void AnswerReady(Answers& answers);
  void AnswerSync(const std::string& worker_id, Answers& answers);
  void AnswerCollect(const std::string& tuner_id, Answers& answers);
  static void SyncBroke(void* self, HangingCall* call);
  static void CollectBroke(void* self, HangingCall* call);
  void RunTimer();
  void AnswerOverdue(absl::Time now, Answers& answers);  // With the lock held.

  const TrackerServiceOptions options_;
  const Greeter greeter_;
  std::unique_ptr<RpcServer> server_;
  std::atomic<bool> has_own_door_ = false;  // Calls may come while Listen has yet to return.
  std::thread timer_;

  // std::mutex and not Abseil's, which ThreadSanitizer cannot see into (Debian's library).
  std::mutex mutex_;  // For the seven below.
  std::condition_variable stopped_;
  TrackerCore core_;
  Identities tuners_;
  Identities workers_;
  std::map<std::string, HangingSync> syncs_;        // By worker id.
  std::map<std::string, HangingCollect> collects_;  // By tuner id.
  bool stopping_ = false;

  EventLog log_;  // Outside of the lock: see Answers.

  // A lock of its own: artifacts are megabytes, and copying one must not hold up leases.
  std::mutex store_mutex_;  // For the store.
  ContentStore store_;
};

absl::Status TrackerService::Impl::Listen() {
  ASSIGN_OR_RETURN(server_, RpcServer::Start(options_.listen, [this](grpc::ServerBuilder& builder) {
                     builder.RegisterService(this);
                   }));
  has_own_door_ = IsOwnDoor(server_->address());
  timer_ = std::thread([this] { RunTimer(); });
  return absl::OkStatus();
}

TrackerService::Impl::~Impl() {
  if (server_ == nullptr) return;
  // In this order: health says no and `stopping_` turns new calls away, all that hang are answered,
  // then the timer ends, and last the server, which waits for its calls to end.
  server_->SetNotServing();
  {
    // Declared before the lock, so that it ends after it: see Answers.
    Answers answers(log_);
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    stopped_.notify_all();
    const grpc::Status status(grpc::StatusCode::UNAVAILABLE, "the tracker stops");
    for (auto& [id, sync] : std::exchange(syncs_, {})) answers.Add(sync.call, status);
    for (auto& [id, collect] : std::exchange(collects_, {})) answers.Add(collect.call, status);
  }
  timer_.join();
  server_.reset();
}

// ---- Calls that hang ----

grpc::ServerUnaryReactor* TrackerService::Impl::Synchronize(grpc::CallbackServerContext* context,
                                                            const v1::SynchronizeRequest* request,
                                                            v1::SynchronizeResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "worker"); !fit.ok())
    return FinishNow(context, fit);
  // Parsed before the lock is taken: a large or malformed message must not hold up the others.
  absl::StatusOr<WorkerReport> report = FromProto(*request);
  if (!report.ok()) return FinishNow(context, report.status());
  report->address = has_own_door_ ? kOwnAddress : HostKey(context->peer());
  Answers answers(log_);
  const std::lock_guard lock(mutex_);
  // With the lock held: OnCancel may come at once, and must not look for the call before it is in
  // the map.
  auto* call = new HangingCall(this, &SyncBroke);
  if (stopping_) {
    answers.Add(call, grpc::Status(grpc::StatusCode::UNAVAILABLE, "the tracker stops"));
    return call;
  }
  const absl::Time now = Now();
  const absl::StatusOr<SyncReply> reply = TakeReport(now, *report, request->worker_secret());
  if (!reply.ok()) {
    answers.Add(call, ToGrpc(reply.status()));
    AnswerReady(answers);
    // A report that a newer one has overtaken is usual.
    if (!absl::IsAborted(reply.status())) {
      answers.Add({{.kind = TrackerEvent::Kind::kTurnedAway,
                    .who = report->worker_id,
                    .text = absl::StrCat("is turned away (", report->address,
                                         "): ", reply.status().message())}});
    }
    return call;
  }
  // One call a worker. The newer one knows more, and the answer to the older would be about a state
  // that is over. Who only claims the id ends no call of the one that has it.
  if (const auto old = syncs_.find(report->worker_id); reply->admitted && old != syncs_.end()) {
    answers.Add(old->second.call,
                grpc::Status(grpc::StatusCode::ABORTED, "a newer call of this worker came"));
    syncs_.erase(old);
  }
  if (reply->urgent) {
    *response = ToProto(reply->orders);
    answers.Add(call);
  } else {
    syncs_[report->worker_id] = {.call = call,
                                 .response = response,
                                 .sequence = report->sequence,
                                 .until = now + options_.hang_max};
  }
  AnswerReady(answers);
  return call;
}

absl::StatusOr<SyncReply> TrackerService::Impl::TakeReport(absl::Time now,
                                                           const WorkerReport& report,
                                                           const std::string& secret) {
  const bool was_known = core_.KnowsWorker(report.worker_id);
  RETURN_IF_ERROR(workers_.Check(report.worker_id, secret, was_known));
  ASSIGN_OR_RETURN(SyncReply reply, core_.Synchronize(now, report));
  // Whoever only claims an id of one without a secret has yet to echo its epoch.
  if (reply.admitted) workers_.Bind(report.worker_id, secret, was_known);
  return reply;
}

grpc::ServerUnaryReactor* TrackerService::Impl::CollectResults(
    grpc::CallbackServerContext* context, const v1::CollectResultsRequest* request,
    v1::CollectResultsResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok())
    return FinishNow(context, fit);
  // Before the lock, as in Synchronize.
  absl::StatusOr<CollectRequest> parsed = FromProto(*request);
  if (!parsed.ok()) return FinishNow(context, parsed.status());
  parsed->client = CallerKey(*context);
  const absl::Duration wait =
      // The wish of a client, bounded: a call that hangs for ever holds memory for ever.
      std::clamp(absl::Nanoseconds(request->wait_ns()), absl::ZeroDuration(), options_.hang_max);
  Answers answers(log_);
  const std::lock_guard lock(mutex_);
  auto* call = new HangingCall(this, &CollectBroke);
  if (stopping_) {
    answers.Add(call, grpc::Status(grpc::StatusCode::UNAVAILABLE, "the tracker stops"));
    return call;
  }
  // First: who only claims the id ends no call of the one that has it.
  if (const absl::Status own = Identify(parsed->tuner_id, request->tuner_secret()); !own.ok()) {
    answers.Add(call, ToGrpc(own));
    return call;
  }
  // As Submit does: ids cost a caller nothing, and each is remembered for a minute.
  if (!core_.KnowsTuner(parsed->tuner_id) && !core_.HasRoomForTuner(parsed->client)) {
    answers.Add(call, grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                   absl::StrCat("the tracker has ", core_.tuner_count(),
                                                " tuners already; try again in a minute")));
    return call;
  }
  if (const auto old = collects_.find(parsed->tuner_id); old != collects_.end()) {
    answers.Add(old->second.call,
                grpc::Status(grpc::StatusCode::ABORTED, "a newer call of this tuner came"));
    collects_.erase(old);
  }
  const absl::Time now = Now();
  const bool was_known = core_.KnowsTuner(parsed->tuner_id);
  const Collected collected = core_.Collect(now, *parsed);
  Remember(parsed->tuner_id, request->tuner_secret(), was_known);
  // Else it hangs until there is something: the tuner would ask again at once.
  if (collected.urgent || wait == absl::ZeroDuration()) {
    *response = ToProto(collected);
    answers.Add(call);
  } else {
    collects_[parsed->tuner_id] = {
        .call = call, .response = response, .request = *parsed, .until = now + wait};
  }
  AnswerReady(answers);
  return call;
}

void TrackerService::Impl::AnswerReady(Answers& answers) {
  for (const std::string& id : core_.TakeReadyWorkers()) AnswerSync(id, answers);
  for (const std::string& id : core_.TakeReadyTuners()) AnswerCollect(id, answers);
  answers.Add(core_.TakeEvents());
}

void TrackerService::Impl::AnswerSync(const std::string& worker_id, Answers& answers) {
  const auto sync = syncs_.find(worker_id);
  if (sync == syncs_.end()) return;
  // Asked for when the call is answered and not when it came: orders may have changed while it
  // hung.
  const std::optional<WorkerOrders> orders =
      core_.OrdersFor(Now(), worker_id, sync->second.sequence);
  if (orders.has_value()) {
    *sync->second.response = ToProto(*orders);
    answers.Add(sync->second.call);
  } else {
    answers.Add(sync->second.call, grpc::Status(grpc::StatusCode::ABORTED, "a newer call came"));
  }
  syncs_.erase(sync);
}

void TrackerService::Impl::AnswerCollect(const std::string& tuner_id, Answers& answers) {
  const auto collect = collects_.find(tuner_id);
  if (collect == collects_.end()) return;
  // The request again: acknowledging is idempotent, and what has come since is in the answer.
  *collect->second.response = ToProto(core_.Collect(Now(), collect->second.request));
  answers.Add(collect->second.call);
  collects_.erase(collect);
}

void TrackerService::Impl::SyncBroke(void* self, HangingCall* call) {
  auto* impl = static_cast<Impl*>(self);
  Answers answers(impl->log_);
  const std::lock_guard lock(impl->mutex_);
  for (auto sync = impl->syncs_.begin(); sync != impl->syncs_.end(); ++sync) {
    if (sync->second.call != call) continue;
    // The core must not give a job to a worker whose call is gone: the order would wait for its
    // next report. A process that dies closes its connection, which breaks the call at once.
    impl->core_.CallBroke(Now(), sync->first, sync->second.sequence);
    impl->syncs_.erase(sync);
    answers.Add(call, grpc::Status::CANCELLED);
    return;
  }
}

void TrackerService::Impl::CollectBroke(void* self, HangingCall* call) {
  auto* impl = static_cast<Impl*>(self);
  Answers answers(impl->log_);
  const std::lock_guard lock(impl->mutex_);
  for (auto collect = impl->collects_.begin(); collect != impl->collects_.end(); ++collect) {
    if (collect->second.call != call) continue;
    impl->collects_.erase(collect);
    answers.Add(call, grpc::Status::CANCELLED);
    return;
  }
}

void TrackerService::Impl::RunTimer() {
  while (true) {
    Answers answers(log_);
    std::unique_lock lock(mutex_);
    if (stopped_.wait_for(lock, kTimerPrecision, [this] { return stopping_; })) return;
    const absl::Time now = Now();
    if (core_.NextTick() <= now) core_.Tick(now);
    ForgetIdentities();
    AnswerReady(answers);
    AnswerOverdue(now, answers);
    log_.Tick(now);
  }
}

void TrackerService::Impl::ForgetIdentities() {
  if (tuners_.size() > core_.tuner_count()) {
    tuners_.Prune([this](const std::string& id) { return core_.KnowsTuner(id); });
  }
  if (workers_.size() > core_.worker_count()) {
    workers_.Prune([this](const std::string& id) { return core_.KnowsWorker(id); });
  }
}

void TrackerService::Impl::AnswerOverdue(absl::Time now, Answers& answers) {
  // Names first: an answer erases from the map.
  std::vector<std::string> workers, tuners;
  for (const auto& [id, sync] : syncs_) {
    if (sync.until <= now) workers.push_back(id);
  }
  for (const auto& [id, collect] : collects_) {
    if (collect.until <= now) tuners.push_back(id);
  }
  for (const std::string& id : workers) AnswerSync(id, answers);
  for (const std::string& id : tuners) AnswerCollect(id, answers);
}

// ---- Calls that answer at once ----

grpc::ServerUnaryReactor* TrackerService::Impl::SubmitJobs(grpc::CallbackServerContext* context,
                                                           const v1::SubmitJobsRequest* request,
                                                           v1::SubmitJobsResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok())
    return FinishNow(context, fit);
  absl::StatusOr<std::vector<JobSpec>> jobs = JobsFromProto(*request);
  if (!jobs.ok()) return FinishNow(context, jobs.status());
  Answers answers(log_);
  absl::StatusOr<int64_t> session;
  {
    const std::lock_guard lock(mutex_);
    if (const absl::Status own = Identify(request->tuner_id(), request->tuner_secret());
        !own.ok()) {
      session = own;
    } else {
      const bool was_known = core_.KnowsTuner(request->tuner_id());
      session = core_.Submit(Now(), request->tuner_id(), *std::move(jobs), request->resubmission(),
                             CallerKey(*context));
      Remember(request->tuner_id(), request->tuner_secret(), was_known);
    }
    AnswerReady(answers);
  }
  if (session.ok()) response->set_session(*session);
  return FinishNow(context, session.status());
}

grpc::ServerUnaryReactor* TrackerService::Impl::CancelJobs(grpc::CallbackServerContext* context,
                                                           const v1::CancelJobsRequest* request,
                                                           v1::CancelJobsResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok())
    return FinishNow(context, fit);
  if (const absl::Status parsed = Validate(*request); !parsed.ok()) {
    return FinishNow(context, parsed);
  }
  Answers answers(log_);
  absl::Status status;
  {
    const std::lock_guard lock(mutex_);
    status = Identify(request->tuner_id(), request->tuner_secret());
    if (status.ok()) {
      response->set_cancelled_count(
          core_.Cancel(Now(), request->tuner_id(),
                       {request->job_ids().begin(), request->job_ids().end()}, request->study()));
    }
    AnswerReady(answers);
  }
  return FinishNow(context, status);
}

grpc::ServerUnaryReactor* TrackerService::Impl::PutArtifact(grpc::CallbackServerContext* context,
                                                            const v1::PutArtifactRequest* request,
                                                            v1::PutArtifactResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "worker"); !fit.ok())
    return FinishNow(context, fit);
  absl::Status status;
  {
    const std::lock_guard lock(mutex_);
    status = core_.CheckBuildLease(
        Now(), request->worker_id(), request->incarnation(),
        {.job_id = request->lease().job_id(), .epoch = request->lease().epoch()});
  }
  // Checked here, so that a damaged one never takes the place of the real one. No lock is held.
  if (status.ok()) status = DecompressArtifact(request->zstd(), request->sha256()).status();
  if (status.ok()) {
    const std::lock_guard lock(store_mutex_);
    store_.Put(request->sha256(), request->zstd());
  }
  return FinishNow(context, status);
}

grpc::ServerUnaryReactor* TrackerService::Impl::GetArtifact(grpc::CallbackServerContext* context,
                                                            const v1::GetArtifactRequest* request,
                                                            v1::GetArtifactResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "worker"); !fit.ok())
    return FinishNow(context, fit);
  std::shared_ptr<const std::string> bytes;
  {
    const std::lock_guard lock(store_mutex_);
    bytes = store_.Get(request->sha256());
  }
  if (bytes == nullptr) {
    return FinishNow(context, absl::NotFoundError("artifact missing: have it built again"));
  }
  response->set_zstd(*bytes);
  return FinishNow(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* TrackerService::Impl::ListWorkers(grpc::CallbackServerContext* context,
                                                            const v1::ListWorkersRequest* request,
                                                            v1::ListWorkersResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok())
    return FinishNow(context, fit);
  {
    const std::lock_guard lock(mutex_);
    *response = ToProto(core_.ListWorkers(Now()));
  }
  return FinishNow(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* TrackerService::Impl::DrainWorker(grpc::CallbackServerContext* context,
                                                            const v1::DrainWorkerRequest* request,
                                                            v1::DrainWorkerResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok())
    return FinishNow(context, fit);
  Answers answers(log_);
  absl::Status status;
  {
    const std::lock_guard lock(mutex_);
    const bool is_operator = IsFingerprintOf(options_.operator_sha256, request->operator_secret());
    if (is_operator || workers_.IsOwner(request->worker_id(), request->worker_secret())) {
      status = core_.Drain(Now(), request->worker_id(), request->undo());
    } else {
      status = absl::PermissionDeniedError(
          absl::StrCat("worker ", request->worker_id(),
                       " is drained by its own user, and by the tracker's: as one of them, or with "
                       "the secret of one (BURNISH_WORKER_SECRET, BURNISH_OPERATOR_SECRET)"));
    }
    AnswerReady(answers);
  }
  return FinishNow(context, status);
}

grpc::ServerUnaryReactor* TrackerService::Impl::GetStatus(grpc::CallbackServerContext* context,
                                                          const v1::GetStatusRequest* request,
                                                          v1::GetStatusResponse* response) {
  if (const absl::Status fit = greeter_.Greet(*context, "tuner"); !fit.ok())
    return FinishNow(context, fit);
  {
    const std::lock_guard lock(mutex_);
    *response = ToProto(core_.GetStatus(Now()));
  }
  response->set_version(VersionLine(options_.self));
  {
    const std::lock_guard lock(store_mutex_);
    response->set_artifact_count(store_.count());
    response->set_artifact_bytes(store_.byte_count());
  }
  return FinishNow(context, absl::OkStatus());
}

absl::StatusOr<std::unique_ptr<TrackerService>> TrackerService::Start(
    const TrackerServiceOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  RETURN_IF_ERROR(impl->Listen());
  return std::unique_ptr<TrackerService>(new TrackerService(std::move(impl)));
}

TrackerService::TrackerService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TrackerService::~TrackerService() = default;

const std::string& TrackerService::address() const { return impl_->address(); }

}  // namespace burnish
