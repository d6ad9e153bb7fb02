#include "tracker/job_book.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/check.h"

namespace burnish {
namespace {

int64_t BytesOf(const JobOutcome& outcome) {
  const auto* payload = std::get_if<std::string>(&outcome);
  return payload == nullptr ? 0 : static_cast<int64_t>(payload->size());
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
  const std::vector<std::string>& doubted = spec.avoid_workers;
  return std::any_of(losses.begin(), losses.end(),
                     [&](const Loss& loss) { return loss.worker_id == worker; }) ||
         std::find(doubted.begin(), doubted.end(), worker) != doubted.end();
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

Tuner& JobBook::Meet(absl::Time now, const std::string& tuner_id, int64_t new_session) {
  const auto [tuner, is_new] = tuners_.try_emplace(tuner_id);
  if (is_new) {
    tuner->second.id = tuner_id;
    tuner->second.session = new_session;
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

int64_t JobBook::Excess(const std::vector<JobSpec>& jobs) {
  int64_t new_count = 0;
  int64_t bytes = byte_count_;
  for (const JobSpec& job : jobs) {
    if (Find(job.id) != nullptr) continue;
    ++new_count;
    bytes += static_cast<int64_t>(job.payload.size());
  }
  // Known ids need no room: a full tracker must still take what it has already, or a tuner could
  // never find its jobs again after a restart.
  if (new_count == 0) return 0;
  const int64_t open_count = job_count() - done_count_ + new_count;
  int64_t excess = std::max<int64_t>(0, open_count - limits_.jobs);
  if (bytes > limits_.bytes) {
    // Too many bytes: as many jobs as hold the excess, by the mean size.
    const int64_t mean = std::max<int64_t>(1, bytes / open_count);
    excess = std::max(excess, (bytes - limits_.bytes + mean - 1) / mean);
  }
  if (outcome_byte_count_ >= limits_.result_bytes) excess = std::max<int64_t>(excess, 1);
  return std::max(excess, done_count_ - limits_.results + 1);
}

TrackedJob& JobBook::Add(Tuner& tuner, JobSpec spec) {
  const auto [entry, is_new] = jobs_.try_emplace(spec.id);
  CHECK(is_new) << "for " << spec.id;
  TrackedJob& job = entry->second;
  job.demands = DemandsOf(spec);
  job.queued = {.order = ++last_order_,
                .id = spec.id,
                .study = spec.study,
                .priority = spec.priority,
                .cost = spec.cost};
  job.tuner_id = tuner.id;
  byte_count_ += static_cast<int64_t>(spec.payload.size());
  job.spec = std::move(spec);
  tuner.jobs.emplace(job.queued.order, &job);
  return job;
}

void JobBook::Renew(TrackedJob& job) {
  if (job.state != TrackedJob::State::kDone) return;
  Tuner& tuner = tuners_.at(job.tuner_id);
  tuner.results.erase(job.number);
  job.number = ++last_number_;
  tuner.results.emplace(job.number, &job);
}

void JobBook::Finish(TrackedJob& job, JobOutcome outcome, const std::string& worker_id) {
  CHECK(job.state != TrackedJob::State::kDone) << "for " << job.spec.id;
  // The payload goes below: a job holds its question or its answer, never both.
  byte_count_ -= static_cast<int64_t>(job.spec.payload.size());
  outcome_byte_count_ += BytesOf(outcome);
  job.state = TrackedJob::State::kDone;
  job.outcome = std::move(outcome);
  job.worker_id = worker_id;
  job.number = ++last_number_;
  job.spec.payload = std::string();  // Gives its memory back, which clear() would not.
  ++done_count_;
  tuners_.at(job.tuner_id).results.emplace(job.number, &job);
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
  byte_count_ -= static_cast<int64_t>(job.spec.payload.size());
  if (job.state == TrackedJob::State::kDone) {
    outcome_byte_count_ -= BytesOf(job.outcome);
    --done_count_;
  }
  Tuner& tuner = tuners_.at(job.tuner_id);
  tuner.jobs.erase(job.queued.order);
  tuner.results.erase(job.number);
  jobs_.erase(id);
}

void JobBook::EraseTuner(const std::string& tuner_id) {
  const auto tuner = tuners_.find(tuner_id);
  CHECK(tuner != tuners_.end() && tuner->second.jobs.empty()) << "for " << tuner_id;
  tuners_.erase(tuner);
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
