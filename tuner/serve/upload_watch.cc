#include "tuner/serve/upload_watch.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace burnish {
namespace {

absl::Time Now() { return Clock::Real().SteadyNow(); }

}  // namespace

UploadWatch::UploadWatch(absl::Duration silence_max)
    : silence_max_(silence_max), thread_([this] { Run(); }) {}

UploadWatch::~UploadWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void UploadWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const absl::Time now = Now();
    absl::Time next = absl::InfiniteFuture();
    for (Upload* upload : uploads_) {
      const absl::Time end_at = std::min(upload->end_at_, upload->too_slow_at_);
      if (upload->cancelled_) continue;
      if (end_at > now) {
        next = std::min(next, end_at);
        continue;
      }
      upload->cancelled_ = true;
      upload->cancel_();
    }
    if (next == absl::InfiniteFuture()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, absl::ToChronoNanoseconds(next - now));
    }
  }
}

UploadWatch::Upload::Upload(UploadWatch& watch, std::function<void()> cancel)
    : watch_(watch), cancel_(std::move(cancel)) {
  const std::lock_guard lock(watch_.mutex_);
  end_at_ = Now() + watch_.silence_max_;
  too_slow_at_ = end_at_ + watch_.silence_max_;
  watch_.uploads_.insert(this);
  watch_.changed_.notify_all();
}

UploadWatch::Upload::~Upload() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.uploads_.erase(this);
}

void UploadWatch::Upload::Received(int64_t bytes) {
  const std::lock_guard lock(watch_.mutex_);
  end_at_ = Now() + watch_.silence_max_;
  too_slow_at_ += absl::Seconds(static_cast<double>(bytes) / kBytesPerSecondMin);
}

}  // namespace burnish
