// Updates of which a run has as many as it finds, and places in what it fills
// (docs/adr/0013-bounded-axes.md).
#include <utility>

#include "base/status_macros.h"
#include "compiler/frontend/onnx_import_context.h"

namespace burnish {

// Updates that do not hold go behind the data, where a slice leaves them out.
absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBoundedScatter(std::vector<ValueId> inputs,
                                                                  Attributes attributes) {
  const auto rank = static_cast<int64_t>(TypeOf(inputs[0]).shape.size());
  for (ValueId& input : inputs) {
    if (static_cast<int64_t>(TypeOf(input).shape.size()) != rank) {
      return Invalid("data, indices and updates differ in rank");
    }
    ASSIGN_OR_RETURN(input, Packed(input));
  }
  ValueId data = inputs[0], indices = inputs[1];
  const ValueId updates = inputs[2];
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(*this, attributes.Int("axis", 0), rank));
  const AxisExtents held = ExtentsOf(data);
  const int64_t bound = TypeOf(data).shape[axis];
  const bool leaves_out = IsBounded(indices) || IsBounded(updates);
  std::vector<ValueId> differ;  // Whether indices and updates have other shapes in this run.
  for (int64_t d = 0; d < rank; ++d) {
    const SizeTerm of_indices = SizeOf(indices, d), of_updates = SizeOf(updates, d);
    if (of_indices == of_updates) continue;
    ASSIGN_OR_RETURN(const ValueId one, EmitTerm(of_indices));
    ASSIGN_OR_RETURN(const ValueId other, EmitTerm(of_updates));
    ASSIGN_OR_RETURN(const ValueId same, EmitWhole("equal", {one, other}));
    ASSIGN_OR_RETURN(differ.emplace_back(), EmitWhole("not", {same}));
  }
  // No index that a kernel takes.
  const int64_t outside = bound + (leaves_out ? 1 : 0);
  ASSIGN_OR_RETURN(const ValueId extent, ExtentAt(data, axis));
  ASSIGN_OR_RETURN(indices, CheckedIndices(indices, extent, outside));
  if (leaves_out) {
    ASSIGN_OR_RETURN(indices, Filled(indices, static_cast<double>(bound)));
    std::vector<int64_t> pads(2 * rank, 0);
    pads[rank + axis] = 1;
    Attributes behind;
    behind.Set("pads", std::move(pads));
    behind.Set("mode", std::string("constant"));
    behind.Set("value", 0.0);
    ASSIGN_OR_RETURN(data, EmitWhole("pad", {data}, std::move(behind)));
  }
  for (const ValueId condition : differ) {
    ASSIGN_OR_RETURN(const ValueId nowhere, EmitScalar(DType::kI64, static_cast<double>(outside)));
    ASSIGN_OR_RETURN(indices, EmitWhole("where", {condition, nowhere, indices}));
  }
  ASSIGN_OR_RETURN(ValueId result,
                   EmitWhole("scatter_elements", {data, indices, updates}, std::move(attributes)));
  if (leaves_out) {
    Attributes within;
    within.Set("axes", std::vector<int64_t>{axis});
    within.Set("starts", std::vector<int64_t>{0});
    within.Set("ends", std::vector<int64_t>{bound});
    ASSIGN_OR_RETURN(result, EmitWhole("slice", {result}, std::move(within)));
  }
  if (burnish::IsBounded(held)) context_->bounded.extents[result] = held;
  return std::vector<ValueId>{result};
}

}  // namespace burnish
