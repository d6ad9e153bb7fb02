// What a tuner's client owes to its tuner and to the tracker: which calls it makes next, and which
// results come out. The model sees what goes into a client core and what comes out of it.
#ifndef TESTS_SIM_CLIENT_MODEL_H_
#define TESTS_SIM_CLIENT_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/verdict.h"
#include "tracker/client_core.h"

namespace burnish::sim {

class ClientModel {
 public:
  ClientModel(Verdict* verdict, const std::string& tuner_id, const ClientLimits& limits)
      : verdict_(verdict), tuner_id_(tuner_id), limits_(limits), jobs_max_(limits.batch_jobs_max) {}

  // Each after the call of the core that it is named for, with what that returned.
  void Added(const std::vector<JobSpec>& jobs, bool resubmission,
             const std::vector<ResultEntry>& results);
  void AllResubmitted();
  void TakenBack(const std::vector<std::string>& job_ids, const std::string& study,
                 const std::vector<ResultEntry>& results);
  void BatchMade(const std::optional<SubmitBatch>& batch);
  void BatchTaken(int64_t session);
  void BatchFailed(bool too_many);
  void CollectMade(const CollectRequest& request);
  void Collected(const CollectRequest& request, const Collected& collected,
                 const std::vector<ResultEntry>& results);
  void Acknowledged(const std::vector<std::string>& job_ids);

  // Whether the tracker has been told of all of these jobs, or need not be any more.
  bool AreSent(const std::vector<std::string>& job_ids, const std::string& study) const;

 private:
  struct Job {
    JobSpec spec;
    int64_t order = 0;          // As they were added.
    bool open = true;           // Else its result is out with the tuner.
    bool sent = false;          // The present tracker has said that it has it.
    bool may_be_known = false;  // To some tracker.
    bool is_acknowledged = false;
  };

  void Fail(const std::string& promise, const std::string& detail) {
    verdict_->Fail(promise, tuner_id_ + ": " + detail);
  }
  // False: the answer of a tracker that is gone.
  bool Meet(int64_t session, int64_t session_of_call);
  std::vector<const Job*> Unsent() const;
  static bool IsNamed(const Job& job, const std::vector<std::string>& job_ids,
                      const std::string& study);
  void CheckOut(const std::set<std::string>& expected, const std::vector<ResultEntry>& results);

  Verdict* const verdict_;
  const std::string tuner_id_;
  const ClientLimits limits_;
  std::map<std::string, Job> jobs_;
  std::vector<std::string> batch_;  // Under way.
  int64_t batch_session_ = 0;
  size_t jobs_max_;      // Of a batch: half as many after each refusal, twice after a success.
  int64_t session_ = 0;  // Of the present tracker.
  int64_t seen_number_ = 0;
  bool all_resubmitted_ = false;
  std::map<std::string, int64_t> held_;  // Numbers of results of jobs that may be added yet.
  // To be said until a call that says so was answered, oldest first.
  std::vector<std::string> to_acknowledge_;
  std::vector<int64_t> unwanted_;
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_CLIENT_MODEL_H_
