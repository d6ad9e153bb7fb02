// A tuner's connection to a tracker: submits jobs, hands out each result once.
// Goes on by itself when the tracker is restarted: open jobs are submitted again under their ids.
// A tuner that was restarted itself submits what it has no result of again, and then says so by
// AllResubmitted. Until then a result is kept, here and by the tracker, whether or not its job has
// been submitted again; afterwards results of unknown jobs are dropped. Nothing is acknowledged
// but by Acknowledge.
#ifndef TRACKER_TRACKER_CLIENT_H_
#define TRACKER_TRACKER_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/job.h"
#include "proto/protocol.h"
#include "tracker/job_client.h"
#include "tracker/tracker_types.h"

namespace burnish {

struct TrackerClientOptions {
  std::string tracker = "";   // Address: "unix:PATH" or "HOST:PORT".
  std::string tuner_id = "";  // Stays the same over restarts; 1 to 128 bytes.
  // 16 to 64 bytes by which the tracker knows the tuner again, the same over restarts. Empty: one
  // is drawn, and another process is taken for a stranger while the tracker knows this one.
  std::string tuner_secret = "";
  uint64_t seed = 0;                    // Of the jitter between attempts.
  Speaker self = ThisVersion("tuner");  // Another one in tests.
};

// Thread-safe.
class TrackerClient : public JobClient {
 public:
  explicit TrackerClient(const TrackerClientOptions& options);
  // Jobs stay with the tracker, until it forgets this tuner; see Cancel.
  ~TrackerClient() override;

  using JobClient::Cancel;
  using JobClient::Collect;
  using JobClient::Submit;
  absl::Status Submit(std::vector<JobSpec> jobs, bool resubmission) override;
  void AllResubmitted() override;
  std::vector<ResultEntry> Collect(absl::Duration timeout, int count_max) override;
  void Acknowledge(const std::vector<std::string>& job_ids) override;
  absl::Status Cancel(const std::vector<std::string>& job_ids, const std::string& study) override;

  TrackerClientState state() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace burnish

#endif  // TRACKER_TRACKER_CLIENT_H_
