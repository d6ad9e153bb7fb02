#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "tests/sim/sim_client.h"
#include "tests/sim/sim_tuner.h"
#include "tests/sim/sim_worker.h"

namespace burnish::sim {
namespace {

class JobTuner : public SimTuner {
 public:
  JobTuner(const TunerWorld& world, const JobTunerOptions& options);

  void Start() override;
  void Kill(double level) override;
  bool HasProcess() const override { return client_ != nullptr; }
  void SetDiskFull(bool full) override { is_full_ = full; }
  void SetDiskSlow(bool slow) override { is_slow_ = slow; }
  void StepClock(absl::Duration) override {}
  bool IsDone() const override {
    return recorded_.size() == jobs_.size() && client_ != nullptr && client_->IsQuiet();
  }
  void CheckEnd() override {}
  std::string Describe() const override {
    return absl::StrCat(world_.id, " has ", recorded_.size(), " of ", jobs_.size(), " jobs",
                        client_ == nullptr ? " and is dead"
                        : client_->IsQuiet()
                            ? ""
                            : absl::StrCat(", ", client_->state().open_count, " open"));
  }

 private:
  void In(absl::Duration delay, void (JobTuner::*action)()) {
    world_.loop->At(delay, [this, action, life = life_] {
      if (client_ != nullptr && life == life_) (this->*action)();
    });
  }
  void SubmitMore();
  void TakeResults();
  void Record(const ResultEntry& result);
  void CheckOutcome(const JobSpec& job, const JobOutcome& outcome);

