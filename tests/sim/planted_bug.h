// Bugs that a simulation can be told to have, to see whether it would find them. They are planted
// around the real cores: what goes into a core and comes out of it is altered as a core with that
// bug would do it. No production code knows of them.
#ifndef TESTS_SIM_PLANTED_BUG_H_
#define TESTS_SIM_PLANTED_BUG_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tracker/client_core.h"
#include "tracker/tracker_core.h"
#include "worker/agent/agent_core.h"

namespace burnish::sim {

enum class Bug {
  kNone,
  // The ten of the contract.
  kAcknowledgedAtSight,    // A tuner acknowledges before it has stored.
  kRestartKeepsLeases,     // A worker's new process has the leases of the old one.
  kSilentNeverLost,        // A worker that is not heard of keeps its leases for ever.
  kJobLimitIgnored,        // The tracker takes more jobs than it may.
  kStaleReportsTaken,      // A report that was overtaken counts.
  kNoFencing,              // A worker's old process is listened to.
  kLostOrdersAreLosses,    // A lease that the worker never heard of counts as a loss.
  kStaleOrdersApplied,     // A worker obeys orders for a report that is not its last.
  kAcknowledgedForgotten,  // A late submission of a job that is over begins it again.
  kOneStudyGetsAll,        // The first study goes before all others.
  // Others.
  kTimeLimitIgnored,       // A lease may last for ever.
  kTimerNotRearmed,        // After its first tick the tracker waits for none.
  kCancelIgnored,          // A job that is executed is not cancelled.
  kResubmissionReversed,   // A tuner submits again in the wrong order.
  kGraceIgnored,           // After a start a job goes out before workers say that they have it.
  kAcknowledgementsLeak,   // Some jobs are never forgotten.
  kResultsSwapped,         // A result goes out under another job's name.
  kForgottenWhenSent,      // A result is forgotten when it is sent, not when it is safe.
  kDiscardedWhenReceived,  // A worker throws away what the tracker alone has.
  kNudgeForgotten,         // A hanging call is not told of its job.
  kDrainIgnored,
  kEpochsRepeat,   // A tracker that is started again counts leases as before.
  kFaultIsResult,  // A worker's fault is handed to the tuner.
  kPoisonAtFirstLoss,
  kPrioritiesIgnored,
  kNoPauseAfterFaults,
  kResultsComeTwice,     // The client hands a result out again.
  kJobsDroppedWhenFull,  // The client does not submit again what was refused.
  kNewSessionIgnored,    // The client does not submit again what a new tracker lacks.
  kOutcomeForgotten,     // A slot that begins a job forgets the result of the one before.
  kCopiesAtOnce,         // A job is leased twice though its worker speaks.
  kNeverCopied,          // A silent worker's job waits for its lease's end.
  kCopiesWithoutEnd,     // A job with two leases gets a third one.
  kAnyLeaseBelieved,     // A worker's word on a lease that it never had counts.
  kImpossibleBelieved,   // The study takes a time that its device cannot reach.
};
inline constexpr int kBugCount = 35;

struct BugInfo {
  Bug bug;
  const char* name;
};
const std::array<BugInfo, kBugCount>& AllBugs();
const char* BugName(Bug bug);

// TrackerCore, with a bug.
class SuspectTracker {
 public:
  SuspectTracker(TrackerOptions options, absl::Time now, Bug bug);

  absl::StatusOr<int64_t> Submit(absl::Time now, const std::string& tuner_id,
                                 std::vector<JobSpec> jobs, bool resubmission,
                                 const std::string& client);
  bool MayCollect(const CollectRequest& request) const {
    return core_.KnowsTuner(request.tuner_id) || core_.HasRoomForTuner(request.client);
  }
  Collected Collect(absl::Time now, CollectRequest request);
  int64_t Cancel(absl::Time now, const std::string& tuner_id, const std::vector<std::string>& ids,
                 const std::string& study);
  absl::StatusOr<SyncReply> Synchronize(absl::Time now, WorkerReport report);
  std::optional<WorkerOrders> OrdersFor(absl::Time now, const std::string& id, int64_t sequence);
  void CallBroke(absl::Time now, const std::string& worker_id, int64_t sequence);
  // OK where the core knows workers by other incarnations than theirs.
  absl::Status CheckBuildLease(absl::Time now, const std::string& worker_id, int64_t incarnation,
                               const Lease& lease) const;
  void Tick(absl::Time now);
  absl::Time NextTick() const;
  std::vector<std::string> TakeReadyWorkers();
  std::vector<std::string> TakeReadyTuners() { return core_.TakeReadyTuners(); }
  void Drain(absl::Time now, const std::string& worker_id, bool undo);
  std::vector<WorkerStatus> ListWorkers(absl::Time now) const;
  TrackerStatus GetStatus(absl::Time now) const { return core_.GetStatus(now); }

