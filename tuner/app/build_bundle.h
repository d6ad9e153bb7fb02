// A model with the best schedules on record, as a bundle or as a point of the way to one.
#ifndef TUNER_APP_BUILD_BUNDLE_H_
#define TUNER_APP_BUILD_BUNDLE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/driver/build_model.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/precision_pass.h"
#include "proto/calibration_row.h"
#include "tuner/app/compile_cache.h"
#include "tuner/app/recorded_schedules.h"

namespace burnish {

// What schedules are chosen by.
struct ScheduleFacts {
  BestFinder find_best = nullptr;                            // Null: nothing is recorded.
  std::optional<CalibrationRow> calibration = std::nullopt;  // See RecordedSchedulesOptions.
  const CompileCache* cache = nullptr;                       // Null: all is made anew.
};

// Builds models one after the other. What they have in common is made once: schedules of equal
// workloads, and kernels that the model before had as well, by the builder program that it keeps.
// Where `keeps_forms`, later models read weights in the forms of earlier ones (weight_forms.h). The
// facts outlive it. Not for threads but for LookUpSchedules.
class BundleBuilder {
 public:
  // `options`: what schedules are chosen by; those of a build may differ in layers' storage.
  BundleBuilder(const ScheduleFacts& facts, const BuildModelOptions& options,
                bool keeps_forms = false);
  ~BundleBuilder();

  // As BuildBundle and ChooseBundleStorage.
  absl::StatusOr<BuiltModel> Build(const Graph& graph, const BuildModelOptions& options,
                                   const std::string& what);
  // As BuildUnwritten of the driver.
  absl::StatusOr<BuiltModel> BuildUnwritten(const Graph& graph, const BuildModelOptions& options,
                                            const std::string& what);
  absl::StatusOr<FloatStorage> ChooseStorage(const Graph& graph, const BuildModelOptions& options,
                                             const std::string& what);
  // Models built from now on read weights in the forms of schedules that were measured of this one,
  // which is built later.
  absl::Status KeepMeasuredForms(const Graph& graph, const BuildModelOptions& options,
                                 const std::string& what);
  // Looks up the schedules of a model that is built later; what fails here fails again there.
  // Beside other calls: the builder program compiles one model meanwhile.
  void LookUpSchedules(const Graph& graph, const BuildModelOptions& options);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// `what`: the model's name or path, for errors. Nothing is measured; the builder program compiles.
// Errors: B03xx, B0603, B08xx, B0905, and the finder's.
absl::StatusOr<BuiltModel> BuildBundle(const Graph& graph, const ScheduleFacts& facts,
                                       const BuildModelOptions& options, const std::string& what);

// As ChooseStorage of the driver. Errors: as above.
absl::StatusOr<FloatStorage> ChooseBundleStorage(const Graph& graph, const ScheduleFacts& facts,
                                                 const BuildModelOptions& options,
                                                 const std::string& what);

// `point`: as EmitModel has it. Errors: as above.
absl::StatusOr<std::string> EmitPoint(const Graph& graph, const ScheduleFacts& facts,
                                      const BuildModelOptions& options, const std::string& what,
                                      absl::string_view point);

// Attaches a number to an error of the driver.
absl::Status BuildError(const absl::Status& status, const std::string& what);

}  // namespace burnish

#endif  // TUNER_APP_BUILD_BUNDLE_H_
