// The tracker without its network: who has which job, and what everybody is to do next. Pure: no
// I/O, no thread, no clock (time is an argument and never goes back). Not thread-safe.
//
// A job is tried until a worker has a result, the tuner cancels it, or the tracker gives it up
// (tracker_core_losses.cc). The first valid result wins. Each job has exactly one result, which is
// kept until the tuner acknowledges it.
#ifndef TRACKER_TRACKER_CORE_H_
#define TRACKER_TRACKER_CORE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/job.h"
#include "proto/synchronize.h"
#include "tracker/job_book.h"
#include "tracker/job_queues.h"
#include "tracker/rate_meter.h"
#include "tracker/tracker_event.h"
#include "tracker/tracker_types.h"
#include "tracker/worker_state.h"

namespace burnish {

class TrackerCore {
 public:
  TrackerCore(const TrackerOptions& options, absl::Time now);

  // ---- Tuners ----

  // `client`: what has an address of its own, which names of tuners have not. Clients share first.
  // Takes all of the jobs or none; an id that is known already is left as it is. Returns the
  // tuner's session. `resubmission`: they may have been submitted to a tracker before this one.
  // RESOURCE_EXHAUSTED: full; GetRetryAfter of the status says when to try again.
  // PERMISSION_DENIED: an id is of another tuner's job.
  absl::StatusOr<int64_t> Submit(absl::Time now, const std::string& tuner_id,
                                 std::vector<JobSpec> jobs, bool resubmission,
                                 const std::string& client = "");
  // Acknowledges, and returns the results that the tuner has not seen. `urgent` false: there is
  // nothing to say, so the call may hang until TakeReadyTuners names this tuner.
  Collected Collect(absl::Time now, const CollectRequest& request);
  // Ends them with a failure of kind kCancelled. Returns how many were open. `study`: all of the
  // tuner's in this study; empty: none.
  int64_t Cancel(absl::Time now, const std::string& tuner_id, const std::vector<std::string>& ids,
                 const std::string& study);

  // False: its next call meets it anew.
  bool KnowsTuner(const std::string& tuner_id) const { return book_.tuners().contains(tuner_id); }
  size_t tuner_count() const { return book_.tuners().size(); }
  bool HasRoomForTuner(const std::string& client) const { return book_.HasRoomForTuner(client); }

  // ---- Workers ----

  // Takes a worker's report. `urgent` false: there is nothing for it to do, so its call may hang
  // until TakeReadyWorkers names it; then OrdersFor says what to answer.
  // FAILED_PRECONDITION: a newer process has this id. ABORTED: a later report came first.
  // INVALID_ARGUMENT: other slots than before. RESOURCE_EXHAUSTED: too many workers.
  absl::StatusOr<SyncReply> Synchronize(absl::Time now, const WorkerReport& report);
  // False: its next report meets it anew.
  bool KnowsWorker(const std::string& worker_id) const { return workers_.contains(worker_id); }
  size_t worker_count() const { return workers_.size(); }
  // The worker's call no longer hangs. Nothing: the call was replaced by a newer one.
  std::optional<WorkerOrders> OrdersFor(absl::Time now, const std::string& worker_id,
                                        int64_t sequence);
  // The worker's hanging call broke. Without another one soon its jobs are handed on.
  void CallBroke(absl::Time now, const std::string& worker_id, int64_t sequence);

  // OK: the worker's process has this lease, and it is of a build. UNAVAILABLE: it may have it in a
  // moment, as after a restart of the tracker, when the worker or the job's tuner has not come yet.
  // PERMISSION_DENIED: it has not (any more).
  absl::Status CheckBuildLease(absl::Time now, const std::string& worker_id, int64_t incarnation,
                               const Lease& lease) const;

  // ---- Both ----

