// From a candidate to how long it takes: builds and runs it, wherever that happens.
#ifndef TUNER_MEASURE_MEASURER_H_
#define TUNER_MEASURE_MEASURER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "compiler/target/target.h"
#include "proto/measurement.h"
#include "proto/workload.h"

namespace burnish {

// What the candidates of one task have in common.
struct MeasureTask {
  Workload workload = {};
  Target target = {};
  std::string contract = {};
  int32_t codegen_epoch = 0;
  // Candidate 0: timed around the others, and what their outputs are compared with. Nullopt: there
  // is none that runs; outputs are checked by samples only.
  std::optional<std::string> reference_trace = std::nullopt;
  uint64_t input_seed = 0;
};

struct MeasureRequest {
  std::string trial_id = {};                          // 1..100 bytes, unique for ever.
  std::shared_ptr<const MeasureTask> task = nullptr;  // Not null.
  std::string trace = {};
  int64_t incumbent_ns = 0;   // Best latency so far, for early stop; 0: none.
  int32_t process_count = 1;  // Fresh processes to time it in.
  bool resubmission = false;  // An earlier process may have submitted this trial.
  // How often the study's parked trials were taken up again. A farm remembers what came of a job,
  // so that a trial that was parked needs new ones.
  int32_t resumption = 0;
  bool again = false;  // The result that was handed out is not taken: measure anew.
  // Where there are other workers, none of these runs it.
  std::vector<std::string> avoid_workers = {};
};

struct MeasureResult {
  std::string trial_id = {};
  Measurement measurement = {};  // Its candidate_id and method_version are set, failures included.
};

// Thread-safe. Results come in any order. Each trial has one, for certain only as long as the
// measurer lives: open trials of a process that died are submitted again under their ids.
class Measurer {
 public:
  virtual ~Measurer() = default;

  // Takes the requests over and returns. A trial that is open already is passed over; one whose
  // last result does not count (lost worker, cancelled) is tried again. INVALID_ARGUMENT: a request
  // is malformed; then none is taken.
  virtual absl::Status Submit(std::vector<MeasureRequest> requests) = 0;

  // What an earlier process left open has been submitted again, all of it: results of other trials
  // of that process are wanted by nobody. A process that submits trials calls it once.
  virtual void AllResubmitted() = 0;

  // Waits until there is a result, and hands each out once. Empty: the time was up. Zero: polls.
  virtual std::vector<MeasureResult> Collect(absl::Duration timeout) = 0;

  // The results are stored: nobody needs to keep them any more.
  virtual void Acknowledge(absl::Span<const std::string> trial_ids) = 0;

  // The trials' results will be kCancelled, or what came first. Errors: nobody could be told, the
  // work may go on.
  virtual absl::Status Cancel(absl::Span<const std::string> trial_ids) = 0;

  // OK, or why results may not come: UNAVAILABLE, the tracker cannot be reached;
  // FAILED_PRECONDITION, no worker can do the jobs; either may pass by itself. PERMISSION_DENIED,
  // the tracker takes this tuner for a stranger under its name: no result will come.
  virtual absl::Status health() const = 0;
};

}  // namespace burnish

#endif  // TUNER_MEASURE_MEASURER_H_
