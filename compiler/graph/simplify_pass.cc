#include "compiler/graph/simplify_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "compiler/graph/constant_memo.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

// The result of a rule: a value to use instead, or -1 where the rule does not apply.
using Rule = absl::StatusOr<ValueId> (*)(Graph&, const GraphNode&);

const GraphNode* ProducerOf(const Graph& graph, ValueId id) {
  const GraphNodeId n = graph.value(id).producer;
  return n < 0 ? nullptr : &graph.nodes[n];
}

const Shape& ShapeOf(const Graph& graph, ValueId id) { return graph.value(id).type.shape; }

absl::StatusOr<ValueId> AddReshape(Graph& graph, ValueId x, Shape shape, const std::string& name) {
  Attributes attributes;
  attributes.Set("shape", std::move(shape));
  return AddOp(graph, OpId::kReshape, {x}, std::move(attributes), name);
}

// Operators that hand on their input as it is.
absl::StatusOr<ValueId> DropIdentity(Graph& graph, const GraphNode& node) {
  const ValueId x = node.inputs[0];
  const bool same_type = graph.value(x).type == graph.value(node.outputs[0]).type;
  double factor = 0;
  if (node.op == OpId::kIdentity) return x;
  if (!same_type) return -1;
  if (node.op == OpId::kCast || node.op == OpId::kReshape || node.op == OpId::kExpand) return x;
  if (node.op == OpId::kTranspose && IsIdentityPermutation(node.attributes.Ints("perm", {})))
    return x;
  if (node.op == OpId::kConcat && node.inputs.size() == 1) return x;
  if ((node.op == OpId::kMul || node.op == OpId::kDiv) &&
      IsScalarConstant(graph, node.inputs[1], &factor) && factor == 1) {
    return x;
  }
  return -1;
}

// A choice that is none: between one value and itself, or by a constant that is the same
// everywhere, as exporters leave them of masks that a model has for other shapes.
absl::StatusOr<ValueId> OnlyChoice(Graph& graph, const GraphNode& node) {
  if (node.op != OpId::kWhere || node.inputs.size() != 3) return -1;
  ValueId only = node.inputs[1] == node.inputs[2] ? node.inputs[1] : -1;
  const GraphValue& condition = graph.value(node.inputs[0]);
  if (only < 0 && condition.data != nullptr && condition.type.dtype == DType::kBool) {
    const absl::Span<const uint8_t> bytes = condition.data->bytes();
    const auto differs = [&](uint8_t byte) { return byte != bytes[0]; };
    if (bytes.empty() || std::any_of(bytes.begin(), bytes.end(), differs)) return -1;
    only = node.inputs[bytes[0] != 0 ? 1 : 2];
  }
  if (only < 0) return -1;
  const TensorType& type = graph.value(node.outputs[0]).type;
  if (graph.value(only).type == type) return only;
  Attributes attributes;
  attributes.Set("shape", type.shape);
  return AddOp(graph, OpId::kExpand, {only}, std::move(attributes), node.name);
}

// Whether every value of `from` is a value of `to`.
bool Widens(DType from, DType to) {
  if (from == to) return true;
  if (from == DType::kBool) return true;
  if (to == DType::kBool) return false;
  if (IsFloat(from)) return to == DType::kF64;
  if (to == DType::kF64) return SizeBytes(from) < 8;  // 53 bits.
  if (to == DType::kF32) return SizeBytes(from) < 4;  // 24 bits.
  if (IsUnsigned(from) == IsUnsigned(to)) return SizeBytes(from) <= SizeBytes(to);
  return IsUnsigned(from) && SizeBytes(from) < SizeBytes(to);
}

absl::StatusOr<ValueId> MergeCasts(Graph& graph, const GraphNode& node) {
  const GraphNode* inner = ProducerOf(graph, node.inputs[0]);
  if (node.op != OpId::kCast || inner == nullptr || inner->op != OpId::kCast) return -1;
  const ValueId x = inner->inputs[0];
  if (!Widens(graph.value(x).type.dtype, graph.value(node.inputs[0]).type.dtype)) return -1;
  if (graph.value(x).type == graph.value(node.outputs[0]).type) return x;
  return AddOp(graph, OpId::kCast, {x}, node.attributes, node.name);
}

