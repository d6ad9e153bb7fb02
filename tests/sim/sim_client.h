// A tuner's connection to the tracker: the real client core behind what its gRPC client does.
#ifndef TESTS_SIM_SIM_CLIENT_H_
#define TESTS_SIM_SIM_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/event_loop.h"
#include "tests/sim/network.h"
#include "tests/sim/planted_bug.h"
#include "tests/sim/sim_tracker.h"
#include "tests/sim/verdict.h"
#include "tracker/job_client.h"

namespace burnish::sim {

// Lives as long as its tuner's process.
class SimClient : public JobClient {
 public:
  struct Options {
    std::string tuner_id = "";
    int node = 0;
    Bug bug = Bug::kNone;
    ClientLimits limits = {};
    // Whether a job's result is on the tuner's disk, or nobody will ever ask for it.
    std::function<bool(const std::string&)> is_safe = nullptr;
    std::function<void()> on_results = nullptr;  // There are some to collect.
    // Of each job that comes in, and of each result that goes out; null: nobody looks.
    std::function<void(const JobSpec&, bool resubmission)> on_job = nullptr;
    std::function<void(const ResultEntry&)> on_result = nullptr;
  };

  SimClient(EventLoop* loop, Network* network, SimTracker* tracker, Verdict* verdict,
            const Options& options);
  // Calls under way find nobody.
  ~SimClient() override;

  using JobClient::Cancel;
  using JobClient::Collect;
  using JobClient::Submit;
  absl::Status Submit(std::vector<JobSpec> jobs, bool resubmission) override;
  void AllResubmitted() override;
  // Never waits.
  std::vector<ResultEntry> Collect(absl::Duration timeout, int count_max) override;
  void Acknowledge(const std::vector<std::string>& job_ids) override;
  absl::Status Cancel(const std::vector<std::string>& job_ids, const std::string& study) override;
  TrackerClientState state() const override;

  // Nothing is open, and the tracker knows of it.
  bool IsQuiet() const;

 private:
  struct Core;  // Shared with calls under way, which may outlive this.

  std::shared_ptr<Core> core_;
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_SIM_CLIENT_H_
