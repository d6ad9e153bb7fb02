// Gives each task a schedule that can be applied to it, and the next best where one turned out bad.
#ifndef COMPILER_DRIVER_SCHEDULE_CHOOSER_H_
#define COMPILER_DRIVER_SCHEDULE_CHOOSER_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/driver/planned_model.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/driver/select.h"
#include "compiler/target/target.h"

namespace burnish {

class ScheduleChooser {
 public:
  // `source` and `target` outlive this. `progress(done, total)`: of the workloads that the source
  // is asked for; from any thread, one call at a time.
  ScheduleChooser(ScheduleSource& source, const Target& target,
                  std::function<void(int, int)> progress = nullptr)
      : source_(source), target_(target), progress_(std::move(progress)) {}

  // By task. The source is asked once for each workload, for several at once. Errors: the source's;
  // INTERNAL where a workload's text does not parse.
  absl::StatusOr<std::vector<ChosenSchedule>> Choose(const TaskList& tasks,
                                                     const SelectOptions& options);

  // Never choose this trace for this workload again. False: it is the default nest, for which there
  // is no substitute.
  bool Reject(const std::string& workload, const std::string& trace, absl::string_view reason);

  // By the source's cost model, of a schedule without a recorded time; 0: that is not known.
  double EstimatedNs(const ExtractedTask& task, const KnownSchedule& schedule) const;

  // Why schedules of the workload were passed over.
  std::vector<std::string> Rejections(const std::string& workload) const;

 private:
  struct Known {
    std::vector<KnownSchedule> schedules;
    std::vector<std::string> rejections;
    std::set<std::string> rejected = {};  // Traces.
  };
  // Asks the source for the tasks that are not known yet.
  absl::Status LookUp(const TaskList& tasks);
  // `offered`: by task, schedules that are preferred to those of the source that are as good by
  // Select.
  absl::StatusOr<std::vector<ChosenSchedule>> ChooseFrom(
      const TaskList& tasks, const std::vector<Program>& definitions,
      const std::vector<std::vector<KnownSchedule>>& offered, const SelectOptions& options);

  ScheduleSource& source_;
  const Target& target_;
  const std::function<void(int, int)> progress_;
  std::map<std::string, Known> known_;  // By workload.
};

}  // namespace burnish

#endif  // COMPILER_DRIVER_SCHEDULE_CHOOSER_H_
