// If, Loop and Scan: nodes whose attributes are graphs become nodes with bodies (graph/control.h).
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_graph_importer.h"
#include "compiler/graph/control.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

// Of a loop that only its condition ends. As good as endless.
constexpr int64_t kOpenCount = int64_t{1} << 40;
absl::StatusOr<const onnx::GraphProto*> BodyOf(const OnnxNode& node, absl::string_view name) {
  const onnx::AttributeProto* attribute = node.Find(name);
  if (attribute == nullptr || !attribute->has_g()) {
    return node.Invalid(absl::StrCat("attribute ", name, " is missing"));
  }
  return &attribute->g();
}

// Iterations that are unrolled where a loop is none that a node can be. A guess: steps are a few
// hundred bytes each, and what exporters leave so are loops over layers or heads.
constexpr int64_t kUnrolledMax = 64;

// The type that a body's input says it has, with `dtype`; a scalar where it says nothing.
TensorType DeclaredType(const onnx::ValueInfoProto& input, DType dtype) {
  TensorType type{dtype, {}};
  if (input.type().tensor_type().shape().dim_size() > 0) {
    type.shape.assign(input.type().tensor_type().shape().dim_size(), 1);
  }
  return type;
}

bool IsConstantBool(const Graph& graph, ValueId id, bool want) {
  const GraphValue& value = graph.value(id);
  return value.data != nullptr && value.type.dtype == DType::kBool &&
         ElementCount(value.type.shape) == 1 && (value.data->bytes()[0] != 0) == want;
}

// A permutation that moves dimension `from` to `to`.
std::vector<int64_t> MoveDimension(size_t rank, int64_t from, int64_t to) {
  std::vector<int64_t> perm;
  for (size_t d = 0; d < rank; ++d) {
    if (static_cast<int64_t>(d) != from) perm.push_back(static_cast<int64_t>(d));
  }
  perm.insert(perm.begin() + to, from);
  return perm;
}

absl::StatusOr<ValueId> EmitMoved(OnnxNode& node, ValueId x, int64_t from, int64_t to) {
  if (from == to) return x;
  Attributes attributes;
  attributes.Set("perm", MoveDimension(node.TypeOf(x).shape.size(), from, to));
  return node.Emit("transpose", {x}, std::move(attributes));
}

// Inputs, outputs and captures of a loop, before they are put in the order of a node.
struct LoopDraft {
  struct State {
    ValueId initial, input, output;
    int result = -1;        // The ONNX node's output; -1: nobody reads it.
    AxisExtents held = {};  // Of the output.
  };
  struct Slice {
    ValueId whole, input;
    bool backwards = false;
  };
  struct Stack {
    ValueId output;
    bool backwards = false;
    int result = -1;
    int64_t axis = 0;
    AxisExtents held = {};
  };
  int64_t count = 0;
  ValueId count_input = -1, condition = -1, next_condition = -1;  // -1: has none.
  std::vector<State> states;
  std::vector<Slice> slices;
  std::vector<Stack> stacks;
  std::vector<ValueId> captures, capture_inputs;
};

absl::StatusOr<ValueId> SetExtents(OnnxNode& node, ValueId id, const AxisExtents& extents) {
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == kFullAxis) continue;
    ASSIGN_OR_RETURN(id, node.SetExtent(id, static_cast<int64_t>(d), extents[d]));
  }
  return id;
}

// States that no iteration changes are captures: nothing has to be handed on. Nor has what has no
// elements, before and after each iteration.
absl::Status KeepInvariants(LoopDraft& draft, OnnxNode& node, const Graph& body) {
  std::vector<LoopDraft::State> states;
  for (const LoopDraft::State& state : draft.states) {
    const TensorType& type = node.TypeOf(state.initial);
    const TensorType& next = body.value(state.output).type;
    if (!(type == next)) {
      return node.Unsupported(absl::StrCat("a state is ", PrintType(type), " before an iteration, ",
                                           PrintType(next), " behind it"));
    }
    if (state.result >= 0 && state.held != node.ExtentsOf(state.initial)) {
      return node.Unsupported("an iteration leaves another part of a state than it found");
    }
    const bool is_empty = node.IsEmpty(state.initial);
    if (state.input != state.output && !is_empty) {
      states.push_back(state);
      continue;
    }
    if (!is_empty) {
      draft.captures.push_back(state.initial);
      draft.capture_inputs.push_back(state.input);
    }
    if (state.result >= 0) node.SetOutput(state.result, state.initial);
  }
  draft.states = std::move(states);
  return absl::OkStatus();
}

