// The refit program of a bundle: what the passes computed from a model's parameters, as a small
// model of its own that the ordinary compiler compiles.
#ifndef COMPILER_DRIVER_REFIT_PROGRAM_H_
#define COMPILER_DRIVER_REFIT_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/runtime/refit.h"

namespace burnish {

struct RefitProgram {
  // Where a constant of the cut graph comes from: a source of `info`, and where each element of the
  // constant is in it (steps in elements by the constant's axis).
  struct Source {
    uint32_t source = 0;
    std::vector<int64_t> strides;
  };

  RefitInfo info;                     // Recipes and constants are left to the weights.
  std::string bundle;                 // Empty: nothing is computed.
  std::map<ValueId, Source> sources;  // Of the constants that come from parameters.
};

// Of a graph whose constants remember. What only moves elements is no work of the program's:
// strides do that. `build`: a bundle for this machine.
//
// The program runs here, once, on the parameters as they are, and the constants become what it
// makes: a bundle that is built with new parameters has the same bytes as one that they are put
// into later. (The passes compute the same, but for the last bit where the code fuses a product and
// a sum.) Errors: INTERNAL where it makes something else than the passes did, and those of `build`.
absl::StatusOr<RefitProgram> MakeRefitProgram(
    Graph& graph, const std::function<absl::StatusOr<std::string>(const Graph&)>& build);

}  // namespace burnish

#endif  // COMPILER_DRIVER_REFIT_PROGRAM_H_