  // What time alone changes. To be called at least as often as NextTick() says.
  void Tick(absl::Time now);
  // InfiniteFuture: nothing will happen by itself.
  absl::Time NextTick() const;
  // Whose hanging calls have something to say since the last call. Each id once, in order.
  std::vector<std::string> TakeReadyWorkers();
  std::vector<std::string> TakeReadyTuners();

  // ---- People ----

  // What happened since the last call, in order. Of more than kEventsMax the first, and how many
  // came after.
  std::vector<TrackerEvent> TakeEvents();
  static constexpr size_t kEventsMax = 8192;  // One for each worker and slot that goes, and more.

  // NOT_FOUND: no such worker.
  absl::Status Drain(absl::Time now, const std::string& worker_id, bool undo);
  std::vector<WorkerStatus> ListWorkers(absl::Time now) const;
  TrackerStatus GetStatus(absl::Time now) const;

 private:
  using State = TrackedJob::State;

  // Tuner side.
  // `workers` gets the one that holds the result.
  void Acknowledge(const Tuner& tuner, const std::string& job_id, std::set<std::string>& workers);
  void TellDiscards(const std::set<std::string>& workers);
  Tuner& Meet(absl::Time now, const std::string& tuner_id, const std::string& client);
  void DropTuner(Tuner& tuner);
  void PlaceNew(absl::Time now, TrackedJob& job, bool resubmission);
  bool TakeOverFromWorker(absl::Time now, TrackedJob& job);
  // A known job may have been given out by an earlier tracker, as its tuner now says.
  void NoteFromBefore(absl::Time now, TrackedJob& job);
  void DropOrphansOf(const std::string& job_id);
  // The worker has the job's result and is asked to send it.
  void Fetch(absl::Time now, WorkerState& worker, int slot_index, TrackedJob& job);
  void Finish(absl::Time now, TrackedJob& job, JobOutcome outcome, const ResultSource& source);
  // `tuner`: only its jobs; null: everybody's.
  std::vector<UnmatchedQueue> FindUnmatched(const Tuner* tuner) const;
  absl::Status FullError(int64_t excess);

  // Worker side.
  // Null: it has to echo its epoch first.
  absl::StatusOr<WorkerState*> Admit(absl::Time now, const WorkerReport& report);
  absl::StatusOr<WorkerState*> AdmitNew(const WorkerReport& report);
  void TakeResults(absl::Time now, WorkerState& worker, int slot_index, const SlotReport& report);
  void TakeResult(absl::Time now, WorkerState& worker, int slot_index, const HeldResult& result,
                  HeldState& held);
  void TakeFaults(absl::Time now, WorkerState& worker, int slot_index, const SlotReport& report);
  void TakeExecution(absl::Time now, WorkerState& worker, int slot_index, const SlotReport& report);
  void TakeUnleased(absl::Time now, WorkerState& worker, int slot_index, const Lease& lease);
  void Adopt(absl::Time now, WorkerState& worker, int slot_index, TrackedJob& job,
             const Lease& lease);
  // `counts`: as losses of its jobs; else they were interrupted.
  // Whether the worker may speak of this lease: it got it here and does such jobs, or may have got
  // it from an earlier tracker.
  bool MayHold(const WorkerState& worker, const SlotInfo& slot, const TrackedJob& job,
               const Lease& lease) const;
  void LoseWorker(absl::Time now, WorkerState& worker, absl::string_view how, bool counts);
  // After each change of what TakesJobs looks at.
  void NoteOffer(WorkerState& worker);
  // Takes the job from where it waits or is executed. Its state is then the caller's to set.
  void Detach(TrackedJob& job);
  // Takes its job from the slot. Without another lease the job's state is the caller's to set.
  void EndLease(const TrackedJob::Place& place);
  void Requeue(absl::Time now, TrackedJob& job);
  // Until then nobody gets it.
  void Defer(TrackedJob& job, absl::Time until);

