// Builds a model with layers stored in 16 or 8 bits, as many as its accuracy allows
// (docs/adr/0020-layers-in-16-bits.md). Private to build_model.
#ifndef COMPILER_DRIVER_STORAGE_CHOICE_H_
#define COMPILER_DRIVER_STORAGE_CHOICE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/driver/build_once.h"
#include "compiler/driver/precision_plan.h"
#include "compiler/driver/precision_probe.h"
#include "compiler/driver/reference_model.h"
#include "compiler/runtime/model.h"

namespace burnish {

class StorageChoice {
 public:
  // `source`: `graph`, as PrepareToQuantize leaves it where there are ranges. `wide`: that as it
  // was cut in f32. All outlive this.
  StorageChoice(const Graph& graph, const Graph& source, const PlannedModel& wide,
                ScheduleChooser& chooser, Builder& builder, const BuildModelOptions& options)
      : graph_(graph),
        source_(source),
        wide_(wide),
        chooser_(chooser),
        builder_(builder),
        options_(options),
        reference_(graph, wide, /*refit=*/nullptr, chooser, builder, options) {}

  // Builds the reference and finds the layers. Errors: the builder's; OUT_OF_RANGE where storage
  // is to be chosen, or examples were given, and nothing can be measured.
  absl::Status Start();

  // What is stored how, so that the error of that alone is within `budget`, as the reference shows
  // it. As `options` say where layers cannot be told apart: the model has control flow, or does not
  // run here.
  absl::StatusOr<FloatStorage> Within(double budget);

  absl::StatusOr<BuiltModel> Build();

 private:
  // What layers go back from, until they are within the budget.
  struct Form {
    std::vector<LayerTypes> layers;  // Without a budget, and what each may be in instead.
    std::vector<DType> types = {};   // As they are within it.
    double margin = 1;               // Of the budget: less where a build missed it.
    int builds = 0;
  };

  bool can_choose() const { return !probed_.layers.empty(); }
  absl::StatusOr<PlannedModel> Cut(const FloatStorage& storage) const;
  absl::StatusOr<PlannedModel> Plan(const PlannedModel& cut) const;
  // Finds the types and gains of the layers.
  absl::Status FindGains();
  // Finds which layers may be quantized, and their weights then.
  absl::Status FindBytes();
  bool MayBe(size_t layer, DType type) const;
  // Of each layer the type that `storage` has it in, where it may be, and what that gains over f32.
  absl::StatusOr<std::vector<LayerTypes>> GainsOf(const FloatStorage& storage,
                                                  const std::vector<double>& ns_in_f32) const;
  absl::Status ChooseFastest(const PlannedModel& in_f32, const std::vector<double>& ns_in_f32);
  // How layers of `form` are stored within `budget`.
  absl::StatusOr<std::vector<DType>> TypesWithin(const Form& form, double budget, int& asked);
  // The model as built missed the budget by the types of its layers, with the error `measured`, or,
  // without that, by its algorithms: aims at less. False: enough was tried.
  bool AimLower(std::optional<double> measured);
  FloatStorage StorageOf(const std::vector<DType>& types) const;
  absl::StatusOr<double> ErrorOf(const std::vector<DType>& types, bool fast);
  std::vector<double> NsByLayer(const PlannedModel& model) const;
  void Report(BuiltModel& built) const;

  const Graph& graph_;
  const Graph& source_;
  const PlannedModel& wide_;
  ScheduleChooser& chooser_;
  Builder& builder_;
  const BuildModelOptions& options_;
  ReferenceModel reference_;
  ProbedModel probed_;
  std::vector<bool> in_bytes_;  // By layer, whether it may be. Empty: none.
  std::optional<PrecisionProbe> probe_;
  // Several: the one that is fastest within the budget is taken, or f32.
  std::vector<Form> forms_;
  double in_f32_ns_ = 0;                                         // Where there are several.
  std::vector<DType> types_;                                     // As they are.
  double simulated_ = 0;                                         // Of `types_`.
  std::map<std::pair<std::vector<DType>, bool>, double> known_;  // Errors.
};

}  // namespace burnish

#endif  // COMPILER_DRIVER_STORAGE_CHOICE_H_
