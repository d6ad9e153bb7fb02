// The worker daemon: flags and wiring.
#include <sysexits.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/cpu_info.h"
#include "base/entropy.h"
#include "base/logging.h"
#include "base/measuring_files.h"
#include "base/memory_limit.h"
#include "base/own_user.h"
#include "base/sandbox.h"
#include "base/self_path.h"
#include "base/status_macros.h"
#include "base/stop_signals.h"
#include "compiler/target/target.h"
#include "proto/artifact_client.h"
#include "proto/builder_client.h"
#include "proto/calibration_row.h"
#include "proto/door.h"
#include "proto/farm_secrets.h"
#include "proto/host_calibration.h"
#include "proto/program_error.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "worker/agent/agent_client.h"
#include "worker/builder/builder_executor.h"
#include "worker/runner/artifact_cache.h"
#include "worker/runner/run_device.h"
#include "worker/runner/runner_executor.h"

namespace burnish {
namespace {

// Bytes, of all devices together. A guess; nothing was measured.
constexpr size_t kArtifactCacheBytes = 64 << 20;
// How late a refusal by the tracker is seen. A signal ends the wait at once.
constexpr absl::Duration kPollInterval = absl::Milliseconds(500);

struct Flags {
  std::string tracker;
  int build_slots = 0;
  std::vector<std::string> run_devices;
  std::string id;
  std::vector<std::string> labels;
  std::string lock_folder;
  std::string calibration = kCalibrationAuto;
  std::string target;
  double drain_seconds = 60;
  std::string log_level = "info";
  bool insecure = false;
};

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

absl::StatusOr<Labels> ParseLabels(const std::vector<std::string>& texts) {
  Labels labels;
  for (const std::string& text : texts) {
    const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0].empty()) {
      return absl::InvalidArgumentError(absl::StrCat("label: got \"", text, "\", want NAME=VALUE"));
    }
    labels[parts[0]] = parts[1];
  }
  return labels;
}

// The same for the same flags on the same host, so that the tracker knows this worker again.
std::string DefaultId(const Flags& flags, const std::string& host) {
  std::vector<std::string> parts = flags.run_devices;
  if (flags.build_slots > 0) parts.push_back(absl::StrCat("build=", flags.build_slots));
  return absl::StrCat(host, "/", absl::StrJoin(parts, "+")).substr(0, WorkerReport::kIdBytesMax);
}

uint64_t MemoryBytesMax(size_t run_slots) {
  // Half of what this worker may have, in equal parts: the rest is for builders and the system. A
  // guess.
  return static_cast<uint64_t>(UsableMemoryBytes()) / 2 / std::max<size_t>(run_slots, 1);
}

// Whose jobs run here: this host's, or those of a target with less than it has.
absl::StatusOr<Target> ServedTarget(const Flags& flags, const CpuInfo& host) {
  ASSIGN_OR_RETURN(const Target own, HostTarget(host));
  if (flags.target.empty()) return own;
  ASSIGN_OR_RETURN(Target target, ParseTarget(flags.target));
  if (target.RunsOn(own)) return target;
  return absl::InvalidArgumentError(
      absl::StrCat("target: got ", flags.target, ", want what this host can run: ", own.ToText()));
}

absl::StatusOr<std::vector<AgentSlot>> MakeSlots(const Flags& flags, const AgentIdentity& identity,
                                                 const std::shared_ptr<grpc::Channel>& tracker) {
  ASSIGN_OR_RETURN(const Labels labels, ParseLabels(flags.labels));
  const CpuInfo host = HostCpuInfo();
  ASSIGN_OR_RETURN(const Target target, ServedTarget(flags, host));
  const std::string lock_folder =
      flags.lock_folder.empty() ? DefaultMeasuringFolder() : flags.lock_folder;
  const auto client = std::make_shared<ArtifactClient>(tracker);
  std::vector<AgentSlot> slots;
  // Found now and not at the first job: a broken installation shows at once.
  std::string builder;
  if (flags.build_slots > 0) {
    ASSIGN_OR_RETURN(builder, FindProgram("worker/builder/builder"));
  }
  for (int i = 0; i < flags.build_slots; ++i) {
    slots.push_back(
        {.info = {.kind = JobKind::kBuild, .labels = labels},
         .executor = std::make_unique<BuilderExecutor>(
             std::make_unique<BuilderClient>(
                 BuilderClientOptions{.program = builder, .measuring_folder = lock_folder}),
             [client, worker_id = identity.worker_id, incarnation = identity.incarnation](
                 absl::string_view artifact, const Lease& lease) {
               return client->Put(
                   artifact, {.worker_id = worker_id, .incarnation = incarnation, .lease = lease});
             })});
  }
  if (flags.run_devices.empty()) return slots;
  ASSIGN_OR_RETURN(const std::string runner, FindProgram("worker/runner/runner"));
  ASSIGN_OR_RETURN(const std::string checker, FindProgram("worker/runner/checker"));
  const auto cache = std::make_shared<ArtifactCache>(
      [client](const std::string& sha256) { return client->Get(sha256); }, kArtifactCacheBytes);
  // For people who want to tune for this device from elsewhere: `tuner workers --json` shows it.
  Labels run_labels = labels;
  run_labels.emplace("target", target.ToText());
  for (const std::string& name : flags.run_devices) {
    ASSIGN_OR_RETURN(RunDevice device, ParseRunDevice(name, host));
    run_labels[kThreadsLabel] = absl::StrCat(device.cpus.size());
    slots.push_back(
        {.info = {.kind = JobKind::kRun, .device_keys = {target.DeviceKey()}, .labels = run_labels},
         .executor = std::make_unique<RunnerExecutor>(RunnerExecutorOptions{
             .device = std::move(device),
             .host_cpu = host,
             .host = identity.host,
             .worker = identity.worker_id,
             .lock_folder = lock_folder,
             .artifacts = cache,
             .bench = {.runner_program = runner,
                       .checker_program = checker,
                       .memory_bytes_max = MemoryBytesMax(flags.run_devices.size())}})});
  }
  return slots;
}

