#include "worker/agent/fake_executor.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "proto/synchronize.h"

namespace burnish {

class FakeLab::Executor : public SlotExecutor {
 public:
  explicit Executor(FakeLab& lab) : lab_(lab) {}

  ~Executor() override {
    std::unique_lock lock(lab_.mutex_);
    std::erase_if(lab_.executions_,
                  [this](const auto& entry) { return entry.second.executor == this; });
    lab_.changed_.wait(lock, [this] { return lab_.finishing_ != this; });
  }

  void Start(const JobSpec& job, const Lease& lease, Done done) override {
    const std::lock_guard lock(lab_.mutex_);
    ++lab_.started_count_;
    lab_.executions_.emplace(Clock::Real().SteadyNow() + lab_.duration_,
                             Execution{.executor = this, .job = job, .done = std::move(done)});
    lab_.changed_.notify_all();
  }

  void Cancel() override {
    const std::lock_guard lock(lab_.mutex_);
    for (auto entry = lab_.executions_.begin(); entry != lab_.executions_.end(); ++entry) {
      if (entry->second.executor != this) continue;
      auto node = lab_.executions_.extract(entry);
      node.key() = absl::InfinitePast();
      lab_.executions_.insert(std::move(node));
      lab_.changed_.notify_all();
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
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void FakeLab::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (executions_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const absl::Duration wait = executions_.begin()->first - Clock::Real().SteadyNow();
    if (wait > absl::ZeroDuration()) {
      changed_.wait_for(lock, absl::ToChronoNanoseconds(std::min(wait, absl::Hours(1))));
      continue;
    }
    Execution execution = std::move(executions_.begin()->second);
    executions_.erase(executions_.begin());
    finishing_ = execution.executor;
    lock.unlock();
    execution.done(outcome_(execution.job));
    lock.lock();
    finishing_ = nullptr;
    changed_.notify_all();
  }
}

std::unique_ptr<SlotExecutor> FakeLab::MakeExecutor() { return std::make_unique<Executor>(*this); }

int64_t FakeLab::started_count() const {
  const std::lock_guard lock(mutex_);
  return started_count_;
}

JobOutcome EchoOutcome(const JobSpec& job) { return absl::StrCat("result of ", job.payload); }

}  // namespace burnish
