// A model as a graph of operators over tensors of known shape: what frontends produce, what passes
// rewrite, and what tasks are cut from. Operators and attributes are those of compiler/te.
#ifndef COMPILER_GRAPH_GRAPH_H_
#define COMPILER_GRAPH_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/graph/constant.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator.h"

namespace burnish {

// Positions in Graph::values and Graph::nodes. -1 where none is meant.
using ValueId = int32_t;
using GraphNodeId = int32_t;

struct GraphValue {
  std::string name;  // For people. Unique only among graph inputs, and among graph outputs.
  TensorType type;
  ConstantPtr data;           // Not null: a constant (a weight); its producer is -1.
  GraphNodeId producer = -1;  // -1: graph input or constant.
};

struct Graph;

struct GraphNode {
  std::string name;  // For people: the model's own name of the node, or that of its output.
  OpId op = OpId::kIdentity;
  Attributes attributes;
  std::vector<ValueId> inputs;  // Absent optional inputs are left off the end.
  std::vector<ValueId> outputs;
  std::vector<std::shared_ptr<const Graph>> bodies = {};  // Of control flow: control.h.
  // As `name`, but no other node's: set by NameLayers, and by nothing behind it.
  std::string layer = {};
};

// An axis of a graph output of which a run fills as many elements as another output, an i64 scalar,
// says: docs/adr/0013-bounded-axes.md. The type has the greatest extent.
struct GraphBoundedAxis {
  int output = 0;  // Positions in Graph::outputs.
  int axis = 0;
  int extent = 0;  // One of the hidden outputs.
};

// A size that a caller decides in each run: one of the hidden inputs, an i64 scalar, has it.
struct GraphSize {
  std::string name;  // As people write it, and unique.
  int64_t least = 0, greatest = 0;
  // The least size that runs here, where smaller ones have a bundle of their own for smaller bounds
  // (compiler/driver/ladder.h); 0: `least`.
  int64_t served_from = 0;
};

// An axis of a graph input that holds constant + sum of sizes * factors. The type has the greatest.
struct GraphInputAxis {
  int input = 0;  // Position in Graph::inputs.
  int axis = 0;
  int64_t constant = 0;
  struct Part {
    int size = 0;  // Position in Graph::sizes.
    int64_t factor = 1;
  };
  std::vector<Part> parts;

  // Whether the axis says by itself what the size is.
  bool GivesSize() const { return constant == 0 && parts.size() == 1 && parts[0].factor == 1; }
};

// What a graph input holds in a run that does not give it. None of its axes is one of `input_axes`.
struct GraphInputDefault {
  int input = 0;  // Position in Graph::inputs.
  ConstantPtr data;
};

// A value: copies share the constants' bytes. Nodes are kept in topological order. Passes may leave
// nodes and values that nothing uses; EliminateDead drops them.
class ConstantMemo;

struct Graph {
  std::string name;
  std::vector<GraphNode> nodes;
  std::vector<GraphValue> values;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  // May repeat a value, or name a graph input or a constant.
  // The last of the outputs that nobody is shown: extents of `bounded_axes`.
  int hidden_outputs = 0;
  std::vector<GraphBoundedAxis> bounded_axes = {};
  // The last of the inputs that nobody gives: what `input_axes` say of the others.
  std::vector<GraphSize> sizes = {};
  std::vector<GraphInputAxis> input_axes = {};
  std::vector<GraphInputDefault> input_defaults = {};
  // What passes make of constants, for graphs of one model that have it in common
  // (constant_memo.h). Null: there is one graph.
  std::shared_ptr<ConstantMemo> memo = nullptr;

  const GraphValue& value(ValueId id) const { return values[id]; }
  size_t shown_inputs() const { return inputs.size() - sizes.size(); }
  size_t shown_outputs() const { return outputs.size() - static_cast<size_t>(hidden_outputs); }
  bool IsConstant(ValueId id) const { return values[id].data != nullptr; }
};

// ---- Building.
ValueId AddValue(Graph& graph, absl::string_view name, TensorType type);
ValueId AddConstant(Graph& graph, absl::string_view name, TensorType type, ConstantPtr data);
ValueId AddInput(Graph& graph, absl::string_view name, TensorType type);

// Appends a node whose outputs' types the operator library infers. Errors: what `infer` says, with
// the node's name before it. By the operator's name also UNIMPLEMENTED: there is none of that name.
absl::StatusOr<GraphNodeId> AddNode(Graph& graph, OpId op, std::vector<ValueId> inputs,
                                    Attributes attributes = {}, absl::string_view name = "");
absl::StatusOr<GraphNodeId> AddNode(Graph& graph, absl::string_view op, std::vector<ValueId> inputs,
                                    Attributes attributes = {}, absl::string_view name = "");
// The same for a node with one output: returns that value.
absl::StatusOr<ValueId> AddOp(Graph& graph, OpId op, std::vector<ValueId> inputs,
                              Attributes attributes = {}, absl::string_view name = "");
absl::StatusOr<ValueId> AddOp(Graph& graph, absl::string_view op, std::vector<ValueId> inputs,
                              Attributes attributes = {}, absl::string_view name = "");

// Types of a node's inputs, in order.
std::vector<TensorType> InputTypes(const Graph& graph, const GraphNode& node);

// ---- Finding.
// Nodes that read each value; a node that reads it twice is listed twice. Index: ValueId.
std::vector<std::vector<GraphNodeId>> Consumers(const Graph& graph);
// Whether each value is a graph output. Index: ValueId.
std::vector<bool> OutputFlags(const Graph& graph);

// ---- Rewriting.
// Sorts nodes topologically, keeping the present order where it is free. INVALID_ARGUMENT with a
// node of the cycle where there is one. Updates producers.
absl::Status SortTopologically(Graph& graph);

// ---- Checking.
// INVALID_ARGUMENT naming the first rule that is broken: ids in range, one producer a value,
// topological order, every used value defined, constants of the right size, types equal to
// what the operators infer.
absl::Status VerifyGraph(const Graph& graph);

// Readable text: inputs, one line a node with types, outputs. Constants by name and type only.
std::string PrintGraph(const Graph& graph);
std::string PrintType(const TensorType& type);
std::string PrintAttributes(const Attributes& attributes);

}  // namespace burnish

#endif  // COMPILER_GRAPH_GRAPH_H_
