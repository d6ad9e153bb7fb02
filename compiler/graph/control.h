// Nodes of control flow. Such a node owns bodies: graphs that see nothing but their own inputs;
// what a body reads of the graph around it is an input of the node, behind the others ("captures").
//
//   if    inputs: condition (bool, one element), captures...
//         bodies: then, else; each with the captures as inputs, and the node's outputs as outputs
//   loop  inputs: [count (i64, one element)], [condition], states..., slices..., captures...
//         body: inputs states..., slices (without dimension 0)..., captures...
//               outputs [condition], states..., stacked...
//         outputs: states after the last iteration..., stacked (with a dimension 0 more)...
//
// A loop's attributes: count (iterations, or at most so many where there is a count among the
// inputs or a condition), has_count, has_condition, states, slices, and backwards, a flag for each
// slice and then for each stacked output: iteration t is then at n - 1 - t, of n iterations. The
// condition is asked before each iteration.
//
// With a count among the inputs, slices and stacks have the bound as dimension 0, and the first n
// rows of them are read and written; what the others of a stack hold is not said. All of them go
// the same way then.
#ifndef COMPILER_GRAPH_CONTROL_H_
#define COMPILER_GRAPH_CONTROL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/graph/graph.h"

namespace burnish {

inline bool IsControl(const GraphNode& node) { return !node.bodies.empty(); }

// How many of the node's inputs are no captures: those that the node itself reads.
size_t CaptureBegin(const GraphNode& node);

// Where a loop's parts stand.
struct LoopParts {
  explicit LoopParts(const GraphNode& node);

  int64_t count;
  bool has_count, has_condition;
  size_t states, slices, stacked;
  size_t first_state, first_slice;  // Among the node's inputs.
  size_t first_body_state;          // Among the body's outputs.
  std::vector<bool> backwards;      // By slice, then by stacked output.

  // Whether the count is known before the model runs.
  bool IsExact() const { return !has_count && !has_condition; }
  // Whether iterations go from the last slice to the first.
  bool GoesBackwards() const { return !backwards.empty() && backwards[0]; }
};

// Values that nodes of control read or write by themselves. Index: ValueId.
std::vector<bool> ControlFlags(const Graph& graph);

// Types of the node's outputs. INVALID_ARGUMENT unless bodies and inputs fit to one another. Bodies
// themselves are not verified.
absl::StatusOr<std::vector<TensorType>> InferControl(const GraphNode& node,
                                                     absl::Span<const TensorType> inputs);

// Appends the node; its outputs are made here.
absl::StatusOr<GraphNodeId> AddControlNode(Graph& graph, GraphNode node);

// Drops captures that are constants: the bodies get these constants themselves.
void MoveConstantsIntoBodies(Graph& graph, GraphNode& node);

}  // namespace burnish

#endif  // COMPILER_GRAPH_CONTROL_H_
