#include "tracker/client_core.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace burnish {

ClientCore::ClientCore(const std::string& tuner_id, const ClientLimits& limits)
    : tuner_id_(tuner_id), limits_(limits), batch_jobs_max_(limits.batch_jobs_max) {}

std::vector<ResultEntry> ClientCore::Add(std::vector<JobSpec> jobs, bool resubmission) {
  std::vector<ResultEntry> results;
  for (JobSpec& spec : jobs) {
    const std::string id = spec.id;
    // The result came before the caller had submitted the job again. It is as if the job ended at
    // once.
    if (auto held = held_.extract(id); !held.empty()) {
      unacknowledged_.insert(id);
      results.push_back(std::move(held.mapped()));
      continue;
    }
    const auto [job, is_new] =
        open_.try_emplace(id, Open{.spec = std::move(spec), .may_be_known = resubmission});
    if (!is_new) continue;
    // An order of its own: the map is by id, and jobs must reach the tracker in the order in which
    // the search wants them.
    positions_[id] = ++last_position_;
    unsent_[last_position_] = id;
  }
  return results;
}

void ClientCore::AllResubmitted() {
  all_resubmitted_ = true;
  for (const auto& [id, result] : held_) {
    // Number 0 is of a session that is over; that tracker cannot be told any more.
    if (result.number != 0) unwanted_.push_back(result.number);
  }
  held_.clear();
}

bool ClientCore::AllSent(const std::vector<std::string>& job_ids, const std::string& study) const {
  const auto is_unsent = [this](const std::string& id) {
    const auto position = positions_.find(id);
    return position != positions_.end() && unsent_.contains(position->second);
  };
  if (std::any_of(job_ids.begin(), job_ids.end(), is_unsent)) return false;
  if (study.empty()) return true;
  return std::none_of(unsent_.begin(), unsent_.end(), [&](const auto& entry) {
    return open_.at(entry.second).spec.study == study;
  });
}

std::vector<ResultEntry> ClientCore::TakeBack(const std::vector<std::string>& job_ids,
                                              const std::string& study) {
  std::vector<std::string> ids = job_ids;
  if (!study.empty()) {
    for (const auto& [id, job] : open_) {
      if (job.spec.study == study) ids.push_back(id);
    }
  }
  std::vector<ResultEntry> results;
  for (const std::string& id : ids) {
    const auto job = open_.find(id);
    // Only what certainly never left this process. A call whose answer was lost may have arrived.
    if (job == open_.end() || job->second.may_be_known) continue;
    Forget(id);
    results.push_back({.job_id = id,
                       .outcome = Failure{.kind = FailureKind::kCancelled,
                                          .message = "before it was submitted"}});
  }
  return results;
}

void ClientCore::Forget(const std::string& job_id) {
  const auto position = positions_.find(job_id);
  if (position == positions_.end()) return;
  unsent_.erase(position->second);
  positions_.erase(position);
  open_.erase(job_id);
}

std::optional<SubmitBatch> ClientCore::NextBatch() {
  CHECK(batch_.empty()) << "a batch is under way";
  SubmitBatch batch;
  size_t bytes = 0;
  for (const auto& [position, id] : unsent_) {
    Open& job = open_.at(id);
    if (batch_.empty()) batch.resubmission = job.may_be_known;
    bytes += job.spec.payload.size();
    // The flag is the call's, not the job's, so that a batch is of one kind. It ends there rather
    // than skipping, which would change the order.
    if (job.may_be_known != batch.resubmission) break;
    const bool is_full = batch_.size() >= batch_jobs_max_ || bytes > limits_.batch_bytes_max;
    if (is_full && !batch_.empty()) break;
    batch.jobs.push_back(job.spec);
    batch_.push_back(id);
  }
  if (batch_.empty()) return std::nullopt;
  // Whatever becomes of the call, the tracker may have seen them.
  for (const std::string& id : batch_) open_.at(id).may_be_known = true;
  batch_session_ = session_;
  return batch;
}

void ClientCore::BatchTaken(int64_t session) {
  const std::vector<std::string> batch = std::exchange(batch_, {});
  // The answer of a tracker from before the present one.
  if (session != session_ && batch_session_ != session_) return;
  MeetSession(session);
  batch_jobs_max_ = std::min(limits_.batch_jobs_max, batch_jobs_max_ * 2);
  for (const std::string& id : batch) {
    const auto position = positions_.find(id);
    if (position != positions_.end()) unsent_.erase(position->second);
  }
}

void ClientCore::BatchFailed(bool too_many) {
  // Of what was sent: it may have been bounded by its bytes.
  if (too_many) batch_jobs_max_ = std::max<size_t>(1, batch_.size() / 2);
  batch_.clear();
}

// Another session than before: that tracker knows none of the jobs.
void ClientCore::MeetSession(int64_t session) {
  if (session == session_) return;
  const bool is_first = session_ == 0;
  session_ = session;
  seen_number_ = 0;
  // Numbers are of the old session.
  unwanted_.clear();
  for (auto& [id, result] : held_) result.number = 0;
  if (is_first) return;  // What was not sent is in `unsent_` still.
  // All that is open, in the order of old. The tracker passes over what it knows.
  for (const auto& [id, position] : positions_) unsent_[position] = id;
}

CollectRequest ClientCore::MakeCollect() {
  CollectRequest request{.tuner_id = tuner_id_, .seen_number = seen_number_, .session = session_};
  const size_t count = std::min(acknowledged_.size(), limits_.acknowledgements_per_call);
  request.acknowledged.assign(acknowledged_.begin(), acknowledged_.begin() + count);
  request.unwanted.assign(
      unwanted_.begin(),
      unwanted_.begin() + std::min(unwanted_.size(), limits_.acknowledgements_per_call));
  return request;
}

std::vector<ResultEntry> ClientCore::Collect(const CollectRequest& request,
                                             const Collected& collected) {
  const absl::flat_hash_set<std::string> told(request.acknowledged.begin(),
                                              request.acknowledged.end());
  // Only what the answered call has said. Others were acknowledged meanwhile.
  std::erase_if(acknowledged_, [&](const std::string& id) { return told.contains(id); });
  if (request.session == session_) {
    const absl::flat_hash_set<int64_t> told_numbers(request.unwanted.begin(),
                                                    request.unwanted.end());
    std::erase_if(unwanted_, [&](int64_t number) { return told_numbers.contains(number); });
  }
  // The late answer of a tracker from before the present one: the results will come again.
  if (collected.session != session_ && request.session != session_) return {};
  MeetSession(collected.session);
  std::vector<ResultEntry> results;
  for (const ResultEntry& result : collected.results) {
    // Numbers ascend within a session, so one number says all that was seen. An older answer that
    // comes late must not take it back.
    seen_number_ = std::max(seen_number_, result.number);
    if (open_.contains(result.job_id)) {
      Forget(result.job_id);
      unacknowledged_.insert(result.job_id);
      results.push_back(result);
    } else if (unacknowledged_.contains(result.job_id)) {
      continue;  // Again.
    } else if (all_resubmitted_) {
      unwanted_.push_back(result.number);
    } else {
      held_.insert_or_assign(result.job_id, result);  // Of an earlier run, to be submitted again.
    }
  }
  return results;
}

void ClientCore::Acknowledge(const std::vector<std::string>& job_ids) {
  for (const std::string& id : job_ids) {
    if (unacknowledged_.erase(id) > 0) acknowledged_.push_back(id);
  }
}

}  // namespace burnish
