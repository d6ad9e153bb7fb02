#include "tests/sim/sim_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tracker/retry_after.h"

namespace burnish::sim {
namespace {

// As in tracker_client.cc: a call that hangs says something after 5 s.
constexpr absl::Duration kCallTimeout = absl::Seconds(12);
constexpr absl::Duration kPauseAfterFailure = absl::Milliseconds(200);
constexpr absl::Duration kCancelPatience = absl::Seconds(5);

}  // namespace

struct SimClient::Core : std::enable_shared_from_this<SimClient::Core> {
  Core(EventLoop* loop, Network* network, SimTracker* tracker, Verdict* verdict,
       const Options& options)
      : loop(loop),
        network(network),
        tracker(tracker),
        verdict(verdict),
        options(options),
        client(options.tuner_id, options.limits, options.bug) {}

  void BeginSubmit();
  void BeginCollect();
  void CheckBatch(const SubmitBatch& batch);
  void CancelWhenSent(const std::vector<std::string>& job_ids, const std::string& study,
                      absl::Time give_up_at);
  void TakeResults(std::vector<ResultEntry> entries);
  void Later(absl::Duration delay, void (Core::*action)()) {
    loop->At(delay, [self = shared_from_this(), action] {
      if (self->alive) ((*self).*action)();
    });
  }