 private:
  // How the core was told of a worker, where that differs from what the worker said.
  struct Alias {
    int64_t incarnation = 0;  // The present one, and the first.
    int64_t first = 0;
    std::set<int64_t> replaced;         // Incarnations.
    std::map<int64_t, int64_t> claims;  // By incarnation: the epoch that it has to echo.
    int64_t last_epoch = 0;
    int64_t made_up = 0;                          // How many processes the core has been told of.
    int64_t core_epoch = 0;                       // Of the last of them.
    int64_t sequence = 0;                         // Of the core.
    int64_t outer = 0;                            // The worker's own, of that report.
    std::vector<std::optional<Lease>> executing;  // As last reported, or made up.
    std::vector<std::optional<Lease>> ordered;    // By the last orders.
  };
  static TrackerOptions Spoil(TrackerOptions options, Bug bug);
  bool HasAliases() const;
  // False: the worker is to be told `turned_away`.
  bool Pass(Alias& alias, WorkerReport& report, SyncReply& turned_away);
  // As the core is to hear it.
  void Disguise(absl::Time now, WorkerReport& report);
  void Remember(Alias& alias, WorkerOrders& orders);
  // Has an idle worker execute what two others have a lease of.
  void CopyOnceMore(absl::Time now, const WorkerReport& report, SyncReply& reply);

  const Bug bug_;
  const absl::Time recovered_at_;  // Jobs are held back no longer.
  TrackerCore core_;
  std::map<std::string, Alias> aliases_;
  std::string first_study_;
  std::map<std::string, JobSpec> specs_;                          // Of kCopiesWithoutEnd.
  std::map<std::pair<std::string, size_t>, Lease> third_leases_;  // By worker and slot.
  int acknowledged_count_ = 0;
  int nudge_count_ = 0;
  int tick_count_ = 0;
};

// ClientCore, with a bug.
class SuspectClient {
 public:
  SuspectClient(const std::string& tuner_id, const ClientLimits& limits, Bug bug)
      : bug_(bug), core_(tuner_id, limits) {}

  std::vector<ResultEntry> Add(std::vector<JobSpec> jobs, bool resubmission);
  void AllResubmitted() { core_.AllResubmitted(); }
  std::vector<ResultEntry> TakeBack(const std::vector<std::string>& ids, const std::string& study) {
    return core_.TakeBack(ids, study);
  }
  std::optional<SubmitBatch> NextBatch();
  void BatchTaken(int64_t session);
  void BatchFailed(bool too_many);
  CollectRequest MakeCollect() { return core_.MakeCollect(); }
  std::vector<ResultEntry> Collect(const CollectRequest& request, Collected collected);
  void Acknowledge(const std::vector<std::string>& ids) { core_.Acknowledge(ids); }
  const ClientCore& core() const { return core_; }

 private:
  const Bug bug_;
  ClientCore core_;
  int64_t session_ = 0;
  int result_count_ = 0;
};

// AgentCore, with a bug.
class SuspectAgent {
 public:
  SuspectAgent(const AgentIdentity& identity, const std::vector<SlotInfo>& slots, Bug bug)
      : bug_(bug), core_(identity, slots) {}

  WorkerReport MakeReport();
  std::vector<SlotAction> Apply(WorkerOrders orders);
  void Finished(int slot_index, JobOutcome outcome);
  void SetWaiting(int slot_index, bool waiting) { core_.SetWaiting(slot_index, waiting); }
  void Leave() { core_.Leave(); }
  bool has_news() const { return core_.has_news(); }
  bool draining() const { return core_.draining(); }
  bool IsEmpty() const { return core_.IsEmpty(); }

 private:
  const Bug bug_;
  AgentCore core_;
  int64_t sequence_ = 0;
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_PLANTED_BUG_H_
