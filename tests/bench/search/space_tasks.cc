#include "tests/bench/search/space_tasks.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "compiler/frontend/model_file.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/parser.h"
#include "tests/bench/zoo_tasks.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// Tasks with less of a model's time are not shown.
constexpr double kShareMin = 0.01;

}  // namespace

absl::StatusOr<std::vector<NamedTask>> TasksOf(const std::string& what, const DeviceModel& device) {
  std::vector<NamedTask> tasks;
  const bool is_model = absl::EndsWith(what, ".onnx");
  if (!is_model && (absl::StrContains(what, '/') || absl::StrContains(what, '.'))) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(what, 64 << 20));
    // A comparison is written like the line's beginning.
    for (const absl::string_view section : absl::StrSplit(absl::StrCat("\n", text), "\n== ")) {
      if (absl::StripAsciiWhitespace(section).empty()) continue;
      const std::pair<std::string, std::string> named =
          absl::StrSplit(section, absl::MaxSplits('\n', 1));
      tasks.push_back({.name = named.first, .workload = named.second});
    }
    return tasks;
  }
  double total = 0;
  std::string name = what;
  TaskList list;
  if (is_model) {
    name = what.substr(what.rfind('/') + 1);
    ASSIGN_OR_RETURN(Graph graph, ImportModelFile(what));
    list = TasksOfGraph(std::move(graph)).list;
  } else {
    list = MakeZooTasks(what).list;
  }
  for (const ExtractedTask& task : list.tasks) {
    const double seconds =
        DefaultSchedules(task.program, device).front().seconds * static_cast<double>(task.weight);
    total += seconds;
    tasks.push_back(
        {.name = absl::StrCat(name, " ", task.name), .workload = task.workload, .share = seconds});
  }
  for (NamedTask& task : tasks) task.share /= total;
  std::erase_if(tasks, [](const NamedTask& task) { return task.share < kShareMin; });
  return tasks;
}

absl::StatusOr<SampledSpace> SampleSpace(const std::string& workload, const DeviceModel& device,
                                         uint32_t spaces, int points) {
  ASSIGN_OR_RETURN(const Program program, ParseProgram(workload));
  SampledSpace sampled;
  ASSIGN_OR_RETURN(
      sampled.space,
      SearchSpace::Create({.sketches = GenerateSketches(program, device, {.spaces = spaces})}));
  ASSIGN_OR_RETURN(sampled.draw,
                   DrawTable(workload, *sampled.space, device,
                             {.uniform_max = points, .estimated_max = 0, .looked_max = points}));
  return sampled;
}

}  // namespace burnish
