// The tracker daemon: flags and wiring.
#include <sys/prctl.h>
#include <sysexits.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/logging.h"
#include "base/secret.h"
#include "base/stop_signals.h"
#include "proto/farm_secrets.h"
#include "proto/listen_sockets.h"
#include "proto/program_error.h"
#include "proto/protocol.h"
#include "tracker/tracker_service.h"

namespace burnish {
namespace {

struct Flags {
  std::string listen;
  int64_t artifact_mib = 256;
  double lease_seconds = 15;
  std::string log_level = "info";
  bool json = false;
  bool insecure = false;
  bool require_identity = false;
};

int Fail(int exit_code, const ProgramError& error, bool json) {
  const std::string text = json
                               ? ProgramErrorJson(error) + "\n"
                               : ProgramErrorText(error, StderrTakesColor(std::getenv("NO_COLOR")));
  std::fputs(text.c_str(), stderr);
  return exit_code;
}

int FailOutput(bool json) {
  return Fail(EX_IOERR,
              {.number = kOutputError,
               .message = absl::StrCat("the output cannot be written: ", std::strerror(errno)),
               .where = "stdout"},
              json);
}

int Serve(const Flags& flags) {
  const absl::StatusOr<LogLevel> level = ParseLogLevel(flags.log_level);
  if (!level.ok()) {
    return Fail(EX_USAGE,
                {.number = kUsageError,
                 .message = std::string(level.status().message()),
                 .where = "--log-level",
                 .hint = "tracker --help"},
                flags.json);
  }
  const absl::StatusOr<ListenDoor> door = FindListenDoor(flags.listen, "tracker", flags.insecure);
  if (!door.ok()) {
    const bool is_denied = absl::IsPermissionDenied(door.status());
    return Fail(is_denied ? EX_NOPERM : EX_USAGE,
                {.number = is_denied ? kPermissionError : kUsageError,
                 .message = std::string(door.status().message()),
                 .where = "--listen",
                 .hint = "an address such as unix:/run/tracker.sock or localhost:7171"},
                flags.json);
  }
  SetUpLogging(
      {.level = *level, .color = StderrTakesColor(std::getenv("NO_COLOR")), .program = "tracker"});
  const StopSignals signals;  // Before there are other threads.
  TrackerServiceOptions options{.listen = door->listen,
                                .secret = door->secret,
                                .artifact_bytes_max = flags.artifact_mib << 20,
                                .require_identity = flags.require_identity};
  const absl::StatusOr<std::string> secret =
      OperatorSecret([](const char* name) { return std::getenv(name); });
  if (secret.ok()) {
    options.operator_sha256 = FingerprintOf(*secret);
  } else {
    LogWarning(
        absl::StrCat("each worker is drained by its own user alone: ", secret.status().message()));
  }
  options.core.lease_duration = absl::Seconds(flags.lease_seconds);
  absl::StatusOr<std::unique_ptr<TrackerService>> service = TrackerService::Start(options);
  if (!service.ok()) {
    const bool is_usage = absl::IsInvalidArgument(service.status());
    return Fail(is_usage ? EX_USAGE : EX_UNAVAILABLE,
                {.number = is_usage ? kUsageError : kUnavailableError,
                 .message = std::string(service.status().message()),
                 .where = "--listen",
                 .hint = "another port, or 0 for any"},
                flags.json);
  }
  // One line for whoever started it, who may have asked for any port.
  if (flags.json) {
    std::printf("{\"schema\":1,\"address\":\"%s\"}\n", (*service)->address().c_str());
  } else {
    std::printf("%s\n", (*service)->address().c_str());
  }
  // Else nobody would know where it listens.
  if (std::fflush(stdout) != 0) return FailOutput(flags.json);
  LogInfo(absl::StrCat("listening on ", (*service)->address()));
  LogInfo(absl::StrCat("stopping on signal ", signals.Wait(absl::InfiniteDuration())));
  return EX_OK;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Moves jobs from tuners to workers.\n\nExample: tracker --listen unix:tracker.sock",
               "tracker");
  app.set_version_flag("--version", VersionLine(ThisVersion("tracker")));
  app.add_option(
      "--listen", flags.listen,
      "HOST:PORT (port 0: any) or unix:PATH; default: the sockets of the service manager, or "
      "one of this user");
  app.add_flag("--insecure", flags.insecure,
               "listen beyond this machine, where everybody who can connect is trusted");
  app.add_flag("--require-identity", flags.require_identity,
               "turn away workers without a secret, as those of version 0.2 are");
  app.add_option("--artifact-mib", flags.artifact_mib, "memory for built artifacts, in MiB")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--lease-seconds", flags.lease_seconds,
                 "a worker that is not heard of for this long loses its jobs")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  app.add_option("--log-level", flags.log_level, "debug, info, warning, error or off")
      ->capture_default_str();
  app.add_flag("--json", flags.json, "print the address as a JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    const int code = app.exit(success);
    return std::cout.flush() ? code : FailOutput(flags.json);
  } catch (const CLI::ParseError& error) {
    return Fail(EX_USAGE,
                {.number = kUsageError, .message = error.what(), .hint = "tracker --help"},
                flags.json);
  }
  return Serve(flags);
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
