// tuner serve: the central tuner as a daemon.
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "tuner/app/database.h"
#include "tuner/app/embedded_farm.h"
#include "tuner/app/error.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/interrupt_watcher.h"
#include "tuner/serve/study_host.h"
#include "tuner/serve/tuner_service.h"

namespace burnish {
namespace {

// Something that another thread does once.
class Event {
 public:
  void Set() {
    const std::lock_guard<std::mutex> lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

class ServeCommand : public Command {
 public:
  std::string name() const override { return "serve"; }
  std::string summary() const override { return "runs studies for clients, as a daemon"; }
  std::string example() const override {
    return "tuner serve --listen localhost:7272 --tracker farm:7171 --db studies.db\n"
           "tuner submit --task resnet50 --server localhost:7272 --detach";
  }
  void AddOptions(CommandOptions& options) override {
    options.Value("--listen", "ADDR", &listen_, "HOST:PORT (port 0: any) or unix:PATH");
    options.Value("--studies", "N", &running_max_, 1, 64, "at the same time; others wait in line");
    options.Value("--model-mib", "N", &model_mib_, 1, 4096, "size of a model file at most");
    options.Setting("tracker");
    options.Setting("db");
    options.Setting("log_level");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    InterruptWatcher interrupts;
    ASSIGN_OR_RETURN(const Database database, context.OpenDatabase());
    Event stop;
    std::string tracker = context.settings().Get("tracker");
    const bool embedded = tracker.empty();
    std::unique_ptr<EmbeddedFarm> farm;
    if (embedded) {
      ASSIGN_OR_RETURN(
          farm, EmbeddedFarm::Start({.on_restart = [](absl::string_view text) { LogWarning(text); },
                                     .on_failure = [&stop] { stop.Set(); }}));
      tracker = farm->tracker();
    }
    StudyHost host(
        {.database = &database,
         .clock = &context.clock(),
         .tracker = tracker,
         .idle = embedded,
         .models_folder = absl::StrCat(DatabasePath(context.settings().Get("db")), ".models"),
         .running_max = static_cast<int>(running_max_)});
    absl::StatusOr<std::unique_ptr<TunerService>> service =
        TunerService::Start({.listen = listen_,
                             .host = &host,
                             .database = &database,
                             .clock = &context.clock(),
                             .model_bytes_max = model_mib_ << 20});
    if (!service.ok()) {
      return WithError(
          service.status(),
          absl::IsInvalidArgument(service.status()) ? ErrorCode::kUsage : ErrorCode::kUnavailable,
          absl::StrCat("--listen ", listen_), "another port, or 0 for any");
    }
    RETURN_IF_ERROR(host.TakeUp());
    Announce(context, (*service)->address(), embedded ? "this machine" : tracker);
    interrupts.OnInterrupt([&stop] { stop.Set(); });
    stop.Wait();
    interrupts.OnInterrupt(nullptr);
    LogInfo("stopping; studies that run are taken up by the next daemon of this database");
    service->reset();  // First: those that follow a study are told of the daemon's end, not its.
    host.Stop();
    return farm == nullptr ? absl::OkStatus() : farm->status();
  }

 private:
  // One line for whoever started it, who may have asked for any port.
  static void Announce(Context& context, const std::string& address, const std::string& farm) {
    if (context.json()) {
      context.out() << nlohmann::ordered_json({{"schema", 1}, {"address", address}}).dump() << "\n";
    } else {
      context.out() << address << "\n";
    }
    context.out() << std::flush;
    LogInfo(absl::StrCat("listening on ", address, ", measuring on ", farm));
  }

  std::string listen_ = "localhost:7272";
  int64_t running_max_ = 4;
  int64_t model_mib_ = 1024;
};

}  // namespace

std::unique_ptr<Command> MakeServeCommand() { return std::make_unique<ServeCommand>(); }

}  // namespace burnish
