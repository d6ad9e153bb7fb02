// Gemm and MatMul. Y = X * transpose(W) + b, the form of fully connected layers, becomes dense.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

absl::Status IntegerGemm(OnnxNode& node, bool trans_a, bool trans_b) {
  Composer c(node);
  const auto operand = [&](int i, bool turned) {
    return turned ? c.Transpose(c.In(i), {1, 0}) : c.In(i);
  };
  const ValueId product = c.MatMul(operand(0, trans_a), operand(1, trans_b));
  c.Output(0, node.HasInput(2) ? c.Add(product, c.In(2)) : product);
  return c.status();
}

absl::Status Gemm(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId a, node.Input(0));
  ASSIGN_OR_RETURN(const ValueId b, node.Input(1));
  if (node.TypeOf(a).shape.size() != 2 || node.TypeOf(b).shape.size() != 2) {
    return node.Invalid(absl::StrCat("got operands of rank ", node.TypeOf(a).shape.size(), " and ",
                                     node.TypeOf(b).shape.size(), ", want 2"));
  }
  const double alpha = node.Float("alpha", 1.0);
  const double beta = node.Float("beta", 1.0);
  const bool trans_a = node.Int("transA", 0) != 0;
  const bool trans_b = node.Int("transB", 0) != 0;
  if (!IsFloat(node.TypeOf(a).dtype)) {
    if (alpha != 1 || (beta != 1 && node.HasInput(2))) {
      return node.Unsupported("alpha or beta of integers, which nobody says how to round");
    }
    return IntegerGemm(node, trans_a, trans_b);
  }
  std::vector<ValueId> inputs = {a, b};
  bool dense = alpha == 1.0 && !trans_a && trans_b;
  if (node.HasInput(2)) {
    ASSIGN_OR_RETURN(ValueId c, node.Input(2));
    const std::vector<int64_t>& shape = node.TypeOf(c).shape;
    const int64_t columns = node.TypeOf(b).shape[0];
    const bool row = (shape.size() == 1 && shape[0] == columns) ||
                     (shape.size() == 2 && shape[0] == 1 && shape[1] == columns);
    dense = dense && beta == 1.0 && row;
    if (dense) {
      ASSIGN_OR_RETURN(c, node.EmitReshape(c, {columns}));
    }
    inputs.push_back(c);
  }
  if (dense) return node.Finish("dense", std::move(inputs));
  Attributes attributes;
  attributes.Set("alpha", alpha);
  attributes.Set("beta", beta);
  attributes.Set("trans_a", int64_t{trans_a});
  attributes.Set("trans_b", int64_t{trans_b});
  return node.Finish("gemm", std::move(inputs), std::move(attributes));
}

absl::Status MatMul(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId a, node.Input(0));
  ASSIGN_OR_RETURN(const ValueId b, node.Input(1));
  return node.Finish("matmul", {a, b});
}

}  // namespace

void AddMatmulTranslators(OnnxTranslators& t) {
  t["Gemm"] = Gemm;
  t["MatMul"] = MatMul;
}

}  // namespace burnish
