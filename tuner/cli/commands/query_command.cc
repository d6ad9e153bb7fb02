// tuner query: the best schedules that were ever measured.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/device_model.h"
#include "tuner/app/database.h"
#include "tuner/app/device_peak.h"
#include "tuner/app/error.h"
#include "tuner/app/machine_row.h"
#include "tuner/app/study_view.h"
#include "tuner/app/target_text.h"
#include "tuner/app/workload_facts.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStudiesSearched = 10000;
constexpr size_t kHashDigitsMin = 4;

// What studies say about workloads, newest first.
struct StudyIndex {
  std::map<std::string, std::string> names;           // Workload id to the task's name.
  std::map<std::string, std::vector<TaskKey>> tasks;  // Model name or path to its tasks.
};

absl::StatusOr<StudyIndex> IndexStudies(const Database& database) {
  StudyIndex index;
  const absl::StatusOr<std::vector<StudySummary>> studies =
      database.studies->List({.limit = kStudiesSearched});
  if (!studies.ok()) return DatabaseError(studies.status(), database.url);
  for (const StudySummary& summary : *studies) {
    ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(summary.study));
    const absl::StatusOr<std::vector<StudyTask>> tasks = database.studies->Tasks(summary.study.id);
    if (!tasks.ok()) return DatabaseError(tasks.status(), database.url);
    const std::string& model = spec.task.empty() ? spec.model_path : spec.task;
    std::vector<TaskKey>& keys = index.tasks[model];
    for (const StudyTask& task : *tasks) {
      index.names.emplace(task.workload_id, task.name);
      const TaskKey key{.workload_id = task.workload_id, .target = summary.study.target};
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return index;
}

struct Row {
  Record record;
  std::string name;
  double gflops = 0;      // 0: the workload's text is none that this version reads.
  double peak_share = 0;  // Of this machine's peak; 0: measured elsewhere, or there is no row.
};

Json RowJson(const Row& row, bool with_trace) {
  Json json = {{"workload", HexString(row.record.workload_id)},
               {"name", row.name},
               {"target", row.record.target},
               {"rank_ms", static_cast<double>(row.record.rank_ns) * 1e-6},
               {"median_ms", static_cast<double>(row.record.median_ns) * 1e-6},
               {"network_factor", row.record.network_factor},
               {"gflops", row.gflops},
               {"peak_share", row.peak_share},
               {"trial", row.record.first_trial_id},
               {"recorded_ns", row.record.first_recorded_ns},
               {"host", row.record.host},
               {"contract", row.record.contract}};
  if (with_trace) json["trace"] = row.record.trace;
  return json;
}

std::string RowsText(const std::vector<Row>& rows, bool with_trace) {
  TextTable table({{"workload"},
                   {"task"},
                   {"latency", TextTable::kRight},
                   {"GFLOP/s", TextTable::kRight},
                   {"of peak", TextTable::kRight},
                   {"trial"},
                   {"when (UTC)"},
                   {"host"},
                   {"target"}});
  std::string traces;
  for (const Row& row : rows) {
    const std::string target = row.record.target.substr(0, row.record.target.find(",features"));
    table.AddRow({ShortHash(row.record.workload_id), row.name,
                  FormatNs(static_cast<double>(row.record.rank_ns)),
                  row.gflops > 0 ? absl::StrFormat("%.1f", row.gflops) : "-",
                  row.peak_share > 0 ? absl::StrFormat("%.0f %%", 100 * row.peak_share) : "-",
                  row.record.first_trial_id, FormatWallNs(row.record.first_recorded_ns),
                  row.record.host, target});
    if (with_trace) {
      absl::StrAppend(&traces, "\n# ", ShortHash(row.record.workload_id), " ", row.name, ", ",
                      FormatNs(static_cast<double>(row.record.rank_ns)), "\n", row.record.trace);
    }
  }
  return table.ToText() + traces;
}

class QueryCommand : public Command {
 public:
  std::string name() const override { return "query"; }
  std::string summary() const override { return "shows the best schedules that were measured"; }
  std::string example() const override {
    return "tuner query --task resnet50\ntuner query --task 3f2a9c --top 5 --trace";
  }
  void AddOptions(CommandOptions& options) override {
    options.Value("--task", "NAME", &task_,
                  "a model or operator as submitted, a task's name, or the beginning of a "
                  "workload's hash");
    options.Value("--model", "FILE", &model_, "an ONNX file as submitted");
    options.Value("--top", "N", &top_, 1, 10000, "how many of each task");
    options.Value("--limit", "N", &limit_, 1, 10000, "how many tasks at most");
    options.Flag("--trace", &trace_, "print the schedules");
    options.Setting("target");
    options.Setting("db");
    options.Setting("calibration");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase(DatabaseAccess::kRead));
    ASSIGN_OR_RETURN(const StudyIndex index, IndexStudies(database));
    ASSIGN_OR_RETURN(std::vector<TaskKey> tasks, SelectTasks(database, index));
    // Without a word about it, all targets.
    if (context.settings().Find("target").origin != "default") {
      ASSIGN_OR_RETURN(const Target target, context.ResolveTarget());
      std::erase_if(tasks, [&](const TaskKey& key) { return key.target != target.ToText(); });
    }
    const size_t found = tasks.size();
    tasks.resize(std::min(found, static_cast<size_t>(limit_)));
    std::vector<Row> rows;
    for (const TaskKey& key : tasks) {
      RETURN_IF_ERROR(AddRows(database, index, key, rows));
    }
    if (rows.empty()) {
      const std::string what = !task_.empty() ? task_ : model_;
      return MakeError(ErrorCode::kNoRecord,
                       what.empty() ? "nothing was measured yet"
                                    : absl::StrCat("nothing was measured for ", what),
                       database.url);
    }
    RETURN_IF_ERROR(AddPeakShares(context, rows));
    Print(context, rows, found - tasks.size());
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::vector<TaskKey>> SelectTasks(const Database& database,
                                                   const StudyIndex& index) {
    std::string model = task_;
    if (!model_.empty()) {
      std::error_code error;
      model = std::filesystem::absolute(model_, error).lexically_normal().string();
    }
    if (const auto found = index.tasks.find(model); found != index.tasks.end()) {
      return found->second;
    }
    if (!model_.empty()) return std::vector<TaskKey>();
    absl::StatusOr<std::vector<TaskKey>> tasks = database.records->ListTasks();
    if (!tasks.ok()) return DatabaseError(tasks.status(), database.url);
    if (task_.empty()) return *tasks;
    const bool is_hash = task_.size() >= kHashDigitsMin &&
                         task_.find_first_not_of("0123456789abcdef") == std::string::npos;
    std::erase_if(*tasks, [&](const TaskKey& key) {
      const auto name = index.names.find(key.workload_id);
      if (name != index.names.end() && name->second == task_) return false;
      return !is_hash || !absl::StartsWith(HexString(key.workload_id), task_);
    });
    return *tasks;
  }

  absl::Status AddRows(const Database& database, const StudyIndex& index, const TaskKey& key,
                       std::vector<Row>& rows) {
    absl::StatusOr<BestAnswer> best = database.records->Best(
        {.workload_id = key.workload_id, .target = key.target, .limit = static_cast<int>(top_)});
    RETURN_IF_ERROR(DatabaseError(best.status(), database.url));
    if (best->records.empty()) return absl::OkStatus();
    const absl::StatusOr<std::optional<Workload>> workload =
        database.records->FindWorkload(key.workload_id);
    RETURN_IF_ERROR(DatabaseError(workload.status(), database.url));
    std::optional<int64_t> flops;
    if (workload->has_value()) flops = WorkloadFlops((*workload)->text);
    const auto name = index.names.find(key.workload_id);
    for (Record& record : best->records) {
      const double gflops =
          static_cast<double>(flops.value_or(0)) / static_cast<double>(record.rank_ns);
      rows.push_back({.record = std::move(record),
                      .name = name == index.names.end() ? "-" : name->second,
                      .gflops = gflops});
    }
    return absl::OkStatus();
  }

  // Only what was measured on a machine like this one compares with its peak, as far as that was
  // measured: a question to the database is answered at once.
  absl::Status AddPeakShares(const Context& context, std::vector<Row>& rows) {
    const absl::StatusOr<Target> host = ResolveTarget("host", 0);
    if (!host.ok()) return absl::OkStatus();
    MachineRowOptions options = context.RowOptions(/*tracker=*/"");
    options.may_measure = false;
    ASSIGN_OR_RETURN(const MachineRow machine, FindMachineRow(options, *host));
    if (!machine.row.has_value()) return absl::OkStatus();
    const DeviceModel device = DeviceModelOf(*host, machine.row);
    for (Row& row : rows) {
      const absl::StatusOr<Target> target = ParseTarget(row.record.target);
      if (!target.ok() || target->PerfKey() != host->PerfKey() || target->threads > host->threads) {
        continue;
      }
      const double peak = PeakFlops(device, NumberType::kF32, target->threads,
                                    /*loads_per_operation=*/1);
      if (peak > 0) row.peak_share = row.gflops * 1e9 / peak;
    }
    return absl::OkStatus();
  }

  void Print(Context& context, const std::vector<Row>& rows, size_t left_out) {
    if (!context.json()) {
      context.out() << RowsText(rows, trace_);
    } else {
      Json json = {{"schema", 1}, {"records", Json::array()}, {"tasks_left_out", left_out}};
      for (const Row& row : rows) json["records"].push_back(RowJson(row, trace_));
      context.out() << json.dump() << "\n";
    }
    if (left_out > 0) {
      context.Note(absl::StrCat(left_out, " more tasks; --limit shows more, --task fewer"));
    }
  }

  std::string task_, model_;
  int64_t top_ = 1;
  int64_t limit_ = 100;
  bool trace_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeQueryCommand() { return std::make_unique<QueryCommand>(); }

}  // namespace burnish