// Stacks of nothing, or of no iteration.
absl::Status SetEmptyStacks(LoopDraft& draft, OnnxNode& node, const Graph& body) {
  std::vector<LoopDraft::Stack> stacks;
  for (const LoopDraft::Stack& stack : draft.stacks) {
    TensorType type = body.value(stack.output).type;
    type.shape.insert(type.shape.begin() + stack.axis, draft.count);
    if (ElementCount(type.shape) > 0) {
      stacks.push_back(stack);
      continue;
    }
    AxisExtents extents = stack.held;
    extents.insert(extents.begin() + stack.axis, draft.count_input);
    ASSIGN_OR_RETURN(ValueId empty, node.EmitEmpty(std::move(type)));
    ASSIGN_OR_RETURN(empty, SetExtents(node, empty, extents));
    node.SetOutput(stack.result, empty);
  }
  draft.stacks = std::move(stacks);
  return absl::OkStatus();
}

absl::Status AddLoop(OnnxNode& node, LoopDraft draft, Graph body) {
  if (draft.count == 0 && draft.count_input < 0) {
    RETURN_IF_ERROR(SetEmptyStacks(draft, node, body));
    for (const LoopDraft::State& state : draft.states) {
      if (state.result >= 0) node.SetOutput(state.result, state.initial);
    }
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(KeepInvariants(draft, node, body));
  RETURN_IF_ERROR(SetEmptyStacks(draft, node, body));
  // What has no elements is a constant inside, too.
  std::erase_if(draft.slices,
                [&](const LoopDraft::Slice& slice) { return node.IsEmpty(slice.whole); });
  GraphNode loop{.name = node.Name(), .op = OpId::kLoop, .attributes = {}};
  std::vector<int64_t> backwards;
  body.inputs.clear();
  body.outputs.clear();
  if (draft.count_input >= 0) loop.inputs.push_back(draft.count_input);
  if (draft.condition >= 0) {
    loop.inputs.push_back(draft.condition);
    body.outputs.push_back(draft.next_condition);
  }
  for (const LoopDraft::State& state : draft.states) {
    loop.inputs.push_back(state.initial);
    body.inputs.push_back(state.input);
    body.outputs.push_back(state.output);
  }
  for (const LoopDraft::Slice& slice : draft.slices) {
    loop.inputs.push_back(slice.whole);
    body.inputs.push_back(slice.input);
    backwards.push_back(slice.backwards);
  }
  for (const LoopDraft::Stack& stack : draft.stacks) {
    body.outputs.push_back(stack.output);
    backwards.push_back(stack.backwards);
  }
  loop.inputs.insert(loop.inputs.end(), draft.captures.begin(), draft.captures.end());
  body.inputs.insert(body.inputs.end(), draft.capture_inputs.begin(), draft.capture_inputs.end());
  loop.attributes.Set("count", draft.count);
  loop.attributes.Set("has_count", int64_t{draft.count_input >= 0});
  loop.attributes.Set("has_condition", int64_t{draft.condition >= 0});
  loop.attributes.Set("states", static_cast<int64_t>(draft.states.size()));
  loop.attributes.Set("slices", static_cast<int64_t>(draft.slices.size()));
  loop.attributes.Set("backwards", std::move(backwards));
  loop.bodies = {std::make_shared<const Graph>(std::move(body))};
  if (draft.states.empty() && draft.stacks.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, node.EmitControl(std::move(loop)));
  for (size_t i = 0; i < draft.states.size(); ++i) {
    const LoopDraft::State& state = draft.states[i];
    ASSIGN_OR_RETURN(const ValueId sized, SetExtents(node, outputs[i], state.held));
    if (state.result >= 0) node.SetOutput(state.result, sized);
  }
  for (size_t i = 0; i < draft.stacks.size(); ++i) {
    const LoopDraft::Stack& stack = draft.stacks[i];
    AxisExtents extents = stack.held;
    extents.insert(extents.begin(), draft.count_input);
    ASSIGN_OR_RETURN(const ValueId stacked,
                     SetExtents(node, outputs[draft.states.size() + i], extents));
    ASSIGN_OR_RETURN(const ValueId moved, EmitMoved(node, stacked, 0, stack.axis));
    node.SetOutput(stack.result, moved);
  }
  return absl::OkStatus();
}

}  // namespace