absl::StatusOr<ValueId> MergeTransposes(Graph& graph, const GraphNode& node) {
  if (node.op != OpId::kTranspose) return -1;
  const Shape perm = node.attributes.Ints("perm", {});
  const ValueId x = node.inputs[0];
  if (IsReshapePermutation(ShapeOf(graph, x), perm)) {
    return AddReshape(graph, x, ShapeOf(graph, node.outputs[0]), node.name);
  }
  const GraphNode* inner = ProducerOf(graph, x);
  if (inner == nullptr || inner->op != OpId::kTranspose) return -1;
  const Shape first = inner->attributes.Ints("perm", {});
  const ValueId source = inner->inputs[0];
  Shape merged;
  for (int64_t p : perm) merged.push_back(first[p]);
  if (IsIdentityPermutation(merged)) return source;
  Attributes attributes;
  attributes.Set("perm", merged);
  return AddOp(graph, OpId::kTranspose, {source}, std::move(attributes), node.name);
}

absl::StatusOr<ValueId> MergeReshapes(Graph& graph, const GraphNode& node) {
  const GraphNode* inner = ProducerOf(graph, node.inputs[0]);
  if (node.op != OpId::kReshape || inner == nullptr || inner->op != OpId::kReshape) return -1;
  const ValueId x = inner->inputs[0];
  if (ShapeOf(graph, x) == ShapeOf(graph, node.outputs[0])) return x;
  return AddOp(graph, OpId::kReshape, {x}, node.attributes, node.name);
}

// pad with zeros in spatial dimensions, before a convolution: the convolution pads.
absl::StatusOr<ValueId> PadIntoConv(Graph& graph, const GraphNode& node) {
  const GraphNode* pad = ProducerOf(graph, node.inputs[0]);
  if (node.op != OpId::kConv || pad == nullptr || pad->op != OpId::kPad) return -1;
  if (pad->attributes.String("mode", "constant") != "constant" ||
      pad->attributes.Float("value", 0) != 0) {
    return -1;
  }
  const Shape extra = pad->attributes.Ints("pads", {});
  const size_t rank = extra.size() / 2;
  const size_t spatial = rank - 2;
  const size_t first = node.attributes.Int("channels_last", 0) != 0 ? 1 : 2;
  Shape pads = node.attributes.Ints("pads", Shape(2 * spatial, 0));
  for (size_t d = 0; d < rank; ++d) {
    if (extra[d] < 0 || extra[rank + d] < 0) return -1;  // What is cut off is no padding.
    const bool is_spatial = d >= first && d < first + spatial;
    if (!is_spatial && (extra[d] != 0 || extra[rank + d] != 0)) return -1;
    if (!is_spatial) continue;
    pads[d - first] += extra[d];
    pads[spatial + d - first] += extra[rank + d];
  }
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = pad->inputs[0];
  Attributes attributes = node.attributes;
  attributes.Set("pads", pads);
  return AddOp(graph, OpId::kConv, std::move(inputs), std::move(attributes), node.name);
}

absl::StatusOr<ValueId> PowerOfScalar(Graph& graph, const GraphNode& node) {
  double exponent = 0;
  if (node.op != OpId::kPow || !IsScalarConstant(graph, node.inputs[1], &exponent)) return -1;
  const ValueId x = node.inputs[0];
  if (ShapeOf(graph, x) != ShapeOf(graph, node.outputs[0])) return -1;
  if (exponent == 1) return x;
  if (exponent == 2) return AddOp(graph, OpId::kMul, {x, x}, {}, node.name);
  const DType dtype = graph.value(x).type.dtype;
  if (!IsFloat(dtype) || exponent != 0.5) return -1;
  // The root of -0 is -0, and that of -infinity is none; their powers are 0 and infinity.
  const double infinity = std::numeric_limits<double>::infinity();
  const auto number = [&](double value) {
    return AddConstant(graph, node.name, {dtype, {}}, FromDoubles(dtype, {value}));
  };
  ASSIGN_OR_RETURN(const ValueId positive, AddOp(graph, OpId::kAdd, {x, number(0)}, {}, node.name));
  ASSIGN_OR_RETURN(const ValueId root, AddOp(graph, OpId::kSqrt, {positive}, {}, node.name));
  ASSIGN_OR_RETURN(const ValueId endless,
                   AddOp(graph, OpId::kEqual, {x, number(-infinity)}, {}, node.name));
  return AddOp(graph, OpId::kWhere, {endless, number(infinity), root}, {}, node.name);
}

