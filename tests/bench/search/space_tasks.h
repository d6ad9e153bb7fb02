// The tasks that tools show spaces of: those of a zoo model, or of a file.
#ifndef TESTS_BENCH_SEARCH_SPACE_TASKS_H_
#define TESTS_BENCH_SEARCH_SPACE_TASKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/target/device_model.h"
#include "tests/bench/search/table_draw.h"
#include "tuner/search/search_space.h"

namespace burnish {

struct NamedTask {
  std::string name, workload;
  double share = 0;  // Of its model's time, by the analytic model; 0: it stands alone.
};

// `what`: a model, of the zoo or an ONNX file, of which the tasks that take more than a per cent;
// or a file with workloads, each behind a line "== NAME".
absl::StatusOr<std::vector<NamedTask>> TasksOf(const std::string& what, const DeviceModel& device);

// Draws `points` of the task's space, by distinct lowered code.
struct SampledSpace {
  std::shared_ptr<const SearchSpace> space;
  TableDraw draw;
};
absl::StatusOr<SampledSpace> SampleSpace(const std::string& workload, const DeviceModel& device,
                                         uint32_t spaces, int points);

}  // namespace burnish

#endif  // TESTS_BENCH_SEARCH_SPACE_TASKS_H_
