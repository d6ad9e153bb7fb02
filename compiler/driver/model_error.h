// How far two builds of one model are apart, by running both.
#ifndef COMPILER_DRIVER_MODEL_ERROR_H_
#define COMPILER_DRIVER_MODEL_ERROR_H_

#include <string>

#include "absl/status/statusor.h"

namespace burnish {

// The largest tensor error, max|got - want| / max|want|, of any output of `bundle` against the same
// output of `reference`, over a few inputs drawn with a fixed seed: floats from a normal
// distribution, integers and booleans from 0 and 1, which are indices into any table. What rounding
// in one layer does to the outputs depends on all layers behind it, so nothing less than the whole
// model tells.
//
// FAILED_PRECONDITION: this machine cannot run them. INTERNAL: an output is not finite, or the
// bundles have other outputs. Else the runtime's, for inputs that the model does not take.
absl::StatusOr<double> MeasureModelError(const std::string& bundle, const std::string& reference,
                                         int thread_count);

}  // namespace burnish

#endif  // COMPILER_DRIVER_MODEL_ERROR_H_