// A division by a power of two is a product, exactly, and takes a tenth of the time. Both must be
// numbers that kernels know: 2^17 is no 16-bit float, and of denormals 2^-127 is 0.
absl::StatusOr<ValueId> DivideByPowerOfTwo(Graph& graph, const GraphNode& node) {
  double divisor = 0;
  if (node.op != OpId::kDiv || !IsScalarConstant(graph, node.inputs[1], &divisor)) return -1;
  const TensorType type = graph.value(node.inputs[1]).type;
  int exponent = 0;
  if (!IsFloat(type.dtype) || std::abs(std::frexp(divisor, &exponent)) != 0.5 ||
      !IsNormalNumber(type.dtype, divisor) || !IsNormalNumber(type.dtype, 1 / divisor)) {
    return -1;
  }
  const ValueId factor = AddConstant(graph, graph.value(node.inputs[1]).name, type,
                                     FromDoubles(type.dtype, {1 / divisor}));
  return AddOp(graph, OpId::kMul, {node.inputs[0], factor}, {}, node.name);
}

// X[..,K] * constant W[K,N] is a dense layer: one form for exporters that write MatMul and for
// those that write Gemm, so that both are one task.
absl::StatusOr<ValueId> MatmulToDense(Graph& graph, const GraphNode& node) {
  if (node.inputs.size() < 2 || !graph.IsConstant(node.inputs[1])) return -1;
  const TensorType type = graph.value(node.inputs[1]).type;
  if (!IsFloat(type.dtype)) return -1;  // matmul has integers, too, dense has not.
  const size_t rank_a = ShapeOf(graph, node.inputs[0]).size();
  if (type.shape.size() != 2 || rank_a < 2 || node.attributes.Int("trans_a", 0) != 0) return -1;
  if (node.op == OpId::kGemm) {
    const bool scaled = node.attributes.Float("alpha", 1) != 1 || node.inputs.size() > 2;
    if (scaled) return -1;
  } else if (node.op != OpId::kMatmul) {
    return -1;
  }
  ValueId weights = node.inputs[1];
  if (node.attributes.Int("trans_b", 0) == 0) {
    const ConstantPtr turned = Transposed(graph, type, graph.value(weights).data, {1, 0});
    weights = AddConstant(graph, graph.value(weights).name,
                          {type.dtype, {type.shape[1], type.shape[0]}}, turned);
  }
  return AddOp(graph, OpId::kDense, {node.inputs[0], weights}, {}, node.name);
}

// matmul over a transpose that ends with its two last dimensions swapped: the product can read the
// matrix transposed, and what is left of the transpose keeps rows contiguous.
absl::StatusOr<ValueId> TransposeIntoMatmul(Graph& graph, const GraphNode& node) {
  if (node.op != OpId::kMatmul) return -1;
  for (int side = 0; side < 2; ++side) {
    const GraphNode* inner = ProducerOf(graph, node.inputs[side]);
    if (inner == nullptr || inner->op != OpId::kTranspose) continue;
    Shape perm = inner->attributes.Ints("perm", {});
    const size_t rank = perm.size();
    if (rank < 2 || perm[rank - 2] != static_cast<int64_t>(rank) - 1) continue;
    std::swap(perm[rank - 1], perm[rank - 2]);
    const std::string inner_name = inner->name;
    Attributes turn;
    turn.Set("perm", perm);
    std::vector<ValueId> inputs = node.inputs;
    ASSIGN_OR_RETURN(inputs[side], AddOp(graph, OpId::kTranspose, {inner->inputs[0]},
                                         std::move(turn), inner_name));
    Attributes attributes = node.attributes;
    const char* flag = side == 0 ? "trans_a" : "trans_b";
    attributes.Set(flag, int64_t{1} - attributes.Int(flag, 0));
    return AddOp(graph, OpId::kMatmul, std::move(inputs), std::move(attributes), node.name);
  }
  return -1;
}

