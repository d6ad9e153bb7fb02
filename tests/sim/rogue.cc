#include "tests/sim/rogue.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish::sim {
namespace {

constexpr char kWorkerId[] = "rogue";

}  // namespace

void Rogue::ActAsWorkerUntil(absl::Time end) {
  tracker_->NoteLiar(kWorkerId);
  Report();
  loop_->At(absl::Milliseconds(rng_.Between(1, 800)), [this, end] {
    if (loop_->now() < end) ActAsWorkerUntil(end);
  });
}

// Somebody's who may be at it still, or nobody's.
Lease Rogue::SomeLease() {
  const auto& begun = world_->begun_in_order;
  if (begun.empty()) return {.job_id = "tuner0/job0", .epoch = rng_.Between(1, 3'000'000)};
  Lease lease = begun[begun.size() - 1 - rng_.Below(std::min<uint64_t>(begun.size(), 20))].second;
  if (rng_.Below(3) == 0) lease.epoch += rng_.Between(-2, 2) * rng_.Between(1, 1'000'000);
  if (rng_.Below(4) == 0) {
    lease.job_id = absl::StrCat("tuner", rng_.Below(3), "/job", rng_.Below(40));
  }
  lease.epoch = std::max<int64_t>(1, lease.epoch);
  return lease;
}

JobOutcome Rogue::SomeOutcome() {
  switch (rng_.Below(4)) {
    case 0:
      return WorkerFault{
          .message = "lie", .interrupted = rng_.Below(2) == 0, .refused = rng_.Below(3) == 0};
    case 1:
      return Failure{.kind = FailureKind::kCancelled, .message = "lie"};
    default:
      return std::string("lie");
  }
}

void Rogue::Report() {
  WorkerReport report{.worker_id = kWorkerId, .host = "nowhere"};
  // A process of the past, of the present, or one more.
  report.incarnation = std::max<int64_t>(1, incarnation_ + (rng_.Below(6) == 0 ? -1 : 0));
  if (rng_.Below(12) == 0) report.incarnation = ++incarnation_;
  report.epoch = rng_.Below(4) == 0 ? rng_.Between(0, 200) : orders_.epoch;
  if (rng_.Below(16) == 0) report.epoch = std::numeric_limits<int64_t>::max() - rng_.Between(0, 1);
  sequence_ += rng_.Below(8) == 0 ? 0 : rng_.Between(1, 3);
  report.sequence = std::max<int64_t>(1, sequence_ - (rng_.Below(8) == 0 ? 2 : 0));
  report.leaving = rng_.Below(20) == 0;
  const uint64_t slot_count = rng_.Below(10) == 0 ? 3 : 2;
  for (uint64_t i = 0; i < slot_count; ++i) {
    SlotReport& slot = report.slots.emplace_back();
    const bool is_build = (i == 0) != (rng_.Below(20) == 0);
    slot.info.kind = is_build ? JobKind::kBuild : JobKind::kRun;
    if (rng_.Below(2) == 0) slot.info.labels["isa"] = "wide";
    if (rng_.Below(2) == 0) slot.info.device_keys.push_back("cpu");
    const bool obeys = i < orders_.slots.size() && orders_.slots[i].lease.has_value();
    if (rng_.Below(2) == 0) {
      slot.executing = obeys && rng_.Below(3) != 0 ? *orders_.slots[i].lease : SomeLease();
      slot.cancelling = rng_.Below(4) == 0;
      slot.waiting = rng_.Below(4) == 0;
    }
    for (uint64_t k = rng_.Below(3); k > 0; --k) {
      HeldResult& result = slot.results.emplace_back();
      result.lease = obeys && rng_.Below(2) == 0 ? *orders_.slots[i].lease : SomeLease();
      if (rng_.Below(4) != 0) result.outcome = SomeOutcome();
    }
  }
  // What it does and has done at once, or has done twice, nobody can follow.
  for (SlotReport& slot : report.slots) {
    std::set<std::string> jobs;
    std::erase_if(slot.results,
                  [&](const HeldResult& held) { return !jobs.insert(held.lease.job_id).second; });
  }
  for (const SlotReport& doing : report.slots) {
    for (SlotReport& slot : report.slots) {
      std::erase_if(slot.results, [&](const HeldResult& held) {
        return doing.executing.has_value() && held.lease.job_id == doing.executing->job_id;
      });
    }
  }
  tracker_->Synchronize(report, [this](const absl::StatusOr<WorkerOrders>& orders) {
    if (orders.ok()) orders_ = *orders;
  });
  if (rng_.Below(3) == 0) {
    tracker_->PutArtifact(kWorkerId, report.incarnation, SomeLease(), "lie", "lie").IgnoreError();
  }
  if (rng_.Below(10) == 0) tracker_->BreakWorkerCall(kWorkerId, report.incarnation);
}

