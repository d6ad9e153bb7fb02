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

// Sums of products: of no terms the sum is 0, as of terms that are 0.
bool AddsProducts(absl::string_view op) {
  static const auto& ops = *new std::set<std::string, std::less<>>{
      "conv", "conv_integer", "conv_transpose", "gemm", "matmul", "matmul_integer"};
  return ops.contains(op);
}

}  // namespace

absl::StatusOr<ValueId> OnnxNode::EmitEmpty(TensorType type) {
  return EmitConstant(std::move(type), MakeConstant<uint8_t>({}));
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
  const GraphNode node{.op = std::string(op), .inputs = inputs};
  const absl::StatusOr<std::vector<TensorType>> types =
      def->infer(attributes, InputTypes(context_->graph, node));
  // A rule that is written for elements: the model may be sound.
  if (!types.ok()) return Unsupported(types.status().message());
  if (op == "concat" && ElementCount((*types)[0].shape) > 0) {
    std::erase_if(inputs, is_empty);
    if (inputs.size() == 1) return inputs;
    return EmitAll(op, std::move(inputs), std::move(attributes));
  }
  for (const ValueId input : inputs) {
    if (IsBounded(input)) return Unsupported("takes a tensor without elements beside a run's size");
  }
  std::vector<ValueId> results;
  for (const TensorType& type : *types) {
    if (ElementCount(type.shape) > 0) break;
    RETURN_IF_ERROR(
        CheckedElementCount(type.shape, context_->options->max_tensor_elements, Label()).status());
    ASSIGN_OR_RETURN(results.emplace_back(), EmitEmpty(type));
  }
  if (results.size() == types->size()) return results;
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
    if (IsBounded(x)) return Unsupported("an empty part of what a run fills a part of");
    TensorType type = TypeOf(x);
    type.shape[axis] = 0;
    ASSIGN_OR_RETURN(results.emplace_back(), EmitEmpty(std::move(type)));
  }
  return results;
}

}  // namespace burnish
