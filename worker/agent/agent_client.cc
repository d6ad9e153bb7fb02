#include "worker/agent/agent_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/logging.h"
#include "proto/backoff.h"
#include "proto/rpc.h"
#include "proto/tracker.grpc.pb.h"

namespace burnish {
namespace {

// Calls hang for 5 s; one that says nothing for much longer has been forgotten.
constexpr std::chrono::seconds kCallTimeout(12);
// Doubling with jitter, as the tuner's client does: a tracker that comes back meets a farm one by
// one. Not tuned.
constexpr absl::Duration kBackoffMin = absl::Milliseconds(50);
constexpr absl::Duration kBackoffMax = absl::Seconds(2);
// Between lines of one slot in the log, of the same fault and of any: a tuner whose jobs all fault
// fills no disk.
constexpr absl::Duration kSameFaultAgain = absl::Minutes(1), kFaultAgain = absl::Seconds(1);
// A newer call ends an older one at the tracker, so more are under way only when it does not
// answer; then news waits for the next.
constexpr int kCallsMax = 4;

// The standard library's clocks overflow on infinite waits.
std::chrono::nanoseconds Bounded(absl::Duration timeout) {
  return absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(24 * 365)));
}

// One Synchronize call. It belongs to the client and never to its own callback: a context holds a
// reference to the channel, and gRPC 1.51 joins its callback threads with the last channel. Were
// that reference dropped by a callback, a thread would join itself.
struct Call {
  grpc::ClientContext context;
  v1::SynchronizeRequest request;
  v1::SynchronizeResponse response;
};

}  // namespace

class AgentClient::Impl {
 public:
  Impl(const AgentOptions& options, std::vector<AgentSlot> slots);
  ~Impl();

  void Leave();
  bool WaitUntilEmpty(absl::Duration timeout);
  absl::Status WaitUntilRefused(absl::Duration timeout);
  absl::Time unreachable_since() const {
    const std::lock_guard lock(mutex_);
    return unreachable_since_;
  }

 private:
  static absl::Time Now() { return Clock::Real().SteadyNow(); }
  static std::vector<SlotInfo> InfosOf(const std::vector<AgentSlot>& slots) {
    std::vector<SlotInfo> infos;
    for (const AgentSlot& slot : slots) infos.push_back(slot.info);
    return infos;
  }

  void Run();
  // With the lock held, like the other private ones but CallEnded and CarryOut.
  bool HasWork() const;
  void BeginCall();
  void CallEnded(const Call* ended, const grpc::Status& status);
  void LogOrders(const WorkerOrders& orders);
  void TakeFailure(const absl::Status& status, int64_t sequence);
  void CarryOut(const std::vector<SlotAction>& actions);
  void LogFault(int slot_index, const std::string& job_id, const JobOutcome& outcome);

  const AgentOptions options_;
  const std::unique_ptr<v1::Tracker::Stub> stub_;
  std::vector<AgentSlot> slots_;

  // std::mutex and not Abseil's, which ThreadSanitizer cannot see into (Debian's library).
  mutable std::mutex mutex_;         // For all below.
  std::condition_variable changed_;  // Any of them.
  AgentCore core_;
  Backoff backoff_;
  absl::Time retry_at_ = absl::InfinitePast();
  std::vector<std::unique_ptr<Call>> calls_;  // Under way, oldest first.
  std::vector<SlotAction> actions_;           // For the loop's thread.
  absl::Time unreachable_since_ = absl::InfiniteFuture();
  // As the log was told.
  bool registered_ = false, draining_ = false;
  absl::Status refused_;
  // By slot: what the log was told last, and when.
  std::vector<std::pair<std::string, absl::Time>> told_faults_;
  bool stopping_ = false;
  std::thread loop_;
};

AgentClient::Impl::Impl(const AgentOptions& options, std::vector<AgentSlot> slots)
    : options_(options),
      stub_(v1::Tracker::NewStub(options.channel != nullptr
                                     ? options.channel
                                     : OpenChannel(options.tracker, options.self))),
      slots_(std::move(slots)),
      core_(options.identity, InfosOf(slots_)),
      backoff_(kBackoffMin, kBackoffMax, options.seed),
      told_faults_(slots_.size(), {"", absl::InfinitePast()}) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    CHECK(slots_[i].executor != nullptr);
    slots_[i].executor->TellWaiting([this, slot_index = static_cast<int>(i)](bool waiting) {
      const std::lock_guard lock(mutex_);
      core_.SetWaiting(slot_index, waiting);
      changed_.notify_all();
    });
  }
  loop_ = std::thread([this] { Run(); });
}

AgentClient::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    for (const std::unique_ptr<Call>& call : calls_) call->context.TryCancel();
  }
  loop_.join();
  // Outcomes that come until an executor is gone are for nobody, but need this object's lock.
  for (AgentSlot& slot : slots_) slot.executor.reset();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return calls_.empty(); });
}

bool AgentClient::Impl::HasWork() const {
  if (stopping_ || !actions_.empty()) return true;
  // Turned away for good: another process has this id, or the tracker does not understand this one.
  // Asking again would not help; executions go on until the program ends.
  if (!refused_.ok()) return false;
  // One call always hangs; news needs another.
  return calls_.empty() || (core_.has_news() && calls_.size() < kCallsMax);
}

void AgentClient::Impl::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return HasWork(); });
    if (stopping_) return;
    if (!actions_.empty()) {
      const std::vector<SlotAction> actions = std::exchange(actions_, {});
      // An executor's Start and Cancel take locks of their own and may call back, which takes this
      // one.
      lock.unlock();
      CarryOut(actions);
      lock.lock();
      continue;
    }
    // Actions are carried out also while the tracker is away, calls are not begun.
    const absl::Duration pause = retry_at_ - Now();
    if (pause > absl::ZeroDuration()) {
      changed_.wait_for(lock, absl::ToChronoNanoseconds(pause),
                        [this] { return stopping_ || !actions_.empty(); });
      continue;
    }
    BeginCall();
  }
}