void Rogue::ActAsTunerUntil(absl::Time end) {
  const std::string id = absl::StrCat("rogue", rng_.Below(kTunerCount));
  switch (rng_.Below(4)) {
    case 0:
      Submit(id);
      break;
    case 1:
      tracker_->Cancel(id, {SomeLease().job_id}, absl::StrCat("tuner", rng_.Below(4)))
          .IgnoreError();
      break;
    default:
      Collect(id);
  }
  loop_->At(absl::Milliseconds(rng_.Between(1, 600)), [this, end] {
    if (loop_->now() < end) ActAsTunerUntil(end);
  });
}

void Rogue::Submit(const std::string& tuner_id) {
  std::vector<JobSpec> jobs;
  for (uint64_t n = rng_.Below(3) + 1; n > 0; --n) {
    JobSpec& job = jobs.emplace_back();
    job.id = absl::StrCat(tuner_id, "/job", ++job_count_);
    job.kind = rng_.Below(2) == 0 ? JobKind::kBuild : JobKind::kRun;
    job.device_key = rng_.Below(2) == 0 ? "abacus" : "";  // Which nobody has.
    // Its own demands, so that it is in nobody's queue.
    job.labels["isa"] = rng_.Below(2) == 0 ? "wide" : "odd";
    job.labels["rogue"] = rng_.Below(2) == 0 ? "" : "yes";
    job.study = rng_.Below(2) == 0 ? "tuner0" : tuner_id;
    job.priority = rng_.Below(2) == 0 ? std::numeric_limits<int32_t>::max()
                                      : std::numeric_limits<int32_t>::min();
    job.cost = static_cast<int32_t>(rng_.Between(1, JobSpec::kCostMax));
    job.timeout = absl::Nanoseconds(rng_.Below(2) == 0 ? 1 : 10'000'000'000);
    job.payload = absl::StrCat("plain ", job.id);
    for (int i = 0; i < 3; ++i) job.avoid_workers.push_back(absl::StrCat("worker", i));
  }
  // Another's, as long as the tracker knows it: an id that nobody has is whoever's comes first.
  const std::string other = SomeLease().job_id;
  const std::string owner = other.substr(0, other.find('/'));
  if (rng_.Below(3) == 0 && tracker_->KnowsJobOf(other, owner)) jobs[0].id = other;
  tracker_->Submit(tuner_id, jobs, /*resubmission=*/rng_.Below(3) == 0).IgnoreError();
}

void Rogue::Collect(const std::string& tuner_id) {
  CollectRequest request{.tuner_id = tuner_id};
  for (uint64_t n = rng_.Below(4); n > 0; --n) {
    request.acknowledged.push_back(SomeLease().job_id);
    request.unwanted.push_back(rng_.Between(0, 60));
  }
  request.seen_number = rng_.Between(0, 60);
  // Sessions and leases are numbered alike.
  request.session = rng_.Below(3) == 0 ? 0 : SomeLease().epoch;
  tracker_->Collect(request, [](const absl::StatusOr<Collected>&) {});
}

}  // namespace burnish::sim
