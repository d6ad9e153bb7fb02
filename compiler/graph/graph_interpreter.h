// Runs a graph node by node, each by its operator's definition on the IR interpreter.
//
// The oracle of every graph pass: slow, in double, and it shares nothing with fusion or codegen.
#ifndef COMPILER_GRAPH_GRAPH_INTERPRETER_H_
#define COMPILER_GRAPH_GRAPH_INTERPRETER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/interpreter.h"

namespace burnish {

// `inputs`: one value a graph input, in order; where callers give sizes, one a shown input, in this
// run's shape. Returns one a graph output that is
// shown, in order, each in this run's shape. Errors: INVALID_ARGUMENT for inputs of the wrong count
// or type, INTERNAL for an extent beyond its axis, and what the interpreter says.
absl::StatusOr<std::vector<TensorValue>> InterpretGraph(const Graph& graph,
                                                        const std::vector<TensorValue>& inputs);

// The elements of `whole` with an index below `shape` on each axis.
TensorValue Prefix(const TensorValue& whole, const std::vector<int64_t>& shape);

// One node on given input values, in order.
absl::StatusOr<std::vector<TensorValue>> InterpretNode(const Graph& graph, const GraphNode& node,
                                                       const std::vector<TensorValue>& inputs);

// The program of one node by itself: its inputs are parameters in order.
Program DefineNode(const Graph& graph, const GraphNode& node);

}  // namespace burnish

#endif  // COMPILER_GRAPH_GRAPH_INTERPRETER_H_
