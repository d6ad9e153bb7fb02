#include "compiler/driver/reference_model.h"

#include "base/status_macros.h"

namespace burnish {

absl::Status ReferenceModel::Build() {
  if (is_built_) return absl::OkStatus();
  BuildModelOptions lossless = options_;
  lossless.select.strict = true;
  // It is for comparison and is not shipped.
  lossless.require_tuned = false;
  lossless.pool = nullptr;
  ASSIGN_OR_RETURN(const BuiltModel built,
                   BuildOnce(graph_, cut_, refit_, chooser_, builder_, lossless, &parts_));
  is_built_ = true;
  Tell(options_, BuildProgress::Stage::kError);
  ASSIGN_OR_RETURN(const std::string bundle, Write(built.unwritten));
  meter_ = ErrorMeter::Create(bundle, options_.examples, options_.target.threads);
  return absl::OkStatus();
}

absl::StatusOr<bool> ReferenceModel::Measure(BuiltModel& built) {
  if (meter() == nullptr) return false;
  Tell(options_, BuildProgress::Stage::kError);
  ASSIGN_OR_RETURN(const std::string bundle, Write(built.unwritten));
  const absl::StatusOr<double> measured = meter()->Measure(bundle);
  if (!measured.ok()) return false;
  built.measured_error = *measured;
  built.measured_on = options_.examples.source;
  return true;
}

absl::StatusOr<BuiltModel> BuildInF32(const Graph& graph, const PlannedModel& cut,
                                      const RefitProgram* refit, ScheduleChooser& chooser,
                                      Builder& builder, const BuildModelOptions& options,
                                      ReferenceModel& reference) {
  ASSIGN_OR_RETURN(BuiltModel built, BuildOnce(graph, cut, refit, chooser, builder, options));
  BuildModelOptions within = options;
  // Each round expects less than the one before, so this ends. Where nothing rounds in another way
  // than the definition there is nothing to measure, and the second build is saved.
  while (built.expected_error > 0) {
    RETURN_IF_ERROR(reference.Build());
    // It does not run here, or not on such inputs: what is expected must do.
    ASSIGN_OR_RETURN(const bool is_measured, reference.Measure(built));
    if (!is_measured) return built;
    const double budget = options.select.error_budget, measured = *built.measured_error;
    if (measured <= budget) return built;
    // Expected errors add up without what the layers behind amplify. The ratio of measured to
    // expected is this model's amplification, and the budget shrinks by it.
    within.select.error_budget = kBudgetMargin * built.expected_error * budget / measured;
    ASSIGN_OR_RETURN(built, BuildOnce(graph, cut, refit, chooser, builder, within));
  }
  return built;
}

}  // namespace burnish
