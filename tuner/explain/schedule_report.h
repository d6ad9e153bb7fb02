// What a schedule makes a device do, in numbers that one can act on: where its time should go, what
// crosses each level of memory, how its loops lie, and what of it is lost. All numbers are those
// that the tuner chooses by (cost_model/analytic_model.h, cost_model/features.h).
#ifndef TUNER_EXPLAIN_SCHEDULE_REPORT_H_
#define TUNER_EXPLAIN_SCHEDULE_REPORT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/step.h"
#include "compiler/target/device_model.h"
#include "tuner/cost_model/analytic_model.h"

namespace burnish {

// What the time of a call may go to. Levels work beside arithmetic, so that entries of a report do
// not add up to its time.
enum TimeUse : int {
  kArithmeticTime,
  kLoadTime,
  kStoreTime,
  kChainTime,
  kSpillTime,
  kLoopTime,
  kL1FillTime,
  kL2FillTime,
  kL3FillTime,
  kWaitTime,     // For weights that nothing asks for ahead, and for other workers' data.
  kBarrierTime,  // Workers that wait for each other at the ends of nests.
  kTimeUseCount,
};
// "arithmetic", "loads", .. "into L1", .. "barriers".
const char* TimeUseName(TimeUse use);

struct LoopReport {
  std::string name;
  LoopKind kind = LoopKind::kSerial;
  int64_t extent = 1;  // The greatest that it has.
  double trips = 1;    // Of one worker.
};

// One top-level nest, by the store that has the most arithmetic instructions.
struct NestReport {
  std::string output;  // What it writes to.
  int workers = 1;     // That share it.
  std::vector<LoopReport> loops;
  int64_t lanes = 1;      // Of a full vector.
  double window = 0;      // Vectors of sums that stay in registers; 0: none do.
  std::string intrinsic;  // The instruction that computes its innermost loops; empty: none.
  double share = 0;       // Of the cycles of all nests.
};

// Of what is lost, and how it shows. For people.
struct Finding {
  std::string name;  // One of a few words, for programs: "imbalance", "tail", ..
  double share = 0;  // Of the expected time, roughly; 0: not known.
  std::string text;
};

struct ScheduleReport {
  int threads = 1;
  double expected_ns = 0;  // By the analytic model: what its schedule was ranked by.
  std::array<double, kTimeUseCount> time_ns = {};
  TimeUse bound = kArithmeticTime;  // The largest of these.
  // Of one worker.
  double operations = 0;  // On elements, as executed; a multiply-add counts two.
  double instructions = 0, loads = 0, stores = 0;
  double accessed_bytes = 0;                             // By loads and stores.
  std::array<double, kCacheLevelCount> fill_bytes = {};  // Into L1, L2, L3.
  std::vector<NestReport> nests;
  std::vector<Finding> findings;  // The largest share first.
};

// `workload`: the task's program without a schedule. INVALID_ARGUMENT: a trace that does not apply,
// or cannot be lowered. `device`: a CPU.
absl::StatusOr<ScheduleReport> ReportSchedule(const Program& workload, const Trace& trace,
                                              const DeviceModel& device, int threads);

}  // namespace burnish

#endif  // TUNER_EXPLAIN_SCHEDULE_REPORT_H_