void AgentClient::Impl::BeginCall() {
  calls_.push_back(std::make_unique<Call>());
  Call* const call = calls_.back().get();
  call->request = ToProto(core_.MakeReport());
  call->request.set_worker_secret(options_.identity.secret);
  call->context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  stub_->async()->Synchronize(&call->context, &call->request, &call->response,
                              [this, call](grpc::Status status) { CallEnded(call, status); });
}

void AgentClient::Impl::CallEnded(const Call* ended, const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(calls_.begin(), calls_.end(),
                                  [ended](const auto& call) { return call.get() == ended; });
  const std::unique_ptr<Call> call = std::move(*found);  // Goes before the lock does.
  calls_.erase(found);
  changed_.notify_all();
  if (stopping_) return;
  if (!status.ok()) return TakeFailure(FromGrpc(status), call->request.sequence());
  const absl::StatusOr<WorkerOrders> orders = FromProto(call->response);
  if (!orders.ok()) return TakeFailure(orders.status(), call->request.sequence());
  LogOrders(*orders);
  backoff_.Reset();
  retry_at_ = absl::InfinitePast();
  unreachable_since_ = absl::InfiniteFuture();
  for (SlotAction& action : core_.Apply(*orders)) actions_.push_back(std::move(action));
}

void AgentClient::Impl::LogOrders(const WorkerOrders& orders) {
  if (unreachable_since_ != absl::InfiniteFuture()) {
    LogInfo(absl::StrCat("the tracker at ", options_.tracker, " answers again"));
  }
  // Without slots it asks first whether this process lives.
  if (orders.slots.empty()) return;
  if (!std::exchange(registered_, true)) {
    LogInfo(absl::StrCat("the tracker at ", options_.tracker, " has this worker, with ",
                         orders.slots.size(), " slots"));
  }
  if (std::exchange(draining_, orders.draining) != orders.draining) {
    LogInfo(orders.draining ? "drained: the tracker gives no more jobs"
                            : "no longer drained: the tracker gives jobs again");
  }
}

void AgentClient::Impl::TakeFailure(const absl::Status& status, int64_t sequence) {
  if (absl::IsAborted(status)) return;  // A newer call of ours came first.
  // Those that no further attempt can mend. Everything else is taken for a tracker that is away,
  // and tried for ever.
  if (absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status) ||
      absl::IsUnauthenticated(status)) {
    LogError(absl::StrCat("the tracker refuses this worker: ", status.message()));
    refused_ = status;
    return;
  }
  if (unreachable_since_ == absl::InfiniteFuture()) {
    // The tracker forgets who has this id, so that to ask again helps in the end.
    LogWarning(absl::StrCat(absl::IsPermissionDenied(status) ? "turned away by" : "no answer from",
                            " the tracker at ", options_.tracker, ": ", status.message()));
    unreachable_since_ = Now();
  }
  retry_at_ = std::max(retry_at_, Now() + backoff_.Next());
}

void AgentClient::Impl::CarryOut(const std::vector<SlotAction>& actions) {
  for (const SlotAction& action : actions) {
    SlotExecutor& executor = *slots_[action.slot_index].executor;
    if (action.kind == SlotAction::Kind::kCancel) {
      executor.Cancel();
      continue;
    }
    executor.Start(
        action.job, action.lease,
        [this, slot_index = action.slot_index, job_id = action.lease.job_id](JobOutcome outcome) {
          const std::lock_guard lock(mutex_);
          LogFault(slot_index, job_id, outcome);
          core_.Finished(slot_index, std::move(outcome));
          changed_.notify_all();
        });
  }
}

// A slot that cannot do its jobs says so where its operator looks, and not to tuners alone.
void AgentClient::Impl::LogFault(int slot_index, const std::string& job_id,
                                 const JobOutcome& outcome) {
  const auto* fault = std::get_if<WorkerFault>(&outcome);
  if (fault == nullptr) return;
  auto& [told, at] = told_faults_[slot_index];
  const absl::Time now = Now();
  if (now < at + (fault->message == told ? kSameFaultAgain : kFaultAgain)) return;
  told = fault->message;
  at = now;
  LogWarning(absl::StrCat("slot ", slot_index, " ", fault->refused ? "refuses" : "cannot do",
                          " job ", job_id, ": ", fault->message));
}

void AgentClient::Impl::Leave() {
  const std::lock_guard lock(mutex_);
  core_.Leave();
  changed_.notify_all();
}

bool AgentClient::Impl::WaitUntilEmpty(absl::Duration timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, Bounded(timeout), [this] { return core_.IsEmpty(); });
}

absl::Status AgentClient::Impl::WaitUntilRefused(absl::Duration timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, Bounded(timeout), [this] { return !refused_.ok(); });
  return refused_;
}

AgentClient::AgentClient(const AgentOptions& options, std::vector<AgentSlot> slots)
    : impl_(std::make_unique<Impl>(options, std::move(slots))) {}

AgentClient::~AgentClient() = default;

void AgentClient::Leave() { impl_->Leave(); }

bool AgentClient::WaitUntilEmpty(absl::Duration timeout) { return impl_->WaitUntilEmpty(timeout); }

absl::Status AgentClient::WaitUntilRefused(absl::Duration timeout) {
  return impl_->WaitUntilRefused(timeout);
}

absl::Time AgentClient::unreachable_since() const { return impl_->unreachable_since(); }

}  // namespace burnish