namespace {

// Zeros behind its elements, which hold as they did before.
absl::StatusOr<ValueId> PaddedTo(OnnxNode& node, ValueId id, const std::vector<int64_t>& shape) {
  const TensorType type = node.TypeOf(id);
  if (type.shape == shape) return id;
  if (ElementCount(type.shape) == 0) {
    const std::vector<double> zeros(ElementCount(shape), 0.0);
    return node.EmitConstant({type.dtype, shape}, FromDoubles(type.dtype, zeros));
  }
  std::vector<int64_t> pads(2 * shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d) pads[shape.size() + d] = shape[d] - type.shape[d];
  Attributes attributes;
  attributes.Set("pads", std::move(pads));
  return node.EmitWhole("pad", {id}, std::move(attributes));
}

}  // namespace

absl::StatusOr<OnnxGraphImporter::Body> OnnxGraphImporter::ImportBody(
    Scope& scope, const OnnxNode& node, const onnx::GraphProto& proto,
    const std::vector<BodyInput>& inputs, BodyGives gives) {
  if (proto.input_size() != static_cast<int>(inputs.size())) {
    return node.Invalid(
        absl::StrCat("the body has ", proto.input_size(), " inputs, want ", inputs.size()));
  }
  Scope inner{.outer = &scope, .depth = scope.depth + 1};
  // Recursion over foreign input, so bounded.
  if (inner.depth > context_->options->max_depth) {
    return absl::ResourceExhaustedError(absl::StrCat(node.Label(), ": graphs are nested over ",
                                                     context_->options->max_depth,
                                                     " deep (the limit)"));
  }
  Body body;
  inner.body = &body;
  // From here on `body.graph` is the graph around, and the context's graph is the body. Errors put
  // them back, too: a loop that cannot be a node may be unrolled.
  Swap(body);
  absl::Cleanup put_back = [&] { Swap(body); };
  context_->graph.name = proto.name();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = absl::StrCat("input", i, ".", proto.input(static_cast<int>(i)).name());
    const bool is_empty = ElementCount(inputs[i].type.shape) == 0;
    const ConstantPtr known = is_empty ? MakeConstant<uint8_t>({}) : inputs[i].constant;
    const ValueId id = known != nullptr ? AddConstant(context_->graph, name, inputs[i].type, known)
                                        : AddInput(context_->graph, name, inputs[i].type);
    body.inputs.push_back(id);
    if (inputs[i].whole >= 0) CaptureExtents(body, inputs[i].whole, inputs[i].first_axis, id);
    RETURN_IF_ERROR(Define(inner, proto.input(static_cast<int>(i)).name(), id));
  }
  RETURN_IF_ERROR(AddInitializers(inner, proto));
  RETURN_IF_ERROR(ImportNodes(inner, proto));
  for (const onnx::ValueInfoProto& output : proto.output()) {
    const ValueId id = Find(inner, output.name());
    if (id < 0) {
      return node.Invalid(absl::StrCat("nothing writes the body's output '", output.name(), "'"));
    }
    onnx::NodeProto packs;
    packs.set_name(output.name());
    packs.add_output(output.name());
    ASSIGN_OR_RETURN(body.outputs.emplace_back(), OnnxNode(context_, packs, {}, {}).Packed(id));
    if (gives == BodyGives::kAnyAxes) continue;
    ASSIGN_OR_RETURN(body.held.emplace_back(), ExtentsAround(node, body, body.outputs.back()));
  }
  std::move(put_back).Invoke();
  return body;
}

// What the body holds of a value, as values of the graph around.
absl::StatusOr<AxisExtents> OnnxGraphImporter::ExtentsAround(const OnnxNode& node, const Body& body,
                                                             ValueId id) {
  AxisExtents extents = node.ExtentsOf(id);
  for (ValueId& extent : extents) {
    if (extent == kFullAxis) continue;
    const auto captured = std::find(body.capture_inputs.begin(), body.capture_inputs.end(), extent);
    if (captured == body.capture_inputs.end()) {
      return node.Unsupported(absl::StrCat("the body gives '", context_->graph.value(id).name,
                                           "', of which an iteration fills a part of its own"));
    }
    extent = body.captures[captured - body.capture_inputs.begin()];
  }
  return extents;
}

