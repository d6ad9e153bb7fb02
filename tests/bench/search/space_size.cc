// What the spaces of tasks are: points of distinct lowered code, and how the analytic model spreads
// over them. Nothing is timed.
// usage: space_size templates|generator|all POINTS TARGET MODEL|FILE...
//
// MODEL: of the zoo, or an ONNX file; tasks that take more than a per cent of it by the analytic
// model. FILE: workloads, each behind a line "== NAME". Of a space with more points, POINTS draws;
// 0: the sketches themselves, as text. "few" and "far" in front of a sketch's name: less than 100
// programs, less than half of them within four times of the best.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/parser.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "tests/bench/search/search_table.h"
#include "tests/bench/search/space_tasks.h"
#include "tuner/sketch/sketch.h"
#include "tuner/sketch/sketch_text.h"

namespace burnish {
namespace {

// What makes a task worth a search.
constexpr size_t kProgramsMin = 100;

absl::Status PrintSketches(const NamedTask& task, const DeviceModel& device, uint32_t spaces) {
  ASSIGN_OR_RETURN(const Program program, ParseProgram(task.workload));
  std::printf("== %s\n", task.name.c_str());
  for (const Sketch& sketch : GenerateSketches(program, device, {.spaces = spaces})) {
    std::printf("%s\n", ToText(sketch).c_str());
  }
  return absl::OkStatus();
}

absl::Status Show(const NamedTask& task, const DeviceModel& device, uint32_t spaces, int points) {
  if (points == 0) return PrintSketches(task, device, spaces);
  ASSIGN_OR_RETURN(const SampledSpace sampled, SampleSpace(task.workload, device, spaces, points));
  const TableDraw& draw = sampled.draw;
  const absl::Span<const Sketch> sketches = sampled.space->sketches();
  double best = INFINITY;
  std::string name;
  for (const DrawnPoint& point : draw.points) {
    if (point.estimate_seconds >= best) continue;
    best = point.estimate_seconds;
    name = sketches[point.proposal.sketch_index].name;
  }
  const auto near =
      std::count_if(draw.points.begin(), draw.points.end(),
                    [&](const DrawnPoint& point) { return point.estimate_seconds <= 4 * best; });
  const bool few = draw.points.size() < kProgramsMin;
  const bool far = 2 * static_cast<size_t>(near) < draw.points.size();
  std::printf("%-34s %5.1f %4zu %10lld%s %6zu %5.1f %10.1f %s%s%s\n", task.name.c_str(),
              100 * task.share, sketches.size(), static_cast<long long>(draw.space_count),
              draw.space_exact ? " " : "~", draw.points.size(),
              100.0 * static_cast<double>(near) / static_cast<double>(draw.points.size()),
              1e6 * best, few ? "few " : "", far ? "far " : "", name.c_str());
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Run(int argc, char** argv) {
  ASSIGN_OR_RETURN(const uint32_t spaces, SpacesOfName(argv[1]));
  int points = 0;
  if (!absl::SimpleAtoi(argv[2], &points) || points < 0) {
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
