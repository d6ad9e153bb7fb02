#include "tests/sim/client_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish::sim {
namespace {

template <typename T>
std::vector<T> First(const std::vector<T>& all, size_t count) {
  return {all.begin(), all.begin() + static_cast<int64_t>(std::min(all.size(), count))};
}

template <typename T>
void Remove(const std::vector<T>& told, std::vector<T>& all) {
  std::erase_if(
      all, [&](const T& one) { return std::find(told.begin(), told.end(), one) != told.end(); });
}

}  // namespace

bool ClientModel::IsNamed(const Job& job, const std::vector<std::string>& job_ids,
                          const std::string& study) {
  return std::find(job_ids.begin(), job_ids.end(), job.spec.id) != job_ids.end() ||
         (!study.empty() && job.spec.study == study);
}

std::vector<const ClientModel::Job*> ClientModel::Unsent() const {
  std::vector<const Job*> unsent;
  for (const auto& [id, job] : jobs_) {
    if (job.open && !job.sent) unsent.push_back(&job);
  }
  std::sort(unsent.begin(), unsent.end(),
            [](const Job* a, const Job* b) { return a->order < b->order; });
  return unsent;
}

bool ClientModel::AreSent(const std::vector<std::string>& job_ids, const std::string& study) const {
  const std::vector<const Job*> unsent = Unsent();
  return std::none_of(unsent.begin(), unsent.end(),
                      [&](const Job* job) { return IsNamed(*job, job_ids, study); });
}

void ClientModel::CheckOut(const std::set<std::string>& expected,
                           const std::vector<ResultEntry>& results) {
  std::set<std::string> left = expected;
  for (const ResultEntry& result : results) {
    if (left.erase(result.job_id) == 0) Fail("a result comes out once", result.job_id);
    jobs_[result.job_id].open = false;
  }
  if (!left.empty()) Fail("a result that has come comes out", *left.begin());
}

void ClientModel::Added(const std::vector<JobSpec>& jobs, bool resubmission,
                        const std::vector<ResultEntry>& results) {
  std::set<std::string> held;
  for (const JobSpec& spec : jobs) {
    const auto order = static_cast<int64_t>(jobs_.size());
    const auto [job, is_new] =
        jobs_.try_emplace(spec.id, Job{.spec = spec, .order = order, .may_be_known = resubmission});
    if (is_new && held_.erase(spec.id) > 0) held.insert(spec.id);
  }
  CheckOut(held, results);
}

void ClientModel::AllResubmitted() {
  all_resubmitted_ = true;
  for (const auto& [id, number] : std::exchange(held_, {})) {
    // 0: of a tracker that is gone.
    if (number != 0) unwanted_.push_back(number);
  }
}

void ClientModel::TakenBack(const std::vector<std::string>& job_ids, const std::string& study,
                            const std::vector<ResultEntry>& results) {
  std::set<std::string> unseen;
  for (const auto& [id, job] : jobs_) {
    if (job.open && !job.may_be_known && IsNamed(job, job_ids, study)) unseen.insert(id);
  }
  for (const ResultEntry& result : results) {
    const auto* failure = std::get_if<Failure>(&result.outcome);
    const bool is_cancelled = failure != nullptr && failure->kind == FailureKind::kCancelled;
    if (!unseen.contains(result.job_id) || !is_cancelled) {
      Fail("only what no tracker has seen is taken back", result.job_id);
    }
  }
  if (results.size() < unseen.size()) Fail("what no tracker has seen is taken back", study);
  CheckOut(unseen, results);
  // No tracker has to be told.
  for (const std::string& id : unseen) jobs_[id].is_acknowledged = true;
}

