#include "tracker/tracker_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "proto/backoff.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/tracker.grpc.pb.h"
#include "tracker/client_core.h"
#include "tracker/retry_after.h"
#include "tracker/tracker_messages.h"

namespace burnish {
namespace {

// A hanging call is renewed every 5 s, which is also the sign of life. 12 s leave room for the
// answer and its network; a call that says nothing for longer is lost. Delays between attempts
// double from 50 ms to 2 s, with jitter, so that a farm of tuners does not come back at one
// instant. Choices; not tuned.
constexpr absl::Duration kHang = absl::Seconds(5);
constexpr std::chrono::seconds kCallTimeout(12);
constexpr std::chrono::seconds kCancelTimeout(5);
constexpr std::chrono::seconds kCancelTimeoutMin(1);  // What is left for the call itself.
constexpr absl::Duration kBackoffMin = absl::Milliseconds(50);
constexpr absl::Duration kBackoffMax = absl::Seconds(2);
// Acknowledgements travel with the next CollectResults; while one hangs, they wait for company for
// this long before a new one is sent.
constexpr absl::Duration kAcknowledgeDelay = absl::Milliseconds(50);

absl::Status StatusOf(const grpc::Status& status, const grpc::ClientContext& context) {
  absl::Status result = FromGrpc(status);
  if (result.ok()) return result;
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto entry = metadata.find(kRetryAfterMetadata);
  int64_t milliseconds = 0;
  if (entry != metadata.end() &&
      absl::SimpleAtoi(absl::string_view(entry->second.data(), entry->second.size()),
                       &milliseconds)) {
    SetRetryAfter(absl::Milliseconds(milliseconds), result);
  }
  return result;
}

// The standard library's clocks overflow on infinite waits.
std::chrono::nanoseconds Bounded(absl::Duration timeout) {
  return absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(24 * 365)));
}

// A call belongs to the client and never to its own callback. A context holds a reference to the
// channel, and gRPC 1.51 joins its callback threads with the last channel: were that reference
// dropped by a callback, a thread would join itself and go on with a queue that is gone.
struct CollectCall {
  CollectRequest request;  // Of the core.
  grpc::ClientContext context;
  v1::CollectResultsRequest message;
  v1::CollectResultsResponse response;
};

struct SubmitCall {
  grpc::ClientContext context;
  v1::SubmitJobsRequest message;
  v1::SubmitJobsResponse response;
};

}  // namespace

class TrackerClient::Impl {
 public:
  explicit Impl(const TrackerClientOptions& options)
      : options_(options),
        secret_(options.tuner_secret.empty() ? NewSecret() : options.tuner_secret),
        channel_(OpenChannel(options.tracker, options.self)),
        stub_(v1::Tracker::NewStub(channel_)),
        core_(options.tuner_id),
        submit_backoff_(kBackoffMin, kBackoffMax, options.seed),
        collect_backoff_(kBackoffMin, kBackoffMax, options.seed + 1) {
    CHECK(secret_.size() >= kSecretBytesMin && secret_.size() <= kSecretBytesMax);
    loop_ = std::thread([this] { Run(); });
  }
  ~Impl();

  absl::Status Submit(std::vector<JobSpec> jobs, bool resubmission);
  void AllResubmitted();
  std::vector<ResultEntry> Collect(absl::Duration timeout, int count_max);
  void Acknowledge(const std::vector<std::string>& job_ids);
  absl::Status Cancel(const std::vector<std::string>& job_ids, const std::string& study);
  TrackerClientState state() const;

 private:
  static absl::Time Now() { return Clock::Real().SteadyNow(); }

  void Run();
  // When the loop has something to do next, as things stand.
  absl::Time NextDeed() const;
  void BeginCollect();
  void BeginSubmit();
  void CollectEnded(const CollectCall* ended, const grpc::Status& status);
  void SubmitEnded(const grpc::Status& status);
  void SendAcknowledgements();  // Soon, if there are any.
  void NoteFailure(const absl::Status& status);
  void NoteSuccess();

  const TrackerClientOptions options_;
  const std::string secret_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Tracker::Stub> stub_;

  // std::mutex and not Abseil's, which ThreadSanitizer cannot see into (Debian's library).
  mutable std::mutex mutex_;         // For all below.
  std::condition_variable changed_;  // Any of them.
  ClientCore core_;
  Backoff submit_backoff_;
  Backoff collect_backoff_;
  absl::Time submit_at_ = absl::InfinitePast();
  absl::Time collect_at_ = absl::InfinitePast();
  absl::Time acknowledge_at_ = absl::InfiniteFuture();
  std::vector<std::unique_ptr<CollectCall>> collect_calls_;  // Under way, replaced ones too.
  const CollectCall* collect_call_ = nullptr;                // The latest; null: none.
  std::unique_ptr<SubmitCall> submit_call_;                  // Null: none.
  std::deque<ResultEntry> results_;                          // Not handed out yet.
  TrackerClientState state_;
  bool stopping_ = false;
  std::thread loop_;
};

