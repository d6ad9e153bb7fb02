#include "compiler/graph/graph_interpreter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/graph/control.h"
#include "compiler/runtime/host/host_kernel.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/te/host_operator.h"

namespace burnish {
namespace {

using Values = std::vector<TensorValue>;

bool IsTrue(const TensorValue& value) { return value.integers[0] != 0; }

// Slice t of a value along dimension 0.
TensorValue SliceOf(const TensorValue& whole, int64_t t) {
  TensorValue slice{.dtype = whole.dtype, .shape = whole.shape};
  slice.shape.erase(slice.shape.begin());
  const int64_t size = ElementCount(slice.shape);
  const auto copy = [&](const auto& from, auto& to) {
    if (!from.empty()) to.assign(from.begin() + t * size, from.begin() + (t + 1) * size);
  };
  copy(whole.floats, slice.floats);
  copy(whole.integers, slice.integers);
  return slice;
}

// What a run holds, in memory of the bound; behind it is what no operator may look at.
TensorValue AtBound(const TensorValue& held, const std::vector<int64_t>& bound) {
  const int64_t count = ElementCount(bound);
  TensorValue whole{.dtype = held.dtype, .shape = bound};
  const bool is_wide = held.dtype == DType::kI64 || held.dtype == DType::kI32;
  const int64_t integer = held.dtype == DType::kBool ? 1 : is_wide ? 1'000'003 : 113;
  if (IsFloat(held.dtype)) {
    whole.floats.assign(count, std::nan(""));
  } else {
    whole.integers.assign(count, integer);
  }
  const int64_t holds = ElementCount(held.shape);
  for (int64_t i = 0; i < holds; ++i) {
    int64_t rest = i, to = 0, stride = 1;
    for (size_t d = bound.size(); d-- > 0; rest /= held.shape[d], stride *= bound[d]) {
      to += rest % held.shape[d] * stride;
    }
    if (!whole.floats.empty()) whole.floats[to] = held.floats[i];
    if (!whole.integers.empty()) whole.integers[to] = held.integers[i];
  }
  return whole;
}

// Slices on top of each other; `type`: of the result, also where there are fewer.
TensorValue Stack(const Values& slices, const TensorType& type, bool backwards) {
  TensorValue whole{.dtype = type.dtype, .shape = type.shape};
  whole.shape[0] = static_cast<int64_t>(slices.size());
  for (size_t t = 0; t < slices.size(); ++t) {
    const TensorValue& slice = slices[backwards ? slices.size() - 1 - t : t];
    whole.floats.insert(whole.floats.end(), slice.floats.begin(), slice.floats.end());
    whole.integers.insert(whole.integers.end(), slice.integers.begin(), slice.integers.end());
  }
  return whole.shape == type.shape ? whole : AtBound(whole, type.shape);
}

// Of a loop that does not end: the oracle must.
constexpr int64_t kIterationsMax = 1 << 20;

absl::StatusOr<Values> InterpretLoop(const Graph& graph, const GraphNode& node,
                                     const Values& inputs) {
  const LoopParts parts(node);
  int64_t count = parts.count;
  if (parts.has_count) count = std::clamp<int64_t>(inputs[0].integers[0], 0, count);
  bool goes_on = !parts.has_condition || IsTrue(inputs[parts.first_state - 1]);
  const auto at = [&](size_t i) { return inputs.begin() + static_cast<int64_t>(i); };
  Values states(at(parts.first_state), at(parts.first_slice));
  std::vector<Values> stacks(parts.stacked);
  for (int64_t t = 0; t < count && goes_on; ++t) {
    if (t == kIterationsMax) return absl::ResourceExhaustedError("the loop does not end");
    Values arguments = states;
    for (size_t i = 0; i < parts.slices; ++i) {
      arguments.push_back(
          SliceOf(inputs[parts.first_slice + i], parts.backwards[i] ? count - 1 - t : t));
    }
    arguments.insert(arguments.end(), at(parts.first_slice + parts.slices), inputs.end());
    ASSIGN_OR_RETURN(const Values results, InterpretGraph(*node.bodies[0], arguments));
    if (parts.has_condition) goes_on = IsTrue(results[0]);
    for (size_t i = 0; i < parts.states; ++i) states[i] = results[parts.first_body_state + i];
    for (size_t i = 0; i < parts.stacked; ++i) {
      stacks[i].push_back(results[parts.first_body_state + parts.states + i]);
    }
  }
  Values outputs = std::move(states);
  for (size_t i = 0; i < parts.stacked; ++i) {
    outputs.push_back(Stack(stacks[i], graph.value(node.outputs[parts.states + i]).type,
                            parts.backwards[parts.slices + i]));
  }
  return outputs;
}

absl::StatusOr<std::vector<TensorValue>> InterpretHostNode(const Graph& graph,
                                                           const GraphNode& node,
                                                           const OperatorDef& def,
                                                           const std::vector<TensorValue>& inputs) {
  // By the operator's rule: a node that is folded while it is imported has no outputs in the graph.
  ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                   def.infer(node.attributes, InputTypes(graph, node)));
  const HostSignature call = HostSignatureOf(def, node.attributes, InputTypes(graph, node));
  std::vector<ConstantPtr> owned;
  std::vector<const uint8_t*> arguments;
  for (const TensorValue& input : inputs) {
    owned.push_back(FromTensorValue(input));
    arguments.push_back(owned.back()->bytes().data());
  }
  std::vector<std::vector<uint8_t>> memories;
  std::vector<uint8_t*> results;
  for (const TensorType& type : types) {
    memories.emplace_back(ElementCount(type.shape) * SizeBytes(type.dtype));
    results.push_back(memories.back().data());
  }
  const int32_t code = FindHostKernel(call.kernel)->run(call, arguments, results);
  if (code != BURNISH_KERNEL_OK) {
    return absl::OutOfRangeError(absl::StrCat("node '", node.name, "' (", OpName(node.op), "): ",
                                              code == kHostValueOutOfRange
                                                  ? "an input has a value that it does not allow"
                                                  : "an index is out of bounds"));
  }
  std::vector<TensorValue> outputs;
  for (size_t i = 0; i < memories.size(); ++i) {
    outputs.push_back(ToTensorValue(types[i], *MakeConstant(std::move(memories[i]))));
  }
  return outputs;
}

// What a caller is shown of a graph's outputs.
absl::StatusOr<Values> CutToExtents(const Graph& graph, Values outputs) {
  std::map<int, std::vector<int64_t>> shapes;
  for (const GraphBoundedAxis& axis : graph.bounded_axes) {
    std::vector<int64_t>& shape =
        shapes.try_emplace(axis.output, outputs[axis.output].shape).first->second;
    const int64_t extent = outputs[axis.extent].integers[0];
    if (extent < 0 || extent > shape[axis.axis]) {
      return absl::InternalError(absl::StrCat("output ", axis.output, ": got ", extent,
                                              " elements on axis ", axis.axis, ", want at most ",
                                              shape[axis.axis]));
    }
    shape[axis.axis] = extent;
  }
  for (const auto& [output, shape] : shapes) outputs[output] = Prefix(outputs[output], shape);
  outputs.resize(graph.shown_outputs());
  return outputs;
}

// What a run gives, at its bound, with the sizes behind it. What does not hold is as wrong as can
// be, so that no result may stand on it.
absl::StatusOr<Values> WithSizes(const Graph& graph, Values inputs) {
  std::vector<int64_t> sizes(graph.sizes.size(), -1);
  std::map<int, std::vector<int64_t>> shapes;
  for (const bool gives_size : {true, false}) {
    for (const GraphInputAxis& axis : graph.input_axes) {
      if (axis.GivesSize() != gives_size) continue;
      const TensorValue& input = inputs[axis.input];
      const GraphValue& value = graph.value(graph.inputs[axis.input]);
      if (input.shape.size() != value.type.shape.size()) {
        return absl::InvalidArgumentError(absl::StrCat("input '", value.name, "': wrong rank"));
      }
      const int64_t got = input.shape[axis.axis];
      if (gives_size && sizes[axis.parts[0].size] < 0) sizes[axis.parts[0].size] = got;
      int64_t want = axis.constant;
      for (const GraphInputAxis::Part& part : axis.parts) want += part.factor * sizes[part.size];
      if (got != want) {
        return absl::InvalidArgumentError(absl::StrCat("input '", value.name, "': axis ", axis.axis,
                                                       " is ", got, ", want ", want));
      }
      shapes.try_emplace(axis.input, value.type.shape);
    }
  }
  for (const auto& [input, shape] : shapes) inputs[input] = AtBound(inputs[input], shape);
  for (size_t s = 0; s < sizes.size(); ++s) {
    const GraphSize& size = graph.sizes[s];
    if (sizes[s] < size.least || sizes[s] > size.greatest) {
      return absl::InvalidArgumentError(absl::StrCat("size '", size.name, "': got ", sizes[s]));
    }
    inputs.push_back({.dtype = DType::kI64, .shape = {}, .integers = {sizes[s]}});
  }
  return inputs;
}

// Position of a parameter named "in<i>".
int ParameterIndex(const Buffer& buffer) { return std::stoi(buffer.name.substr(2)); }

}  // namespace

