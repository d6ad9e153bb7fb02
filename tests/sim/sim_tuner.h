// A tuner: a process that wants jobs done, and a disk that outlives it.
#ifndef TESTS_SIM_SIM_TUNER_H_
#define TESTS_SIM_SIM_TUNER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/sim/event_loop.h"
#include "tests/sim/network.h"
#include "tests/sim/planted_bug.h"
#include "tests/sim/sim_tracker.h"
#include "tests/sim/verdict.h"

namespace burnish::sim {

// What every tuner is given.
struct TunerWorld {
  EventLoop* loop = nullptr;  // None of these is null.
  Network* network = nullptr;
  SimTracker* tracker = nullptr;
  Verdict* verdict = nullptr;
  uint64_t seed = 0;
  std::string id = "";
  int node = 0;
  Bug bug = Bug::kNone;
  ClientLimits limits = {};
};

class SimTuner {
 public:
  virtual ~SimTuner() = default;

  virtual void Start() = 0;
  // `level` in [0, 1]: how many writes it still makes.
  virtual void Kill(double level) = 0;
  virtual bool HasProcess() const = 0;
  virtual void SetDiskFull(bool full) = 0;
  virtual void SetDiskSlow(bool slow) = 0;
  virtual void StepClock(absl::Duration by) = 0;
  // All that it wanted is on its disk, and the tracker knows.
  virtual bool IsDone() const = 0;
  // What it has to say in the end: whether its disk holds what it should.
  virtual void CheckEnd() = 0;
  virtual std::string Describe() const = 0;
};

struct JobTunerOptions {
  int job_count = 0;
  bool one_priority = true;
  bool has_killers = false;
  bool cancels = false;
  bool has_labels = false;   // Of slots and jobs, with device keys.
  bool has_studies = false;  // Two.
  int worker_count = 0;      // Some jobs doubt one of them.
  int batch_size_max = 7;
};

// Submits jobs that mean nothing, in batches.
std::unique_ptr<SimTuner> MakeJobTuner(const TunerWorld& world, const JobTunerOptions& options);

struct StudyTunerOptions {
  int trial_count = 0;
  int task_count = 1;
  bool deterministic = false;
  bool confirms = false;  // What looks best is measured once more.
  absl::Duration cancelled_at = absl::InfiniteDuration();
};

// Runs a study: the real loop, measurer and storage over stores in memory.
std::unique_ptr<SimTuner> MakeStudyTuner(const TunerWorld& world, const StudyTunerOptions& options);

}  // namespace burnish::sim

#endif  // TESTS_SIM_SIM_TUNER_H_