TrackerClient::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    // A hanging call would hold up the destructor for 12 s.
    for (const auto& call : collect_calls_) call->context.TryCancel();
    if (submit_call_ != nullptr) submit_call_->context.TryCancel();
  }
  // The loop first: it begins calls. Then those under way must end, since their callbacks use this
  // object.
  loop_.join();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return collect_calls_.empty() && submit_call_ == nullptr; });
}

absl::Time TrackerClient::Impl::NextDeed() const {
  if (!state_.refused.ok()) return absl::InfiniteFuture();  // No attempt could mend that.
  absl::Time next = absl::InfiniteFuture();
  if (submit_call_ == nullptr && core_.has_batch()) next = std::min(next, submit_at_);
  if (collect_call_ == nullptr) {
    next = std::min(next, collect_at_);
  } else {
    next = std::min(next, acknowledge_at_);
  }
  return next;
}

void TrackerClient::Impl::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const absl::Time now = Now();
    if (NextDeed() > now) {
      changed_.wait_for(lock, Bounded(NextDeed() - now));
      continue;
    }
    // One submission at a time: order is kept, and a tracker that is full is not asked twice.
    if (submit_call_ == nullptr && core_.has_batch() && submit_at_ <= now) BeginSubmit();
    if (collect_call_ == nullptr ? collect_at_ <= now : acknowledge_at_ <= now) BeginCollect();
  }
}

void TrackerClient::Impl::BeginCollect() {
  collect_calls_.push_back(std::make_unique<CollectCall>());
  CollectCall* const call = collect_calls_.back().get();
  call->request = core_.MakeCollect();
  call->message = ToProto(call->request);
  call->message.set_wait_ns(absl::ToInt64Nanoseconds(kHang));
  call->message.set_tuner_secret(secret_);
  call->context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  acknowledge_at_ = absl::InfiniteFuture();
  collect_call_ = call;  // The tracker ends the one before, if there is one.
  stub_->async()->CollectResults(&call->context, &call->message, &call->response,
                                 [this, call](grpc::Status status) { CollectEnded(call, status); });
}

void TrackerClient::Impl::CollectEnded(const CollectCall* ended, const grpc::Status& grpc_status) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(collect_calls_.begin(), collect_calls_.end(),
                                  [ended](const auto& call) { return call.get() == ended; });
  const std::unique_ptr<CollectCall> call = std::move(*found);  // Goes before the lock does.
  collect_calls_.erase(found);
  changed_.notify_all();
  if (stopping_ || ended != collect_call_) return;  // A newer one asks the same and more.
  collect_call_ = nullptr;
  absl::Status status = StatusOf(grpc_status, call->context);
  absl::StatusOr<Collected> collected = absl::UnknownError("");
  if (status.ok()) {
    collected = FromProto(call->response);
    status = collected.status();
  }
  if (!status.ok()) {
    NoteFailure(status);
    collect_at_ = Now() + collect_backoff_.Next();
    return;
  }
  NoteSuccess();
  collect_backoff_.Reset();
  for (ResultEntry& result : core_.Collect(call->request, *collected)) {
    results_.push_back(std::move(result));
  }
  // As of now: an empty list says that all can be done.
  state_.unmatched = std::move(collected->unmatched);
}

void TrackerClient::Impl::BeginSubmit() {
  const std::optional<SubmitBatch> batch = core_.NextBatch();
  if (!batch.has_value()) return;
  submit_call_ = std::make_unique<SubmitCall>();
  SubmitCall* const call = submit_call_.get();
  call->message = ToProto(options_.tuner_id, batch->jobs, batch->resubmission);
  call->message.set_tuner_secret(secret_);
  call->context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  stub_->async()->SubmitJobs(&call->context, &call->message, &call->response,
                             [this](grpc::Status status) { SubmitEnded(status); });
}

void TrackerClient::Impl::SubmitEnded(const grpc::Status& grpc_status) {
  const std::lock_guard lock(mutex_);
  const std::unique_ptr<SubmitCall> call = std::move(submit_call_);  // Goes before the lock does.
  changed_.notify_all();
  if (stopping_) return;
  const absl::Status status = StatusOf(grpc_status, call->context);
  if (status.ok()) {
    NoteSuccess();
    submit_backoff_.Reset();
    core_.BatchTaken(call->response.session());
    return;
  }
  // Whether or not the tracker has them: the batch goes again, and known ids are left as they are.
  core_.BatchFailed(/*too_many=*/absl::IsResourceExhausted(status));
  const std::optional<absl::Duration> delay = GetRetryAfter(status);
  // A tracker that is full says when to come back; one that does not answer is asked ever more
  // rarely.
  submit_at_ = Now() + (delay.has_value() ? *delay : submit_backoff_.Next());
  if (!delay.has_value()) NoteFailure(status);  // Full is no fault.
}

