#include "tests/sim/sim_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tests/sim/client_model.h"
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
        client(options.tuner_id, options.limits, options.bug),
        model(verdict, options.tuner_id, options.limits) {}

  void BeginSubmit();
  void BeginCollect();
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
  ClientModel model;
  bool alive = true;
  bool submitting = false;
  absl::Time submit_at = absl::InfinitePast();  // Not before.
  int64_t collect_call = 0;                     // The latest; an older one's answer is late.
  absl::Time unreachable_since = absl::InfiniteFuture();
  std::vector<ResultEntry> results;
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
    if (core_->options.on_job != nullptr) core_->options.on_job(job, resubmission);
  }
  std::vector<ResultEntry> results = core_->client.Add(jobs, resubmission);
  core_->model.Added(jobs, resubmission, results);
  core_->TakeResults(std::move(results));
  core_->Later(absl::ZeroDuration(), &Core::BeginSubmit);
  return absl::OkStatus();
}

void SimClient::AllResubmitted() {
  core_->client.AllResubmitted();
  core_->model.AllResubmitted();
}

std::vector<ResultEntry> SimClient::Collect(absl::Duration timeout, int count_max) {
  std::vector<ResultEntry> taken;
  const size_t count = std::min<size_t>(core_->results.size(), count_max);
  taken.assign(core_->results.begin(), core_->results.begin() + count);
  core_->results.erase(core_->results.begin(), core_->results.begin() + count);
  for (const ResultEntry& result : taken) {
    if (core_->options.on_result != nullptr) core_->options.on_result(result);
  }
  return taken;
}

void SimClient::Acknowledge(const std::vector<std::string>& job_ids) {
  for (const std::string& id : job_ids) {
    if (!core_->options.is_safe(id)) {
      core_->verdict->Fail("what is acknowledged is stored", id);
    }
  }
  core_->client.Acknowledge(job_ids);
  core_->model.Acknowledged(job_ids);
  // The call that hangs cannot say it.
  if (core_->client.core().has_acknowledgements()) {
    core_->Later(absl::Milliseconds(50), &Core::BeginCollect);
  }
}

absl::Status SimClient::Cancel(const std::vector<std::string>& job_ids, const std::string& study) {
  std::vector<ResultEntry> taken_back = core_->client.TakeBack(job_ids, study);
  core_->model.TakenBack(job_ids, study, taken_back);
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
  const bool any = !entries.empty();
  for (ResultEntry& entry : entries) results.push_back(std::move(entry));
  if (any && options.on_results != nullptr) options.on_results();
}

// A cancellation that overtakes its job finds nothing to cancel, and the job would run.
void SimClient::Core::CancelWhenSent(const std::vector<std::string>& job_ids,
                                     const std::string& study, absl::Time give_up_at) {
  if (!alive) return;
  const bool all_sent = client.core().AllSent(job_ids, study);
  if (all_sent != model.AreSent(job_ids, study)) {
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

void SimClient::Core::BeginSubmit() {
  if (submitting || loop->now() < submit_at) return;
  const std::optional<SubmitBatch> batch = client.NextBatch();
  model.BatchMade(batch);
  if (!batch.has_value()) return;
  submitting = true;
  // Whichever comes first: an answer, or the end of the call's time.
  const auto done = std::make_shared<bool>(false);
  const auto finish = [self = shared_from_this(), done](const absl::StatusOr<int64_t>& session) {
    if (!self->alive || std::exchange(*done, true)) return;
    self->submitting = false;
    if (session.ok()) {
      self->client.BatchTaken(*session);
      self->model.BatchTaken(*session);
      self->unreachable_since = absl::InfiniteFuture();
      self->BeginSubmit();
      return;
    }
    const bool too_many = absl::IsResourceExhausted(session.status());
    self->client.BatchFailed(too_many);
    self->model.BatchFailed(too_many);
    const absl::Duration pause = GetRetryAfter(session.status()).value_or(kPauseAfterFailure);
    self->submit_at = self->loop->now() + pause;
    self->Later(pause, &Core::BeginSubmit);
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
  model.CollectMade(request);
  const int64_t call = ++collect_call;
  const auto finish = [self = shared_from_this(), call,
                       request](const absl::StatusOr<Collected>& collected) {
    if (!self->alive) return;
    const bool is_late = self->collect_call != call;
    // The core copes with answers to older calls, whatever its adapter does with them.
    if (collected.ok()) {
      std::vector<ResultEntry> results = self->client.Collect(request, *collected);
      self->model.Collected(request, *collected, results);
      self->TakeResults(std::move(results));
      self->BeginSubmit();
    }
    if (is_late) return;
    if (!collected.ok()) {
      if (self->unreachable_since == absl::InfiniteFuture()) {
        self->unreachable_since = self->loop->now();
      }
      self->Later(kPauseAfterFailure, &Core::BeginCollect);
      return;
    }
    self->unreachable_since = absl::InfiniteFuture();
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
