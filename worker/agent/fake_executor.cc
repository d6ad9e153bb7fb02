#include "worker/agent/fake_executor.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"

namespace burnish {

class FakeLab::Executor : public SlotExecutor {
 public:
  explicit Executor(FakeLab& lab) : lab_(lab) {}

  ~Executor() override {
    const auto not_finishing = [this]() ABSL_SHARED_LOCKS_REQUIRED(lab_.mutex_) {
      return lab_.finishing_ != this;
    };
    absl::MutexLock lock(&lab_.mutex_);
    std::erase_if(lab_.executions_,
                  [this](const auto& entry) { return entry.second.executor == this; });
    lab_.mutex_.Await(absl::Condition(&not_finishing));
  }

  void Start(const JobSpec& job, Done done) override {
    absl::MutexLock lock(&lab_.mutex_);
    ++lab_.started_count_;
    lab_.executions_.emplace(Clock::Real().SteadyNow() + lab_.duration_,
                             Execution{.executor = this, .job = job, .done = std::move(done)});
  }

  void Cancel() override {
    absl::MutexLock lock(&lab_.mutex_);
    for (auto entry = lab_.executions_.begin(); entry != lab_.executions_.end(); ++entry) {
      if (entry->second.executor != this) continue;
      auto node = lab_.executions_.extract(entry);
      node.key() = absl::InfinitePast();
      lab_.executions_.insert(std::move(node));
      return;
    }
  }

 private:
  FakeLab& lab_;
};

FakeLab::FakeLab(absl::Duration duration, Outcome outcome)
    : duration_(duration), outcome_(std::move(outcome)), thread_([this] { Run(); }) {}

FakeLab::~FakeLab() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void FakeLab::Run() {
  // Something to do, or something new to wait for.
  absl::Time next = absl::InfiniteFuture();
  const auto is_earlier = [this, &next]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || (!executions_.empty() && executions_.begin()->first < next);
  };
  absl::MutexLock lock(&mutex_);
  while (true) {
    next = executions_.empty() ? absl::InfiniteFuture() : executions_.begin()->first;
    if (stopping_) return;
    const absl::Duration wait = next - Clock::Real().SteadyNow();
    if (wait > absl::ZeroDuration()) {
      mutex_.AwaitWithTimeout(absl::Condition(&is_earlier), wait);
      continue;
    }
    Execution execution = std::move(executions_.begin()->second);
    executions_.erase(executions_.begin());
    finishing_ = execution.executor;
    mutex_.Unlock();
    execution.done(outcome_(execution.job));
    mutex_.Lock();
    finishing_ = nullptr;
  }
}

std::unique_ptr<SlotExecutor> FakeLab::MakeExecutor() { return std::make_unique<Executor>(*this); }

int64_t FakeLab::started_count() const {
  absl::MutexLock lock(&mutex_);
  return started_count_;
}

JobOutcome EchoOutcome(const JobSpec& job) { return absl::StrCat("result of ", job.payload); }

}  // namespace burnish
