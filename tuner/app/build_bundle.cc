#include "tuner/app/build_bundle.h"

#include <memory>
#include <type_traits>

#include "proto/builder_client.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

RecordedSchedules Recorded(const ScheduleFacts& facts, const BuildModelOptions& options) {
  const SelectOptions& select = options.select;
  return RecordedSchedules(facts.find_best,
                           {.accuracy = {.error_max = select.error_budget, .strict = select.strict},
                            .calibration = facts.calibration,
                            .cache = facts.cache,
                            .estimates = options.fastest_storage || options.storage.narrows()});
}

// `build(schedules, builder)`, with numbered errors.
template <typename Build>
auto WithBuilder(const ScheduleFacts& facts, const BuildModelOptions& options,
                 const std::string& what, const Build& build)
    -> std::invoke_result_t<Build, ScheduleSource&, Builder&> {
  RecordedSchedules schedules = Recorded(facts, options);
  BuilderClient client;
  const CompileCache nothing("");
  const CompileCache& cache = facts.cache == nullptr ? nothing : *facts.cache;
  const std::unique_ptr<Builder> builder = cache.Over(client);
  auto built = build(schedules, *builder);
  if (!built.ok()) return BuildError(built.status(), what);
  return built;
}

}  // namespace

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
    default:
      return WithError(status, ErrorCode::kBuildFailed, what);
  }
}

absl::StatusOr<BuiltModel> BuildBundle(const Graph& graph, const ScheduleFacts& facts,
                                       const BuildModelOptions& options, const std::string& what) {
  return WithBuilder(facts, options, what, [&](ScheduleSource& schedules, Builder& builder) {
    return BuildModel(graph, schedules, builder, options);
  });
}

absl::StatusOr<FloatStorage> ChooseBundleStorage(const Graph& graph, const ScheduleFacts& facts,
                                                 const BuildModelOptions& options,
                                                 const std::string& what) {
  return WithBuilder(facts, options, what, [&](ScheduleSource& schedules, Builder& builder) {
    return ChooseStorage(graph, schedules, builder, options);
  });
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
