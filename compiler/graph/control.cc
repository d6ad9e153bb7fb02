#include "compiler/graph/control.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// Of a million million iterations none ends: what lies above is a mistake, and would let products
// of counts and sizes overflow.
constexpr int64_t kCountMax = int64_t{1} << 40;

absl::Status Misfit(absl::string_view what, const TensorType& got, const TensorType& want) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": got ", PrintType(got), ", want ", PrintType(want)));
}

absl::Status CheckOneElement(const TensorType& type, DType dtype, absl::string_view what) {
  if (type.dtype == dtype && ElementCount(type.shape) == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": got ", PrintType(type), ", want one element of ", DTypeName(dtype)));
}

std::vector<TensorType> TypesOf(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  for (const ValueId value : values) types.push_back(graph.value(value).type);
  return types;
}

absl::Status CheckBodyInputs(const Graph& body, absl::Span<const TensorType> want) {
  if (body.inputs.size() != want.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a body has ", body.inputs.size(), " inputs, want ", want.size()));
  }
  for (size_t i = 0; i < want.size(); ++i) {
    const GraphValue& input = body.value(body.inputs[i]);
    if (!(input.type == want[i])) {
      return Misfit(absl::StrCat("body input '", input.name, "'"), input.type, want[i]);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorType>> InferIf(const GraphNode& node,
                                                absl::Span<const TensorType> inputs) {
  if (node.bodies.size() != 2 || inputs.empty()) {
    return absl::InvalidArgumentError("want a condition and two bodies");
  }
  RETURN_IF_ERROR(CheckOneElement(inputs[0], DType::kBool, "the condition"));
  for (const auto& body : node.bodies) RETURN_IF_ERROR(CheckBodyInputs(*body, inputs.subspan(1)));
  const std::vector<TensorType> types = TypesOf(*node.bodies[0], node.bodies[0]->outputs);
  const std::vector<TensorType> others = TypesOf(*node.bodies[1], node.bodies[1]->outputs);
  if (types.size() != others.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("one body has ", types.size(), " outputs, the other one ", others.size()));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == others[i]) continue;
    return Misfit(absl::StrCat("output ", i, " of the second body"), others[i], types[i]);
  }
  return types;
}

absl::StatusOr<std::vector<TensorType>> BodyInputsOf(const LoopParts& parts,
                                                     absl::Span<const TensorType> inputs) {
  std::vector<TensorType> types;
  for (size_t i = parts.first_state; i < inputs.size(); ++i) {
    TensorType type = inputs[i];
    if (i >= parts.first_slice && i < parts.first_slice + parts.slices) {
      if (type.shape.empty() || type.shape[0] != parts.count) {
        return absl::InvalidArgumentError(
            absl::StrCat("slices of ", PrintType(type), ", want ", parts.count, " of them"));
      }
      type.shape.erase(type.shape.begin());
    }
    types.push_back(std::move(type));
  }
  return types;
}

absl::StatusOr<std::vector<TensorType>> InferLoop(const GraphNode& node,
                                                  absl::Span<const TensorType> inputs) {
  const LoopParts parts(node);
  if (node.bodies.size() != 1 || parts.count < 0 || parts.count > kCountMax ||
      inputs.size() < parts.first_slice + parts.slices) {
    return absl::InvalidArgumentError("want one body, a count up to 2^40, states and slices");
  }
  const Graph& body = *node.bodies[0];
  if (body.outputs.size() != parts.first_body_state + parts.states + parts.stacked ||
      parts.backwards.size() != parts.slices + parts.stacked) {
    return absl::InvalidArgumentError("the body has another number of outputs");
  }
  if (parts.has_count) RETURN_IF_ERROR(CheckOneElement(inputs[0], DType::kI64, "the count"));
  if (parts.has_condition) {
    RETURN_IF_ERROR(CheckOneElement(inputs[parts.first_state - 1], DType::kBool, "the condition"));
    RETURN_IF_ERROR(
        CheckOneElement(body.value(body.outputs[0]).type, DType::kBool, "the body's condition"));
  }
  // What holds of a stack must be known before the loop runs.
  if (parts.has_condition && parts.slices + parts.stacked > 0) {
    return absl::InvalidArgumentError("a loop that a condition ends has slices");
  }
  const auto differs = [&](bool flag) { return flag != parts.GoesBackwards(); };
  if (parts.has_count && std::any_of(parts.backwards.begin(), parts.backwards.end(), differs)) {
    return absl::InvalidArgumentError("a loop with a count has slices that go both ways");
  }
  ASSIGN_OR_RETURN(const std::vector<TensorType> body_inputs, BodyInputsOf(parts, inputs));
  RETURN_IF_ERROR(CheckBodyInputs(body, body_inputs));
  std::vector<TensorType> types = TypesOf(body, body.outputs);
  types.erase(types.begin(), types.begin() + static_cast<int64_t>(parts.first_body_state));
  for (size_t i = 0; i < types.size(); ++i) {
    if (i >= parts.states) {
      types[i].shape.insert(types[i].shape.begin(), parts.count);
    } else if (!(types[i] == inputs[parts.first_state + i])) {
      return Misfit(absl::StrCat("state ", i, " after an iteration"), types[i],
                    inputs[parts.first_state + i]);
    }
  }
  return types;
}

}  // namespace

