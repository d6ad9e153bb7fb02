// A worker: one host with one id and, as a rule, one process, which is the real agent core behind
// what its gRPC client does with calls, and executors that only take time.
#ifndef TESTS_SIM_SIM_WORKER_H_
#define TESTS_SIM_SIM_WORKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "tests/sim/event_loop.h"
#include "tests/sim/network.h"
#include "tests/sim/planted_bug.h"
#include "tests/sim/sim_tracker.h"
#include "tests/sim/verdict.h"

namespace burnish::sim {

// What the executors of all workers have in common.
struct ExecutorWorld {
  uint64_t seed = 0;
  double long_share = 0.1;  // Of executions that take seconds.
  double fault_share = 0;   // Of those that end with a worker's fault, wherever they are.
  std::set<std::pair<std::string, int64_t>> begun = {};            // Leases, in any process.
  std::vector<std::pair<std::string, Lease>> begun_in_order = {};  // And by whom; oldest first.
  int64_t execution_count = 0;
};

// What the outcome of a candidate is, wherever it is measured: the simulation's truth.
bool IsKiller(uint64_t seed, const std::string& candidate_id);
bool IsFailing(uint64_t seed, const std::string& candidate_id);
int64_t TrueLatencyNs(uint64_t seed, const std::string& candidate_id);
// What a builder makes of it.
std::string ArtifactOf(const std::string& candidate_id);
// What no device can reach: far below what the synthetic tasks call its bound.
inline constexpr int64_t kImpossibleNsMax = 1000;
// A job whose payload is not a builder's or runner's.
std::string PlainResult(const std::string& payload);
// What a liar says of such a job. Its tuner cannot tell.
bool IsPlainLie(const std::string& payload);

class SimWorker {
 public:
  struct Options {
    std::string id = "";
    int node = 0;
    std::vector<SlotInfo> slots = {};
    std::optional<CalibrationRow> calibration = std::nullopt;
    Bug bug = Bug::kNone;
  };

  SimWorker(EventLoop* loop, Network* network, SimTracker* tracker, Verdict* verdict,
            ExecutorWorld* world, const Options& options);

  void Start();
  // All processes. `breaks_calls`: the tracker sees the connection go.
  void Kill(bool breaks_calls);
  // Ends what runs and starts again.
  void StartIfDead() {
    if (!HasProcess()) Start();
  }
  void Stop(absl::Duration duration);
  // The connection goes, and the processes live on: both sides see their calls break.
  void BreakCalls();
  void Leave();
  bool HasProcess() const;
  bool IsEmpty() const;
  std::string Describe() const;

  void set_sick(double share) { sick_share_ = share; }
  void set_slow(bool slow) { is_slow_ = slow; }
  void set_hanging(bool hanging) { is_hanging_ = hanging; }
  void set_lying(double share);
  // What it executes waits for others on its host.
  void set_waiting(bool waiting);

 private:
  struct Outcome {
    Lease lease;
    JobOutcome outcome;
    bool tracker_has_it = false;  // As it was told.
  };
  struct Execution {
    std::optional<JobSpec> job;
    std::optional<Lease> lease;  // The last one.
    bool cancelling = false;
    bool waiting = false;
    std::vector<Outcome> outcomes;                  // Of its executions, not discarded yet.
    int64_t number = 0;                             // Which one: an old one's end is ignored.
    absl::Time put_until = absl::InfiniteFuture();  // A build's bytes are offered for so long.
  };
  struct Process {
    int64_t incarnation = 0;
    bool alive = true;
    bool leaving = false;
    std::unique_ptr<SuspectAgent> agent;
    std::vector<Execution> slots;
    int64_t last_sequence = 0;
    int64_t epoch = 0;                        // The highest that it was told.
    bool has_news = true;                     // That its last report does not say.
    std::vector<std::set<std::string>> held;  // By slot: jobs whose results it may not discard.
    std::set<std::pair<std::string, int64_t>> cancelled;  // Leases that it was told to stop.
    int64_t call_count = 0;
    std::set<int64_t> calls;  // Under way.
    absl::Time retry_at = absl::InfinitePast();
    int failure_count = 0;
    absl::Time stopped_until = absl::InfinitePast();
  };
  using ProcessPtr = std::shared_ptr<Process>;

  // `action`, once the process is not stopped; never, if it is dead by then.
  void In(const ProcessPtr& process, absl::Duration delay, std::function<void()> action);
  void Pump(const ProcessPtr& process);
  void BeginCall(const ProcessPtr& process);
  void CallEnded(const ProcessPtr& process, int64_t call, int64_t sequence,
                 const absl::StatusOr<WorkerOrders>& orders);
  void CheckReport(const ProcessPtr& process, const WorkerReport& report);
  void CheckHeld(const ProcessPtr& process, const WorkerReport& report);
  // What the agent has to do, by its orders.
  void CheckActions(const ProcessPtr& process, const WorkerOrders& orders,
                    const std::vector<SlotAction>& actions);
  void NoteResults(Process& process, const WorkerOrders& orders);
  void CarryOut(const ProcessPtr& process, const WorkerOrders& orders);
  void Begin(const ProcessPtr& process, int slot, const JobSpec& job, const Lease& lease);
  void End(const ProcessPtr& process, int slot);
  void Exit(const ProcessPtr& process);
  // Adds results of leases that it does not have, and goes on with some of them.
  void LieIn(WorkerReport& report);
  void RepeatLies(WorkerReport& report);
  // Offers bytes under a lease that it need not have.
  void OfferLies(const Process& process);
  absl::StatusOr<JobOutcome> Execute(const Process& process, const JobSpec& job,
                                     const Lease& lease);
  // What nobody who looks closely takes for the job's result.
  absl::StatusOr<JobOutcome> Lie(const Process& process, const JobSpec& job, const Lease& lease);
  // UNAVAILABLE: the tracker is away, or does not know the lease yet.
  absl::StatusOr<JobOutcome> Build(const Process& process, const std::string& payload,
                                   const Lease& lease);
  JobOutcome Measure(const std::string& payload);

  EventLoop* const loop_;
  Network* const network_;
  SimTracker* const tracker_;
  Verdict* const verdict_;
  ExecutorWorld* const world_;
  const Options options_;
  Rng rng_;
  int64_t last_incarnation_ = 0;
  std::vector<ProcessPtr> processes_;
  double sick_share_ = 0;
  bool is_slow_ = false;
  bool is_hanging_ = false;
  double lying_share_ = 0;
  bool is_waiting_ = false;
  std::set<std::pair<std::string, int64_t>> lied_of_;        // Leases.
  std::vector<std::pair<size_t, HeldResult>> lasting_lies_;  // By slot.
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_SIM_WORKER_H_
