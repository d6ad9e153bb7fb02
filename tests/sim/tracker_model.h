// What a tracker owes to its tuners and workers, in few words: which jobs it must know, who may
// hold which, what must not wait. The model sees what goes into a tracker and what comes out of it,
// and never looks inside; every promise that is broken goes to the verdict by its name.
#ifndef TESTS_SIM_TRACKER_MODEL_H_
#define TESTS_SIM_TRACKER_MODEL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/job.h"
#include "proto/synchronize.h"
#include "tests/sim/verdict.h"
#include "tracker/tracker_types.h"

namespace burnish::sim {

// What is seen of a tracker after each event.
struct TrackerView {
  TrackerStatus status = {};
  std::vector<WorkerStatus> workers = {};
  std::map<std::string, int64_t> hanging_workers = {};        // By id: the call's sequence.
  std::map<std::string, CollectRequest> hanging_tuners = {};  // By id.
};

class TrackerModel {
 public:
  // `strictly_fair`: all jobs have one priority, so that studies share evenly.
  TrackerModel(Verdict* verdict, bool strictly_fair)
      : verdict_(verdict), strictly_fair_(strictly_fair) {}

  // A tracker begins, and knows nothing of what the one before it knew.
  void Start(absl::Time now, const TrackerOptions& options);

  void Submitted(absl::Time now, const std::string& tuner, const std::vector<JobSpec>& jobs,
                 bool resubmission, const absl::StatusOr<int64_t>& session);
  void Collecting(absl::Time now, const CollectRequest& request);
  void WasCollected(const CollectRequest& request, const Collected& collected);
  void Cancelled(absl::Time now, const std::string& tuner, const std::vector<std::string>& ids);
  void Drained(const std::string& worker, bool undo);
  void Reported(absl::Time now, const WorkerReport& report,
                const absl::StatusOr<SyncReply>& answer);
  void CallBroke(absl::Time now, const std::string& worker, int64_t sequence);
  void Ordered(absl::Time now, const std::string& worker, const WorkerOrders& orders);
  // After any of the above, or a tick: what has changed inside. Calls that hang are not looked at.
  void Observe(absl::Time now, const TrackerView& view);
  // After whoever had to be told something was told.
  void CheckNobodyWaits(absl::Time now, const TrackerView& view);

  // In any life of the tracker.
  int64_t grant_count() const { return grant_count_; }

 private:
  struct Loss {
    int64_t epoch = 0;
    std::string worker;
    int64_t worker_done_count = 0;
    bool refused = false;
  };
  // How the worker said that a lease ended.
  enum class Ending { kFault, kInterruption, kRefusal };
  struct Job {
    JobSpec spec;
    std::string tuner;
    uint64_t order = 0;
    bool held_back = false;    // Submitted again, in the recovery period.
    bool from_before = false;  // Submitted again: others may have given it out.
    std::set<int64_t> issued;  // Epochs of its leases.
    bool done = false;
    JobOutcome outcome;
    std::string source;  // Worker, of the outcome; empty: the tracker.
    int64_t source_epoch = 0;
    int64_t number = 0;   // Of the result, as it was last collected; 0: never.
    bool unsure = false;  // It or another was given up: nobody but its result will say which.
    std::vector<Loss> losses;
    std::map<int64_t, std::string> deaths;  // Of processes that executed it, by lease: whose.
    int interruption_count = 0;
    absl::Time paused_until = absl::InfinitePast();  // For having been interrupted so often.
    bool was_lost_much = false;                      // As often as it takes to be given up.
    bool was_poison = false;  // Its workers did well otherwise, at some time since.
  };
  struct Grant {
    std::string job_id;
    std::string worker;
    int64_t incarnation = 0;
    int slot = 0;
  };
  struct Holding {
    std::string worker;
    int slot = 0;
    Lease lease;
    int64_t incarnation = 0;
    absl::Time since;
    bool started = false;
    bool unclaimed = false;  // No tuner had submitted the job when it was last looked at.
    bool is_copy = false;    // It was given beside another one.
    bool copied = false;     // Another was given beside it, since its worker fell silent.
  };
  struct Slot {
    SlotReport last;
    int fault_streak = 0;
    absl::Time paused_until = absl::InfinitePast();
  };
  struct Worker {
    int64_t incarnation = 0;
    int64_t epoch = 0;                  // Of the incarnation.
    int64_t replaced = 0;               // The incarnation before.
    std::map<int64_t, int64_t> claims;  // By incarnation: the epoch that it was told.
    int64_t sequence = 0;
    absl::Time seen_at;
    absl::Time answered_at = absl::InfiniteFuture();  // Its last call, and no other has come.
    absl::Time closed_at = absl::InfiniteFuture();    // Its call broke.
    int64_t done_count = 0;
    std::deque<std::pair<std::string, bool>> ends;  // Of leases: the job, and whether it was lost.
    bool leaving = false;
    bool was_leaving = false;  // The process before this one.
    bool drained = false;
    bool restarted_now = false;  // By the event that is checked.
    bool lost = false;
    std::map<int64_t, std::vector<SlotReport>> reports;  // By sequence: what orders may answer.
    std::vector<Slot> slots;
    std::set<std::string> stopping;  // Leases that it was told to stop, as text.
  };
  // Of a priority that has had jobs waiting all the time.
  struct Starved {
    int passed_over = 0;  // Jobs of others since its last one.
    int bands_max = 0;    // So many priorities had jobs at once meanwhile.
  };
  using Demand = std::pair<JobKind, std::string>;  // Kind and device key.

