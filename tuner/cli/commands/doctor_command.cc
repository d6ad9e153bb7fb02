// tuner doctor: is this machine fit to build and to measure?
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/self_path.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/error.h"
#include "tuner/cli/farm_client.h"
#include "tuner/cli/format.h"
#include "tuner/cli/machine_checks.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::Duration kSample = absl::Milliseconds(500);

// A program of ours that the others start.
MachineCheck CheckProgram(const std::string& label) {
  MachineCheck check{.name = label};
  const absl::StatusOr<std::string> path = FindProgram(label);
  if (!path.ok()) {
    check.result = CheckResult::kFailure;
    check.detail = std::string(path.status().message());
    check.cure = "bazel build //..., or install all programs into one folder";
    return check;
  }
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

MachineCheck CheckDatabase(Context& context) {
  MachineCheck check{.name = "database", .detail = context.settings().Get("db")};
  const absl::StatusOr<Database> database = context.OpenDatabase();
  if (database.ok()) return check;
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

class DoctorCommand : public Command {
 public:
  std::string name() const override { return "doctor"; }
  std::string summary() const override {
    return "says what here would spoil a measurement or a build";
  }
  std::string example() const override { return "tuner doctor"; }
  void AddOptions(CommandOptions& options) override {
    options.Setting("db");
    options.Setting("tracker");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    const MachineRoots roots;
    std::vector<MachineCheck> checks = {CheckCpu(),
                                        CheckSiblings(),
                                        CheckGovernor(roots),
                                        CheckInterference(roots, kSample),
                                        CheckHugePages(roots),
                                        CheckDenormals(),
                                        CheckMemory(roots),
                                        CheckDatabase(context)};
    checks.push_back(
        CheckDisk(std::filesystem::path(context.settings().Get("db")).parent_path().string()));
    checks.push_back(CheckTracker(context));
    for (const char* program : kPrograms) checks.push_back(CheckProgram(program));
    int failures = 0;
    Json json = {{"schema", 1}, {"checks", Json::array()}};
    TextTable table({{"check"}, {"result"}, {"found"}, {"cure"}});
    for (const MachineCheck& check : checks) {
      const std::string result(CheckResultName(check.result));
      failures += check.result == CheckResult::kFailure ? 1 : 0;
      table.AddRow({check.name, result, check.detail, check.cure});
      json["checks"].push_back({{"name", check.name},
                                {"result", result},
                                {"detail", check.detail},
                                {"cure", check.cure}});
    }
    context.out() << (context.json() ? json.dump() + "\n" : table.ToText());
    if (failures == 0) return absl::OkStatus();
    return MakeError(ErrorCode::kUnavailable,
                     absl::StrCat(failures, failures == 1 ? " check" : " checks", " failed"), "",
                     "the column \"cure\" says what to do");
  }

 private:
  static constexpr const char* kPrograms[] = {"tracker/tracker"};
};

}  // namespace

std::unique_ptr<Command> MakeDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace burnish
