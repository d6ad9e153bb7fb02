// One run of a study against a farm: the tracker's client, the measurer and the runner. What
// `submit`, `resume` and `serve` share.
#ifndef TUNER_APP_STUDY_RUN_H_
#define TUNER_APP_STUDY_RUN_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "db/open.h"
#include "tuner/app/compile_cache.h"
#include "tuner/app/tuning.h"
#include "tuner/study/study_types.h"

namespace burnish {

struct StudyRunOptions {
  std::string study_id = {};       // Of a study that was created.
  const Tuning* tuning = nullptr;  // These three are not null and outlive the run.
  const Database* database = nullptr;
  const Clock* clock = nullptr;
  std::string tracker = {};             // Address.
  const CompileCache* cache = nullptr;  // Of default schedules; null: they are made anew.
  // Called from Run, about once a second and after every change. May be null.
  std::function<void(const StudyProgress&)> on_progress = nullptr;
  // A farm that is away for this long ends the run, with the study resumable.
  absl::Duration patience = absl::Minutes(5);
};

class StudyRun {
 public:
  explicit StudyRun(StudyRunOptions options);
  ~StudyRun();

  // At most once. Trackers know the study's tuner again by a secret beside the database
  // (tuner_secret.h). A study without trials is done at once, and its progress has no tasks.
  // Errors: B05xx, B0602: it is done; B0606: another process runs it; B0901. Whoever cancels it
  // from another process ends it too.
  absl::StatusOr<StudyResult> Run();

  // From any thread, at any time. Run returns within about a second, with the study resumable.
  void Interrupt();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Why a run ended before the study was done: B0605, B0607, B0701, B0702, B0706, B0708, B0905; OK if
// it is done. Whoever prints the error says how to go on.
absl::Status StopError(const StudyResult& result, const std::string& study_id);

}  // namespace burnish

#endif  // TUNER_APP_STUDY_RUN_H_
