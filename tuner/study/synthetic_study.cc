#include "tuner/study/synthetic_study.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tuner/cost_model/random_model.h"
#include "tuner/search/model_scorer.h"

namespace burnish {
namespace {

// The decisions' exponents and the sketch; a few traces do not apply.
absl::StatusOr<Extraction> Extract(int columns, const Proposal& proposal) {
  if (proposal.sketch_index == Proposal::kNoSketch) {
    return absl::InvalidArgumentError("no such loop");
  }
  Extraction extraction{.features = std::vector<float>(columns, 0)};
  extraction.features[0] = static_cast<float>(proposal.sketch_index);
  for (size_t d = 0; d < proposal.point.size(); ++d) {
    extraction.features[d + 1] =
        static_cast<float>(std::countr_zero(static_cast<uint64_t>(proposal.point[d])));
  }
  if (proposal.point[0] == 2 && proposal.point[1] == 2) {
    return absl::InvalidArgumentError("refused");
  }
  return extraction;
}

}  // namespace

SyntheticStudy::SyntheticStudy(const SyntheticStudyOptions& options)
    : spec_(options.spec),
      second_algorithm_(options.second_algorithm),
      confirm_best_(options.confirm_best) {
  spec_.task = "synthetic";
  spec_.target = target().ToText();
  for (int i = 0; i < options.task_count; ++i) {
    synthetic_.emplace_back(SyntheticTaskOptions{.sketch_count = 2,
                                                 .decision_count = options.decision_count,
                                                 .value_count = 6,
                                                 .seed = options.seed * 100 + i});
    // Small enough for a test to exhaust some tasks, and too large to rank: both ways are taken.
    spaces_.push_back(synthetic_.back().Space(0));
    auto workload = MakeWorkload(absl::StrCat("block ", i, " relu"), absl::StrCat("block ", i));
    CHECK_OK(workload);
    tasks_.push_back({.name = absl::StrCat("task ", i), .workload = *workload, .weight = 1.0 + i});
  }
}

Target SyntheticStudy::target() const {
  auto target = ParseTarget("cpu:arch=znver3,threads=2");
  CHECK_OK(target);
  return *target;
}

NewStudy SyntheticStudy::New() const {
  return {.id = kId, .title = "synthetic", .spec = spec_, .target = target(), .tasks = tasks_};
}

int SyntheticStudy::IndexOf(const std::string& workload_id) const {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].workload.id == workload_id) return static_cast<int>(i);
  }
  CHECK(false) << "no such workload";
  return -1;
}

std::string SyntheticStudy::default_trace(int task_index) const {
  return FirstPoint(task_index, 1);
}

std::string SyntheticStudy::second_default_trace(int task_index) const {
  return FirstPoint(task_index, 0);
}

std::string SyntheticStudy::FirstPoint(int task_index, int sketch_index) const {
  const Sketch& sketch = synthetic_[task_index].sketches()[sketch_index];
  Point point;
  for (const Decision& decision : sketch.decisions) point.push_back(decision.values.front());
  auto proposal = spaces_[task_index]->Propose(sketch_index, point);
  CHECK_OK(proposal);
  return proposal->trace;
}

int64_t SyntheticStudy::LatencyNs(int task_index, const std::string& trace) const {
  return synthetic_[task_index].LatencyNs(spaces_[task_index]->Recognize(trace));
}

FakeMeasurerOptions SyntheticStudy::Farm() const {
  return {.latency_ns = [this](const MeasureRequest& request) {
    return LatencyNs(IndexOf(request.task->workload.id), request.trace);
  }};
}

int SyntheticStudy::Columns() const {
  return static_cast<int>(spaces_[0]->sketches()[0].decisions.size()) + 1;
}

TaskTools SyntheticStudy::MakeTools(const StudyTaskSpec& task,
                                    std::shared_ptr<SharedModel> shared) const {
  const int index = IndexOf(task.workload.id);
  const int columns = Columns();
  TaskTools tools{.sketches = synthetic_[index].sketches(),
                  .default_trace = default_trace(index),
                  .default_traces = {default_trace(index)},
                  .bound_ns = SyntheticTask::kBestNs / 2,
                  .least = [](const std::optional<CalibrationRow>&) {
                    constexpr int64_t kLeastNs = SyntheticTask::kBestNs / 2;
                    return LeastTimes{.of_any_ns = 0, .of_worker_ns = kLeastNs};
                  }};
  if (second_algorithm_) {
    tools.default_traces.insert(tools.default_traces.begin(), second_default_trace(index));
    if (!spec_.no_default) tools.seed_traces = {second_default_trace(index)};
  }
  tools.scorer = std::make_unique<ModelScorer>(
      std::move(shared), task.workload.id, columns,
      [columns](const Proposal& proposal) { return Extract(columns, proposal); });
  return tools;
}

StudyRunnerOptions SyntheticStudy::Options(RecordStore* records, StudyStore* studies,
                                           Measurer* measurer, const Clock* clock) const {
  StudyRunnerOptions options;
  options.study_id = kId;
  options.spec = spec_;
  options.target = target();
  options.tasks = tasks_;
  options.codegen_epoch = 1;
  options.make_tools = [this](absl::Span<const StudyTaskSpec> tasks, const Target&,
                              const StudySpec&) {
    auto shared = std::make_shared<SharedModel>();
    shared->model = std::make_unique<RandomModel>(spec_.seed, Columns());
    std::vector<TaskTools> tools;
    for (const StudyTaskSpec& task : tasks) tools.push_back(MakeTools(task, shared));
    return tools;
  };
  options.records = records;
  options.studies = studies;
  options.measurer = measurer;
  options.clock = clock;
  options.confirm_best = confirm_best_;
  options.batch_size = 5;
  options.in_flight_max = 12;
  options.enumerated_points_max = 100;
  return options;
}

}  // namespace burnish