  const TunerWorld world_;
  const JobTunerOptions options_;
  Rng rng_;
  int64_t life_ = 0;
  std::unique_ptr<SimClient> client_;
  std::map<std::string, JobSpec> jobs_;  // Its whole budget.
  std::vector<std::string> order_;
  size_t submitted_ = 0;  // Of `order_`, in any life.
  std::set<std::string> cancelled_;
  std::set<std::string> cancelled_studies_;
  // The disk.
  std::set<std::string> recorded_;
  bool is_full_ = false;
  bool is_slow_ = false;
};

// What only some slots can do (Simulation::MakeWorker).
void Specialise(Rng& rng, JobSpec& job) {
  if (rng.Below(4) == 0) job.labels["isa"] = "wide";
  if (rng.Below(6) == 0) job.labels["memory"] = "much";
  if (job.kind == JobKind::kRun) job.device_key = rng.Below(3) == 0 ? "gpu" : "cpu";
}

JobTuner::JobTuner(const TunerWorld& world, const JobTunerOptions& options)
    : world_(world),
      options_(options),
      rng_(RngStream{.seed = world.seed, .purpose = "job tuner", .task = world.id}) {
  for (int i = 0; i < options.job_count; ++i) {
    const std::string id = absl::StrCat(world.id, "/job", i);
    const bool is_killer = options.has_killers && rng_.Below(25) == 0;
    const bool is_build = rng_.Below(2) == 0;
    jobs_[id] = {.id = id,
                 .kind = is_build ? JobKind::kBuild : JobKind::kRun,
                 .device_key = is_build ? "" : "cpu",
                 .study = world.id,
                 .priority = options.one_priority ? 0 : static_cast<int32_t>(rng_.Between(0, 2)),
                 .cost = static_cast<int32_t>(rng_.Between(1, 4)),
                 .timeout = rng_.Below(3) == 0 ? absl::Seconds(5) : absl::Seconds(40),
                 .payload = absl::StrCat(
                     "plain ", is_killer ? (i % 2 == 0 ? "killer " : "poison ") : "", id)};
    JobSpec& job = jobs_[id];
    job.payload.append(static_cast<size_t>(rng_.Below(4) == 0 ? rng_.Between(0, 200) : 0), ' ');
    if (options.has_studies && rng_.Below(2) == 0) job.study += "/other";
    if (options.has_labels) Specialise(rng_, job);
    if (options.worker_count > 0 && rng_.Below(10) == 0) {
      job.avoid_workers.push_back(absl::StrCat("worker", rng_.Below(options.worker_count)));
    }
    order_.push_back(id);
  }
}

void JobTuner::Start() {
  if (client_ != nullptr) return;
  ++life_;
  client_ = std::make_unique<SimClient>(
      world_.loop, world_.network, world_.tracker, world_.verdict,
      SimClient::Options{
          .tuner_id = world_.id,
          .node = world_.node,
          .bug = world_.bug,
          .limits = world_.limits,
          .is_safe = [this](const std::string& id) { return recorded_.contains(id); },
          .on_results = [this] { In(absl::Milliseconds(5), &JobTuner::TakeResults); }});
  // It may collect before it has said what it still waits for.
  world_.loop->At(absl::Milliseconds(rng_.Between(0, 2000)), [this, life = life_] {
    if (client_ == nullptr || life != life_) return;
    std::vector<JobSpec> again;
    for (size_t i = 0; i < submitted_; ++i) {
      if (!recorded_.contains(order_[i])) again.push_back(jobs_.at(order_[i]));
    }
    client_->Submit(std::move(again), /*resubmission=*/true).IgnoreError();
    client_->AllResubmitted();
    SubmitMore();
  });
}

void JobTuner::Kill(double level) {
  ++life_;
  client_.reset();
}

void JobTuner::SubmitMore() {
  std::vector<JobSpec> batch;
  const auto size = static_cast<size_t>(rng_.Between(1, options_.batch_size_max));
  for (; submitted_ < order_.size() && batch.size() < size; ++submitted_) {
    batch.push_back(jobs_.at(order_[submitted_]));
  }
  if (batch.empty()) return;
  if (options_.cancels && rng_.Below(3) == 0) {
    // Now and then somebody else's, which is none of its business.
    const std::string id = rng_.Below(3) == 0
                               ? absl::StrCat("tuner", rng_.Below(4), "/job", rng_.Below(20))
                               : batch[rng_.Below(batch.size())].id;
    world_.loop->At(absl::Milliseconds(rng_.Between(0, 2000)), [this, id, life = life_] {
      if (client_ == nullptr || life != life_ || recorded_.contains(id)) return;
      if (jobs_.contains(id)) cancelled_.insert(id);
      client_->Cancel({id}, "").IgnoreError();
    });
  }
  if (options_.cancels && rng_.Below(6) == 0) {
    const std::string study = batch[0].study;
    world_.loop->At(absl::Milliseconds(rng_.Between(0, 2000)), [this, study, life = life_] {
      if (client_ == nullptr || life != life_) return;
      cancelled_studies_.insert(study);
      client_->Cancel({}, study).IgnoreError();
    });
  }
  client_->Submit(std::move(batch), /*resubmission=*/false).IgnoreError();
  In(absl::Milliseconds(rng_.Between(10, 1000)), &JobTuner::SubmitMore);
}

void JobTuner::TakeResults() {
  for (const ResultEntry& result : client_->Collect(absl::ZeroDuration(), 256)) {
    // Between having a result and having it on disk a tuner may die.
    const int64_t delay_ms = rng_.Between(0, is_slow_ ? 5000 : 50);
    world_.loop->At(absl::Milliseconds(delay_ms), [this, result, life = life_] {
      if (client_ != nullptr && life == life_) Record(result);
    });
  }
}

void JobTuner::Record(const ResultEntry& result) {
  if (is_full_) {
    world_.loop->At(absl::Seconds(1), [this, result, life = life_] {
      if (client_ != nullptr && life == life_) Record(result);
    });
    return;
  }
  if (!jobs_.contains(result.job_id)) {
    world_.verdict->Fail("a tuner gets results of its own jobs", result.job_id);
    return;
  }
  if (!recorded_.insert(result.job_id).second) {
    world_.verdict->Fail("a result is recorded once", result.job_id);
  }
  CheckOutcome(jobs_.at(result.job_id), result.outcome);
  client_->Acknowledge({result.job_id});
}

void JobTuner::CheckOutcome(const JobSpec& job, const JobOutcome& outcome) {
  if (const auto* payload = std::get_if<std::string>(&outcome)) {
    // Which lies may come this far, the tracker's model says.
    if (*payload != PlainResult(job.payload) && !IsPlainLie(*payload)) {
      world_.verdict->Fail("a result is of its own job", absl::StrCat(job.id, ": ", *payload));
    }
    return;
  }
  const auto* failure = std::get_if<Failure>(&outcome);
  if (failure == nullptr) return world_.verdict->Fail("a worker's fault is no result", job.id);
  if (failure->kind == FailureKind::kCancelled && !cancelled_.contains(job.id) &&
      !cancelled_studies_.contains(job.study)) {
    world_.verdict->Fail("only what its tuner cancels is cancelled", job.id);
  }
}

}  // namespace

std::unique_ptr<SimTuner> MakeJobTuner(const TunerWorld& world, const JobTunerOptions& options) {
  return std::make_unique<JobTuner>(world, options);
}

}  // namespace burnish::sim