void ClientModel::BatchMade(const std::optional<SubmitBatch>& batch) {
  std::vector<std::string> expected, said;
  bool may_be_known = false;
  size_t bytes = 0;
  for (const Job* job : Unsent()) {
    bytes += job->spec.payload.size();
    if (expected.empty()) {
      may_be_known = job->may_be_known;
    } else if (job->may_be_known != may_be_known || expected.size() >= jobs_max_ ||
               bytes > limits_.batch_bytes_max) {
      break;
    }
    expected.push_back(job->spec.id);
  }
  if (batch.has_value()) {
    for (const JobSpec& spec : batch->jobs) {
      said.push_back(spec.id);
      if (jobs_[spec.id].spec != spec) Fail("a job arrives as it was sent", spec.id);
    }
    if (batch->resubmission != may_be_known) {
      Fail("a call says whether its jobs may be known", said.empty() ? "" : said[0]);
    }
  }
  if (said != expected) {
    Fail("a call brings what waits, in its order, as much as may go",
         absl::StrCat(said.size(), " jobs, by the model ", expected.size()));
  }
  for (const std::string& id : expected) jobs_[id].may_be_known = true;
  batch_ = std::move(expected);
  batch_session_ = session_;
}

void ClientModel::BatchTaken(int64_t session) {
  const std::vector<std::string> batch = std::exchange(batch_, {});
  if (!Meet(session, batch_session_)) return;
  jobs_max_ = std::min(limits_.batch_jobs_max, jobs_max_ * 2);
  for (const std::string& id : batch) jobs_[id].sent = true;
}

void ClientModel::BatchFailed(bool too_many) {
  if (too_many) jobs_max_ = std::max<size_t>(1, batch_.size() / 2);
  batch_.clear();
}

bool ClientModel::Meet(int64_t session, int64_t session_of_call) {
  if (session == session_) return true;
  if (session_of_call != session_) return false;
  const bool is_first = session_ == 0;
  session_ = session;
  // That tracker knows none of the jobs, and its numbers are others.
  seen_number_ = 0;
  unwanted_.clear();
  for (auto& [id, number] : held_) number = 0;
  for (auto& [id, job] : jobs_) job.sent &= is_first;
  return true;
}

void ClientModel::CollectMade(const CollectRequest& request) {
  if (request.session != session_) {
    Fail("a tuner does not go back to a tracker that is gone", absl::StrCat(request.session));
  }
  if (request.seen_number != seen_number_) {
    Fail("a tuner says what it has seen",
         absl::StrCat(request.seen_number, ", by the model ", seen_number_));
  }
  if (request.acknowledged != First(to_acknowledge_, limits_.acknowledgements_per_call) ||
      request.unwanted != First(unwanted_, limits_.acknowledgements_per_call)) {
    Fail("a tuner says what is stored and what nobody needs, until it is heard",
         absl::StrCat(request.acknowledged.size(), " and ", request.unwanted.size(),
                      ", by the model ", to_acknowledge_.size(), " and ", unwanted_.size()));
  }
}

void ClientModel::Collected(const CollectRequest& request, const burnish::Collected& collected,
                            const std::vector<ResultEntry>& results) {
  Remove(request.acknowledged, to_acknowledge_);
  if (request.session == session_) Remove(request.unwanted, unwanted_);
  std::set<std::string> news;
  if (Meet(collected.session, request.session)) {
    for (const ResultEntry& result : collected.results) {
      seen_number_ = std::max(seen_number_, result.number);
      const auto job = jobs_.find(result.job_id);
      const bool is_over = job != jobs_.end() && job->second.is_acknowledged;
      if (job != jobs_.end() && !is_over) {
        if (job->second.open) news.insert(result.job_id);
      } else if (all_resubmitted_) {
        unwanted_.push_back(result.number);
      } else {
        held_[result.job_id] = result.number;
      }
    }
  }
  for (const ResultEntry& result : results) {
    const auto same = std::find(collected.results.begin(), collected.results.end(), result);
    if (same == collected.results.end()) Fail("a result is what a tracker has sent", result.job_id);
  }
  CheckOut(news, results);
}

void ClientModel::Acknowledged(const std::vector<std::string>& job_ids) {
  for (const std::string& id : job_ids) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end() || job->second.open) continue;
    if (std::exchange(job->second.is_acknowledged, true)) continue;
    to_acknowledge_.push_back(id);
  }
}

}  // namespace burnish::sim