TensorValue Prefix(const TensorValue& whole, const std::vector<int64_t>& shape) {
  TensorValue prefix{.dtype = whole.dtype, .shape = shape};
  const int64_t count = ElementCount(shape);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, from = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d], stride *= whole.shape[d]) {
      from += rest % shape[d] * stride;
    }
    if (!whole.floats.empty()) prefix.floats.push_back(whole.floats[from]);
    if (!whole.integers.empty()) prefix.integers.push_back(whole.integers[from]);
  }
  return prefix;
}

Program DefineNode(const Graph& graph, const GraphNode& node) {
  const OperatorDef& def = OperatorOf(node.op);
  TeBuilder builder(def.name());
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const GraphValue& value = graph.value(node.inputs[i]);
    inputs.push_back(
        builder.Parameter(absl::StrCat("in", i), value.type,
                          value.data != nullptr ? BufferRole::kConstant : BufferRole::kInput));
  }
  const std::vector<Tensor> outputs = def.define(builder, node.attributes, inputs);
  CHECK_EQ(outputs.size(), node.outputs.size()) << node.op;
  // Of the operator, not of the graph: importers ask before the outputs are values.
  const auto types = def.infer(node.attributes, InputTypes(graph, node));
  CHECK_OK(types) << node.op;
  for (size_t i = 0; i < outputs.size(); ++i) {
    builder.Output(absl::StrCat("out", i), outputs[i], (*types)[i].dtype);
  }
  return builder.Build();
}

