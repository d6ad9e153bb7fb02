#include "tuner/app/build_bundle.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/target/target.h"
#include "proto/builder_client.h"
#include "tuner/app/error.h"
#include "tuner/app/weight_forms.h"

namespace burnish {
namespace {

RecordedSchedules Recorded(const ScheduleFacts& facts, const BuildModelOptions& options,
                           bool by_form = false) {
  const SelectOptions& select = options.select;
  return RecordedSchedules(facts.find_best,
                           {.accuracy = {.error_max = select.error_budget, .strict = select.strict},
                            .calibration = facts.calibration,
                            .cache = facts.cache,
                            .estimates = options.fastest_storage || options.storage.narrows(),
                            .by_form = by_form});
}

// Looks a workload up once: a model for several bounds has most of its workloads in all of them,
// and a default schedule takes half a second of a core.
class EachOnce : public ScheduleSource {
 public:
  explicit EachOnce(RecordedSchedules schedules) : schedules_(std::move(schedules)) {}

  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target& target) override {
    ASSIGN_OR_RETURN(std::vector<KnownSchedule> found, FindOnce(task, target));
    // Not kept so: which forms there are grows from bound to bound.
    const std::shared_lock<std::shared_mutex> lock(forms_mutex_);
    forms_.Prefer(task, found);
    return found;
  }

  absl::Status AddForms(const BuiltModel& built) {
    const std::unique_lock<std::shared_mutex> lock(forms_mutex_);
    return forms_.Add(built);
  }

  absl::Status AddMeasuredForms(const ExtractedTask& task, const Target& target) {
    ASSIGN_OR_RETURN(const std::vector<KnownSchedule> found, Find(task, target));
    const std::unique_lock<std::shared_mutex> lock(forms_mutex_);
    forms_.AddMeasured(task, found);
    return absl::OkStatus();
  }

  absl::StatusOr<double> Estimate(const ExtractedTask& task, const std::string& trace,
                                  const Target& target) override {
    return schedules_.Estimate(task, trace, target);
  }

 private:
  struct Found {
    std::mutex mutex;  // Held by who looks it up, so that a second one waits.
    std::optional<std::vector<KnownSchedule>> schedules;
  };

  absl::StatusOr<std::vector<KnownSchedule>> FindOnce(const ExtractedTask& task,
                                                      const Target& target) {
    const std::string key = absl::StrCat(task.is_looped ? "looped\n" : "\n", task.call_parts, "\n",
                                         target.ToText(), "\n", task.workload);
    Found& found = FoundOf(key);
    const std::lock_guard<std::mutex> lock(found.mutex);
    if (!found.schedules.has_value()) {
      ASSIGN_OR_RETURN(found.schedules, schedules_.Find(task, target));
    }
    return *found.schedules;
  }

  Found& FoundOf(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return found_[key];  // A map's elements stay where they are.
  }

  RecordedSchedules schedules_;
  std::shared_mutex forms_mutex_;
  WeightForms forms_;
  std::mutex mutex_;
  std::map<std::string, Found> found_;
};

}  // namespace

struct BundleBuilder::Parts {
  Parts(const ScheduleFacts& facts, const BuildModelOptions& options, bool keeps_forms)
      : keeps_forms(keeps_forms),
        schedules(Recorded(facts, options, keeps_forms)),
        builder((facts.cache == nullptr ? nothing : *facts.cache).Over(client)) {}

  // `build(schedules, builder)`, with numbered errors.
  template <typename Build>
  auto Do(const std::string& what, const Build& build)
      -> std::invoke_result_t<Build, ScheduleSource&, Builder&> {
    auto built = build(schedules, *builder);
    if (!built.ok()) return BuildError(built.status(), what);
    return built;
  }

  const bool keeps_forms;
  EachOnce schedules;
  BuilderClient client;
  CompileCache nothing{""};
  std::unique_ptr<Builder> builder;
};

BundleBuilder::BundleBuilder(const ScheduleFacts& facts, const BuildModelOptions& options,
                             bool keeps_forms)
    : parts_(std::make_unique<Parts>(facts, options, keeps_forms)) {}