// Before the tracker hears of this worker: what a tuner learns of its device stays as it is.
// Nothing where no jobs run; an error where the row that was named cannot be had.
absl::StatusOr<std::optional<CalibrationRow>> CalibrateDevice(const Flags& flags) {
  if (flags.run_devices.empty()) return std::nullopt;
  const HostCalibration host(
      {.folder = CalibrationFolder([](const char* name) { return std::getenv(name); }),
       .lock_folder = flags.lock_folder});
  absl::StatusOr<std::optional<CalibrationRow>> row = ChooseCalibration(flags.calibration, host);
  if (row.ok() || flags.calibration != kCalibrationAuto) return row;
  LogWarning(absl::StrCat("goes without a calibration row: ", row.status().message()));
  return std::nullopt;
}

int Fail(int exit_code, const ProgramError& error) {
  std::fputs(ProgramErrorText(error, StderrTakesColor(std::getenv("NO_COLOR"))).c_str(), stderr);
  return exit_code;
}

int FailUsage(absl::string_view message, const char* where = "") {
  return Fail(EX_USAGE, {.number = kUsageError,
                         .message = std::string(message),
                         .where = where,
                         .hint = "worker --help"});
}

// The tracker has turned this worker away for good.
int FailRefused(const absl::Status& refused, const std::string& tracker) {
  ProgramError error{.number = kUnavailableError,
                     .message = std::string(refused.message()),
                     .where = tracker,
                     .hint = "tuner workers shows what the tracker knows of it"};
  if (IsProtocolRefusal(refused)) {
    error.number = kTrackerProtocolError;
    error.hint = "use programs of one version, or of neighbouring ones";
    return Fail(EX_PROTOCOL, error);
  }
  if (absl::IsUnauthenticated(refused)) {
    error.number = kPermissionError;
    error.hint = "";  // The message says it.
    return Fail(EX_NOPERM, error);
  }
  return Fail(EX_UNAVAILABLE, error);
}