// x * sigmoid(x): one form for exporters that write it out, so that it is the task of those that do
// not, and takes one operation less. A sigmoid that others use, too, is computed once.
absl::StatusOr<ValueId> ProductToSilu(Graph& graph, const GraphNode& node) {
  if (node.op != OpId::kMul) return -1;
  for (int side = 0; side < 2; ++side) {
    const ValueId x = node.inputs[1 - side], gate = node.inputs[side];
    const GraphNode* sigmoid = ProducerOf(graph, gate);
    if (sigmoid == nullptr || sigmoid->op != OpId::kSigmoid || sigmoid->inputs[0] != x) continue;
    const bool is_shared = Consumers(graph)[gate].size() > 1 || OutputFlags(graph)[gate];
    if (!is_shared) return AddOp(graph, OpId::kSilu, {x}, {}, node.name);
  }
  return -1;
}

// One place of an axis, by a number that is known: nothing has to be looked up. Not where runs
// decide sizes: what is read of an axis then is known of lookups alone (demanded_axes.h).
absl::StatusOr<ValueId> GatherOfOnePlace(Graph& graph, const GraphNode& node) {
  double place = 0;
  if (node.op != OpId::kGather || !graph.sizes.empty() || node.inputs.size() != 2 ||
      !IsScalarConstant(graph, node.inputs[1], &place)) {
    return -1;
  }
  const ValueId x = node.inputs[0];
  const auto rank = static_cast<int64_t>(ShapeOf(graph, x).size());
  int64_t axis = node.attributes.Int("axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return -1;
  const int64_t extent = ShapeOf(graph, x)[axis];
  const int64_t begin = static_cast<int64_t>(place) + (place < 0 ? extent : 0);
  if (begin < 0 || begin >= extent) return -1;  // Each run says so.
  const Shape shape = ShapeOf(graph, node.outputs[0]);
  Attributes attributes;
  attributes.Set("axes", Shape{axis});
  attributes.Set("starts", Shape{begin});
  attributes.Set("ends", Shape{begin + 1});
  attributes.Set("steps", Shape{1});
  ASSIGN_OR_RETURN(const ValueId slice,
                   AddOp(graph, OpId::kSlice, {x}, std::move(attributes), node.name));
  return AddReshape(graph, slice, shape, node.name);
}

// Applies the first rule that fits to each node.
absl::StatusOr<bool> Sweep(Graph& graph) {
  static constexpr Rule kRules[] = {DropIdentity,       OnlyChoice,    MergeCasts,
                                    MergeTransposes,    MergeReshapes, PadIntoConv,
                                    PowerOfScalar,      MatmulToDense, TransposeIntoMatmul,
                                    DivideByPowerOfTwo, ProductToSilu, GatherOfOnePlace};
  Replacements replacements;
  const std::set<ValueId> graph_inputs(graph.inputs.begin(), graph.inputs.end());
  const std::vector<bool> is_output = OutputFlags(graph);
  const size_t node_count = graph.nodes.size();
  for (size_t n = 0; n < node_count; ++n) {
    GraphNode node = graph.nodes[n];  // By value: rules append nodes.
    if (node.outputs.size() != 1 || node.inputs.empty()) continue;
    for (ValueId& input : node.inputs) input = replacements.Resolve(input);
    graph.nodes[n].inputs = node.inputs;
    // An identity between two names of the model's interface stays.
    if (node.op == OpId::kIdentity && is_output[node.outputs[0]] &&
        (graph_inputs.count(node.inputs[0]) > 0 || graph.IsConstant(node.inputs[0]) ||
         (static_cast<size_t>(node.inputs[0]) < is_output.size() && is_output[node.inputs[0]]))) {
      continue;
    }
    for (const Rule rule : kRules) {
      ASSIGN_OR_RETURN(const ValueId to, rule(graph, node));
      if (to < 0) continue;
      replacements.Set(node.outputs[0], to);
      break;
    }
  }
  if (replacements.empty()) return false;
  replacements.Apply(graph);
  RETURN_IF_ERROR(Finish(graph));
  return true;
}

}  // namespace

absl::Status Simplify(Graph& graph) {
  // Every rule shortens a chain or removes an operator for good, so the sweeps end; the bound is
  // for a rule that will break this.
  for (size_t sweep = 0; sweep < graph.nodes.size() + 8; ++sweep) {
    ASSIGN_OR_RETURN(const bool changed, Sweep(graph));
    if (!changed) break;
  }
  return absl::OkStatus();
}

}  // namespace burnish
