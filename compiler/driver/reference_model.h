// The model that builds are measured against: in f32, by schedules that round as the operators'
// definitions do. Private to build_model.
#ifndef COMPILER_DRIVER_REFERENCE_MODEL_H_
#define COMPILER_DRIVER_REFERENCE_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/driver/build_once.h"
#include "compiler/driver/model_error.h"

namespace burnish {

class ReferenceModel {
 public:
  // `cut`: of `graph`, in f32. All outlive this.
  ReferenceModel(const Graph& graph, const PlannedModel& cut, const RefitProgram* refit,
                 ScheduleChooser& chooser, Builder& builder, const BuildModelOptions& options)
      : graph_(graph),
        cut_(cut),
        refit_(refit),
        chooser_(chooser),
        builder_(builder),
        options_(options) {}

  // At the first call. Errors: the builder's; not that it cannot be run.
  absl::Status Build();

  // Null: it does not run here, or not on the inputs that there are, and `why` says so.
  ErrorMeter* meter() { return meter_.ok() ? meter_->get() : nullptr; }
  const absl::Status& why() const { return meter_.status(); }
  const BuildParts& parts() const { return parts_; }

  // Sets what `built` shows against it. False: that cannot be measured. Errors: of writing it.
  absl::StatusOr<bool> Measure(BuiltModel& built);

 private:
  const Graph& graph_;
  const PlannedModel& cut_;
  const RefitProgram* const refit_;
  ScheduleChooser& chooser_;
  Builder& builder_;
  const BuildModelOptions& options_;
  bool is_built_ = false;
  BuildParts parts_;
  absl::StatusOr<std::unique_ptr<ErrorMeter>> meter_ = absl::UnknownError("not built");
};

// With algorithms that round otherwise as far as the budget of `options` allows; `cut` and
// `reference` are of one model in f32, which is built where there are any.
absl::StatusOr<BuiltModel> BuildInF32(const Graph& graph, const PlannedModel& cut,
                                      const RefitProgram* refit, ScheduleChooser& chooser,
                                      Builder& builder, const BuildModelOptions& options,
                                      ReferenceModel& reference);

// Of an error budget that a model turned out to be over: how much of it the next try aims at.
// A guess. At 1 the next try would aim exactly at the limit, and errors do not scale exactly.
inline constexpr double kBudgetMargin = 0.8;

}  // namespace burnish

#endif  // COMPILER_DRIVER_REFERENCE_MODEL_H_
