#include "tracker/job_book.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/check.h"

namespace burnish {
namespace {

// Of a text in a map or a list, beside its bytes. A guess.
constexpr int64_t kTextBytes = 64;

int64_t BytesOf(const JobOutcome& outcome) {
  if (const auto* payload = std::get_if<std::string>(&outcome)) {
    return static_cast<int64_t>(payload->size());
  }
  const auto* missing = std::get_if<ArtifactMissing>(&outcome);
  return missing == nullptr ? 0 : static_cast<int64_t>(missing->sha256.size()) * kTextBytes;
}

// Of all that its tuner may make as long as it likes. Twice, where the tracker keeps it twice.
int64_t BytesOf(const JobSpec& spec) {
  auto bytes = static_cast<int64_t>(spec.payload.size());
  for (const auto& [name, value] : spec.labels) {
    bytes += 2 * (kTextBytes + static_cast<int64_t>(name.size() + value.size()));
  }
  for (const std::string& worker : spec.avoid_workers) {
    bytes += 2 * (kTextBytes + static_cast<int64_t>(worker.size()));
  }
  return bytes;
}

LaneKey LaneOf(const JobSpec& spec) {
  return {.line = LineOf(spec), .study = spec.study, .priority = spec.priority};
}

void Count(const Usage& more, Usage& usage) {
  usage.jobs += more.jobs;
  usage.bytes += more.bytes;
  usage.results += more.results;
  usage.result_bytes += more.result_bytes;
  usage.lanes += more.lanes;
}

// Of a tuner, or of a client: what it would have, and how many times what it leaves it may have.
struct Share {
  Usage own = {};
  int64_t factor = 1;
};

// By how much there would be too many of a kind, of all or of one.
int64_t Beyond(int64_t Usage::* kind, const Usage& all, const Share& share,
               const JobBook::Limits& limits) {
  const int64_t left = limits.all.*kind - all.*kind;
  const int64_t may_have = std::max(limits.share_min.*kind, left * share.factor);
  return std::max({int64_t{0}, -left, share.own.*kind - may_have});
}

int64_t ExcessOf(const Usage& all, const Share& share, const JobBook::Limits& limits) {
  const auto beyond = [&](int64_t Usage::* kind) { return Beyond(kind, all, share, limits); };
  // As many jobs as hold the excess, by the mean size.
  const int64_t mean = std::max<int64_t>(1, share.own.bytes / share.own.jobs);
  // Of results one more than there is: what is open will end.
  return std::max({beyond(&Usage::jobs), beyond(&Usage::lanes),
                   (beyond(&Usage::bytes) + mean - 1) / mean, beyond(&Usage::results),
                   std::min<int64_t>(1, beyond(&Usage::result_bytes))});
}

template <typename Event, typename Counts>
int CountWorkers(const std::vector<Event>& events, Counts counts) {
  std::set<absl::string_view> workers;
  for (const Event& event : events) {
    if (counts(event)) workers.insert(event.worker_id);
  }
  return static_cast<int>(workers.size());
}

}  // namespace

bool TrackedJob::Avoids(const std::string& worker) const {
  return std::binary_search(line.avoided.begin(), line.avoided.end(), worker);
}

void TrackedJob::ChangeLine() {
  std::set<std::string> avoided(spec.avoid_workers.begin(), spec.avoid_workers.end());
  for (const Loss& loss : losses) avoided.insert(loss.worker_id);
  line.avoided.assign(avoided.begin(), avoided.end());
}

int TrackedJob::LosersCount() const {
  return CountWorkers(losses, [](const Loss& loss) { return !loss.refused; });
}

int TrackedJob::RefusersCount() const {
  return CountWorkers(losses, [](const Loss& loss) { return loss.refused; });
}

int TrackedJob::DeadCount() const {
  return CountWorkers(deaths, [](const Death&) { return true; });
}

Tuner& JobBook::Meet(absl::Time now, const std::string& tuner_id, int64_t new_session,
                     const std::string& client) {
  const auto [tuner, is_new] = tuners_.try_emplace(tuner_id);
  if (is_new) {
    tuner->second.id = tuner_id;
    tuner->second.session = new_session;
    Client& owner = clients_[client];
    owner.key = client;
    ++owner.tuner_count;
    tuner->second.client = &owner;
  }
  tuner->second.seen_at = now;
  return tuner->second;
}

Tuner* JobBook::FindTuner(const std::string& tuner_id) {
  const auto tuner = tuners_.find(tuner_id);
  return tuner == tuners_.end() ? nullptr : &tuner->second;
}

TrackedJob* JobBook::Find(const std::string& job_id) {
  const auto job = jobs_.find(job_id);
  return job == jobs_.end() ? nullptr : &job->second;
}

const TrackedJob* JobBook::Find(const std::string& job_id) const {
  const auto job = jobs_.find(job_id);
  return job == jobs_.end() ? nullptr : &job->second;
}

Usage JobBook::Added(const Tuner* tuner, const std::vector<JobSpec>& jobs) const {
  Usage added;
  std::set<LaneKey> lanes;
  const JobSpec* last = nullptr;
  for (const JobSpec& job : jobs) {
    if (Find(job.id) != nullptr) continue;
    ++added.jobs;
    added.bytes += BytesOf(job);
    // Jobs come in runs of one lane.
    const bool is_as_last = last != nullptr && last->kind == job.kind &&
                            last->device_key == job.device_key && last->labels == job.labels &&
                            last->avoid_workers == job.avoid_workers && last->study == job.study &&
                            last->priority == job.priority;
    last = &job;
    if (is_as_last) continue;
    LaneKey lane = LaneOf(job);
    if (tuner == nullptr || !tuner->lanes.contains(lane)) lanes.insert(std::move(lane));
  }
  added.lanes = static_cast<int64_t>(lanes.size());
  return added;
}

int64_t JobBook::Excess(const std::string& tuner_id, const std::string& client,
                        const std::vector<JobSpec>& jobs) const {
  const auto entry = tuners_.find(tuner_id);
  const Tuner* tuner = entry == tuners_.end() ? nullptr : &entry->second;
  const Usage added = Added(tuner, jobs);
  // Known ids need no room: a full tracker must still take what it has already, or a tuner could
  // never find its jobs again after a restart.
  if (added.jobs == 0) return 0;
  const auto known_client = clients_.find(tuner == nullptr ? client : tuner->client->key);
  Usage all = usage_;
  Share of_tuner{.own = tuner == nullptr ? Usage() : tuner->usage};
  Share of_client{.own = known_client == clients_.end() ? Usage() : known_client->second.usage,
                  .factor = kClientShare};
  for (Usage* usage : {&all, &of_tuner.own, &of_client.own}) Count(added, *usage);
  ++all.results;
  ++all.result_bytes;
  return std::max(ExcessOf(all, of_tuner, limits_), ExcessOf(all, of_client, limits_));
}

bool JobBook::HasRoomForTuner(const std::string& client) const {
  const auto known = clients_.find(client);
  const int64_t own = known == clients_.end() ? 0 : known->second.tuner_count;
  const int64_t left = limits_.tuners - static_cast<int64_t>(tuners_.size()) - 1;
  return left >= 0 && own + 1 <= std::max(limits_.tuners_share_min, kClientShare * left);
}

void JobBook::CountFor(const Usage& more, Tuner& tuner) {
  for (Usage* usage : {&usage_, &tuner.usage, &tuner.client->usage}) Count(more, *usage);
}

TrackedJob& JobBook::Add(Tuner& tuner, JobSpec spec) {
  const auto [entry, is_new] = jobs_.try_emplace(spec.id);
  CHECK(is_new) << "for " << spec.id;
  TrackedJob& job = entry->second;
  job.line = LineOf(spec);
  job.queued = {.order = ++last_order_,
                .id = spec.id,
                .study = spec.study,
                .priority = spec.priority,
                .cost = spec.cost,
                .client = &tuner.client->turn};
  job.tuner_id = tuner.id;
  job.byte_count = BytesOf(spec);
  const auto [lane, is_new_lane] = tuner.lanes.try_emplace(LaneOf(spec));
  ++lane->second.open_count;
  job.lane = &lane->second;
  const Usage added{.jobs = 1, .bytes = job.byte_count, .lanes = is_new_lane ? 1 : 0};
  CountFor(added, tuner);
  for (const std::string& worker : spec.avoid_workers) ++doubts_[worker][spec.study];
  job.spec = std::move(spec);
  tuner.jobs.emplace(job.queued.order, &job);
  return job;
}

void JobBook::Close(TrackedJob& job, Tuner& tuner) {
  Usage removed{.jobs = -1, .bytes = -job.byte_count};
  if (--job.lane->open_count == 0) {
    CHECK_EQ(tuner.lanes.erase(LaneOf(job.spec)), 1u) << "for " << job.spec.id;
    removed.lanes = -1;
  }
  CountFor(removed, tuner);
  job.byte_count = 0;
  job.lane = nullptr;
  for (const std::string& worker : job.spec.avoid_workers) {
    const auto doubt = doubts_.find(worker);
    const auto study = doubt->second.find(job.spec.study);
    if (--study->second == 0) doubt->second.erase(study);
    if (doubt->second.empty()) doubts_.erase(doubt);
  }
}

void JobBook::Renew(TrackedJob& job) {
  if (job.state != TrackedJob::State::kDone) return;
  Tuner& tuner = tuners_.at(job.tuner_id);
  tuner.results.erase(job.number);
  job.number = ++last_number_;
  tuner.results.emplace(job.number, &job);
}

void JobBook::Finish(TrackedJob& job, JobOutcome outcome, const ResultSource& source) {
  CHECK(job.state != TrackedJob::State::kDone) << "for " << job.spec.id;
  Tuner& tuner = tuners_.at(job.tuner_id);
  Close(job, tuner);
  job.byte_count = BytesOf(outcome);
  const Usage added{.results = 1, .result_bytes = job.byte_count};
  CountFor(added, tuner);
  job.state = TrackedJob::State::kDone;
  job.outcome = std::move(outcome);
  job.source = source;
  job.number = ++last_number_;
  // A job holds its question or its answer, never both.
  job.spec = JobSpec{.id = std::move(job.spec.id), .study = std::move(job.spec.study)};
  job.line = {};
  tuner.results.emplace(job.number, &job);
}

void JobBook::Erase(TrackedJob& job, bool acknowledged) {
  const std::string id = job.spec.id;
  if (acknowledged) {
    RememberAcknowledged(job.tuner_id, id);
    // Whoever said so before had no such job.
    if (const auto entry = acknowledged_.find(id); entry != acknowledged_.end()) {
      entry->second = job.tuner_id;
    }
  }
  Tuner& tuner = tuners_.at(job.tuner_id);
  if (job.state == TrackedJob::State::kDone) {
    const Usage removed{.results = -1, .result_bytes = -job.byte_count};
    CountFor(removed, tuner);
  } else {
    Close(job, tuner);
  }
  tuner.jobs.erase(job.queued.order);
  tuner.results.erase(job.number);
  jobs_.erase(id);
}

void JobBook::EraseTuner(const std::string& tuner_id) {
  const auto tuner = tuners_.find(tuner_id);
  CHECK(tuner != tuners_.end() && tuner->second.jobs.empty()) << "for " << tuner_id;
  Client& client = *tuner->second.client;
  tuners_.erase(tuner);
  if (--client.tuner_count == 0) clients_.erase(std::string(client.key));
}

bool JobBook::IsAcknowledgedBy(const std::string& tuner_id, const std::string& job_id) const {
  const auto entry = acknowledged_.find(job_id);
  return entry != acknowledged_.end() && entry->second == tuner_id;
}

void JobBook::RememberAcknowledged(const std::string& tuner_id, const std::string& job_id) {
  if (!acknowledged_.try_emplace(job_id, tuner_id).second) return;
  acknowledged_order_.push_back(job_id);
  // Bounded, oldest first. An id that is forgotten too early costs one execution of a job whose
  // copy was long under way.
  if (acknowledged_order_.size() > static_cast<size_t>(limits_.acknowledged)) {
    acknowledged_.erase(acknowledged_order_.front());
    acknowledged_order_.pop_front();
  }
}

}  // namespace burnish