  EventLoop* const loop;
  Network* const network;
  SimTracker* const tracker;
  Verdict* const verdict;
  const Options options;
  SuspectClient client;
  bool alive = true;
  bool submitting = false;
  int64_t collect_call = 0;  // The latest; an older one's answer is late.
  absl::Time unreachable_since = absl::InfiniteFuture();
  std::vector<ResultEntry> results;
  std::map<std::string, int64_t> positions;  // Of every job that was ever submitted here.
  std::set<std::string> handed_out;
  std::set<std::string> may_be_known;          // Jobs that a tracker may have seen.
  std::map<std::string, std::string> studies;  // Of every job.
  std::set<std::string> taken;                 // Jobs that some tracker has said to have.
  int64_t last_session = 0;                    // That a call named; trackers count upwards.
  size_t batch_jobs_max = 0;                   // After a refusal; 0: as the limits say.
};

SimClient::SimClient(EventLoop* loop, Network* network, SimTracker* tracker, Verdict* verdict,
                     const Options& options)
    : core_(std::make_shared<Core>(loop, network, tracker, verdict, options)) {
  core_->Later(absl::Milliseconds(1), &Core::BeginCollect);
}

SimClient::~SimClient() {
  core_->alive = false;
  core_->network->ToTracker(core_->options.node, [core = core_] {
    core->tracker->BreakTunerCall(core->options.tuner_id);
  });
}

absl::Status SimClient::Submit(std::vector<JobSpec> jobs, bool resubmission) {
  for (const JobSpec& job : jobs) {
    const auto position = static_cast<int64_t>(core_->positions.size());
    core_->positions.try_emplace(job.id, position);
    core_->studies[job.id] = job.study;
    if (resubmission && !core_->handed_out.contains(job.id)) core_->may_be_known.insert(job.id);
  }
  core_->TakeResults(core_->client.Add(std::move(jobs), resubmission));
  core_->Later(absl::ZeroDuration(), &Core::BeginSubmit);
  return absl::OkStatus();
}

void SimClient::AllResubmitted() { core_->client.AllResubmitted(); }

std::vector<ResultEntry> SimClient::Collect(absl::Duration timeout, int count_max) {
  std::vector<ResultEntry> taken;
  const size_t count = std::min<size_t>(core_->results.size(), count_max);
  taken.assign(core_->results.begin(), core_->results.begin() + count);
  core_->results.erase(core_->results.begin(), core_->results.begin() + count);
  return taken;
}

void SimClient::Acknowledge(const std::vector<std::string>& job_ids) {
  core_->client.Acknowledge(job_ids);
  // The call that hangs cannot say it.
  if (core_->client.core().has_acknowledgements()) {
    core_->Later(absl::Milliseconds(50), &Core::BeginCollect);
  }
}

absl::Status SimClient::Cancel(const std::vector<std::string>& job_ids, const std::string& study) {
  std::set<std::string> expected;
  for (const auto& [id, position] : core_->positions) {
    const bool is_named = std::find(job_ids.begin(), job_ids.end(), id) != job_ids.end() ||
                          (!study.empty() && core_->studies[id] == study);
    if (is_named && !core_->may_be_known.contains(id) && !core_->handed_out.contains(id)) {
      expected.insert(id);
    }
  }
  std::vector<ResultEntry> taken_back = core_->client.TakeBack(job_ids, study);
  for (const ResultEntry& result : taken_back) {
    const auto* failure = std::get_if<Failure>(&result.outcome);
    const bool is_cancelled = failure != nullptr && failure->kind == FailureKind::kCancelled;
    if (expected.erase(result.job_id) == 0 || !is_cancelled) {
      core_->verdict->Fail("only what no tracker has seen is taken back", result.job_id);
    }
  }
  if (!expected.empty()) {
    core_->verdict->Fail("what no tracker has seen is taken back", *expected.begin());
  }
  core_->TakeResults(std::move(taken_back));
  core_->CancelWhenSent(job_ids, study, core_->loop->now() + kCancelPatience);
  return absl::OkStatus();
}

TrackerClientState SimClient::state() const {
  return {.unreachable_since = core_->unreachable_since,
          .open_count = core_->client.core().open_count(),
          .held_count = core_->client.core().held_count()};
}

bool SimClient::IsQuiet() const {
  const ClientCore& client = core_->client.core();
  return client.open_count() == 0 && !client.has_acknowledgements() && core_->results.empty();
}

void SimClient::Core::TakeResults(std::vector<ResultEntry> entries) {
  for (ResultEntry& entry : entries) {
    if (!positions.contains(entry.job_id)) {
      verdict->Fail("a tuner gets results of its own jobs", entry.job_id);
    }
    if (!handed_out.insert(entry.job_id).second) {
      verdict->Fail("a result comes out once", entry.job_id);
    }
    results.push_back(std::move(entry));
  }
  if (!entries.empty() && options.on_results != nullptr) options.on_results();
}

// A cancellation that overtakes its job finds nothing to cancel, and the job would run.
void SimClient::Core::CancelWhenSent(const std::vector<std::string>& job_ids,
                                     const std::string& study, absl::Time give_up_at) {
  if (!alive) return;
  bool any_open = false, any_unsent = false;
  for (const auto& [id, position] : positions) {
    const bool is_named = std::find(job_ids.begin(), job_ids.end(), id) != job_ids.end() ||
                          (!study.empty() && studies[id] == study);
    if (!is_named || handed_out.contains(id)) continue;
    any_open = true;
    any_unsent |= !taken.contains(id);
  }
  const bool all_sent = client.core().AllSent(job_ids, study);
  if (all_sent ? any_unsent : !any_open) {
    verdict->Fail("a tuner knows which of its jobs a tracker has", options.tuner_id);
  }
  if (!all_sent && loop->now() < give_up_at) {
    loop->At(absl::Milliseconds(50), [self = shared_from_this(), job_ids, study, give_up_at] {
      self->CancelWhenSent(job_ids, study, give_up_at);
    });
    return;
  }
  network->ToTracker(options.node, [self = shared_from_this(), job_ids, study] {
    self->tracker->Cancel(self->options.tuner_id, job_ids, study).IgnoreError();
  });
}

void SimClient::Core::CheckBatch(const SubmitBatch& batch) {
  size_t bytes = 0;
  const size_t jobs_max = batch_jobs_max > 0 ? batch_jobs_max : options.limits.batch_jobs_max;
  for (size_t i = 0; i < batch.jobs.size(); ++i) {
    const std::string& id = batch.jobs[i].id;
    bytes += batch.jobs[i].payload.size();
    if (i > 0 && positions[id] < positions[batch.jobs[i - 1].id]) {
      verdict->Fail("jobs are submitted in their order", id);
    }
    if (handed_out.contains(id)) verdict->Fail("what has a result is not submitted", id);
    if (batch.resubmission != may_be_known.contains(id)) {
      verdict->Fail("a call says whether its jobs may be known", id);
    }
  }
  if (batch.jobs.empty() || batch.jobs.size() > jobs_max ||
      (batch.jobs.size() > 1 && bytes > options.limits.batch_bytes_max)) {
    verdict->Fail("a call has a bounded size", absl::StrCat(batch.jobs.size(), " jobs"));
  }
  for (const JobSpec& job : batch.jobs) may_be_known.insert(job.id);
}

void SimClient::Core::BeginSubmit() {
  if (submitting) return;
  const std::optional<SubmitBatch> batch = client.NextBatch();
  if (!batch.has_value()) return;
  submitting = true;
  CheckBatch(*batch);
  // Whichever comes first: an answer, or the end of the call's time.
  const auto done = std::make_shared<bool>(false);
  const auto finish = [self = shared_from_this(), done,
                       batch](const absl::StatusOr<int64_t>& session) {
    if (!self->alive || std::exchange(*done, true)) return;
    self->submitting = false;
    if (session.ok()) {
      self->client.BatchTaken(*session);
      self->batch_jobs_max = 0;
      for (const JobSpec& job : batch->jobs) self->taken.insert(job.id);
      self->unreachable_since = absl::InfiniteFuture();
      self->BeginSubmit();
      return;
    }
    const bool too_many = absl::IsResourceExhausted(session.status());
    // Half as large, until one was taken.
    if (too_many) self->batch_jobs_max = std::max<size_t>(1, batch->jobs.size() / 2);
    self->client.BatchFailed(too_many);
    self->Later(GetRetryAfter(session.status()).value_or(kPauseAfterFailure), &Core::BeginSubmit);
  };
  network->ToTracker(options.node, [self = shared_from_this(), batch, finish] {
    const absl::StatusOr<int64_t> session =
        self->tracker->Submit(self->options.tuner_id, batch->jobs, batch->resubmission);
    self->network->ToNode(self->options.node, [finish, session] { finish(session); });
  });
  loop->At(kCallTimeout, [finish] { finish(absl::DeadlineExceededError("no answer")); });
}

void SimClient::Core::BeginCollect() {
  const CollectRequest request = client.MakeCollect();
  const size_t told_max = options.limits.acknowledgements_per_call;
  if (request.acknowledged.size() > told_max || request.unwanted.size() > told_max) {
    verdict->Fail("a call has a bounded size", "");
  }
  if (request.session < last_session) {
    verdict->Fail("a tuner does not go back to a tracker that is gone", options.tuner_id);
  }
  last_session = request.session;
  for (const std::string& id : request.acknowledged) {
    if (!options.is_safe(id)) verdict->Fail("what is acknowledged is stored", id);
  }
  const int64_t call = ++collect_call;
  const auto finish = [self = shared_from_this(), call,
                       request](const absl::StatusOr<Collected>& collected) {
    if (!self->alive || self->collect_call != call) return;
    if (!collected.ok()) {
      if (self->unreachable_since == absl::InfiniteFuture()) {
        self->unreachable_since = self->loop->now();
      }
      self->Later(kPauseAfterFailure, &Core::BeginCollect);
      return;
    }
    self->unreachable_since = absl::InfiniteFuture();
    self->TakeResults(self->client.Collect(request, *collected));
    self->BeginSubmit();
    self->BeginCollect();
  };
  network->ToTracker(options.node, [self = shared_from_this(), request, finish] {
    self->tracker->Collect(request, [self, finish](const absl::StatusOr<Collected>& collected) {
      self->network->ToNode(self->options.node, [finish, collected] { finish(collected); });
    });
  });
  loop->At(kCallTimeout, [self = shared_from_this(), call] {
    if (self->alive && self->collect_call == call) self->BeginCollect();
  });
}

}  // namespace burnish::sim
