// Fills the tables of a machine: measures points of tasks on a farm of this machine alone.
// usage: search_collect MANIFEST FOLDER MINUTES THREADS MACHINE COMMIT templates|generator|all
//
// MANIFEST: JSON, [{"name", "class", "source", "model"}], the last one an ONNX file of one
// operator; or {"name", "class", "source", "zoo", "heaviest"} for so many tasks of a model of the
// zoo. FOLDER has a table a task, NAME.json or NAME_01.json and so on, and gets those that it
// lacks. Interrupted, it keeps what was measured; started again, it goes on.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/parallel_for.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "base/stop_signals.h"
#include "base/usable_cpus.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/ir/parser.h"
#include "compiler/target/device_model.h"
#include "nlohmann/json.hpp"
#include "proto/host_calibration.h"
#include "proto/run_job.h"
#include "tests/bench/search/collect_tables.h"
#include "tests/bench/search/search_table.h"
#include "tests/bench/search/table_draw.h"
#include "tests/bench/search/table_space.h"
#include "tracker/tracker_client.h"
#include "tuner/app/embedded_farm.h"
#include "tuner/app/target_text.h"
#include "tuner/app/tuning.h"
#include "tuner/measure/tracker_measurer.h"

namespace burnish {
namespace {

constexpr int64_t kTableBytesMax = 64 << 20;
// As in a study (tuner/app/study_run.cc): what is half as slow again needs no exact time.
constexpr double kEarlyStopRatio = 1.5;

struct Arguments {
  std::string manifest, folder, machine, commit;
  double minutes = 0;
  int threads = 0;
  uint32_t spaces = kTemplates;
};

std::string PathOf(const Arguments& arguments, const SearchTable& table) {
  return absl::StrCat(arguments.folder, "/", table.name, ".json");
}

// Where in `tuning` the tasks with the most operations are, in all calls of one run of the model,
// the heaviest first. Of an operator that is the one without the transpositions around it.
std::vector<size_t> HeaviestTasks(const Tuning& tuning, size_t count) {
  std::vector<size_t> order(tuning.tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto rank = [&](size_t t) {
    return std::pair(-tuning.tasks[t].weight * static_cast<double>(tuning.flop_counts[t]), t);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });
  order.resize(std::min(order.size(), count));
  return order;
}

// Of a model's tasks, all of which are to be measured in minutes.
constexpr TableDrawOptions kModelDraw = {
    .uniform_max = 160, .estimated_max = 80, .uniform_per_estimated = 2};

absl::StatusOr<CollectedTask> MakeTask(const StudyTaskSpec& operation, SearchTable table,
                                       const Arguments& arguments, const Target& target,
                                       const TableDrawOptions& draw) {
  table.machine = arguments.machine;
  table.commit = arguments.commit;
  table.workload = operation.workload.text;
  table.contract = operation.contract;
  table.target = target.ToText();
  table.spaces = arguments.spaces;
  CollectedTask task{.table = std::move(table)};
  const absl::StatusOr<std::string> text = ReadFile(PathOf(arguments, task.table), kTableBytesMax);
  if (text.ok()) {
    ASSIGN_OR_RETURN(SearchTable known, ParseTable(*text));
    if (known.workload != task.table.workload || known.target != task.table.target ||
        known.contract != task.table.contract || known.spaces != task.table.spaces) {
      return absl::FailedPreconditionError(
          absl::StrCat(PathOf(arguments, known), " is of another program, target or rules (",
                       known.target, "): remove it, or name another folder"));
    }
    task.table = std::move(known);
  }
  ASSIGN_OR_RETURN(const TableSpace space, SpaceOfTable(task.table));
  ASSIGN_OR_RETURN(task.draw, DrawTable(task.table.workload, *space.whole, space.device, draw));
  task.table.space_count = task.draw.space_count;
  task.table.space_exact = task.draw.space_exact;
  KeepRowsOfDraw(task.draw, *space.whole, task.table);
  task.measure = std::make_shared<MeasureTask>(MeasureTask{
      .workload = operation.workload,
      .target = target,
      .contract = operation.contract,
      .codegen_epoch = kCodegenEpoch,
      .input_seed = Rng(RngStream{.purpose = "inputs", .task = operation.workload.id}).Next()});
  return task;
}

// Those of one entry of the manifest.
absl::StatusOr<std::vector<CollectedTask>> MakeTasks(
    const nlohmann::json& entry, const Arguments& arguments, const Target& target,
    const std::optional<CalibrationRow>& calibration) {
  ASSIGN_OR_RETURN(const Tuning tuning, PrepareTuning({.task = entry.value("zoo", ""),
                                                       .model_path = entry.value("model", ""),
                                                       .target = target.ToText()}));
  const std::string name = entry.at("name").get<std::string>();
  const TableDrawOptions draw = entry.contains("heaviest") ? kModelDraw : TableDrawOptions{};
  std::vector<CollectedTask> tasks;
  for (const size_t t : HeaviestTasks(tuning, entry.value("heaviest", size_t{1}))) {
    const std::string number =
        entry.contains("heaviest") ? absl::StrFormat("_%02d", tasks.size() + 1) : "";
    SearchTable table{.name = name + number,
                      .kind = entry.at("class").get<std::string>(),
                      .source = entry.at("source").get<std::string>(),
                      .calibration = calibration};
    if (!number.empty()) absl::StrAppend(&table.source, ": ", tuning.tasks[t].name);
    ASSIGN_OR_RETURN(tasks.emplace_back(),
                     MakeTask(tuning.tasks[t], std::move(table), arguments, target, draw));
  }
  return tasks;
}

absl::Status Save(const Arguments& arguments, const std::vector<CollectedTask>& tasks) {
  for (const CollectedTask& task : tasks) {
    RETURN_IF_ERROR(WriteFileAtomically(PathOf(arguments, task.table), PrintTable(task.table)));
  }
  return absl::OkStatus();
}

std::string ProgressText(const CollectProgress& progress, absl::Duration time_max) {
  const double rate =
      static_cast<double>(progress.measured_count) / absl::ToDoubleSeconds(progress.elapsed);
  const int64_t missing = progress.row_count_max - progress.row_count;
  const absl::Duration left = std::min(time_max - progress.elapsed,
                                       absl::Seconds(static_cast<double>(missing) / rate + 60));
  return absl::StrCat(progress.row_count, " of ", progress.row_count_max, " points, ",
                      progress.repeated_count, " measured again, ",
                      static_cast<int64_t>(rate * 10) / 10, " a second, ",
                      absl::FormatDuration(absl::Trunc(left, absl::Seconds(1))), " left at most");
}

absl::Status Run(const Arguments& arguments) {
  const StopSignals signals;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(arguments.manifest, kTableBytesMax));
  const nlohmann::json manifest = nlohmann::json::parse(text);
  ASSIGN_OR_RETURN(const Target target, ResolveTarget("host", arguments.threads));
  // Before anything is timed, and so not beside it.
  const HostCalibration host(
      {.folder = CalibrationFolder([](const char* name) -> const char* { return getenv(name); })});
  ASSIGN_OR_RETURN(const CalibrationRow row, host.Get());
  // Draws take seconds each.
  std::vector<absl::StatusOr<std::vector<CollectedTask>>> drawn(manifest.size());
  ParallelFor(manifest.size(), static_cast<int>(UsableCpus().size()),
              [&](size_t i) { drawn[i] = MakeTasks(manifest[i], arguments, target, row); });
  std::vector<CollectedTask> tasks;
  CollectOptions options;
  for (size_t i = 0; i < manifest.size(); ++i) {
    // How near estimates come is asked of every row, and so no row may be one unlucky measurement.
    if (manifest[i].contains("heaviest")) options.repeated_rows = std::numeric_limits<int>::max();
    RETURN_IF_ERROR(drawn[i].status());
    for (CollectedTask& task : *drawn[i]) {
      std::fprintf(stderr, "%-28s %5zu of %5zu points, space %ld%s\n", task.table.name.c_str(),
                   task.table.rows.size(), task.draw.points.size(), task.draw.space_count,
                   task.draw.space_exact ? "" : " or so");
      tasks.push_back(std::move(task));
    }
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<EmbeddedFarm> farm, EmbeddedFarm::Start({}));
  const auto session = absl::StrCat("search", absl::ToUnixNanos(Clock::Real().WallNow()));
  TrackerClient client({.tracker = farm->tracker(), .tuner_id = session});
  TrackerMeasurer measurer({.client = &client,
                            .study = session,
                            .session = session,
                            .method = {.early_stop_ratio = kEarlyStopRatio}});
  const absl::Duration time_max = absl::Minutes(arguments.minutes);
  options.measurer = &measurer;
  options.clock = &Clock::Real();
  options.session = session;
  options.time_max = time_max;
  options.on_progress = [&](const CollectProgress& progress) {
    std::fprintf(stderr, "\r%s ", ProgressText(progress, time_max).c_str());
    return signals.Wait(absl::ZeroDuration()) == 0;
  };
  options.save = [&] { return Save(arguments, tasks); };
  const absl::Status collected = CollectTables(options, tasks);
  std::fprintf(stderr, "\n");
  return collected;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (argc != 8 || !absl::SimpleAtod(argv[3], &arguments.minutes) || arguments.minutes <= 0 ||
      !absl::SimpleAtoi(argv[4], &arguments.threads) || arguments.threads < 1) {
    std::fprintf(stderr,
                 "usage: search_collect MANIFEST FOLDER MINUTES THREADS MACHINE COMMIT RULES\n");
    return 64;
  }
  const absl::StatusOr<uint32_t> spaces = SpacesOfName(argv[7]);
  if (!spaces.ok()) {
    std::fprintf(stderr, "search_collect: %s\n", std::string(spaces.status().message()).c_str());
    return 64;
  }
  arguments.spaces = *spaces;
  arguments.manifest = argv[1];
  arguments.folder = argv[2];
  arguments.machine = argv[5];
  arguments.commit = argv[6];
  const absl::Status done = Run(arguments);
  if (done.ok()) return 0;
  std::fprintf(stderr, "search_collect: %s\n", std::string(done.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
