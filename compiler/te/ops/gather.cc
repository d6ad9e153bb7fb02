// Gather: elements of one axis, chosen by an index tensor at run time.
#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

InferResult Infer(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 2));
  RETURN_IF_ERROR(CheckNotEmpty(inputs));
  const TensorType& x = inputs[0];
  const TensorType& indices = inputs[1];
  if (indices.dtype != DType::kI64 && indices.dtype != DType::kI32) {
    return Bad("got indices ", TypeText(indices), ", want i64 or i32");
  }
  ASSIGN_OR_RETURN(const int axis,
                   CheckAxis(attributes.Int("axis", 0), static_cast<int>(x.shape.size())));
  TensorType out = x;
  out.shape.erase(out.shape.begin() + axis);
  out.shape.insert(out.shape.begin() + axis, indices.shape.begin(), indices.shape.end());
  return std::vector<TensorType>{out};
}

std::vector<Tensor> Define(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const Tensor& indices = inputs[1];
  const int axis = NormalizeAxis(attributes.Int("axis", 0), x.rank());
  TensorType type = x.type;
  type.shape.erase(type.shape.begin() + axis);
  type.shape.insert(type.shape.begin() + axis, indices.type.shape.begin(),
                    indices.type.shape.end());
  return {te.Compute("Y", type, [&](const Indices& i) {
    const Indices which(i.begin() + axis, i.begin() + axis + indices.rank());
    Indices at(i.begin(), i.begin() + axis);
    at.push_back(BoundsCheck(Cast(DType::kI64, indices(which)), Int(x.dim(axis))));
    at.insert(at.end(), i.begin() + axis + indices.rank(), i.end());
    return x(at);
  })};
}

}  // namespace

std::vector<OperatorDef> GatherOperators() {
  return {Row<&Infer, &Define>("gather", FusionKind::kInjective, LayoutRule::kFixed)};
}

}  // namespace burnish::ops
