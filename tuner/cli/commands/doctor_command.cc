// tuner doctor: is this machine fit to build and to measure?
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/self_path.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "compiler/driver/build_model.h"
#include "compiler/target/device_model.h"
#include "proto/builder_client.h"
#include "proto/calibration_row.h"
#include "proto/host_calibration.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/app/machine_checks.h"
#include "tuner/app/operator_spec.h"
#include "tuner/app/target_text.h"
#include "tuner/cli/calibration_text.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/error_text.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::Duration kSample = absl::Milliseconds(500);

// A program of ours that the others start. `has_version`: it takes --version.
MachineCheck CheckProgram(const std::string& label, bool has_version) {
  MachineCheck check{.name = label};
  const absl::StatusOr<std::string> path = FindProgram(label);
  if (!path.ok()) {
    check.result = CheckResult::kFailure;
    check.detail = std::string(path.status().message());
    check.cure = InfoOf(ErrorCode::kProgramMissing).hint;
    return check;
  }
  check.detail = *path;
  if (!has_version) return check;
  const absl::StatusOr<ExitInfo> exit =
      RunSubprocess({.program = *path, .args = {"--version"}, .timeout = absl::Seconds(10)});
  if (!exit.ok() || !exit->ok()) {
    check.result = CheckResult::kFailure;
    check.detail = exit.ok() ? Describe(*exit) : std::string(exit.status().message());
    check.cure = "build it again: a library that it needs may be missing";
    return check;
  }
  check.detail = std::string(absl::StripAsciiWhitespace(exit->stdout_bytes));
  return check;
}

// Compiles something small for this machine.
MachineCheck CheckBuilder() {
  MachineCheck check{.name = "builder"};
  const auto build = []() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const Target target, ResolveTarget("host", 1));
    ASSIGN_OR_RETURN(const Graph graph, BuildOperator("matmul:m=4,n=4,k=4", 0));
    DefaultScheduleSource schedules;
    BuilderClient builder;
    ASSIGN_OR_RETURN(const BuiltModel built,
                     BuildModel(graph, schedules, builder, {.target = target}));
    return absl::StrCat("compiles, LLVM ", built.tasks.front().build.llvm_version);
  };
  const absl::StatusOr<std::string> built = build();
  check.detail = built.ok() ? *built : std::string(built.status().message());
  if (built.ok()) return check;
  check.result = CheckResult::kFailure;
  check.cure = "build all programs again: bazel build //...";
  return check;
}

MachineCheck CheckDatabase(Context& context) {
  MachineCheck check{.name = "database", .detail = context.settings().Get("db")};
  const absl::StatusOr<Database> database = context.OpenDatabase(DatabaseAccess::kChange);
  if (database.ok()) return check;
  if (ErrorCodeOf(database.status()) == ErrorCode::kNoDatabase) {
    absl::StrAppend(&check.detail, ": not there yet, the first tuner submit makes it");
    return check;
  }
  check.result = CheckResult::kFailure;
  check.detail = std::string(database.status().message());
  check.cure = InfoOf(ErrorCodeOf(database.status())).hint;
  return check;
}

MachineCheck CheckTracker(Context& context) {
  const std::string tracker = context.settings().Get("tracker");
  MachineCheck check{.name = "tracker"};
  if (tracker.empty()) {
    check.detail = "none set: studies use this machine";
    return check;
  }
  const absl::StatusOr<FarmStatus> status = FarmClient(tracker).GetStatus();
  if (status.ok()) {
    check.detail = absl::StrCat(tracker, ", ", status->version, ", ", status->worker_count,
                                " workers, up ", FormatPeriod(status->uptime));
    return check;
  }
  check.result = CheckResult::kFailure;
  check.detail = absl::StrCat(tracker, ": ", std::string(status.status().message()));
  check.cure = InfoOf(ErrorCode::kTrackerUnreachable).hint;
  return check;
}

// The row that `compile` and `submit` would use here.
MachineCheck CheckCalibration(const Context& context) {
  MachineCheck check{.name = "calibration"};
  const std::string& choice = context.settings().Get("calibration");
  if (choice != kCalibrationAuto) {
    const absl::StatusOr<std::optional<CalibrationRow>> row =
        ChooseCalibration(choice, HostCalibration({}));
    check.detail = !row.ok()          ? std::string(row.status().message())
                   : row->has_value() ? absl::StrCat(choice, ": ", CalibrationLine(**row))
                                      : "as set: the microarchitecture's table";
    if (!row.ok()) {
      check.result = CheckResult::kFailure;
      check.cure = "set calibration to auto, table, or the path of a row's text";
    }
    return check;
  }
  const HostCalibration host(context.RowOptions(/*tracker=*/"").host);
  const absl::StatusOr<CalibrationRow> row = host.Find();
  check.detail = row.ok() ? CalibrationLine(*row) : std::string(row.status().message());
  if (!row.ok()) check.cure = "none needed: the first command to want a row measures it";
  return check;
}