int Serve(const Flags& flags) {
  const absl::StatusOr<LogLevel> level = ParseLogLevel(flags.log_level);
  if (!level.ok()) return FailUsage(level.status().message(), "--log-level");
  if (flags.build_slots == 0 && flags.run_devices.empty()) {
    return FailUsage("nothing to do: give --build N, --run DEVICE, or both");
  }
  // A tracker's jobs are code. A worker listens nowhere.
  if (const absl::Status door = CheckDoor(flags.tracker, Door::kConnect, flags.insecure);
      !door.ok()) {
    return FailUsage(door.message(), "--tracker");
  }
  SetUpLogging(
      {.level = *level, .color = StderrTakesColor(std::getenv("NO_COLOR")), .program = "worker"});
  const SandboxSupport sandbox = FindSandboxSupport();
  if (!sandbox.seccomp && !flags.run_devices.empty()) {
    return Fail(EX_UNAVAILABLE, {.number = kUnavailableError,
                                 .message = "candidates run behind a filter of system calls, and "
                                            "this kernel or container has none",
                                 .where = "--run",
                                 .hint = "tuner doctor says what it wants"});
  }
  // One line, and then it does without: an old kernel is no reason to have no farm.
  if (const std::string missing = sandbox.Missing(); !missing.empty()) {
    LogWarning(absl::StrCat("this kernel has no ", missing,
                            ": candidates are kept from less; tuner doctor says more"));
  }
  if (!MayBecomeOwnUser()) {
    LogWarning("this container lets root become nobody else: candidates run as its root");
  }
  const StopSignals signals;  // Before there are other threads.
  AgentIdentity identity{.host = HostName(), .incarnation = EntropyNumber()};
  identity.worker_id = flags.id.empty() ? DefaultId(flags, identity.host) : flags.id;
  absl::StatusOr<std::string> secret =
      WorkerSecret([](const char* name) { return std::getenv(name); }, identity.worker_id);
  if (secret.ok()) {
    identity.secret = *std::move(secret);
  } else {
    LogWarning(absl::StrCat("goes without a secret, so that others may take its id: ",
                            secret.status().message()));
  }
  // One connection for reports and artifacts: a farm's trackers count them.
  const std::shared_ptr<grpc::Channel> tracker = OpenChannel(flags.tracker, ThisVersion("worker"));
  absl::StatusOr<std::vector<AgentSlot>> slots = MakeSlots(flags, identity, tracker);
  if (!slots.ok()) {
    if (!absl::IsNotFound(slots.status())) return FailUsage(slots.status().message());
    return Fail(EX_UNAVAILABLE, {.number = kProgramMissingError,
                                 .message = std::string(slots.status().message()),
                                 .hint = "build or install all programs together"});
  }
  absl::StatusOr<std::optional<CalibrationRow>> calibration = CalibrateDevice(flags);
  if (!calibration.ok()) return FailUsage(calibration.status().message(), "--calibration");
  identity.calibration = *std::move(calibration);
  // The seed differs from worker to worker: those that lost one tracker must not come back in one
  // instant.
  AgentClient client({.tracker = flags.tracker,
                      .channel = tracker,
                      .identity = identity,
                      .seed = static_cast<uint64_t>(identity.incarnation)},
                     *std::move(slots));
  LogInfo(absl::StrCat("worker ", identity.worker_id, " serves ", flags.tracker));
  while (signals.Wait(kPollInterval) == 0) {
    const absl::Status refused = client.WaitUntilRefused(absl::ZeroDuration());
    if (!refused.ok()) return FailRefused(refused, flags.tracker);
  }
  LogInfo("finishing what runs; another signal ends it");
  client.Leave();
  const absl::Time end = Clock::Real().SteadyNow() + absl::Seconds(flags.drain_seconds);
  while (!client.WaitUntilEmpty(absl::ZeroDuration()) && Clock::Real().SteadyNow() < end) {
    if (signals.Wait(absl::Milliseconds(50)) != 0) break;
  }
  LogInfo(client.WaitUntilEmpty(absl::ZeroDuration())
              ? "left: the tracker has all results"
              : "left with results that the tracker has not taken; their jobs are done again");
  return EX_OK;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Builds and measures candidates for a tracker.\n\n"
      "Example: worker --tracker localhost:7171 --build 2 --run cpu",
      "worker");
  app.set_version_flag("--version", VersionLine(ThisVersion("worker")));
  app.add_option("--tracker", flags.tracker, "HOST:PORT or unix:PATH of the tracker")
      ->envname("BURNISH_TRACKER")
      ->required();
  app.add_flag("--insecure", flags.insecure,
               "take jobs from a tracker on another machine, which is trusted with this one");
  app.add_option("--build", flags.build_slots, "builder slots")->check(CLI::Range(0, 256));
  app.add_option("--run", flags.run_devices, "a runner slot for each device: cpu, cpu:0-1");
  app.add_option("--target", flags.target,
                 "of the jobs that run here, where it is less than this host: without AVX-512, or "
                 "with the caches that its name stands for");
  app.add_option("--id", flags.id, "name of this worker; the default is made of host and slots")
      ->check([](const std::string& id) {
        return id.size() <= WorkerReport::kIdBytesMax ? "" : "at most 128 bytes";
      });
  app.add_option("--label", flags.labels, "NAME=VALUE that jobs may ask for");
  app.add_option("--lock-folder", flags.lock_folder,
                 "of the locks of timed sections; one folder for the whole host");
  app.add_option("--calibration", flags.calibration,
                 "auto: measures the machine once a boot; table: not; or the path of a row")
      ->envname("BURNISH_CALIBRATION")
      ->capture_default_str();
  app.add_option("--drain-seconds", flags.drain_seconds,
                 "after SIGTERM, for what runs to finish and its results to be taken")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--log-level", flags.log_level, "debug, info, warning, error or off")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    const int code = app.exit(success);
    if (std::cout.flush()) return code;
    return Fail(
        EX_IOERR,
        {.number = kOutputError, .message = "the output cannot be written", .where = "stdout"});
  } catch (const CLI::ParseError& error) {
    return FailUsage(error.what());
  }
  return Serve(flags);
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
