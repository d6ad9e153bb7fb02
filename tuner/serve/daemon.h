// The central tuner in one process: a farm, the studies that are run on it, and the service through
// which clients ask for them.
#ifndef TUNER_SERVE_DAEMON_H_
#define TUNER_SERVE_DAEMON_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "db/open.h"
#include "tuner/app/embedded_farm.h"
#include "tuner/app/machine_row.h"
#include "tuner/serve/study_host.h"
#include "tuner/serve/tuner_service.h"

namespace burnish {

struct DaemonOptions {
  const Database* database = nullptr;  // Not null, outlives the daemon.
  const Clock* clock = nullptr;        // Not null, outlives the daemon.
  std::string listen = {};             // HOST:PORT (port 0: any) or unix:PATH.
  std::string secret = {};             // Callers must know it (LoopbackSecret); empty: none.
  std::string tracker = {};            // Address; empty: a farm on this machine.
  MachineRowOptions row = {};          // Of what measures; `tracker` is taken from above.
  std::string models_folder = {};      // Of model files that were sent; made when one comes.
  StudyProgram program = {};           // Of the studies' processes.
  int running_max = 4;                 // Studies at the same time; others wait in line.
  int64_t model_bytes_max = int64_t{1} << 30;             // Of a model file that is sent.
  absl::Duration upload_silence_max = absl::Seconds(30);  // Of a client that sends one.
};

class Daemon {
 public:
  // Listens when this returns, and has taken up the studies that an earlier daemon of the database
  // did not end. Errors: B0101 and B0906 of the address, B05xx, B0801, B0802.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const DaemonOptions& options);

  // Where it listens, with the port that it got.
  const std::string& address() const { return service_->address(); }
  // Where it measures: the tracker's address, or "this machine".
  const std::string& farm() const { return farm_name_; }

  // Returns when Stop was called, or with B0802 when its own farm was given up. At most once:
  // clients are told, runs end with their studies to be taken up by the next daemon.
  absl::Status Serve();
  // From any thread, also before Serve.
  void Stop();

 private:
  Daemon() = default;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // Guarded by mutex_.
  std::string farm_name_;
  std::unique_ptr<EmbeddedFarm> farm_;  // Null: a tracker was named.
  std::unique_ptr<StudyHost> host_;
  std::unique_ptr<TunerService> service_;
};

}  // namespace burnish

#endif  // TUNER_SERVE_DAEMON_H_
