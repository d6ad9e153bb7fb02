// The schedules that the driver may choose from: the best that were recorded, and the default one.
#ifndef TUNER_APP_RECORDED_SCHEDULES_H_
#define TUNER_APP_RECORDED_SCHEDULES_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/schedule_source.h"
#include "db/record_store.h"
#include "proto/calibration_row.h"
#include "tuner/app/compile_cache.h"

namespace burnish {

// RecordStore::Best of a store, here or behind a daemon. Null: nothing is recorded.
using BestFinder = std::function<absl::StatusOr<BestAnswer>(const BestQuery&)>;

// `records` outlives it.
BestFinder BestIn(const RecordStore& records);

struct RecordedSchedulesOptions {
  AccuracyLimit accuracy = {};
  int limit = 5;  // Of each task.
  // Of the machine that default schedules are for; nothing: its microarchitecture's table.
  std::optional<CalibrationRow> calibration = std::nullopt;
  // Of default schedules; null: they are made anew. Outlives it.
  const CompileCache* cache = nullptr;
  // Whether the cost model's times of recorded schedules are wanted, too. Some milliseconds each.
  bool estimates = false;
  // Whether default schedules are wanted for each form of packed weights (DefaultSchedules).
  bool by_form = false;
};

class RecordedSchedules : public ScheduleSource {
 public:
  RecordedSchedules(BestFinder find_best, RecordedSchedulesOptions options)
      : find_best_(std::move(find_best)), options_(std::move(options)) {}

  // Of the workload itself, or else of workloads of its anchor; measured on the target itself, or
  // else on one for which the traces are valid. Errors: the finder's, and INVALID_ARGUMENT for a
  // workload that cannot be read.
  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target& target) override;
  // By the analytic model.
  absl::StatusOr<double> Estimate(const ExtractedTask& task, const std::string& trace,
                                  const Target& target) override;

 private:
  // The workload's own records before those of its anchor, and of both those of this method of
  // measuring before older ones: what is known of the workload itself is worth more than how
  // exactly it is known.
  absl::StatusOr<BestAnswer> LookUp(const ExtractedTask& task, const Program& workload,
                                    const Target& target) const;

  BestFinder find_best_;
  RecordedSchedulesOptions options_;
};

}  // namespace burnish

#endif  // TUNER_APP_RECORDED_SCHEDULES_H_
