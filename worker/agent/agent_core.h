// A worker's side of Synchronize without its network: what it reports, and what it starts and stops
// on the tracker's orders. Pure: no I/O, no thread, no clock. Not thread-safe.
//
// A slot executes at most one lease. An outcome is kept until the tracker says that nobody needs it
// any more; meanwhile the slot may execute the next job.
#ifndef WORKER_AGENT_AGENT_CORE_H_
#define WORKER_AGENT_AGENT_CORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/calibration_row.h"
#include "proto/job.h"
#include "proto/synchronize.h"

namespace burnish {

struct AgentIdentity {
  std::string worker_id = "";  // Stays the same over restarts.
  std::string host = "";
  int64_t incarnation = 0;  // Of this process, drawn at random (EntropyNumber); > 0.
  std::optional<CalibrationRow> calibration = std::nullopt;  // Of its machine.
  // 16 to 64 bytes, by which a tracker knows the id again, over restarts; empty: none, as before
  // protocol 3.
  std::string secret = "";
};

// What to do in a slot, as the tracker wants it.
struct SlotAction {
  enum class Kind { kStart, kCancel };

  Kind kind = Kind::kStart;
  int slot_index = 0;
  JobSpec job = {};  // kStart only, like the next.
  Lease lease = {};
};

class AgentCore {
 public:
  AgentCore(const AgentIdentity& identity, const std::vector<SlotInfo>& slots);

  // The state of all slots, under the next sequence number.
  WorkerReport MakeReport();

  // Orders for any but the last report are ignored: the answer to that one says it all. The caller
  // carries the actions out. A slot that is told to cancel still has to say Finished.
  std::vector<SlotAction> Apply(const WorkerOrders& orders);

  // The slot's execution ended; it is executing something. After a cancel the outcome is dropped.
  void Finished(int slot_index, JobOutcome outcome);

  // What the slot executes waits for others on this host, or does so no more. Means nothing where
  // it executes nothing.
  void SetWaiting(int slot_index, bool waiting);

  // Takes no more jobs from now on.
  void Leave();

  // There is something that the last report does not say.
  bool has_news() const { return has_news_; }
  bool draining() const { return draining_; }
  // Executes nothing and holds no result.
  bool IsEmpty() const;
  int executing_count() const;

 private:
  struct Held {
    Lease lease;
    JobOutcome outcome;
    bool tracker_has_it = false;
    bool was_received = false;  // By some tracker.
  };
  struct Slot {
    SlotInfo info;
    std::optional<Lease> executing;
    bool cancelling = false;
    bool waiting = false;
    std::vector<Held> held;
  };

  // `bytes`: of the outcomes in the report so far. False: not all of the slot's had room.
  bool ReportResults(const Slot& slot, size_t& bytes, SlotReport& out) const;
  void ApplyToResults(const SlotOrders& orders, Slot& slot);

  const AgentIdentity identity_;
  std::vector<Slot> slots_;
  int64_t sequence_ = 0;
  int64_t epoch_ = 0;  // The highest that a tracker has given; 0: none yet.
  bool leaving_ = false;
  bool draining_ = false;
  bool has_news_ = true;   // That it exists.
  bool has_more_ = false;  // The last report had no room for all, and its answer makes some.
};

}  // namespace burnish

#endif  // WORKER_AGENT_AGENT_CORE_H_