  void Fail(const std::string& promise, const std::string& detail) {
    verdict_->Fail(promise, detail);
  }
  static std::string TextOf(const Lease& lease);
  static bool IsFault(const HeldResult& result);
  static std::string PlaceOf(const std::string& worker, int slot);
  static Demand DemandOf(const JobSpec& job) { return {job.kind, job.device_key}; }
  void TakeResult(absl::Time now, const std::string& id, int slot_index, const HeldResult& result);
  void FinishJob(Job& job, const JobOutcome& outcome, const std::string& source, int64_t epoch);
  void CountFault(absl::Time now, Slot& slot);
  void NoteEnd(Worker& worker, const std::string& job_id, bool lost);
  void NotePoison();
  bool DoesWell(const Job& job, const Loss& loss) const;
  bool MayBeGivenUp(const Job& job) const;
  bool AwaitsVerdict(const Job& job) const;
  static int RefuserCount(const Job& job);
  static int DeadCount(const Job& job);
  static bool IsRetry(const Job& job);
  static bool IsAvoided(const Job& job, const std::string& worker);
  static bool HasUntriedWorker(const TrackerView& view, const Job& job);
  bool IsOfPast(const WorkerReport& report, const Worker& worker) const;
  // Whoever is present now, and by which right.
  void TakeOver(const WorkerReport& report, const SyncReply& reply, Worker& worker);

  void CheckLeases(absl::Time now, const TrackerView& view);
  bool WasNeverTheJobs(const Holding& holding, const std::map<std::string, Holding>& present) const;
  void CheckVanished(absl::Time now, const Holding& holding);
  void CheckAppeared(absl::Time now, const TrackerView& view, Holding& holding);
  void CheckGrant(absl::Time now, const TrackerView& view, Holding& holding, Job& job);
  void CheckCopy(absl::Time now, const TrackerView& view, const Holding& holding, const Job& job);
  void CheckTwice(const std::map<std::string, Holding>& present);
  bool MayBeCopied(absl::Time now, const Holding& holding) const;
  void CheckOrder(const std::string& text, const Worker& worker, const Holding& holding,
                  const Job& job);
  void CheckPriority(const std::string& text, const Job& job);
  void ForgetFed();
  void CheckFairness(const Job& job);
  void CheckGivenUp(const TrackerView& view);
  void CheckCounts(absl::Time now, const TrackerView& view);
  void CheckClocks(absl::Time now, const TrackerView& view);
  void DropSilentTuners(absl::Time now, const TrackerView& view);
  bool IsWaiting(const Job& job) const;
  const Holding* HoldingOf(const std::string& job_id) const;  // Null: nobody's.
  // Whether the worker may speak of the lease, so that its result is the job's.
  bool IsOf(const Lease& lease, const Job& job, const std::string& worker,
            const SlotInfo& slot) const;
  static bool Serves(const SlotInfo& slot, const JobSpec& job);
  bool IsHeldByWorker(const std::string& job_id) const;
  void ResetShares() { shares_.clear(); }

  Verdict* const verdict_;
  const bool strictly_fair_;
  TrackerOptions options_;
  absl::Time started_at_;
  uint64_t last_order_ = 0;
  std::map<std::string, Job> jobs_;
  std::set<std::string> acknowledged_;
  std::map<std::string, absl::Time> tuners_;  // Last heard of.
  std::map<std::string, int64_t> sessions_;   // Of the tuners that are known.
  std::map<std::string, Worker> workers_;
  std::map<std::string, Holding> holdings_;    // By worker and slot.
  std::map<std::string, Ending> faulted_now_;  // Leases, as text.
  absl::Time now_;                             // Of the event that is checked.
  int64_t forgotten_count_ = 0;
  int64_t given_up_count_ = 0;                       // Poisoned or parked.
  std::map<std::string, absl::Time> fetched_since_;  // Jobs whose results are asked for.
  // By demand and priority: jobs of others since its last one.
  std::map<Demand, std::map<int32_t, int>> passed_over_;  // At most so many.
  std::map<Demand, std::map<int32_t, Starved>> starved_;  // At least.
  // By demand and pair of studies: what the first has got more than the second, since both have
  // had jobs waiting.
  std::map<std::pair<Demand, std::pair<std::string, std::string>>, int64_t> shares_;
  // Over all lives.
  std::map<int64_t, Grant> grants_;  // By epoch.
  std::set<std::pair<std::string, int64_t>> all_sessions_;
  int64_t grant_count_ = 0;
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_TRACKER_MODEL_H_
