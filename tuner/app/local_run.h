// A run of a study by this process: on the farm that is named, or on one of its own.
#ifndef TUNER_APP_LOCAL_RUN_H_
#define TUNER_APP_LOCAL_RUN_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "db/open.h"
#include "proto/host_calibration.h"
#include "tuner/app/compile_cache.h"
#include "tuner/app/embedded_farm.h"
#include "tuner/app/study_run.h"
#include "tuner/app/tuning.h"
#include "tuner/study/study_types.h"

namespace burnish {

// What a run tells while it goes on.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // About once a second and after every change, from the thread of Run.
  virtual void OnProgress(const StudyProgress& progress) = 0;
  // A program of the run's own farm ended and is started again. From a thread of the farm.
  virtual void OnFarmRestart(absl::string_view text) = 0;
};

struct LocalRunOptions {
  std::string study_id = {};       // Of a study that was stored.
  const Tuning* tuning = nullptr;  // These four are not null and outlive the run.
  const Database* database = nullptr;
  const Clock* clock = nullptr;
  RunObserver* observer = nullptr;
  std::string tracker = {};                    // Address; empty: a farm on this machine.
  std::string calibration = kCalibrationAuto;  // Of that farm's worker, see EmbeddedFarmOptions.
  const CompileCache* cache = nullptr;         // As StudyRunOptions::cache.
  absl::Duration patience = absl::Minutes(5);  // With a farm that is away.
};

class LocalRun {
 public:
  // Returns when there is a farm. A study without trials needs none. Errors: B0801, B0802.
  static absl::StatusOr<std::unique_ptr<LocalRun>> Start(const LocalRunOptions& options);

  // At most once. Errors: as StudyRun::Run, and B0802: its own farm was given up.
  absl::StatusOr<StudyResult> Run();

  // From any thread, at any time. Run returns within about a second, with the study resumable.
  void Interrupt();

 private:
  LocalRun() = default;

  std::mutex mutex_;  // For the two below: the farm may be given up before there is a run.
  std::unique_ptr<StudyRun> run_;
  bool farm_failed_ = false;
  std::unique_ptr<EmbeddedFarm> farm_;  // Ends first: its thread may use what is above.
};

}  // namespace burnish

#endif  // TUNER_APP_LOCAL_RUN_H_
