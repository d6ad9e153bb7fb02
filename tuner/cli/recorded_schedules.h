// The schedules that the driver may choose from: the best that were recorded, and the default one.
#ifndef TUNER_CLI_RECORDED_SCHEDULES_H_
#define TUNER_CLI_RECORDED_SCHEDULES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/schedule_source.h"
#include "db/record_store.h"

namespace burnish {

struct RecordedSchedulesOptions {
  AccuracyLimit accuracy = {};
  int limit = 5;  // Of each task.
};

class RecordedSchedules : public ScheduleSource {
 public:
  // `records` may be null: defaults only. It outlives this.
  RecordedSchedules(const RecordStore* records, const RecordedSchedulesOptions& options)
      : records_(records), options_(options) {}

  // Exact workloads, of the target itself or of one for which the traces are valid. Errors: the
  // store's, and INVALID_ARGUMENT for a workload that cannot be read.
  absl::StatusOr<std::vector<Schedule>> Find(const ExtractedTask& task,
                                             const Target& target) override;

 private:
  const RecordStore* records_;
  RecordedSchedulesOptions options_;
};

}  // namespace burnish

#endif  // TUNER_CLI_RECORDED_SCHEDULES_H_
