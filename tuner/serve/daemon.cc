#include "tuner/serve/daemon.h"

#include "absl/strings/string_view.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "tuner/app/error.h"

namespace burnish {

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const DaemonOptions& options) {
  std::unique_ptr<Daemon> daemon(new Daemon());
  const bool embedded = options.tracker.empty();
  if (embedded) {
    ASSIGN_OR_RETURN(
        daemon->farm_,
        EmbeddedFarm::Start({.calibration = options.row.calibration,
                             .on_restart = [](absl::string_view text) { LogWarning(text); },
                             .on_failure = [&now = *daemon] { now.Stop(); }}));
  }
  daemon->farm_name_ = embedded ? "this machine" : options.tracker;
  MachineRowOptions row = options.row;
  row.tracker = options.tracker;
  daemon->host_ = std::make_unique<StudyHost>(
      StudyHostOptions{.database = options.database,
                       .clock = options.clock,
                       .tracker = embedded ? daemon->farm_->tracker() : options.tracker,
                       .program = options.program,
                       .row = std::move(row),
                       .models_folder = options.models_folder,
                       .running_max = options.running_max});
  absl::StatusOr<std::unique_ptr<TunerService>> service =
      TunerService::Start({.listen = options.listen,
                           .secret = options.secret,
                           .host = daemon->host_.get(),
                           .database = options.database,
                           .clock = options.clock,
                           .model_bytes_max = options.model_bytes_max,
                           .upload_silence_max = options.upload_silence_max});
  if (!service.ok()) {
    return WithError(
        service.status(),
        absl::IsInvalidArgument(service.status()) ? ErrorCode::kUsage : ErrorCode::kUnavailable,
        options.listen, "another port, or 0 for any");
  }
  daemon->service_ = *std::move(service);
  RETURN_IF_ERROR(daemon->host_->TakeUp());
  return daemon;
}

absl::Status Daemon::Serve() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stopping_; });
  }
  LogInfo("stopping; studies that run are taken up by the next daemon of this database");
  service_.reset();  // First: those that follow a study are told of the daemon's end, not its.
  host_->Stop();
  return farm_ == nullptr ? absl::OkStatus() : farm_->status();
}

void Daemon::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

}  // namespace burnish
