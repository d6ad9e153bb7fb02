// In which type each layer of a model is stored, by what each costs and gains. Pure, but for asking
// what a choice costs.
#ifndef COMPILER_DRIVER_PRECISION_PLAN_H_
#define COMPILER_DRIVER_PRECISION_PLAN_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/dtype.h"

namespace burnish {

// Error of the whole model with its layers stored so, by layer. `fast`: on fewer examples.
using ErrorOfTypes =
    std::function<absl::StatusOr<double>(const std::vector<DType>& types, bool fast)>;

struct TypeGain {
  DType type = DType::kF32;
  double gain_ns = 0;  // Over f32, as far as is known; what is not positive gains nothing.
};

// Narrow types of a layer: how it is stored unless that costs too much, then what else it may be.
// Empty: it is in f32.
using LayerTypes = std::vector<TypeGain>;

// Stores layers in types with less error, at last in f32, those steps first that take away most
// error per nanosecond, as few as bring the error of all within `budget`. Errors of different
// layers are independent and of either sign, so their squares add up (select.h), and the square is
// what is bought with time. Where all would be in f32 that way, those steps go first that take away
// most error, whatever they cost; all f32 where that is not enough either. `progress(done, total)`:
// of the questions asked. Asks once a layer and type, and as often as halving the number of steps
// takes, once or twice. Errors: those of `error_of`.
absl::StatusOr<std::vector<DType>> TakeBack(const std::vector<LayerTypes>& layers, double budget,
                                            const ErrorOfTypes& error_of,
                                            const std::function<void(int, int)>& progress);

// A model as built has more error than the probe sees: `measured`, over `budget`, for `seen`. What
// the probe may see of the next one. What it does not see (sums that are rounded within a kernel)
// is independent of the rest and is taken to stay, since most layers do; where that alone is over
// the budget, or was taken to stay in vain (`tries` before this one), all of it is scaled.
double NextAim(double budget, double seen, double measured, int tries);

}  // namespace burnish

#endif  // COMPILER_DRIVER_PRECISION_PLAN_H_