// What holds of `outer`, from an axis on, holds of `inner`.
void OnnxGraphImporter::CaptureExtents(Body& body, ValueId outer, size_t first_axis,
                                       ValueId inner) {
  const auto known = body.bounded.extents.find(outer);
  if (known == body.bounded.extents.end()) return;
  AxisExtents extents(known->second.begin() + first_axis, known->second.end());
  if (!burnish::IsBounded(extents)) return;
  for (ValueId& extent : extents) {
    if (extent == kFullAxis) continue;
    const auto captured = std::find(body.captures.begin(), body.captures.end(), extent);
    if (captured != body.captures.end()) {
      extent = body.capture_inputs[captured - body.captures.begin()];
      continue;
    }
    body.captures.push_back(extent);
    // Of joined parts it is a sum.
    const auto term = body.bounded.term_of.find(extent);
    const std::optional<SizeRange> range =
        RangeOf(term == body.bounded.term_of.end() ? SizeTerm::OfExtent(extent) : term->second,
                body.bounded.ranges);
    extent = AddInput(context_->graph, absl::StrCat("capture", body.captures.size(), ".extent"),
                      {DType::kI64, {}});
    if (range.has_value()) context_->bounded.ranges[extent] = *range;
    body.capture_inputs.push_back(extent);
  }
  context_->bounded.extents[inner] = std::move(extents);
}

ValueId OnnxGraphImporter::Capture(Scope& scope, const std::string& name) {
  Body& body = *scope.body;
  Swap(body);
  ValueId outer = Find(*scope.outer, name);
  if (outer >= 0) {
    // What a body is handed has axes of one part each.
    onnx::NodeProto proto;
    proto.set_name(name);
    proto.add_output(name);
    outer = OnnxNode(context_, proto, {}, {}).Packed(outer).value_or(-1);
  }
  Swap(body);
  if (outer < 0) return -1;
  const GraphValue& value = body.graph.value(outer);
  ValueId id = -1;
  const auto known = std::find(body.captures.begin(), body.captures.end(), outer);
  if (known != body.captures.end()) {
    // Under another name, as Identity gives it.
    id = body.capture_inputs[known - body.captures.begin()];
  } else if (value.data != nullptr) {
    // Shapes and axes must be known inside, too. The bytes are shared.
    id = AddConstant(context_->graph, value.name, value.type, value.data);
    const auto few = body.few_bits.find(outer);
    if (few != body.few_bits.end()) context_->few_bits[id] = few->second;
    CaptureExtents(body, outer, 0, id);  // A run may still size what has no elements.
  } else {
    id = AddInput(context_->graph, absl::StrCat("capture", body.captures.size(), ".", name),
                  value.type);
    body.captures.push_back(outer);
    body.capture_inputs.push_back(id);
    CaptureExtents(body, outer, 0, id);
  }
  scope.values.emplace(name, id);
  return id;
}

// Its step asks the only element of a list for the one behind it: the condition, which is known to
// hold there, is the index.
absl::StatusOr<OnnxGraphImporter::Body> OnnxGraphImporter::FailingBody(const OnnxNode& node,
                                                                       bool is_else,
                                                                       const Body& other,
                                                                       const absl::Status& why) {
  ASSIGN_OR_RETURN(const ValueId condition, node.Input(0));
  const TensorType type = node.TypeOf(condition);
  Body body;
  Swap(body);
  absl::Cleanup put_back = [&] { Swap(body); };
  body.captures.push_back(condition);
  body.capture_inputs.push_back(AddInput(context_->graph, "condition", type));
  onnx::NodeProto proto;
  proto.set_name(absl::StrCat(node.Name(), is_else ? ": else" : ": then",
                              " cannot run at these sizes: ", why.message()));
  proto.add_output(proto.name());
  OnnxNode fails(context_, proto, {}, {});
  ASSIGN_OR_RETURN(const ValueId zero, fails.EmitScalar(DType::kI64, 0));
  ASSIGN_OR_RETURN(const ValueId one, fails.EmitScalar(DType::kI64, 1));
  ASSIGN_OR_RETURN(const ValueId scalar, fails.EmitReshape(body.capture_inputs[0], {}));
  ASSIGN_OR_RETURN(const ValueId beyond,
                   fails.Emit("where", {scalar, is_else ? zero : one, is_else ? one : zero}));
  for (const ValueId output : other.outputs) {
    const TensorType want = other.graph.value(output).type;
    if (ElementCount(want.shape) == 0) {
      ASSIGN_OR_RETURN(body.outputs.emplace_back(), fails.EmitEmpty(want));
      continue;
    }
    ASSIGN_OR_RETURN(const ValueId list,
                     fails.EmitConstant({want.dtype, {1}}, FromDoubles(want.dtype, {0.0})));
    ASSIGN_OR_RETURN(ValueId result, fails.Emit("gather", {list, beyond}));
    if (!want.shape.empty()) {
      Attributes attributes;
      attributes.Set("shape", want.shape);
      ASSIGN_OR_RETURN(result, fails.Emit("expand", {result}, std::move(attributes)));
    }
    body.outputs.push_back(result);
  }
  std::move(put_back).Invoke();
  return body;
}