absl::StatusOr<std::vector<TensorValue>> InterpretNode(const Graph& graph, const GraphNode& node,
                                                       const std::vector<TensorValue>& inputs) {
  const OperatorDef& def = OperatorOf(node.op);
  if (def.fusion == FusionKind::kHost) return InterpretHostNode(graph, node, def, inputs);
  if (node.op == OpId::kLoop) return InterpretLoop(graph, node, inputs);
  if (node.op == OpId::kIf) {
    return InterpretGraph(*node.bodies[IsTrue(inputs[0]) ? 0 : 1],
                          {inputs.begin() + 1, inputs.end()});
  }
  const Program program = DefineNode(graph, node);
  std::vector<TensorValue> arguments;
  for (const Buffer& buffer : program.buffers) {
    // Build drops parameters that no output needs, so arguments are matched by name.
    if (buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant) {
      arguments.push_back(inputs[ParameterIndex(buffer)]);
    }
  }
  absl::StatusOr<std::vector<TensorValue>> outputs = Interpret(program, arguments);
  if (!outputs.ok()) {
    return absl::Status(outputs.status().code(),
                        absl::StrCat("node '", node.name, "' (", OpName(node.op),
                                     "): ", outputs.status().message()));
  }
  return outputs;
}

absl::StatusOr<std::vector<TensorValue>> InterpretGraph(const Graph& graph,
                                                        const std::vector<TensorValue>& inputs) {
  if (!graph.sizes.empty() && inputs.size() == graph.shown_inputs()) {
    ASSIGN_OR_RETURN(const std::vector<TensorValue> all, WithSizes(graph, inputs));
    return InterpretGraph(graph, all);
  }
  if (inputs.size() != graph.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", inputs.size(), " inputs, want ", graph.inputs.size()));
  }
  std::map<ValueId, TensorValue> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const GraphValue& want = graph.value(graph.inputs[i]);
    const TensorType got{inputs[i].dtype, inputs[i].shape};
    if (!(got == want.type)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", want.name, "': got ", PrintType(got), ", want ", PrintType(want.type)));
    }
    values[graph.inputs[i]] = inputs[i];
  }
  const auto find = [&](ValueId id) {
    if (graph.IsConstant(id)) return ToTensorValue(graph.value(id).type, *graph.value(id).data);
    return values.at(id);
  };
  for (const GraphNode& node : graph.nodes) {
    std::vector<TensorValue> arguments;
    for (ValueId input : node.inputs) arguments.push_back(find(input));
    ASSIGN_OR_RETURN(std::vector<TensorValue> results, InterpretNode(graph, node, arguments));
    for (size_t i = 0; i < results.size(); ++i) {
      values[node.outputs[i]] = std::move(results[i]);
    }
  }
  std::vector<TensorValue> outputs;
  for (ValueId output : graph.outputs) outputs.push_back(find(output));
  return CutToExtents(graph, std::move(outputs));
}

}  // namespace burnish
