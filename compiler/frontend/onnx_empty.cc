// Tensors with a dimension of 0. None has an element, so each is a constant: no kernel runs over
// nothing, and operators on them are done when the model is read.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_import_context.h"

namespace burnish {
namespace {

// Sums, of products mostly: of no terms the sum is 0, as of terms that are 0.
bool AddsProducts(absl::string_view op) {
  static const auto& ops = *new std::set<std::string, std::less<>>{
      "conv", "conv_integer", "conv_transpose", "gemm", "matmul", "matmul_integer", "reduce_sum"};
  return ops.contains(op);
}

}  // namespace

absl::StatusOr<ValueId> OnnxNode::EmitEmpty(TensorType type) {
  return EmitConstant(std::move(type), MakeConstant<uint8_t>({}));
}

absl::StatusOr<ValueId> OnnxNode::EmitNoneOf(ValueId x, int64_t axis) {
  TensorType type = TypeOf(x);
  type.shape[axis] = 0;
  AxisExtents extents = ExtentsOf(x);
  extents[axis] = kFullAxis;
  ASSIGN_OR_RETURN(const ValueId none, EmitEmpty(std::move(type)));
  if (burnish::IsBounded(extents)) context_->bounded.extents[none] = std::move(extents);
  return none;
}

bool OnnxNode::IsEmpty(ValueId id) const { return id >= 0 && ElementCount(TypeOf(id).shape) == 0; }

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitOfNothing(absl::string_view op,
                                                             std::vector<ValueId> inputs,
                                                             Attributes attributes) {
  const auto is_empty = [this](ValueId input) { return IsEmpty(input); };
  const OperatorDef* def = FindOperator(op);
  if (def == nullptr) return Unsupported(absl::StrCat("operator '", op, "' is not in the library"));
  if (op == "scatter_elements" || op == "scatter_nd") {
    return std::vector<ValueId>{inputs[0]};  // Nothing is written.
  }
  const GraphNode node{.op = def->id, .inputs = inputs};
  const absl::StatusOr<std::vector<TensorType>> types =
      def->infer(attributes, InputTypes(context_->graph, node));
  // A rule that is written for elements: the model may be sound.
  if (!types.ok()) return Unsupported(types.status().message());
  if (op == "concat" && ElementCount((*types)[0].shape) > 0) {
    std::erase_if(inputs, is_empty);
    if (inputs.size() == 1) return inputs;
    return EmitAll(op, std::move(inputs), std::move(attributes));
  }
  CarriedExtents carried;
  const bool is_sized =
      std::any_of(inputs.begin(), inputs.end(), [this](ValueId input) { return IsBounded(input); });
  if (is_sized) {
    if (op == "reshape") return Unsupported("takes a tensor without elements that a run sizes");
    std::vector<AxisExtents> extents;
    for (const ValueId input : inputs) extents.push_back(ExtentsOf(input));
    GraphNode sized = node;
    sized.attributes = attributes;
    absl::StatusOr<CarriedExtents> made = CarryExtents(context_->graph, sized, extents);
    if (!made.ok()) return Annotate(made.status());
    carried = *std::move(made);
  }
  std::vector<ValueId> results;
  for (size_t i = 0; i < types->size(); ++i) {
    const TensorType& type = (*types)[i];
    if (ElementCount(type.shape) > 0) break;
    RETURN_IF_ERROR(
        CheckedElementCount(type.shape, context_->options->max_tensor_elements, Label()).status());
    ASSIGN_OR_RETURN(results.emplace_back(), EmitEmpty(type));
    if (is_sized && burnish::IsBounded(carried.outputs[i])) {
      context_->bounded.extents[results[i]] = carried.outputs[i];
    }
  }
  if (results.size() == types->size()) return results;
  if (is_sized) return Unsupported("makes elements of a tensor without any that a run sizes");
  if (!AddsProducts(op)) return Unsupported("makes elements of a tensor that has none");
  for (ValueId& input : inputs) {
    if (!is_empty(input)) continue;
    TensorType type = TypeOf(input);
    std::replace(type.shape.begin(), type.shape.end(), 0, 1);
    ASSIGN_OR_RETURN(
        input, EmitConstant(type, FromDoubles(type.dtype,
                                              std::vector<double>(ElementCount(type.shape), 0))));
  }
  return EmitAll(op, std::move(inputs), std::move(attributes));
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitSplit(ValueId x, int64_t axis,
                                                         const std::vector<int64_t>& sizes) {
  std::vector<int64_t> parts = sizes;
  std::erase(parts, 0);
  std::vector<ValueId> given = {x};
  if (parts.size() > 1) {
    Attributes attributes;
    attributes.Set("axis", axis);
    attributes.Set("split", parts);
    ASSIGN_OR_RETURN(given, EmitAll("split", {x}, std::move(attributes)));
  }
  std::vector<ValueId> results;
  auto next = given.begin();
  for (const int64_t size : sizes) {
    if (size > 0) {
      results.push_back(*next++);
      continue;
    }
    ASSIGN_OR_RETURN(results.emplace_back(), EmitNoneOf(x, axis));
  }
  return results;
}

}  // namespace burnish
