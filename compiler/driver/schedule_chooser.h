// Gives each task a schedule that can be applied to it, and the next best where one turned out bad.
#ifndef COMPILER_DRIVER_SCHEDULE_CHOOSER_H_
#define COMPILER_DRIVER_SCHEDULE_CHOOSER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/driver/planned_model.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/driver/select.h"
#include "proto/target.h"

namespace burnish {

class ScheduleChooser {
 public:
  // `source` and `target` outlive this.
  ScheduleChooser(ScheduleSource& source, const Target& target)
      : source_(source), target_(target) {}

  // By task. The source is asked once for each workload, for several at once. Errors: the source's;
  // INTERNAL where a workload's text does not parse.
  absl::StatusOr<std::vector<ChosenSchedule>> Choose(const TaskList& tasks,
                                                     const SelectOptions& options);

  // Never choose this trace for this workload again. False: it is the default nest, for which there
  // is no substitute.
  bool Reject(const std::string& workload, const std::string& trace, absl::string_view reason);

  // Why schedules of the workload were passed over.
  std::vector<std::string> Rejections(const std::string& workload) const;

 private:
  struct Known {
    std::vector<KnownSchedule> schedules;
    std::vector<std::string> rejections;
  };
  // Asks the source for the tasks that are not known yet.
  absl::Status LookUp(const TaskList& tasks);

  ScheduleSource& source_;
  const Target& target_;
  std::map<std::string, Known> known_;  // By workload.
};

}  // namespace burnish

#endif  // COMPILER_DRIVER_SCHEDULE_CHOOSER_H_
