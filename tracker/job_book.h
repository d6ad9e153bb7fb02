// Every job that the tracker knows, by tuner, from submission until the tuner has its result. Knows
// nothing of workers and queues: those keep to themselves who executes a job and what is next.
#ifndef TRACKER_JOB_BOOK_H_
#define TRACKER_JOB_BOOK_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/job.h"
#include "tracker/job_queues.h"

namespace burnish {

struct WorkerState;

// Open jobs of one tuner that wait in one line.
struct Lane {
  int64_t open_count = 0;
  int64_t queued_count = 0;  // Of them, kQueued.
};

struct LaneKey {
  Line line = {};  // As submitted.
  std::string study = "";
  int32_t priority = 0;

  auto operator<=>(const LaneKey&) const = default;
};

// Who gave an outcome: a worker, or the tracker itself.
struct ResultSource {
  std::string worker_id = "";  // Empty: the tracker's own.
  std::string address = "";    // The worker's, as of WorkerReport.
  int64_t lease_epoch = 0;     // That the outcome came from.
};

// What takes room in a tracker, of one tuner or of all.
struct Usage {
  int64_t jobs = 0;          // Open.
  int64_t bytes = 0;         // Of what open jobs say.
  int64_t results = 0;       // Not acknowledged.
  int64_t result_bytes = 0;  // Of their outcomes.
  int64_t lanes = 0;         // With open jobs. Who looks for a job looks through them.
};

struct TrackedJob {
  enum class State {
    // Held back: submitted again after a restart, so that a worker may still say that it has it;
    // interrupted too often lately; or lost on so many workers that a verdict is due.
    kDeferred,
    kQueued,
    kLeased,    // To the slots at `places`.
    kFetching,  // The worker at the one of `places` has the result and was asked to send it.
    kDone,
  };

  // A lease that ended by a worker's fault or silence: evidence against the job, where its worker
  // does well otherwise. Or by a worker's refusal, which is evidence of nothing else.
  struct Loss {
    std::string worker_id = "";
    int64_t lease_epoch = 0;
    int64_t worker_done_count = 0;  // Results that the worker had brought by then.
    std::string text = "";          // What happened, and on which worker.
    bool timed_out = false;         // The worker was there, and is not to go on with it.
    bool refused = false;           // The worker cannot do it as it is asked to.
  };

  // A worker's process that ended, or was not heard of any more, while it executed the job.
  struct Death {
    std::string worker_id = "";
    int64_t lease_epoch = 0;
  };

  // A slot of a worker. The worker outlives whatever names it here.
  struct Place {
    WorkerState* worker = nullptr;
    int slot_index = 0;

    bool operator==(const Place&) const = default;
  };

  // A lease that this tracker gave, or found at the worker.
  struct Issued {
    int64_t epoch = 0;
    std::string worker_id = "";
  };

  JobSpec spec;  // Its id and study alone, once it is done; as empty are the next two.
  Line line;     // Where it waits; its avoided ones are those that lost it, too.
  Lane* lane = nullptr;
  int64_t byte_count = 0;  // Of the spec, then of the outcome.
  QueuedJob queued;
  std::string tuner_id;
  State state = State::kQueued;
  std::vector<Loss> losses;
  std::vector<Death> deaths;
  // Leases that ended by what came from outside: no evidence.
  int interruption_count = 0;
  std::string last_interruption;
  int32_t attempt_count = 0;
  std::vector<Issued> issued;  // All of them.
  bool from_before = false;    // May have been submitted to an earlier tracker, which gave others.

  // kLeased and kFetching, else empty. The slots have the rest (SlotState).
  std::vector<Place> places;

  // It was interrupted often: until then nobody gets it.
  absl::Time paused_until = absl::InfinitePast();
  // kDeferred. InfiniteFuture: not until something happens.
  absl::Time deferred_until = absl::InfiniteFuture();

  // kDone.
  JobOutcome outcome;
  ResultSource source;
  int64_t number = 0;  // Of the result, ascending.

