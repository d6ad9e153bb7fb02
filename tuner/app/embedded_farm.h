// A farm of this machine alone: a private tracker, a builder worker and a runner worker as real
// child processes that speak over unix sockets in a folder which only this user can enter. They end
// with this object, and with this process in whatever way it ends.
#ifndef TUNER_APP_EMBEDDED_FARM_H_
#define TUNER_APP_EMBEDDED_FARM_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/child.h"
#include "base/file.h"
#include "proto/host_calibration.h"
#include "tuner/app/restart_limit.h"

namespace burnish {

struct EmbeddedFarmOptions {
  std::string log_level = "warning";  // Of the children.
  int build_slots = 1;
  std::string device = "cpu";  // Of the runner; see worker --run.
  std::string target = {};     // See worker --target; empty: this host.
  // kCalibrationAuto, kCalibrationTable or a row's path: see worker --calibration.
  std::string calibration = kCalibrationAuto;
  // A child ended and is started again; from a thread of the farm. May be null.
  std::function<void(absl::string_view text)> on_restart = nullptr;
  // The farm is given up: a child keeps crashing. From a thread of the farm. May be null.
  std::function<void()> on_failure = nullptr;
};

class EmbeddedFarm {
 public:
  // Returns when the tracker listens. Errors: B0801 a program is missing, B0802 the tracker does
  // not start.
  static absl::StatusOr<std::unique_ptr<EmbeddedFarm>> Start(const EmbeddedFarmOptions& options);
  ~EmbeddedFarm();

  // "unix:PATH"; the same when the tracker was started again.
  const std::string& tracker() const { return tracker_; }

  // OK, or B0802: the farm is given up.
  absl::Status status() const;

 private:
  struct Member {
    std::string name;  // "tracker", "builder worker", "runner worker"
    ChildOptions options;
    std::unique_ptr<Child> child;
    RestartLimit limit;
  };

  EmbeddedFarm(const EmbeddedFarmOptions& options, TempDir folder);
  absl::Status FindMembers();
  absl::Status StartMember(Member& member);
  // Starts the members, says so, and keeps them alive until the farm ends. Children die with the
  // thread that started them, so all are started here.
  void Supervise(std::function<void(absl::Status)> started);
  void Restart(Member& member, const ExitInfo& exit);
  void GiveUp(const absl::Status& status);

  const EmbeddedFarmOptions options_;
  TempDir folder_;
  std::string tracker_;
  std::vector<Member> members_;  // Of the supervising thread.
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  absl::Status status_;  // Guarded by mutex_.
  std::thread supervisor_;
};

}  // namespace burnish

#endif  // TUNER_APP_EMBEDDED_FARM_H_
