// The passes as rows, in the order in which a model goes through them.
#ifndef COMPILER_GRAPH_PREPARE_H_
#define COMPILER_GRAPH_PREPARE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/precision_pass.h"

namespace burnish {

struct PrepareOptions;

// What a pass changes of outputs.
enum class PassKeeps {
  kBits,    // Nothing.
  kValues,  // Where, or in which order, something is rounded.
  kTypes,   // Values in between have fewer bits.
};

struct GraphPass {
  absl::string_view name;  // Unique; ".2": as before, on what the passes between left.
  absl::string_view what;  // One line, for people.
  PassKeeps keeps = PassKeeps::kBits;
  int opt_level = 0;                          // From this optimisation level on.
  std::vector<absl::string_view> needs = {};  // Rows above, without which this one does not run.
  // Whether graphs may be built without it.
  bool is_optional = true;
  absl::Status (*run)(Graph& graph, const PrepareOptions& options) = nullptr;
};

absl::Span<const GraphPass> GraphPasses();

// Told of each pass when it is done: the graph it left, and how long it took. Of bodies of control
// flow it is told once, behind the row that prepares them.
using PassObserver =
    std::function<void(const GraphPass& pass, const Graph& graph, absl::Duration time)>;

// What people may ask of the passes.
struct PassOptions {
  std::vector<std::string> without = {};  // Of LeftOut.
  bool verify = false;                    // The graph, after each: INTERNAL names the pass.
  PassObserver observer = nullptr;
};

struct PrepareOptions {
  int opt_level = 3;
  FloatStorage storage = {};  // Of f32 values between operators.
  PassOptions passes = {};
};

// The rows that do not run without these, themselves included. INVALID_ARGUMENT: an unknown name,
// or a row that no build does without, and what needs it.
absl::StatusOr<std::vector<std::string>> LeftOut(absl::Span<const std::string> names);

// Folds, simplifies and lays out the graph; it is then ready for Fuse. The graph's inputs and
// outputs keep their order, names and types.
absl::Status PrepareGraph(Graph& graph, const PrepareOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_GRAPH_PREPARE_H_