  // Others are preferred: this one has lost it, or its tuner doubts this one's word on it.
  bool Avoids(const std::string& worker_id) const;
  // After a change of its losses. The job does not wait.
  void ChangeLine();
  // How many different workers have lost it, have refused it, have died over it.
  int LosersCount() const;
  int RefusersCount() const;
  int DeadCount() const;
};

// What has an address of its own: a host, or the users of a socket. Names of tuners are free.
struct Client {
  std::string key;
  int64_t tuner_count = 0;
  Usage usage;
  QueueClient turn;
};

struct Tuner {
  std::string id;
  Client* client = nullptr;
  int64_t session = 0;  // New each time that the tracker meets the tuner.
  absl::Time seen_at;
  std::map<uint64_t, TrackedJob*> jobs;    // All of them, by order.
  std::map<int64_t, TrackedJob*> results;  // The ones that are done, by number.
  std::map<LaneKey, Lane> lanes;           // None without an open job.
  Usage usage;
};

class JobBook {
 public:
  struct Limits {
    // Of all. With so many results no job is taken; open ones may end.
    Usage all = {};
    // What one tuner, or one client, may always have, where there is room at all. Beyond it, no
    // more than is left for others: see Excess.
    Usage share_min = {};
    int64_t tuners = 0;
    int64_t tuners_share_min = 0;
    int acknowledged = 0;  // Ids to remember, so that a late result is known to be needless.
  };

  explicit JobBook(const Limits& limits) : limits_(limits) {}

  // Whether one more tuner, of this client, may be made.
  bool HasRoomForTuner(const std::string& client) const;
  // Counts as a sign of life. Makes the tuner, of this client and with session `new_session`, if it
  // is not known.
  Tuner& Meet(absl::Time now, const std::string& tuner_id, int64_t new_session,
              const std::string& client);
  Tuner* FindTuner(const std::string& tuner_id);
  TrackedJob* Find(const std::string& job_id);
  const TrackedJob* Find(const std::string& job_id) const;

  // How many jobs have to go before these fit; 0: they fit. Known ids need no room. A tuner gets
  // no more than it leaves for the others together, so that one alone fills half, two a third each,
  // and there is always room for who comes next. Nor do a client's tuners have more together than
  // kClientShare times what they leave. Source: Choudhury and Hahne, "Dynamic queue length
  // thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998.
  int64_t Excess(const std::string& tuner_id, const std::string& client,
                 const std::vector<JobSpec>& jobs) const;
  // Several tuners of one host share as tuners do, up to seven eighths of all. Not tuned.
  static constexpr int64_t kClientShare = 7;
  // `spec.id` is not known. The state is kQueued; the caller puts it somewhere.
  TrackedJob& Add(Tuner& tuner, JobSpec spec);
  // Its tuner submitted it again. If it is done its result gets a new number, so that it is new to
  // the tuner again.
  void Renew(TrackedJob& job);
  // The job is done: from now on a result of its tuner.
  void Finish(TrackedJob& job, JobOutcome outcome, const ResultSource& source);
  // Forgets the job. `acknowledged`: remembers that its result is needless.
  void Erase(TrackedJob& job, bool acknowledged);
  // Forgets a tuner that has no jobs.
  void EraseTuner(const std::string& tuner_id);

  void RememberAcknowledged(const std::string& tuner_id, const std::string& job_id);
  bool IsAcknowledged(const std::string& job_id) const { return acknowledged_.contains(job_id); }
  // A tuner's word about a job that is not known here counts for its own jobs only.
  bool IsAcknowledgedBy(const std::string& tuner_id, const std::string& job_id) const;

  std::map<std::string, Tuner>& tuners() { return tuners_; }
  const std::map<std::string, Tuner>& tuners() const { return tuners_; }
  int64_t job_count() const { return static_cast<int64_t>(jobs_.size()); }
  int64_t done_count() const { return usage_.results; }
  // Studies of open jobs that avoid a worker, and how many such jobs each has; by worker.
  const std::map<std::string, std::map<std::string, int64_t>>& doubts() const { return doubts_; }

 private:
  // Of what is not known yet.
  Usage Added(const Tuner* tuner, const std::vector<JobSpec>& jobs) const;
  void CountFor(const Usage& more, Tuner& tuner);
  // The job is not open any more.
  void Close(TrackedJob& job, Tuner& tuner);

  Limits limits_;
  absl::node_hash_map<std::string, TrackedJob> jobs_;
  std::map<std::string, Tuner> tuners_;
  std::map<std::string, Client> clients_;                       // Of the tuners.
  absl::flat_hash_map<std::string, std::string> acknowledged_;  // By job id, whose word it is.
  std::deque<std::string> acknowledged_order_;                  // Oldest first.
  std::map<std::string, std::map<std::string, int64_t>> doubts_;
  Usage usage_;
  uint64_t last_order_ = 0;
  int64_t last_number_ = 0;
};

}  // namespace burnish

#endif  // TRACKER_JOB_BOOK_H_