LoopParts::LoopParts(const GraphNode& node)
    : count(node.attributes.Int("count", 0)),
      has_count(node.attributes.Int("has_count", 0) != 0),
      has_condition(node.attributes.Int("has_condition", 0) != 0),
      states(static_cast<size_t>(node.attributes.Int("states", 0))),
      slices(static_cast<size_t>(node.attributes.Int("slices", 0))),
      stacked(0),
      first_state(size_t{has_count} + size_t{has_condition}),
      first_slice(first_state + states),
      first_body_state(has_condition) {
  for (const int64_t flag : node.attributes.Ints("backwards", {})) backwards.push_back(flag != 0);
  if (backwards.size() > slices) stacked = backwards.size() - slices;
}

size_t CaptureBegin(const GraphNode& node) {
  if (node.bodies.size() == 2) return 1;
  const LoopParts parts(node);
  return parts.first_slice + parts.slices;
}

std::vector<bool> ControlFlags(const Graph& graph) {
  std::vector<bool> flags(graph.values.size(), false);
  for (const GraphNode& node : graph.nodes) {
    if (!IsControl(node)) continue;
    for (const ValueId output : node.outputs) flags[output] = true;
    const size_t begin = CaptureBegin(node);
    for (size_t i = 0; i < begin; ++i) flags[node.inputs[i]] = true;
    // A capture is the same memory inside, where another node of control may read it by itself.
    const size_t captures = node.inputs.size() - begin;
    for (const auto& body : node.bodies) {
      const std::vector<bool> inner = ControlFlags(*body);
      const size_t first = body->inputs.size() - captures;
      for (size_t i = 0; i < captures; ++i) {
        if (inner[body->inputs[first + i]]) flags[node.inputs[begin + i]] = true;
      }
    }
  }
  return flags;
}

absl::StatusOr<std::vector<TensorType>> InferControl(const GraphNode& node,
                                                     absl::Span<const TensorType> inputs) {
  if (node.op == OpId::kIf) return InferIf(node, inputs);
  if (node.op == OpId::kLoop) return InferLoop(node, inputs);
  return absl::InvalidArgumentError("an operator that has no bodies");
}

absl::StatusOr<GraphNodeId> AddControlNode(Graph& graph, GraphNode node) {
  const absl::StatusOr<std::vector<TensorType>> types = InferControl(node, InputTypes(graph, node));
  if (!types.ok()) {
    return absl::Status(
        types.status().code(),
        absl::StrCat("node '", node.name, "' (", OpName(node.op), "): ", types.status().message()));
  }
  const auto id = static_cast<GraphNodeId>(graph.nodes.size());
  node.outputs.clear();
  for (size_t i = 0; i < types->size(); ++i) {
    const std::string name = types->size() == 1 ? node.name : absl::StrCat(node.name, ":", i);
    node.outputs.push_back(AddValue(graph, name, (*types)[i]));
    graph.values.back().producer = id;
  }
  graph.nodes.push_back(std::move(node));
  return id;
}

void MoveConstantsIntoBodies(Graph& graph, GraphNode& node) {
  const size_t begin = CaptureBegin(node);
  std::vector<ValueId> kept(node.inputs.begin(), node.inputs.begin() + static_cast<int64_t>(begin));
  // Captures are the body's last inputs.
  const size_t captures = node.inputs.size() - begin;
  for (auto& shared : node.bodies) {
    Graph body = *shared;
    const size_t first = body.inputs.size() - captures;
    std::vector<ValueId> inputs(body.inputs.begin(),
                                body.inputs.begin() + static_cast<int64_t>(first));
    for (size_t i = 0; i < captures; ++i) {
      const GraphValue& outer = graph.value(node.inputs[begin + i]);
      const ValueId inner = body.inputs[first + i];
      if (outer.data == nullptr) {
        inputs.push_back(inner);
      } else {
        body.values[inner].data = outer.data;
        body.values[inner].name = outer.name;
      }
    }
    if (inputs.size() == body.inputs.size()) return;
    body.inputs = std::move(inputs);
    shared = std::make_shared<const Graph>(std::move(body));
  }
  for (size_t i = begin; i < node.inputs.size(); ++i) {
    if (!graph.IsConstant(node.inputs[i])) kept.push_back(node.inputs[i]);
  }
  node.inputs = std::move(kept);
}

}  // namespace burnish
