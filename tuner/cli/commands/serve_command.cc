// tuner serve: the central tuner as a daemon.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/self_path.h"
#include "base/status_macros.h"
#include "proto/listen_sockets.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/interrupt_watcher.h"
#include "tuner/serve/daemon.h"
#include "tuner/serve/study_process_main.h"

namespace burnish {
namespace {

class ServeCommand : public Command {
 public:
  std::string name() const override { return "serve"; }
  std::string summary() const override { return "runs studies for clients, as a daemon"; }
  std::string example() const override {
    return "tuner serve --listen unix:tuner.sock --tracker farm:7171 --db studies.db\n"
           "tuner submit --task resnet50 --server unix:tuner.sock --detach";
  }
  void AddOptions(CommandOptions& options) override {
    options.Value(
        "--listen", "ADDR", &listen_,
        "HOST:PORT (port 0: any) or unix:PATH; default: the sockets of the service manager, "
        "or one of this user");
    options.Flag("--insecure", &insecure_,
                 "listen beyond this machine, where everybody who can connect is trusted");
    options.Value("--studies", "N", &running_max_, 1, 64, "at the same time; others wait in line");
    options.Value("--model-mib", "N", &model_mib_, 1, 4096, "size of a model file at most");
    options.Setting("tracker");
    options.Setting("calibration");
    options.Setting("db");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    const absl::StatusOr<ListenDoor> door = FindListenDoor(listen_, "tuner", insecure_);
    const ErrorCode code = absl::IsInvalidArgument(door.status())    ? ErrorCode::kUsage
                           : absl::IsPermissionDenied(door.status()) ? ErrorCode::kPermission
                                                                     : ErrorCode::kSettings;
    RETURN_IF_ERROR(WithError(
        door.status(), code, "--listen",
        code == ErrorCode::kUsage ? "" : "or --listen unix:PATH in a folder of this user"));
    // A daemon's log is its day; other commands speak on stderr themselves.
    if (context.settings().Find("log_level").origin == "default") {
      SetUpLogging({.level = LogLevel::kInfo, .color = context.color(), .program = "tuner"});
    }
    InterruptWatcher interrupts;
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase(DatabaseAccess::kMake));
    // A process of its own per study: it needs a database that others can open, too.
    if (DatabasePath(database.url).empty()) {
      return MakeError(ErrorCode::kDatabaseScheme, "a daemon's studies are processes of their own",
                       database.url, "a file: --db FILE");
    }
    const absl::StatusOr<std::string> program = FindProgram("tuner/tuner");
    RETURN_IF_ERROR(WithError(program.status(), ErrorCode::kProgramMissing));
    ASSIGN_OR_RETURN(
        const std::unique_ptr<Daemon> daemon,
        Daemon::Start({.database = &database,
                       .clock = &context.clock(),
                       .listen = door->listen,
                       .secret = door->secret,
                       .tracker = context.settings().Get("tracker"),
                       .row = context.RowOptions(/*tracker=*/""),
                       .models_folder = absl::StrCat(DatabasePath(database.url), ".models"),
                       .program = {.path = *program,
                                   .args = {kStudyProcessArgument},
                                   .cache = context.CacheFolder()},
                       .running_max = static_cast<int>(running_max_),
                       .model_bytes_max = model_mib_ << 20}));
    RETURN_IF_ERROR(Announce(context, daemon->address(), daemon->farm()));
    interrupts.OnInterrupt([&daemon] { daemon->Stop(); });
    const absl::Status status = daemon->Serve();
    interrupts.OnInterrupt(nullptr);
    return status;
  }

 private:
  // One line for whoever started it, who may have asked for any port.
  static absl::Status Announce(Context& context, const std::string& address,
                               const std::string& farm) {
    if (context.json()) {
      context.out() << nlohmann::ordered_json({{"schema", 1}, {"address", address}}).dump() << "\n";
    } else {
      context.out() << address << "\n";
    }
    RETURN_IF_ERROR(context.CheckOutput());
    LogInfo(absl::StrCat("listening on ", address, ", measuring on ", farm));
    return absl::OkStatus();
  }

  std::string listen_;
  bool insecure_ = false;
  int64_t running_max_ = 4;
  int64_t model_mib_ = 1024;
};

}  // namespace

std::unique_ptr<Command> MakeServeCommand() { return std::make_unique<ServeCommand>(); }

}  // namespace burnish
