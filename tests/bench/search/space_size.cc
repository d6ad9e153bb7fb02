// What the spaces of tasks are: points of distinct lowered code, and how the analytic model spreads
// over them. Nothing is timed.
// usage: space_size templates|generator|all POINTS TARGET MODEL|FILE...
//
// MODEL: of the zoo; tasks that take more than a per cent of it by the analytic model. FILE:
// workloads, each behind a line "== NAME". Of a space with more points, POINTS draws.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/ir/parser.h"
#include "proto/device_model.h"
#include "proto/target.h"
#include "tests/bench/search/table_draw.h"
#include "tests/bench/zoo_tasks.h"
#include "tuner/search/search_space.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// Tasks with less of a model's time are not shown.
constexpr double kShareMin = 0.01;

struct NamedTask {
  std::string name, workload;
  double share = 0;  // Of its model's time, by the analytic model; 0: it stands alone.
};

absl::StatusOr<std::vector<NamedTask>> TasksOf(const std::string& what, const DeviceModel& device) {
  std::vector<NamedTask> tasks;
  if (absl::StrContains(what, '/') || absl::StrContains(what, '.')) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(what, 64 << 20));
    for (const absl::string_view section : absl::StrSplit(text, "== ", absl::SkipEmpty())) {
      const std::pair<std::string, std::string> named =
          absl::StrSplit(section, absl::MaxSplits('\n', 1));
      tasks.push_back({.name = named.first, .workload = named.second});
    }
    return tasks;
  }
  double total = 0;
  const ZooTasks zoo = MakeZooTasks(what);
  for (const ExtractedTask& task : zoo.list.tasks) {
    const double seconds =
        DefaultSchedules(task.program, device).front().seconds * static_cast<double>(task.weight);
    total += seconds;
    tasks.push_back(
        {.name = absl::StrCat(what, " ", task.name), .workload = task.workload, .share = seconds});
  }
  for (NamedTask& task : tasks) task.share /= total;
  std::erase_if(tasks, [](const NamedTask& task) { return task.share < kShareMin; });
  return tasks;
}

absl::Status Show(const NamedTask& task, const DeviceModel& device, uint32_t spaces, int points) {
  ASSIGN_OR_RETURN(const Program program, ParseProgram(task.workload));
  std::vector<Sketch> sketches = GenerateSketches(program, device, {.spaces = spaces});
  const size_t sketch_count = sketches.size();
  ASSIGN_OR_RETURN(const auto space, SearchSpace::Create({.sketches = std::move(sketches)}));
  ASSIGN_OR_RETURN(const TableDraw draw,
                   DrawTable(task.workload, *space, device,
                             {.uniform_max = points, .estimated_max = 0, .looked_max = points}));
  double best = INFINITY;
  std::string name;
  for (const DrawnPoint& point : draw.points) {
    if (point.estimate_seconds >= best) continue;
    best = point.estimate_seconds;
    name = space->sketches()[point.proposal.sketch_index].name;
  }
  const auto near =
      std::count_if(draw.points.begin(), draw.points.end(),
                    [&](const DrawnPoint& point) { return point.estimate_seconds <= 4 * best; });
  std::printf("%-34s %5.1f %4zu %10lld%s %6zu %5.1f %10.1f %s\n", task.name.c_str(),
              100 * task.share, sketch_count, static_cast<long long>(draw.space_count),
              draw.space_exact ? " " : "~", draw.points.size(),
              100.0 * static_cast<double>(near) / static_cast<double>(draw.points.size()),
              1e6 * best, name.c_str());
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Run(int argc, char** argv) {
  const std::string space = argv[1];
  const uint32_t spaces = space == "templates"   ? uint32_t{kTemplates}
                          : space == "generator" ? uint32_t{kGenerator}
                                                 : uint32_t{kTemplates} | kGenerator;
  int points = 0;
  if (!absl::SimpleAtoi(argv[2], &points) || points < 1) {
    return absl::InvalidArgumentError(absl::StrCat("got ", argv[2], " points"));
  }
  ASSIGN_OR_RETURN(const Target target, ParseTarget(argv[3]));
  const DeviceModel device = DeviceModelOf(target);
  std::printf("%-34s %5s %4s %11s %6s %5s %10s %s\n", "task", "share", "sk.", "points", "code",
              "<=4x", "best us", "by");
  for (int i = 4; i < argc; ++i) {
    ASSIGN_OR_RETURN(const std::vector<NamedTask> tasks, TasksOf(argv[i], device));
    for (const NamedTask& task : tasks) RETURN_IF_ERROR(Show(task, device, spaces, points));
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: space_size templates|generator|all POINTS TARGET MODEL|FILE...\n");
    return 64;
  }
  const absl::Status done = Run(argc, argv);
  if (done.ok()) return 0;
  std::fprintf(stderr, "space_size: %s\n", std::string(done.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