absl::Status OnnxGraphImporter::ImportBranches(Scope& scope, OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId condition, node.Input(0));
  const TensorType& type = node.TypeOf(condition);
  if (type.dtype != DType::kBool || ElementCount(type.shape) != 1) {
    return node.Invalid(
        absl::StrCat("the condition is ", PrintType(type), ", want one element of bool"));
  }
  GraphNode branch{.name = node.Name(), .op = OpId::kIf, .attributes = {}, .inputs = {condition}};
  std::vector<Body> bodies;
  absl::Status broken[2];
  for (const bool is_else : {false, true}) {
    const char* const name = is_else ? "else_branch" : "then_branch";
    ASSIGN_OR_RETURN(const onnx::GraphProto* const proto, BodyOf(node, name));
    if (proto->output_size() != node.output_count()) {
      return node.Invalid("the branch has another number of outputs");
    }
    absl::StatusOr<Body> body = ImportBody(scope, node, *proto, {}, BodyGives::kAnyAxes);
    broken[is_else] = body.status();
    // What the sizes at hand do not allow, a run may still never take.
    if (absl::IsInvalidArgument(body.status()) && !(is_else && !broken[0].ok())) body = Body();
    RETURN_IF_ERROR(body.status());
    bodies.push_back(*std::move(body));
  }
  for (const bool is_else : {false, true}) {
    if (broken[is_else].ok()) continue;
    ASSIGN_OR_RETURN(bodies[is_else],
                     FailingBody(node, is_else, bodies[!is_else], broken[is_else]));
  }
  for (const Body& body : bodies) {
    for (const ValueId capture : body.captures) {
      if (std::count(branch.inputs.begin() + 1, branch.inputs.end(), capture) == 0) {
        branch.inputs.push_back(capture);
      }
    }
  }
  ASSIGN_OR_RETURN(const std::vector<SizedOutput> sized, GiveBounds(node, bodies));
  for (Body& body : bodies) {
    body.graph.outputs = body.outputs;
    body.graph.inputs.clear();
    for (size_t i = 1; i < branch.inputs.size(); ++i) {
      const ValueId outer = branch.inputs[i];
      const auto found = std::find(body.captures.begin(), body.captures.end(), outer);
      const std::string name = absl::StrCat("capture", i);
      if (found == body.captures.end()) {
        // The other branch's: both have the same inputs.
        AddInput(body.graph, name, node.TypeOf(outer));
        continue;
      }
      const ValueId inner = body.capture_inputs[found - body.captures.begin()];
      body.graph.values[inner].name = name;
      body.graph.inputs.push_back(inner);
    }
    branch.bodies.push_back(std::make_shared<const Graph>(std::move(body.graph)));
  }
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, node.EmitControl(std::move(branch)));
  for (int i = 0; i < node.output_count(); ++i) node.SetOutput(i, outputs[i]);
  for (size_t i = 0; i < sized.size(); ++i) {
    const ValueId extent = outputs[node.output_count() + i];
    RETURN_IF_ERROR(node.SetExtent(outputs[sized[i].output], sized[i].axis, extent).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<OnnxGraphImporter::SizedOutput>> OnnxGraphImporter::GiveBounds(
    OnnxNode& node, std::vector<Body>& bodies) {
  std::vector<SizedOutput> sized;
  for (int i = 0; i < node.output_count(); ++i) {
    const std::vector<int64_t> one = bodies[0].graph.value(bodies[0].outputs[i]).type.shape;
    const std::vector<int64_t> other = bodies[1].graph.value(bodies[1].outputs[i]).type.shape;
    if (one.size() != other.size()) continue;  // Refused with the branches' types.
    std::vector<int64_t> bound = one;
    const size_t before = sized.size();
    for (size_t d = 0; d < bound.size(); ++d) {
      const auto is_sized = [&](const Body& body) {
        const auto known = body.bounded.extents.find(body.outputs[i]);
        return known != body.bounded.extents.end() && known->second[d] != kFullAxis;
      };
      // What has no elements in either has none as a size of the run.
      const bool is_same = one[d] == other[d] && one[d] > 0;
      if (is_same && !is_sized(bodies[0]) && !is_sized(bodies[1])) continue;
      bound[d] = std::max({one[d], other[d], int64_t{2}});
      sized.push_back({i, static_cast<int64_t>(d)});
    }
    if (sized.size() == before) continue;
    for (Body& body : bodies) {
      Swap(body);
      const absl::Cleanup put_back = [&] { Swap(body); };
      for (size_t k = before; k < sized.size(); ++k) {
        ASSIGN_OR_RETURN(body.outputs.emplace_back(),
                         node.ExtentAt(body.outputs[i], sized[k].axis));
      }
      ASSIGN_OR_RETURN(body.outputs[i], PaddedTo(node, body.outputs[i], bound));
    }
  }
  return sized;
}

// Iterations one after the other in the graph around: what depends on the iteration's number is
// known then, and states may grow.
absl::Status OnnxGraphImporter::UnrollLoop(Scope& scope, OnnxNode& node,
                                           const onnx::GraphProto& proto, int64_t count) {
  const int states = node.input_count() - 2;
  std::vector<ValueId> values;
  for (int i = 0; i < states; ++i) {
    ASSIGN_OR_RETURN(values.emplace_back(), node.Input(i + 2));
  }
  std::vector<std::vector<ValueId>> stacks(node.output_count() - states);
  for (int64_t t = 0; t < count; ++t) {
    Scope inner{.outer = &scope, .depth = scope.depth + 1};
    if (inner.depth > context_->options->max_depth)
      return node.Invalid("graphs are nested too deep");
    ASSIGN_OR_RETURN(
        const ValueId number,
        node.EmitConstant(DeclaredType(proto.input(0), DType::kI64), FromInts(DType::kI64, {t})));
    ASSIGN_OR_RETURN(const ValueId go, node.EmitConstant(DeclaredType(proto.input(1), DType::kBool),
                                                         FromInts(DType::kBool, {1})));
    RETURN_IF_ERROR(Define(inner, proto.input(0).name(), number));
    RETURN_IF_ERROR(Define(inner, proto.input(1).name(), go));
    for (int i = 0; i < states; ++i) {
      RETURN_IF_ERROR(Define(inner, proto.input(i + 2).name(), values[i]));
    }
    RETURN_IF_ERROR(AddInitializers(inner, proto));
    RETURN_IF_ERROR(ImportNodes(inner, proto));
    std::vector<ValueId> outputs;
    for (const onnx::ValueInfoProto& output : proto.output()) {
      outputs.push_back(Find(inner, output.name()));
      if (outputs.back() < 0) return node.Invalid("nothing writes an output of the body");
    }
    values.assign(outputs.begin() + 1, outputs.begin() + 1 + states);
    for (size_t k = 0; k < stacks.size(); ++k) {
      std::vector<int64_t> shape = node.TypeOf(outputs[1 + states + k]).shape;
      shape.insert(shape.begin(), 1);
      ASSIGN_OR_RETURN(stacks[k].emplace_back(),
                       node.EmitReshape(outputs[1 + states + k], std::move(shape)));
    }
    if (IsConstantBool(context_->graph, outputs[0], false)) break;
    if (!IsConstantBool(context_->graph, outputs[0], true)) {
      return node.Unsupported("a condition of an unrolled loop that only a run knows");
    }
  }
  for (int i = 0; i < states; ++i) node.SetOutput(i, values[i]);
  for (size_t k = 0; k < stacks.size(); ++k) {
    Attributes axis;
    axis.Set("axis", int64_t{0});
    ASSIGN_OR_RETURN(const ValueId stacked, node.Emit("concat", stacks[k], std::move(axis)));
    node.SetOutput(states + static_cast<int>(k), stacked);
  }
  return absl::OkStatus();
}

absl::Status OnnxGraphImporter::ImportLoop(Scope& scope, OnnxNode& node) {
  ASSIGN_OR_RETURN(const onnx::GraphProto* const proto, BodyOf(node, "body"));
  if (proto->input_size() < 2) return node.Invalid("the body has fewer than 2 inputs");
  const absl::Status status = ImportLoopNode(scope, node, *proto);
  const absl::StatusOr<std::vector<int64_t>> count = node.ConstantInts(0, "M");
  const bool starts = !node.HasInput(1) || IsConstantBool(context_->graph, *node.Input(1), true);
  if (status.ok() || !count.ok() || count->size() != 1 || (*count)[0] < 1 ||
      (*count)[0] > kUnrolledMax || !starts || proto->input_size() != node.input_count() ||
      proto->output_size() != 1 + node.output_count() ||
      node.output_count() < node.input_count() - 2) {
    return status;
  }
  // What a loop cannot be, its iterations may be. If they are not either, the loop's error is the
  // one to tell.
  return UnrollLoop(scope, node, *proto, (*count)[0]).ok() ? absl::OkStatus() : status;
}

absl::Status OnnxGraphImporter::ImportLoopNode(Scope& scope, OnnxNode& node,
                                               const onnx::GraphProto& body_proto) {
  const onnx::GraphProto* const proto = &body_proto;
  LoopDraft draft{.count = kOpenCount};
  if (node.HasInput(0)) {
    ASSIGN_OR_RETURN(draft.count_input, node.Input(0));
    if (context_->graph.IsConstant(draft.count_input)) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> count, node.ConstantInts(0, "M"));
      if (count.size() != 1) return node.Invalid("the trip count is no scalar");
      draft.count = std::clamp<int64_t>(count[0], 0, kOpenCount);
      draft.count_input = -1;
    }
  }
  if (node.HasInput(1)) {
    ASSIGN_OR_RETURN(draft.condition, node.Input(1));
  }
  // The iteration's number, the condition (true wherever the body runs), states.
  std::vector<BodyInput> inputs = {
      {DeclaredType(proto->input(0), DType::kI64), nullptr},
      {DeclaredType(proto->input(1), DType::kBool), FromInts(DType::kBool, {1})}};
  std::vector<ValueId> initials;
  for (int i = 2; i < node.input_count(); ++i) {
    ASSIGN_OR_RETURN(const ValueId initial, node.Input(i));
    ASSIGN_OR_RETURN(initials.emplace_back(), node.Packed(initial));
    inputs.push_back({node.TypeOf(initials.back()), nullptr, initials.back()});
  }
  ASSIGN_OR_RETURN(Body body, ImportBody(scope, node, *proto, inputs, BodyGives::kAxesAsRead));
  const int states = node.input_count() - 2;
  if (static_cast<int>(body.outputs.size()) != 1 + node.output_count() ||
      node.output_count() < states) {
    return node.Invalid(absl::StrCat("the body has ", body.outputs.size(), " outputs, want ",
                                     1 + node.output_count()));
  }
  draft.captures = std::move(body.captures);
  draft.capture_inputs = std::move(body.capture_inputs);
  // A condition that is always true is none.
  draft.next_condition = body.outputs[0];
  const bool starts = draft.condition < 0 || IsConstantBool(context_->graph, draft.condition, true);
  if (starts && draft.count_input < 0 && draft.count > 0) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> counted,
                     CountIterations(node, body, draft.count));
    if (counted) {
      draft.count = *counted;
      draft.condition = -1;
      draft.next_condition = -1;
    }
  }
  if (draft.next_condition < 0) {
    // Counting has shown that the condition holds until the last iteration.
  } else if (starts && IsConstantBool(body.graph, draft.next_condition, true)) {
    draft.condition = -1;
    if (draft.count == kOpenCount && draft.count_input < 0) {
      return node.Invalid("the loop has no count, and its condition is always true");
    }
  } else if (draft.condition < 0) {
    ASSIGN_OR_RETURN(draft.condition,
                     node.EmitConstant({DType::kBool, {}}, FromInts(DType::kBool, {1})));
  }
  const bool is_exact = draft.count_input < 0 && draft.condition < 0;
  RETURN_IF_ERROR(AddIterationNumber(node, draft.count, is_exact, body));
  if (body.number_initial >= 0) {
    draft.states.push_back({body.number_initial, body.inputs[0], body.number_next});
  } else if (body.number_table >= 0) {
    draft.slices.push_back({body.number_table, body.inputs[0]});
  }
  for (int i = 0; i < states; ++i) {
    draft.states.push_back(
        {initials[i], body.inputs[i + 2], body.outputs[i + 1], i, body.held[i + 1]});
  }
  for (int i = states; i < node.output_count(); ++i) {
    if (!node.OutputUsed(i)) continue;
    if (!is_exact) {
      return node.Unsupported(absl::StrCat("output ", i,
                                           " stacks as many slices as there are iterations, which "
                                           "only a run knows; give the loop a fixed count"));
    }
    draft.stacks.push_back({.output = body.outputs[i + 1], .result = i, .held = body.held[i + 1]});
  }
  return AddLoop(node, std::move(draft), std::move(body.graph));
}

