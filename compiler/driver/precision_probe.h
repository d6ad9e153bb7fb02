// What storing layers in 16 bits does to a model's outputs, without building it so.
//
// A layer that is stored narrow computes in f32 what it computed before, on operands that were
// rounded; one on quantized numbers computes what they stand for. So the f32 build itself shows the
// error of any choice of layers: between two of its steps the values that narrow layers read are
// rounded where they lie, and their weights are. One build serves all choices; a choice costs a
// run.
#ifndef COMPILER_DRIVER_PRECISION_PROBE_H_
#define COMPILER_DRIVER_PRECISION_PROBE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/model_error.h"
#include "compiler/driver/probed_model.h"
#include "compiler/ir/dtype.h"
#include "compiler/runtime/model.h"

namespace burnish {

class PrecisionProbe {
 public:
  // `model`: of the meter's reference, which has no control flow. `in_bytes`: the reference with
  // its weights rounded as 8 bits round them; null: nothing is asked in kI8. The first two outlive
  // this.
  PrecisionProbe(ErrorMeter& meter, const ProbedModel& model, std::shared_ptr<const Model> in_bytes)
      : meter_(meter), model_(model), in_bytes_(std::move(in_bytes)) {}

  // As ErrorMeter::Measure would of a build whose layers are stored so, on the first `examples`.
  // `types`: kF32, kBf16, kF16 or kI8 by layer. Errors: as there.
  absl::StatusOr<double> ErrorOf(const std::vector<DType>& types, size_t examples);

 private:
  // The coarsest type in which one of the layers reads.
  DType ReadAs(const std::vector<int>& readers, const std::vector<DType>& types) const;
  // Rounds weights; returns what undoes it.
  std::function<void()> RoundWeights(const std::vector<DType>& types);

  ErrorMeter& meter_;
  const ProbedModel& model_;
  const std::shared_ptr<const Model> in_bytes_;
};

}  // namespace burnish

#endif  // COMPILER_DRIVER_PRECISION_PROBE_H_
