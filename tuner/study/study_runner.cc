#include "tuner/study/study_runner.h"

#include <atomic>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "db/damaged_study.h"
#include "proto/protocol.h"
#include "tuner/study/study_session.h"

namespace burnish {
namespace {

// How late an interrupt and a line of progress may be. Results wake the loop at once.
constexpr absl::Duration kCollectTimeout = absl::Seconds(1);
// A farm that is away must not keep a user who cancels. Ten seconds cover a kernel that is being
// timed (see MeasureMethod::timeout); what comes later finds nobody.
constexpr absl::Duration kCancelTimeout = absl::Seconds(10);

enum class Request { kNone, kInterrupt, kCancel };

}  // namespace

class StudyRunner::Impl {
 public:
  explicit Impl(StudyRunnerOptions options) : options_(std::move(options)), session_(options_) {}

  absl::StatusOr<StudyResult> Run() {
    CHECK(!has_run_.exchange(true));
    absl::StatusOr<StopReason> reason = session_.Start();
    if (!reason.ok()) reason = WithDamagedStudy(options_.study_id, reason.status());
    // Whatever fails from here on leaves its reason in the store, so that the list of studies does
    // not show one as running for ever.
    if (reason.ok()) reason = Loop();
    if (reason.ok()) reason = Refine(session_.Judge(*reason));
    const absl::StatusOr<std::string> finished =
        reason.ok() ? session_.Finish(*reason) : reason.status();
    if (!finished.ok()) {
      session_.Fail(finished.status());
      return finished.status();
    }
    return StudyResult{.reason = *reason, .detail = *finished, .progress = session_.Progress()};
  }

  void Ask(Request request) {
    // A cancellation is not taken back by an interrupt.
    Request none = Request::kNone;
    if (request == Request::kCancel) {
      request_ = request;
    } else {
      request_.compare_exchange_strong(none, request);
    }
  }

 private:
  absl::StatusOr<StopReason> Loop() {
    absl::Time answered_at = options_.clock->SteadyNow();
    while (true) {
      if (request_ == Request::kInterrupt) return StopReason::kInterrupted;
      if (request_ == Request::kCancel) {
        RETURN_IF_ERROR(session_.CancelOpen(kCancelTimeout));
        return StopReason::kCancelled;
      }
      RETURN_IF_ERROR(session_.KeepClaim());
      ASSIGN_OR_RETURN(const StopReason reason, session_.Fill());
      // Not when Fill gave a reason, but when nothing is open any more: trials in flight have been
      // paid for.
      if (session_.open_count() == 0) {
        CHECK(reason != StopReason::kNone);
        return reason;
      }
      // --time ends the beginning of trials. Those that are open get a while longer, and are
      // cancelled then.
      if (session_.time_is_up_since() + options_.drain_timeout <= options_.clock->SteadyNow()) {
        RETURN_IF_ERROR(session_.CancelOpen(kCancelTimeout));
        return StopReason::kTime;
      }
      ASSIGN_OR_RETURN(const int count, session_.Collect(kCollectTimeout));
      const absl::Time now = options_.clock->SteadyNow();
      // A healthy farm may be silent for long, with one slow kernel; an unhealthy one may still
      // answer. Only both together count as silence.
      const absl::Status health = options_.measurer->health();
      if (count > 0 || health.ok()) answered_at = now;
      // No patience helps: the tracker has said no, and every further call would be refused.
      if (IsFinalRefusal(health)) return StopReason::kMeasurerSilent;
      if (now - answered_at >= options_.silence_max) return StopReason::kMeasurerSilent;
      if (options_.on_progress != nullptr) options_.on_progress(session_.Progress());
    }
  }

  // After the trials; the reason is theirs, unless somebody ended this.
  StopReason Refine(StopReason reason) {
    if (!IsOver(reason) || !(session_.MayRefine() || session_.MayMeasureGains())) return reason;
    session_.Refine([this] {
      if (options_.on_progress != nullptr) options_.on_progress(session_.Progress());
      return request_ != Request::kNone;
    });
    if (request_ == Request::kInterrupt) return StopReason::kInterrupted;
    if (request_ == Request::kCancel) return StopReason::kCancelled;
    return reason;
  }

  const StudyRunnerOptions options_;
  StudySession session_;
  std::atomic<bool> has_run_ = false;
  std::atomic<Request> request_ = Request::kNone;
};

StudyRunner::StudyRunner(StudyRunnerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
StudyRunner::~StudyRunner() = default;

absl::StatusOr<StudyResult> StudyRunner::Run() { return impl_->Run(); }
void StudyRunner::Interrupt() { impl_->Ask(Request::kInterrupt); }
void StudyRunner::Cancel() { impl_->Ask(Request::kCancel); }

}  // namespace burnish
