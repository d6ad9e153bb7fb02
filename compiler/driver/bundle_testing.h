// For tests: runs a bundle as a user would, on values of the graph interpreter.
#ifndef COMPILER_DRIVER_BUNDLE_TESTING_H_
#define COMPILER_DRIVER_BUNDLE_TESTING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/interpreter.h"
#include "compiler/runtime/refit.h"

namespace burnish {

// One value a model input, in order; returns one an output. Runs twice: what the first run leaves
// in memory must not show in the second one's outputs. Where callers size inputs, it runs once more
// on a caller's tensors that end where memory ends. `replacements`: of parameters.
absl::StatusOr<std::vector<TensorValue>> RunBundle(const std::string& bundle, const Graph& graph,
                                                   const std::vector<TensorValue>& inputs,
                                                   int thread_count,
                                                   std::vector<Replacement> replacements = {});

}  // namespace burnish

#endif  // COMPILER_DRIVER_BUNDLE_TESTING_H_
