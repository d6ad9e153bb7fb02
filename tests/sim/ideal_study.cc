#include "tests/sim/ideal_study.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "db/memory/memory_record_store.h"
#include "db/memory/memory_study_store.h"
#include "tests/sim/sim_worker.h"
#include "tests/sim/study_watch.h"
#include "tuner/measure/measurer.h"
#include "tuner/study/study_log.h"
#include "tuner/study/study_session.h"
#include "tuner/study/study_storage.h"

namespace burnish::sim {
namespace {

class IdealFarm : public Measurer {
 public:
  explicit IdealFarm(uint64_t seed) : seed_(seed) {}

  absl::Status Submit(std::vector<MeasureRequest> requests) override {
    for (const MeasureRequest& request : requests) {
      const std::string id = CandidateOf(*request.task, request.trace);
      const bool is_reference = request.trace == request.task->reference_trace;
      Measurement measurement{.candidate_id = id};
      measurement.numerics.kind = NumericsClass::kReassociated;
      if (!is_reference && IsFailing(seed_, id)) {
        measurement.outcome = Failure{FailureKind::kWrongResult, "by fate"};
      } else {
        measurement.outcome =
            Latencies{{ProcessLatencies{.latency_ns = {TrueLatencyNs(seed_, id)}}}};
      }
      results_.push_back({request.trial_id, std::move(measurement)});
    }
    return absl::OkStatus();
  }
  void AllResubmitted() override {}
  std::vector<MeasureResult> Collect(absl::Duration) override {
    return std::exchange(results_, {});
  }
  void Acknowledge(absl::Span<const std::string>) override {}
  absl::Status Cancel(absl::Span<const std::string>) override { return absl::OkStatus(); }
  absl::Status health() const override { return absl::OkStatus(); }

 private:
  const uint64_t seed_;
  std::vector<MeasureResult> results_;
};

}  // namespace

absl::StatusOr<StudyCourse> CourseOf(const RecordStore& records, StudyStore& studies,
                                     const std::string& study_id) {
  StudyCourse course;
  ASSIGN_OR_RETURN(const EntryPage page, records.ScanEntries({.study_id = study_id}));
  for (const MeasurementEntry& entry : page.entries) {
    course.traces[entry.trial_id] = entry.candidate.trace;
  }
  ASSIGN_OR_RETURN(const StudyLog log, StudyLog::Open(&studies, study_id));
  for (const StudyEvent& event : log.events()) {
    if (event.kind != StudyEventKind::kUpdate) continue;
    std::vector<std::string>& told = course.told_ids[event.task_index];
    told.insert(told.end(), event.trial_ids.begin(), event.trial_ids.end());
  }
  return course;
}

absl::StatusOr<StudyCourse> CourseOnIdealFarm(const SyntheticStudy& study,
                                              const IdealStudyOptions& options) {
  MemoryRecordStore records;
  MemoryStudyStore studies;
  IdealFarm farm(options.seed);
  FakeClock clock;
  NewStudy created = study.New();
  created.id = options.study_id;
  RETURN_IF_ERROR(CreateStudy(studies, created));
  StudyRunnerOptions running = study.Options(&records, &studies, &farm, &clock);
  running.study_id = options.study_id;
  running.in_flight_max = options.in_flight_max;
  running.confirm_best = false;
  StudySession session(running);
  RETURN_IF_ERROR(session.Start().status());
  do {
    RETURN_IF_ERROR(session.Fill().status());
    RETURN_IF_ERROR(session.Collect(absl::ZeroDuration()).status());
    RETURN_IF_ERROR(session.Fill().status());
  } while (session.open_count() > 0);
  return CourseOf(records, studies, options.study_id);
}

}  // namespace burnish::sim