  // Losses. Both take the job from the slot, and queue it again or end it.
  void Lose(absl::Time now, const TrackedJob::Place& place, const std::string& text,
            bool timed_out = false);
  void Interrupt(absl::Time now, const TrackedJob::Place& place, const std::string& text);
  // The worker cannot do it, and goes on with others.
  void Refuse(absl::Time now, const TrackedJob::Place& place, const std::string& text);
  void Judge(absl::Time now, TrackedJob& job);
  void JudgeAll(absl::Time now);
  void Park(absl::Time now, TrackedJob& job, absl::string_view why);
  bool DoesWell(const TrackedJob& job, const TrackedJob::Loss& loss) const;
  // Whether a worker that takes jobs could do them, and is none to avoid.
  bool HasUntriedWorker(const Line& line) const;
  // No slot has the job any more: it waits, pauses, or is given up. `was_lost`: else interrupted.
  void GoOn(absl::Time now, TrackedJob& job, bool was_lost);
  // `why`: for people.
  void CountFault(absl::Time now, const WorkerState& worker, SlotState& slot,
                  absl::string_view why);
  void Note(TrackerEvent::Kind kind, absl::string_view who, std::string text);

  // Copies (tracker_core_copies.cc).
  void NoteSilence(absl::Time now, WorkerState& worker);
  void NoteSpeech(WorkerState& worker);
  // If its only worker is silent.
  void OfferCopy(absl::Time now, TrackedJob& job);
  // The first that an idle slot may have; null: none.
  TrackedJob* NextCopy(absl::Time now, const WorkerState& worker, const SlotInfo& slot) const;
  // Some worker that may have the job's result says that it has it.
  bool IsHeld(const TrackedJob& job) const;

  void ExpireSlot(absl::Time now, WorkerState& worker, int slot_index);
  bool TryAssign(absl::Time now, WorkerState& worker, int slot_index);
  bool HasWork() const { return queues_.size() > 0 || !copyable_.empty(); }
  // Gives waiting jobs to workers whose calls hang.
  void Dispatch(absl::Time now);
  SyncReply MakeOrders(const WorkerState& worker);
  SlotOrders MakeSlotOrders(const WorkerState& worker, const SlotState& slot, bool& urgent);
  void Nudge(WorkerState& worker);
  void NudgeTuner(const Tuner& tuner);
  int64_t NewEpoch() { return next_epoch_++; }
  // Above `before`, which is of the same worker id.
  int64_t NewWorkerEpoch(int64_t before) { return std::max(next_worker_epoch_++, before + 1); }

  const TrackerOptions options_;
  const absl::Time started_at_;
  int64_t next_epoch_;
  // Of workers' processes. Counts those of this tracker alone: what a process reports raises the
  // numbers of its own worker id, and of no other. Apart from the other, which must never come near
  // an earlier tracker's numbers.
  int64_t next_worker_epoch_ = 1;
  int64_t farm_version_ = 0;  // Changes with what workers offer.
  JobBook book_;
  JobQueues queues_;
  std::map<uint64_t, TrackedJob*> copyable_;         // Leased jobs that another one may have too.
  std::multimap<absl::Time, std::string> deferred_;  // Ids of jobs that are held back until then.
  std::map<std::string, absl::Time> undecided_;      // Ids of jobs whose verdict is due by then.
  // Ids that workers reported and no tuner had submitted by then, or not as from before, or that
  // another worker was at: all orphans, and some past ones.
  absl::flat_hash_set<std::string> maybe_orphans_;
  std::map<std::string, WorkerState> workers_;     // By id.
  std::string dispatched_last_;                    // Worker id: the next one in order has its turn.
  std::map<std::string, int64_t> waiting_tuners_;  // Whose calls hang; highest number seen.
  std::vector<std::string> ready_workers_;
  std::vector<std::string> ready_tuners_;
  std::vector<TrackerEvent> events_;
  int64_t more_events_ = 0;
  RateMeter finished_rate_;
  Counters counters_;
};

}  // namespace burnish

#endif  // TRACKER_TRACKER_CORE_H_
