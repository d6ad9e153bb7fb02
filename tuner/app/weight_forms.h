// Which forms a bundle has its weights in, so that kernels for other bounds read the same ones.
#ifndef TUNER_APP_WEIGHT_FORMS_H_
#define TUNER_APP_WEIGHT_FORMS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/ir/packed_shapes.h"

namespace burnish {

// A decoder's products have 64 rows in its first call and one in all others. Each number of rows
// has its own best panels of weights, nearly as good ones in the other's, and the weights are most
// of the bundle.
class WeightForms {
 public:
  // The forms in which the tasks of `built` read their weights. INTERNAL: a report that cannot be
  // read.
  absl::Status Add(const BuiltModel& built);
  // That of a schedule that was measured of the task, before its model is built. `found`: as a
  // ScheduleSource found them. None: none of them applies, which the driver passes over as well.
  void AddMeasured(const ExtractedTask& task, absl::Span<const KnownSchedule> found);

  // Puts the fastest default schedule that reads the task's weights in such a form in front of the
  // others, unless it takes too long beside the first of them by the cost model. `schedules`: as a
  // ScheduleSource found them, default ones fastest first.
  void Prefer(const ExtractedTask& task, std::vector<KnownSchedule>& schedules) const;

 private:
  absl::Status Add(const std::string& name, const std::string& workload, const std::string& trace);

  std::map<std::string, std::set<PackedShapes>> known_;  // By name and constants of a task.
};

}  // namespace burnish

#endif  // TUNER_APP_WEIGHT_FORMS_H_
