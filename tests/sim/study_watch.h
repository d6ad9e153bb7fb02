// What a study owes to its records and to the farm, as seen between its session and its measurer,
// and between the measurer and the client. One watch for all processes of a study.
#ifndef TESTS_SIM_STUDY_WATCH_H_
#define TESTS_SIM_STUDY_WATCH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/record.h"
#include "tests/sim/verdict.h"
#include "tracker/tracker_types.h"
#include "tuner/measure/measurer.h"
#include "tuner/study/study_types.h"

namespace burnish::sim {

std::string CandidateOf(const MeasureTask& task, const std::string& trace);

struct StudyWatchOptions {
  std::string study_id = "";
  uint64_t seed = 0;  // Of the truth (sim_worker.h).
  int in_flight_max = 1;
  int task_count = 1;
  bool deterministic = false;
  bool confirms = false;
};

class StudyWatch : public Measurer {
 public:
  StudyWatch(Verdict* verdict, const StudyWatchOptions& options)
      : verdict_(verdict), options_(options) {}

  // A process begins, with a measurer of its own.
  void Begin(Measurer* measurer);

  absl::Status Submit(std::vector<MeasureRequest> requests) override;
  void AllResubmitted() override { measurer_->AllResubmitted(); }
  std::vector<MeasureResult> Collect(absl::Duration timeout) override;
  void Acknowledge(absl::Span<const std::string> trial_ids) override {
    measurer_->Acknowledge(trial_ids);
  }
  absl::Status Cancel(absl::Span<const std::string> trial_ids) override {
    return measurer_->Cancel(trial_ids);
  }
  absl::Status health() const override { return measurer_->health(); }

  // A record is in the store; each of them once, as they come.
  void NoteRecord(const MeasurementEntry& entry);
  bool IsRecorded(const std::string& trial_id) const { return recorded_.contains(trial_id); }
  // The session has dealt with all that Collect gave.
  void CheckTaken(const StudyProgress& progress);
  // The measurer wants a job done.
  void CheckJob(const JobSpec& job, bool resubmission);
  // The measurer has got its result.
  void NoteResult(const ResultEntry& result);
  // The farm has given no result of some trial for so long that others were begun without.
  bool has_given_up() const { return has_given_up_; }

 private:
  struct Attempt {
    std::string worker;
    std::variant<Latencies, Failure> outcome;
    bool is_refused = false;  // Of a worker that was paused.
    int life = 0;
  };
  struct Trial {
    MeasureRequest request;
    int life = 0;                        // That submitted it last.
    bool open = false;                   // It has a result to come.
    int loss_count = 0;                  // Results that say nothing of the candidate, in this life.
    bool was_given_up = false;           // In any life: so many of them in a row.
    int missing_count = 0;               // Runs that missed an artifact, since it was submitted.
    std::optional<FailureKind> verdict;  // Of the farm, on its last job.
    // Of artifacts that its last run missed: how many builds there must be before the next one.
    std::map<std::string, int> builds_needed;
    std::vector<Attempt> attempts;
  };

  void Fail(const std::string& promise, const std::string& detail) {
    verdict_->Fail(promise, detail);
  }
  void CheckFirst(const std::vector<MeasureRequest>& requests);
  void CheckProgress(const StudyProgress& progress);
  void CheckPauses(const StudyProgress& progress);
  void CheckBuild(const JobSpec& job, const Trial* trial);
  void CheckRun(const JobSpec& job, Trial& trial);
  int OpenCount() const;
  static bool IsImpossible(const Attempt& attempt);
  static std::string ReferenceOf(const MeasureTask& task);  // Its candidate; empty: none.

  Verdict* const verdict_;
  const StudyWatchOptions options_;
  Measurer* measurer_ = nullptr;
  int life_ = 0;
  std::map<std::string, Trial> trials_;
  std::vector<MeasureResult> waiting_;   // From the measurer, for the session.
  std::vector<std::string> handed_out_;  // Trials, since CheckTaken.
  std::set<std::string> paused_;         // Workers, until this life ends.
  bool has_lies_ = false;
  bool has_given_up_ = false;
  std::map<std::string, std::string> candidates_;   // By job id, of all lives.
  std::map<std::string, std::string> open_builds_;  // By job id: the artifact.
  std::map<std::string, int> build_counts_;         // By artifact.
  std::set<std::string> failed_references_;         // Candidates.
  std::set<std::string> recorded_;                  // Trials.
  std::vector<std::string> unconfirmed_;            // Trials recorded as best, since CheckTaken.
  int64_t recorded_count_ = 0;                      // Without references.
  std::map<std::string, int64_t> best_ns_;          // By workload, of the records so far.
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_STUDY_WATCH_H_
