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
#include "absl/strings/str_cat.h"
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

  // Whose a tuner is: two share a host, and rogues have one of their own.
  static std::string ClientOf(const std::string& tuner) {
    const char last = tuner.back();
    return tuner.starts_with("rogue") ? "rogue" : (last - '0') % 2 == 0 ? "host0" : "host1";
  }

  // Where a worker's calls come from: each has a host.
  static std::string AddressOf(const std::string& worker) {
    return worker.empty() ? "" : absl::StrCat("address of ", worker);
  }

  // A tracker begins, and knows nothing of what the one before it knew.
  void Start(absl::Time now, const TrackerOptions& options);

  void Submitted(absl::Time now, const std::string& tuner, const std::vector<JobSpec>& jobs,
                 bool resubmission, const absl::StatusOr<int64_t>& session);
  // `is_there`: for one more tuner, if this one is not known.
  void CheckRoom(const std::string& tuner, bool is_there);
  void Collecting(absl::Time now, const CollectRequest& request);
  void WasCollected(const CollectRequest& request, const Collected& collected);
  // `count`: how many the tracker says that it has ended.
  void Cancelled(absl::Time now, const std::string& tuner, const std::vector<std::string>& ids,
                 const std::string& study, int64_t count);
  void Drained(const std::string& worker, bool undo);
  void Reported(absl::Time now, const WorkerReport& report,
                const absl::StatusOr<SyncReply>& answer);
  void CallBroke(absl::Time now, const std::string& worker, int64_t sequence);
  // `status`: the worker's, as the orders went out.
  void Ordered(absl::Time now, const WorkerStatus& status, const WorkerOrders& orders);
  // Whether bytes that a worker says it has built under `lease` are taken.
  void Delivered(absl::Time now, const std::string& worker, int64_t incarnation, const Lease& lease,
                 const absl::Status& answer);
  // What it says from now on need not agree with what it said before.
  void NoteLiar(const std::string& worker) { liars_.insert(worker); }
  // Of a tuner, and not yet acknowledged by it.
  bool IsJobOf(const std::string& job_id, const std::string& tuner) const {
    const auto job = jobs_.find(job_id);
    return job != jobs_.end() && job->second.tuner == tuner;
  }
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
    bool held_back = false;                 // Submitted again, in the recovery period.
    bool from_before = false;               // Submitted again: others may have given it out.
    std::map<int64_t, std::string> issued;  // Epochs of its leases, and to which workers.
    bool done = false;
    bool done_now = false;  // By the event that is checked.
    JobOutcome outcome;
    std::string source;  // Worker, of the outcome; empty: the tracker.
    int64_t source_epoch = 0;
    int64_t number = 0;  // Of the result, as it was last collected; 0: never.
    int32_t attempts = 0;
    bool unsure = false;  // It or another was given up: nobody but its result will say which.
    bool was_cancelled = false;  // While that was unsure, so that it is done in any case.
    bool is_forgotten = false;   // With its tuner, by the event that is checked.
    std::vector<Loss> losses;
    std::map<int64_t, std::string> deaths;  // Of processes that executed it, by lease: whose.
    int interruption_count = 0;
    absl::Time paused_until = absl::InfinitePast();  // For having been interrupted so often.
    bool was_lost_much = false;                      // As often as it takes to be given up.
    bool was_poison = false;    // Its workers did well otherwise, at some time since.
    bool is_condemned = false;  // They do now, and nobody has it.
    // Since when it waits for its verdict, and since when for a result that a worker has.
    absl::Time awaits_verdict_since = absl::InfiniteFuture();
    absl::Time awaits_result_since = absl::InfiniteFuture();
  };
  struct Grant {
    std::string job_id;
    std::string worker;
    int64_t incarnation = 0;
    int slot = 0;
  };
  struct Doubtful {
    std::string worker;
    int slot = 0;
    HeldResult result;
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
    // It waits for others on its host since then, and did so for this long before.
    absl::Time waiting_since = absl::InfiniteFuture();
    absl::Duration waited = absl::ZeroDuration();

    bool IsSame(const Holding& other) const {
      return lease == other.lease && incarnation == other.incarnation;
    }
  };
  struct Slot {
    SlotReport last;
    int fault_streak = 0;
    int64_t done_count = 0;
    int64_t fault_count = 0;
    absl::Time paused_until = absl::InfinitePast();
    std::map<std::string, absl::Time> held_since;  // By lease, as text.
    // Likewise: once a fault, always one, as long as each report has it.
    std::map<std::string, bool> held_fault;
    // What it executes and nobody has asked for, and since when it says so.
    std::optional<Lease> unclaimed;
    absl::Time unclaimed_since;
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
    std::string host;
    std::optional<CalibrationRow> calibration;
    bool leaving = false;
    bool was_leaving = false;  // The process before this one.
    bool drained = false;
    bool told_drained = false;
    bool restarted_now = false;  // By the event that is checked.
    bool lost = false;
    std::map<int64_t, std::vector<SlotReport>> reports;  // By sequence: what orders may answer.
    std::vector<Slot> slots;
    std::set<std::string> stopping;  // Leases that it was told to stop, as text.
    int passed_over = 0;  // Jobs that went to others while it was idle and could have had them.
    bool may_discard_now = false;  // So many results that it is to be told, by this event.
  };
  // Of a priority, or a line, that has had jobs waiting all the time.
  struct Starved {
    int passed_over = 0;  // Jobs of others since its last one.
    int bands_max = 0;    // So many of them had jobs at once meanwhile.
  };
  using Demand = Demands;
  // Jobs that the same slots may have: what they demand, and whom they avoid.
  using Line = std::pair<Demand, std::set<std::string>>;

  void Fail(const std::string& promise, const std::string& detail) {
    verdict_->Fail(promise, detail);
  }
  // As JobBook: the oldest are forgotten.
  bool MayDiscardMany(const Worker& worker) const;
  void RememberAcknowledged(const std::string& tuner, const std::string& job_id);
  bool IsAcknowledgedBy(const std::string& tuner, const std::string& job_id) const {
    const auto found = acknowledged_.find(job_id);
    return found != acknowledged_.end() && found->second == tuner;
  }
  void CheckAdmission(const std::string& tuner, const std::vector<JobSpec>& jobs,
                      const absl::Status& answer);
  void CheckCollected(const CollectRequest& request, const Collected& collected);
  void NoteWaiting(absl::Time now, const std::string& place, const SlotReport& report);
  void CheckUrgency(const WorkerReport& report, const SyncReply& answer, const Worker& worker);
  void CheckSlotOrders(const std::string& text, const SlotOrders& orders, const SlotStatus& status,
                       const SlotReport& report);
  void CheckHeld(absl::Time now, const std::string& id, const SlotOrders& orders,
                 const SlotReport& report, const Slot& slot);
  static std::string TextOf(const Lease& lease);
  static bool IsFault(const HeldResult& result);
  static std::string PlaceOf(const std::string& worker, int slot);
  static Demand DemandOf(const JobSpec& job) {
    return {.kind = job.kind, .device_key = job.device_key, .labels = job.labels};
  }
  // `is_fault`: the report before said so. Set where this one does.
  void TakeResult(absl::Time now, const std::string& id, int slot_index, const HeldResult& result,
                  bool& is_fault);
  void TakeFirst(Job& job, const std::string& id, Slot& slot, const HeldResult& result);
  void TakeDoubtful(const TrackerView& view);
  void FinishJob(Job& job, const JobOutcome& outcome, const std::string& source, int64_t epoch);
  void CountFault(absl::Time now, Slot& slot);
  void NoteEnd(Worker& worker, const std::string& job_id, bool lost);
  void NotePoison();
  // How many of those that lost the job do well otherwise.
  int CountWitnesses(const Job& job) const;
  bool DoesWell(const Job& job, const Loss& loss) const;
  bool MayBeGivenUp(const Job& job) const;
  bool AwaitsVerdict(const Job& job) const;
  static int RefuserCount(const Job& job);
  static int DeadCount(const Job& job);
  static Line LineOf(const Job& job);
  static bool IsAvoided(const Job& job, const std::string& worker);
  static bool HasUntriedWorker(const TrackerView& view, const Job& job);
  static bool AreSlotsOf(const WorkerReport& report, const Worker& worker);
  bool IsOfPast(const WorkerReport& report, const Worker& worker) const;
  // Whoever is present now, and by which right.
  void TakeOver(const WorkerReport& report, const SyncReply& reply, Worker& worker);

  void CheckLeases(absl::Time now, const TrackerView& view);
  bool WasNeverTheJobs(const Holding& holding, const std::map<std::string, Holding>& present) const;
  void CheckVanished(absl::Time now, const Holding& holding);
  void CheckAppeared(absl::Time now, const TrackerView& view, Holding& holding);
  void CheckGrant(absl::Time now, const TrackerView& view, Holding& holding, Job& job);
  void CheckVerdicts(absl::Time now);
  void CheckFetches(absl::Time now, const TrackerView& view);
  void NoteTurns(const Holding& holding, const Job& job);
  void CheckListener(absl::Time now, const TrackerView& view, const WorkerStatus& status,
                     const Worker& worker);
  void CheckIdle(absl::Time now, const TrackerView& view, const WorkerStatus& status,
                 const SlotStatus& slot, const Slot& mine);
  bool HasRoomForTuner(const std::string& tuner) const;
  void CheckCopy(absl::Time now, const TrackerView& view, const Holding& holding, const Job& job);
  void CheckTwice(const std::map<std::string, Holding>& present);
  bool MayBeCopied(absl::Time now, const Holding& holding) const;
  void CheckOrder(const std::string& text, const Job& job);
  void CheckLines(const TrackerView& view, const Holding& holding, const Job& job);
  void CheckPriority(const std::string& text, const Job& job);
  void LeaveLine(const Job& job);
  void ForgetFed();
  void CheckFairness(const Job& job);
  // `own` and others of one kind: that of the job that goes, and those of jobs that wait beside it.
  void CheckShare(const Line& line, const std::string& kind, const std::string& own, int32_t cost,
                  const std::set<std::string>& waiting);
  // `present`: the jobs that slots have after this event.
  void CheckGivenUp(const TrackerView& view, const std::set<std::string>& present);
  // Those that may have been given up by now: `count` of them were, or more.
  std::vector<Job*> GivenUp(int64_t count, const std::set<std::string>& present);
  void CheckCounts(absl::Time now, const TrackerView& view);
  void CheckClocks(absl::Time now, const TrackerView& view);
  // What people see is what the model has seen.
  void CheckWorkers(absl::Time now, const TrackerView& view);
  void CheckSlots(absl::Time now, const WorkerStatus& status, const Worker& worker);
  void CheckCounters(absl::Time now, const TrackerView& view);
  // `tuner`: only its jobs; empty: all.
  void CheckUnmatched(const TrackerView& view, const std::string& tuner,
                      const std::vector<UnmatchedQueue>& shown);
  bool AnyUnsure() const;
  void DropSilentTuners(absl::Time now, const TrackerView& view);
  bool IsWaiting(const Job& job) const;
  const Holding* HoldingOf(const std::string& job_id) const;  // Null: nobody's.
  // Whether the worker may speak of the lease, so that its result is the job's.
  bool IsOf(const Lease& lease, const Job& job, const std::string& worker,
            const SlotInfo& slot) const;
  static bool Serves(const SlotInfo& slot, const JobSpec& job);
  // Workers that say that they have its result.
  // `kept`: and may not throw it away.
  int HolderCount(const std::string& job_id, bool kept = false) const;
  bool IsHeldByWorker(const std::string& job_id) const { return HolderCount(job_id) > 0; }
  void ResetShares() { shares_.clear(); }

  Verdict* const verdict_;
  const bool strictly_fair_;
  TrackerOptions options_;
  absl::Time started_at_;
  uint64_t last_order_ = 0;
  std::map<std::string, Job> jobs_;
  std::map<std::string, std::string> acknowledged_;  // By job id: whose word it is.
  std::deque<std::string> acknowledged_order_;       // Oldest first.
  std::map<std::string, absl::Time> tuners_;         // Last heard of.
  std::map<std::string, int64_t> sessions_;          // Of the tuners that are known.
  std::map<std::string, Worker> workers_;
  std::map<std::string, Holding> holdings_;    // By worker and slot.
  std::map<std::string, Ending> faulted_now_;  // Leases, as text.
  absl::Time now_;                             // Of the event that is checked.
  Counters counted_;             // What the model has seen of what the tracker counts.
  int64_t taken_count_ = 0;      // Results of workers.
  bool was_unsure_ = false;      // Once it was, the counts may differ.
  std::set<std::string> liars_;  // Workers, of any life.
  // Results of this event, of jobs that had been given up before, or not.
  std::vector<Doubtful> doubtful_;
  std::set<std::string> ended_now_;  // Jobs, of which a lease ended by this event.
  // Results, by lease, that a worker may throw away: it was told so, or their job is over.
  std::set<std::string> useless_;
  int64_t forgotten_count_ = 0;
  int64_t parked_count_ = 0;
  int64_t given_up_count_ = 0;                       // Poisoned or parked.
  std::map<std::string, absl::Time> fetched_since_;  // Jobs whose results are asked for.
  // By line and priority: jobs of others since its last one.
  std::map<Line, std::map<int32_t, int>> passed_over_;  // At most so many.
  std::map<Line, std::map<int32_t, Starved>> starved_;  // At least.
  // Of lines with jobs that wait: jobs of others that went to slots which may have theirs, of a
  // higher priority than any of these, and of no higher one.
  std::map<Line, Starved> below_, beside_;
  // By line and pair of clients, or of a client's studies: what the first has got more than the
  // second, since both have had jobs waiting.
  struct Pair {
    Line line;
    std::string kind;  // The client, of studies; empty: of clients.
    std::string first, second;

    auto operator<=>(const Pair&) const = default;
  };
  std::map<Pair, int64_t> shares_;
  std::string reporting_;            // Worker, by the event that is checked; empty: none.
  std::set<std::string> listening_;  // Workers whose calls hung after the last event.
  std::vector<std::pair<std::string, std::vector<UnmatchedQueue>>> said_unmatched_;  // By tuner.
  // Over all lives.
  std::map<int64_t, Grant> grants_;  // By epoch.
  std::set<std::pair<std::string, int64_t>> all_sessions_;
  int64_t grant_count_ = 0;
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_TRACKER_MODEL_H_