void TrackerClient::Impl::NoteFailure(const absl::Status& status) {
  state_.last_error = status;
  // To be asked again and again is of no use to a tracker that has said no. Whoever uses this
  // client ends by name (state), and may come again as a new one.
  if (IsFinalRefusal(status)) {
    state_.refused = status;
    return;
  }
  if (state_.unreachable_since == absl::InfiniteFuture()) state_.unreachable_since = Now();
}

void TrackerClient::Impl::NoteSuccess() { state_.unreachable_since = absl::InfiniteFuture(); }

absl::Status TrackerClient::Impl::Submit(std::vector<JobSpec> jobs, bool resubmission) {
  // What the tracker would refuse for ever must not be tried for ever.
  for (const JobSpec& job : jobs) RETURN_IF_ERROR(FromProto(ToProto(job)).status());
  const std::lock_guard lock(mutex_);
  for (ResultEntry& result : core_.Add(std::move(jobs), resubmission)) {
    results_.push_back(std::move(result));
  }
  changed_.notify_all();
  return absl::OkStatus();
}

void TrackerClient::Impl::AllResubmitted() {
  const std::lock_guard lock(mutex_);
  core_.AllResubmitted();
  SendAcknowledgements();
}

std::vector<ResultEntry> TrackerClient::Impl::Collect(absl::Duration timeout, int count_max) {
  std::vector<ResultEntry> results;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, Bounded(timeout), [this] { return !results_.empty(); });
  while (!results_.empty() && static_cast<int>(results.size()) < count_max) {
    results.push_back(std::move(results_.front()));
    results_.pop_front();
  }
  return results;
}

void TrackerClient::Impl::Acknowledge(const std::vector<std::string>& job_ids) {
  const std::lock_guard lock(mutex_);
  core_.Acknowledge(job_ids);
  SendAcknowledgements();
}

void TrackerClient::Impl::SendAcknowledgements() {
  if (!core_.has_acknowledgements()) return;
  acknowledge_at_ = std::min(acknowledge_at_, Now() + kAcknowledgeDelay);
  changed_.notify_all();
}

absl::Status TrackerClient::Impl::Cancel(const std::vector<std::string>& job_ids,
                                         const std::string& study) {
  const auto deadline = std::chrono::system_clock::now() + kCancelTimeout;
  bool all_sent = false;
  {
    std::unique_lock lock(mutex_);
    // First what never left: that needs no tracker.
    for (ResultEntry& result : core_.TakeBack(job_ids, study)) {
      results_.push_back(std::move(result));
    }
    changed_.notify_all();
    // A cancellation that overtakes the job finds nothing to cancel, and the job would run.
    all_sent = changed_.wait_until(lock, deadline - kCancelTimeoutMin,
                                   [&] { return core_.AllSent(job_ids, study); });
  }
  v1::CancelJobsRequest request;
  request.set_tuner_id(options_.tuner_id);
  request.mutable_job_ids()->Add(job_ids.begin(), job_ids.end());
  request.set_study(study);
  request.set_tuner_secret(secret_);
  v1::CancelJobsResponse response;
  grpc::ClientContext context;
  context.set_deadline(deadline);
  // Until the deadline: a tracker that is just being restarted is worth waiting for, since a job
  // that is not cancelled uses a machine for nobody.
  context.set_wait_for_ready(true);
  RETURN_IF_ERROR(FromGrpc(stub_->CancelJobs(&context, request, &response)));
  if (all_sent) return absl::OkStatus();
  return absl::UnavailableError("some of the jobs have not reached the tracker yet");
}

TrackerClientState TrackerClient::Impl::state() const {
  const std::lock_guard lock(mutex_);
  TrackerClientState state = state_;
  state.open_count = core_.open_count();
  state.held_count = core_.held_count();
  return state;
}

TrackerClient::TrackerClient(const TrackerClientOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}

TrackerClient::~TrackerClient() = default;

absl::Status TrackerClient::Submit(std::vector<JobSpec> jobs, bool resubmission) {
  return impl_->Submit(std::move(jobs), resubmission);
}

void TrackerClient::AllResubmitted() { impl_->AllResubmitted(); }

std::vector<ResultEntry> TrackerClient::Collect(absl::Duration timeout, int count_max) {
  return impl_->Collect(timeout, count_max);
}

void TrackerClient::Acknowledge(const std::vector<std::string>& job_ids) {
  impl_->Acknowledge(job_ids);
}

absl::Status TrackerClient::Cancel(const std::vector<std::string>& job_ids,
                                   const std::string& study) {
  return impl_->Cancel(job_ids, study);
}

TrackerClientState TrackerClient::state() const { return impl_->state(); }

}  // namespace burnish