absl::Status OnnxGraphImporter::ImportScan(Scope& scope, OnnxNode& node) {
  // Operator set 8 had a batch before the sequence, and lengths of sequences.
  if (node.opset() < 9) return node.Unsupported("operator set 8 (export with 9 or later)");
  ASSIGN_OR_RETURN(const onnx::GraphProto* const proto, BodyOf(node, "body"));
  const auto slices = node.Int("num_scan_inputs", 0);
  const auto states = node.input_count() - slices;
  const auto stacks = node.output_count() - states;
  if (slices < 1 || states < 0 || stacks < 0) {
    return node.Invalid(
        absl::StrCat("num_scan_inputs is ", slices, " of ", node.input_count(), " inputs"));
  }
  const auto list = [&](const char* name, int64_t size) -> absl::StatusOr<std::vector<int64_t>> {
    std::vector<int64_t> values = node.Ints(name, std::vector<int64_t>(size, 0));
    if (static_cast<int64_t>(values.size()) == size) return values;
    return node.Invalid(absl::StrCat(name, " has ", values.size(), " elements, want ", size));
  };
  ASSIGN_OR_RETURN(const auto in_backwards, list("scan_input_directions", slices));
  ASSIGN_OR_RETURN(const auto out_backwards, list("scan_output_directions", stacks));
  ASSIGN_OR_RETURN(const auto in_axes, list("scan_input_axes", slices));
  ASSIGN_OR_RETURN(const auto out_axes, list("scan_output_axes", stacks));
  LoopDraft draft;
  std::vector<BodyInput> inputs;
  for (int i = 0; i < node.input_count(); ++i) {
    ASSIGN_OR_RETURN(ValueId input, node.Input(i));
    ASSIGN_OR_RETURN(input, node.Packed(input));
    if (i < states) {
      inputs.push_back({node.TypeOf(input), nullptr, input});
      continue;
    }
    const auto k = static_cast<size_t>(i - states);
    const auto rank = static_cast<int64_t>(node.TypeOf(input).shape.size());
    ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, in_axes[k], rank));
    ASSIGN_OR_RETURN(input, EmitMoved(node, input, axis, 0));
    TensorType type = node.TypeOf(input);
    const ValueId slice_count = node.ExtentsOf(input)[0];
    if (k > 0 && (type.shape[0] != draft.count || slice_count != draft.count_input)) {
      const std::string text = absl::StrCat("scan input ", k, " has ", type.shape[0],
                                            " slices, input 0 has ", draft.count);
      const bool is_sized = slice_count != kFullAxis || draft.count_input != kFullAxis;
      return is_sized ? node.Unsupported(text) : node.Invalid(text);
    }
    draft.count = type.shape[0];
    draft.count_input = slice_count;
    type.shape.erase(type.shape.begin());
    inputs.push_back({type, nullptr, input, 1});
    draft.slices.push_back({.whole = input, .input = -1, .backwards = in_backwards[k] != 0});
  }
  ASSIGN_OR_RETURN(Body body, ImportBody(scope, node, *proto, inputs, BodyGives::kAxesAsRead));
  if (static_cast<int>(body.outputs.size()) != node.output_count()) {
    return node.Invalid(
        absl::StrCat("the body has ", body.outputs.size(), " outputs, want ", node.output_count()));
  }
  draft.captures = std::move(body.captures);
  draft.capture_inputs = std::move(body.capture_inputs);
  for (int64_t i = 0; i < states; ++i) {
    draft.states.push_back(
        {inputs[i].whole, body.inputs[i], body.outputs[i], static_cast<int>(i), body.held[i]});
  }
  for (int64_t i = 0; i < slices; ++i) draft.slices[i].input = body.inputs[states + i];
  for (int64_t i = 0; i < stacks; ++i) {
    const auto result = static_cast<int>(states + i);
    if (!node.OutputUsed(result)) continue;
    const ValueId output = body.outputs[result];
    const auto rank = static_cast<int64_t>(body.graph.value(output).type.shape.size()) + 1;
    ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, out_axes[i], rank));
    draft.stacks.push_back({output, out_backwards[i] != 0, result, axis, body.held[result]});
  }
  const auto goes_back = [&](const auto& each) { return each.backwards; };
  const auto turned = std::count_if(draft.slices.begin(), draft.slices.end(), goes_back) +
                      std::count_if(draft.stacks.begin(), draft.stacks.end(), goes_back);
  const auto all = static_cast<int64_t>(draft.slices.size() + draft.stacks.size());
  if (draft.count_input >= 0 && turned != 0 && turned != all) {
    return node.Unsupported("slices of the run in both directions");
  }
  return AddLoop(node, std::move(draft), std::move(body.graph));
}

}  // namespace burnish
