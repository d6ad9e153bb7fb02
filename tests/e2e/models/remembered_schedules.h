// The schedules that models get before anything was tuned, for tests that build whole models.
#ifndef TESTS_E2E_MODELS_REMEMBERED_SCHEDULES_H_
#define TESTS_E2E_MODELS_REMEMBERED_SCHEDULES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "compiler/driver/schedule_source.h"
#include "tuner/app/recorded_schedules.h"

namespace burnish {

// What `tuner compile` would find without a database; remembers answers, since models have many
// tasks in common.
class RememberedSchedules : public ScheduleSource {
 public:
  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target& target) override;

  // In computing answers.
  absl::Duration spent() const {
    const absl::MutexLock lock(&mutex_);
    return spent_;
  }

 private:
  RecordedSchedules source_{nullptr, {}};
  mutable absl::Mutex mutex_;
  // By workload and target.
  std::map<std::pair<std::string, std::string>, std::vector<KnownSchedule>> known_
      ABSL_GUARDED_BY(mutex_);
  absl::Duration spent_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
};

}  // namespace burnish

#endif  // TESTS_E2E_MODELS_REMEMBERED_SCHEDULES_H_