BundleBuilder::~BundleBuilder() = default;

absl::Status BundleBuilder::KeepMeasuredForms(const Graph& graph, const BuildModelOptions& options,
                                              const std::string& what) {
  EachOnce& source = parts_->schedules;
  ASSIGN_OR_RETURN(const TunedModel model,
                   parts_->Do(what, [&](ScheduleSource& schedules, Builder&) {
                     return ModelTasks(graph, schedules, options);
                   }));
  for (const ExtractedTask& task : model.tasks) {
    RETURN_IF_ERROR(source.AddMeasuredForms(task, options.target));
  }
  return absl::OkStatus();
}

void BundleBuilder::LookUpSchedules(const Graph& graph, const BuildModelOptions& options) {
  ModelTasks(graph, parts_->schedules, options).IgnoreError();
}

absl::StatusOr<BuiltModel> BundleBuilder::Build(const Graph& graph,
                                                const BuildModelOptions& options,
                                                const std::string& what) {
  return parts_->Do(what, [&](ScheduleSource& schedules, Builder& builder) {
    return BuildModel(graph, schedules, builder, options);
  });
}

absl::StatusOr<BuiltModel> BundleBuilder::BuildUnwritten(const Graph& graph,
                                                         const BuildModelOptions& options,
                                                         const std::string& what) {
  ASSIGN_OR_RETURN(BuiltModel built,
                   parts_->Do(what, [&](ScheduleSource& schedules, Builder& builder) {
                     return burnish::BuildUnwritten(graph, schedules, builder, options);
                   }));
  if (parts_->keeps_forms) RETURN_IF_ERROR(parts_->schedules.AddForms(built));
  return built;
}

absl::StatusOr<FloatStorage> BundleBuilder::ChooseStorage(const Graph& graph,
                                                          const BuildModelOptions& options,
                                                          const std::string& what) {
  return parts_->Do(what, [&](ScheduleSource& schedules, Builder& builder) {
    return burnish::ChooseStorage(graph, schedules, builder, options);
  });
}

absl::Status BuildError(const absl::Status& status, const std::string& what) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return WithError(status, ErrorCode::kProgramMissing);
    case absl::StatusCode::kUnavailable:
      return WithError(status, ErrorCode::kCrashLoop, what);
    case absl::StatusCode::kFailedPrecondition:
      return WithError(status, ErrorCode::kNoRecord, what);
    case absl::StatusCode::kInvalidArgument:
      return WithError(status, ErrorCode::kBadModel, what);
    case absl::StatusCode::kOutOfRange:
      return WithError(status, ErrorCode::kOverAccuracy, what);
    case absl::StatusCode::kCancelled:
      return WithError(status, ErrorCode::kInterrupted, what);
    case absl::StatusCode::kDataLoss:  // Of records; nothing else is read.
      return WithError(status, ErrorCode::kDamagedDatabase, what);
    default:
      return WithError(status, ErrorCode::kBuildFailed, what);
  }
}

absl::StatusOr<BuiltModel> BuildBundle(const Graph& graph, const ScheduleFacts& facts,
                                       const BuildModelOptions& options, const std::string& what) {
  return BundleBuilder(facts, options).Build(graph, options, what);
}

absl::StatusOr<FloatStorage> ChooseBundleStorage(const Graph& graph, const ScheduleFacts& facts,
                                                 const BuildModelOptions& options,
                                                 const std::string& what) {
  return BundleBuilder(facts, options).ChooseStorage(graph, options, what);
}

absl::StatusOr<std::string> EmitPoint(const Graph& graph, const ScheduleFacts& facts,
                                      const BuildModelOptions& options, const std::string& what,
                                      absl::string_view point) {
  RecordedSchedules schedules = Recorded(facts, options);
  BuilderClient builder;
  absl::StatusOr<std::string> text = EmitModel(graph, schedules, builder, options, point);
  if (!text.ok()) return BuildError(text.status(), what);
  return text;
}

}  // namespace burnish
