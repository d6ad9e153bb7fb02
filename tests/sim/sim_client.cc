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

}  // namespace

struct SimClient::Core : std::enable_shared_from_this<SimClient::Core> {
  Core(EventLoop* loop, Network* network, SimTracker* tracker, Verdict* verdict,
       const Options& options)
      : loop(loop),
        network(network),
        tracker(tracker),
        verdict(verdict),
        options(options),
        client(options.tuner_id, options.bug) {}

  void BeginSubmit();
  void BeginCollect();
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
  core_->TakeResults(core_->client.TakeBack(job_ids));
  core_->network->ToTracker(core_->options.node, [core = core_, job_ids] {
    core->tracker->Cancel(core->options.tuner_id, job_ids).IgnoreError();
  });
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

void SimClient::Core::BeginSubmit() {
  if (submitting) return;
  const std::optional<SubmitBatch> batch = client.NextBatch();
  if (!batch.has_value()) return;
  submitting = true;
  for (size_t i = 1; i < batch->jobs.size(); ++i) {
    if (positions[batch->jobs[i].id] < positions[batch->jobs[i - 1].id]) {
      verdict->Fail("jobs are submitted in their order", batch->jobs[i].id);
    }
  }
  // Whichever comes first: an answer, or the end of the call's time.
  const auto done = std::make_shared<bool>(false);
  const auto finish = [self = shared_from_this(), done](const absl::StatusOr<int64_t>& session) {
    if (!self->alive || std::exchange(*done, true)) return;
    self->submitting = false;
    if (session.ok()) {
      self->client.BatchTaken(*session);
      self->unreachable_since = absl::InfiniteFuture();
      self->BeginSubmit();
      return;
    }
    self->client.BatchFailed(/*too_many=*/absl::IsResourceExhausted(session.status()));
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
