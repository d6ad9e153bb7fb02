// tuner query: the best schedules that were ever measured.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "compiler/target/device_model.h"
#include "proto/calibrated.h"
#include "tuner/app/device_peak.h"
#include "tuner/app/error.h"
#include "tuner/app/machine_row.h"
#include "tuner/app/model_source.h"
#include "tuner/app/query_records.h"
#include "tuner/app/target_text.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"
#include "tuner/cli/torch_model.h"
#include "tuner/serve/tuner_client.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

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
               {"unconfirmed", row.record.unconfirmed},
               {"contract", row.record.contract}};
  if (with_trace) json["trace"] = row.record.trace;
  return json;
}

std::string RowsText(const std::vector<Row>& rows, bool with_trace, int columns) {
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
  bool any_unconfirmed = false;
  for (const Row& row : rows) {
    any_unconfirmed |= row.record.unconfirmed;
    const std::string target = row.record.target.substr(0, row.record.target.find(",features"));
    table.AddRow({ShortHash(row.record.workload_id), row.name,
                  absl::StrCat(FormatNs(static_cast<double>(row.record.rank_ns)),
                               row.record.unconfirmed ? " *" : ""),
                  row.gflops > 0 ? absl::StrFormat("%.1f", row.gflops) : "-",
                  row.peak_share > 0 ? absl::StrFormat("%.0f %%", 100 * row.peak_share) : "-",
                  row.record.first_trial_id, FormatWallNs(row.record.first_recorded_ns),
                  row.record.host, target});
    if (with_trace) {
      absl::StrAppend(&traces, "\n# ", ShortHash(row.record.workload_id), " ", row.name, ", ",
                      FormatNs(static_cast<double>(row.record.rank_ns)), "\n", row.record.trace);
    }
  }
  const absl::string_view legend =
      any_unconfirmed ? "* unconfirmed: no worker at another address has measured the same\n" : "";
  return absl::StrCat(table.ToText(columns), legend, traces);
}

class QueryCommand : public Command {
 public:
  std::string name() const override { return "query"; }
  std::string summary() const override { return "shows the best schedules that were measured"; }
  std::string example() const override {
    return "tuner query --task resnet50\ntuner query --task 3f2a9c --top 5 --trace\n"
           "tuner query --server farm:7272";
  }
  void AddOptions(CommandOptions& options) override {
    options.Group("Which records");
    options.Value("--task", "NAME", &task_,
                  "a model or operator as submitted, a task's name, or the beginning of a "
                  "workload's hash");
    options.Value("--model", "FILE", &model_, "a model's file as submitted");
    options.Value("--top", "N", &top_, 1, 10000, "how many of each task");
    options.Value("--limit", "N", &limit_, 1, 10000, "how many tasks at most");
    options.Group("Output");
    options.Flag("--trace", &trace_, "print the schedules");
    options.Group("Where");
    options.Setting("python");
    options.Setting("server");
    options.Setting("target");
    options.Setting("db");
    options.Setting("calibration");
    options.Group("Output");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(const RecordsQuestion question, Question(context));
    ASSIGN_OR_RETURN(RecordsAnswer answer, Ask(context, question));
    std::vector<Row> rows;
    for (RecordedTask& task : answer.tasks) {
      for (Record& record : task.records) {
        const double gflops =
            static_cast<double>(task.flop_count.value_or(0)) / static_cast<double>(record.rank_ns);
        rows.push_back({.record = std::move(record),
                        .name = task.name.empty() ? "-" : task.name,
                        .gflops = gflops});
      }
    }
    if (rows.empty()) {
      const std::string what = !task_.empty() ? task_ : model_;
      const std::string& server = context.settings().Get("server");
      return MakeError(ErrorCode::kNoRecord,
                       what.empty() ? "nothing was measured yet"
                                    : absl::StrCat("nothing was measured for ", what),
                       server.empty() ? context.settings().Get("db") : server);
    }
    RETURN_IF_ERROR(AddPeakShares(context, rows));
    Print(context, rows, answer.tasks_left);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<RecordsQuestion> Question(Context& context) const {
    RecordsQuestion question{.task = task_, .top = static_cast<int>(top_), .tasks_max = limit_};
    if (!model_.empty()) {
      std::error_code error;
      ASSIGN_OR_RETURN(const std::string model,
                       ModelFile(model_, context.settings().Get("python")));
      question.model_path = std::filesystem::absolute(model, error).lexically_normal().string();
      // A daemon knows the file by its bytes. In a database its path does, too, where the file is
      // not what it was.
      const absl::StatusOr<std::string> bytes = ReadModelFile(model);
      if (bytes.ok()) question.model_sha256 = Sha256Bytes(*bytes);
      if (!bytes.ok() && !context.settings().Get("server").empty()) return bytes.status();
    }
    // Without a word about it, all targets.
    if (context.settings().Find("target").origin != "default") {
      ASSIGN_OR_RETURN(const Target target, context.ResolveTarget());
      question.target = target.ToText();
    }
    return question;
  }

  // Behind the daemon that is set, else in the database.
  static absl::StatusOr<RecordsAnswer> Ask(Context& context, const RecordsQuestion& question) {
    const std::string& server = context.settings().Get("server");
    if (!server.empty()) return TunerClient(server).QueryRecords(question);
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase(DatabaseAccess::kRead));
    return QueryRecords(database, question);
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
      const double peak = PeakFlops(device, UnitOfTrace(device, row.record.trace), target->threads,
                                    /*loads_per_operation=*/1);
      if (peak > 0) row.peak_share = row.gflops * 1e9 / peak;
    }
    return absl::OkStatus();
  }

  void Print(Context& context, const std::vector<Row>& rows, int64_t left_out) {
    if (!context.json()) {
      context.out() << RowsText(rows, trace_, context.table_columns());
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