// Measures this machine anew, whatever is set.
absl::Status Calibrate(Context& context) {
  ASSIGN_OR_RETURN(const Target target, ResolveTarget("host", 0));
  const HostCalibration host(context.RowOptions(/*tracker=*/"").host);
  absl::StatusOr<Recalibration> done = host.Recalibrate();
  if (!done.ok()) {
    const bool missing = absl::IsNotFound(done.status());
    return WithError(done.status(), missing ? ErrorCode::kProgramMissing : ErrorCode::kUnavailable,
                     "calibration");
  }
  const bool is_new = !done->before.has_value() || done->drift > kDriftMax;
  if (context.json()) {
    context.out() << Json({{"schema", 1},
                           {"measured", CalibrationJson(done->measured)},
                           {"kept", CalibrationJson(done->kept)},
                           {"replaced", is_new},
                           {"drift", done->before.has_value() ? Json(done->drift) : Json(nullptr)},
                           {"path", host.path()}})
                         .dump()
                  << "\n";
    return absl::OkStatus();
  }
  context.out() << CalibrationText(done->measured, DeviceModelOf(target)) << "\n";
  if (host.path().empty()) {
    context.out() << "not kept: neither HOME nor XDG_CACHE_HOME is set\n";
  } else if (!done->before.has_value()) {
    context.out() << "kept in " << host.path() << "\n";
  } else {
    context.out() << absl::StrFormat("%.0f %% from the row in %s, which %s\n", 100 * done->drift,
                                     host.path(), is_new ? "is replaced" : "stays");
  }
  return absl::OkStatus();
}

class DoctorCommand : public Command {
 public:
  std::string name() const override { return "doctor"; }
  std::string summary() const override {
    return "says what here would spoil a measurement or a build";
  }
  std::string example() const override {
    return "tuner doctor\n"
           "tuner doctor --calibrate";
  }
  void AddOptions(CommandOptions& options) override {
    options.Flag("--calibrate", &calibrate_,
                 "measure this machine's units, caches, memory and cores anew, beside what the "
                 "table of its microarchitecture says");
    options.Setting("db");
    options.Setting("tracker");
    options.Setting("calibration");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    if (calibrate_) return Calibrate(context);
    const MachineRoots roots;
    std::vector<MachineCheck> checks = {CheckCpu(),
                                        CheckSiblings(),
                                        CheckGovernor(roots),
                                        CheckInterference(roots, kSample),
                                        CheckHugePages(roots),
                                        CheckDenormals(),
                                        CheckMemory(roots),
                                        CheckSandbox(),
                                        CheckDatabase(context)};
    checks.push_back(
        CheckDisk(std::filesystem::path(context.settings().Get("db")).parent_path().string()));
    checks.push_back(CheckCalibration(context));
    checks.push_back(CheckTracker(context));
    checks.push_back(CheckBuilder());
    checks.push_back(CheckProgram("tracker/tracker", /*has_version=*/true));
    checks.push_back(CheckProgram("worker/worker", /*has_version=*/true));
    checks.push_back(CheckProgram("worker/runner/runner", /*has_version=*/false));
    checks.push_back(CheckProgram("worker/runner/checker", /*has_version=*/false));
    checks.push_back(CheckProgram("worker/calibrate/calibrator", /*has_version=*/false));
    int failures = 0;
    Json json = {{"schema", 1}, {"checks", Json::array()}};
    TextTable table({{"check"},
                     {"result"},
                     {"found", TextTable::kLeft, /*wraps=*/true},
                     {"cure", TextTable::kLeft, /*wraps=*/true}});
    for (const MachineCheck& check : checks) {
      const std::string result(CheckResultName(check.result));
      failures += check.result == CheckResult::kFailure ? 1 : 0;
      table.AddRow({check.name, result, check.detail, check.cure});
      json["checks"].push_back({{"name", check.name},
                                {"result", result},
                                {"detail", check.detail},
                                {"cure", check.cure}});
    }
    context.out() << (context.json() ? json.dump() + "\n" : table.ToText(context.table_columns()));
    if (failures == 0) return absl::OkStatus();
    return MakeError(ErrorCode::kUnavailable,
                     absl::StrCat(failures, failures == 1 ? " check" : " checks", " failed"), "",
                     "the column \"cure\" says what to do");
  }

 private:
  bool calibrate_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace burnish
