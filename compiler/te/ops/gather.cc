// Elements that are chosen by index tensors at run time: gather, gather_elements, gather_nd.
#include <algorithm>

#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

absl::Status CheckIndices(const TensorType& indices) {
  if (indices.dtype == DType::kI64 || indices.dtype == DType::kI32) return absl::OkStatus();
  return Bad("got indices ", TypeText(indices), ", want i64 or i32");
}

Expr CheckedIndex(const Expr& index, int64_t extent) {
  return BoundsCheck(Cast(DType::kI64, index), Int(extent));
}

// ---- gather: of one axis, whole slices.

TensorType GatherType(const Attributes& attributes, const TensorType& x,
                      const TensorType& indices) {
  const int axis = NormalizeAxis(attributes.Int("axis", 0), static_cast<int>(x.shape.size()));
  TensorType out = x;
  out.shape.erase(out.shape.begin() + axis);
  out.shape.insert(out.shape.begin() + axis, indices.shape.begin(), indices.shape.end());
  return out;
}

InferResult InferGather(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 2));
  RETURN_IF_ERROR(CheckIndices(inputs[1]));
  const int rank = static_cast<int>(inputs[0].shape.size());
  RETURN_IF_ERROR(CheckAxis(attributes.Int("axis", 0), rank).status());
  return std::vector<TensorType>{GatherType(attributes, inputs[0], inputs[1])};
}

std::vector<Tensor> DefineGather(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const Tensor& indices = inputs[1];
  const int axis = NormalizeAxis(attributes.Int("axis", 0), x.rank());
  const TensorType type = GatherType(attributes, x.type, indices.type);
  return {te.Compute("Y", type, [&](const Indices& i) {
    const Indices which(i.begin() + axis, i.begin() + axis + indices.rank());
    Indices at(i.begin(), i.begin() + axis);
    at.push_back(CheckedIndex(indices(which), x.dim(axis)));
    at.insert(at.end(), i.begin() + axis + indices.rank(), i.end());
    return x(at);
  })};
}

// ---- gather_elements: one element for each index; of the other axes x may have more elements
// than the indices. With broadcast=1 x and the indices are broadcast to each other there instead.

absl::StatusOr<TensorType> GatherElementsType(const Attributes& attributes, const TensorType& x,
                                              const TensorType& indices) {
  const int rank = static_cast<int>(x.shape.size());
  ASSIGN_OR_RETURN(const int axis, CheckAxis(attributes.Int("axis", 0), rank));
  if (indices.shape.size() != x.shape.size()) {
    return Bad("got indices ", TypeText(indices), ", want ", rank, " dimensions as X ",
               TypeText(x));
  }
  TensorType out = {x.dtype, indices.shape};
  const bool broadcast = attributes.Int("broadcast", 0) != 0;
  for (int d = 0; d < rank; ++d) {
    if (d == axis) continue;
    const int64_t got = indices.shape[d], extent = x.shape[d];
    if (broadcast ? got != extent && got != 1 && extent != 1 : got > extent) {
      return Bad("got indices ", TypeText(indices), " for X ", TypeText(x), ", want ",
                 broadcast ? "" : "at most ", extent, " in dimension ", d);
    }
    if (broadcast) out.shape[d] = std::max(got, extent);
  }
  return out;
}

InferResult InferGatherElements(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 2));
  RETURN_IF_ERROR(CheckIndices(inputs[1]));
  ASSIGN_OR_RETURN(TensorType type, GatherElementsType(attributes, inputs[0], inputs[1]));
  return std::vector<TensorType>{std::move(type)};
}

std::vector<Tensor> DefineGatherElements(TeBuilder& te, const Attributes& attributes,
                                         Tensors inputs) {
  const Tensor& x = inputs[0];
  const Tensor& indices = inputs[1];
  const int axis = NormalizeAxis(attributes.Int("axis", 0), x.rank());
  const bool broadcast = attributes.Int("broadcast", 0) != 0;
  const TensorType type = *GatherElementsType(attributes, x.type, indices.type);
  return {te.Compute("Y", type, [&](const Indices& i) {
    Indices which = i, at = i;
    for (int d = 0; d < x.rank() && broadcast; ++d) {
      if (d == axis) continue;
      if (indices.dim(d) == 1) which[d] = Int(0);
      if (x.dim(d) == 1) at[d] = Int(0);
    }
    at[axis] = CheckedIndex(indices(which), x.dim(axis));
    return x(at);
  })};
}

// ---- gather_nd: the last dimension of the indices is a position in x, behind `batch_dims`
// dimensions that both have.

InferResult InferGatherNd(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 2));
  const TensorType& x = inputs[0];
  const TensorType& indices = inputs[1];
  RETURN_IF_ERROR(CheckIndices(indices));
  if (x.shape.empty() || indices.shape.empty()) {
    return Bad("got X ", TypeText(x), " and indices ", TypeText(indices),
               ", want at least 1 dimension");
  }
  const auto rank = static_cast<int64_t>(x.shape.size());
  const auto index_rank = static_cast<int64_t>(indices.shape.size());
  const int64_t batch = attributes.Int("batch_dims", 0);
  if (batch < 0 || batch >= std::min(rank, index_rank)) {
    return Bad("got batch_dims=", batch, ", want at least 0 and less than ",
               std::min(rank, index_rank));
  }
  for (int64_t d = 0; d < batch; ++d) {
    if (x.shape[d] != indices.shape[d]) {
      return Bad("got X ", TypeText(x), " and indices ", TypeText(indices), ", want the first ",
                 batch, " extents equal");
    }
  }
  const int64_t depth = indices.shape.back();
  if (depth > rank - batch) {
    return Bad("got positions of ", depth, " numbers, want at most ", rank - batch);
  }
  TensorType out = {x.dtype, {indices.shape.begin(), indices.shape.end() - 1}};
  out.shape.insert(out.shape.end(), x.shape.begin() + batch + depth, x.shape.end());
  return std::vector<TensorType>{std::move(out)};
}

std::vector<Tensor> DefineGatherNd(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const Tensor& indices = inputs[1];
  const int64_t batch = attributes.Int("batch_dims", 0);
  const int64_t depth = indices.type.shape.back();
  const int lead = indices.rank() - 1;
  const TensorType type = (*InferGatherNd(attributes, std::vector{x.type, indices.type}))[0];
  return {te.Compute("Y", type, [&](const Indices& i) {
    Indices which(i.begin(), i.begin() + lead);
    which.push_back(Int(0));
    Indices at(i.begin(), i.begin() + batch);
    for (int64_t k = 0; k < depth; ++k) {
      which.back() = Int(k);
      at.push_back(CheckedIndex(indices(which), x.dim(static_cast<int>(batch + k))));
    }
    at.insert(at.end(), i.begin() + lead, i.end());
    return x(at);
  })};
}

}  // namespace

std::vector<OperatorDef> GatherOperators() {
  const FusionKind injective = FusionKind::kInjective;
  const LayoutRule fixed = LayoutRule::kFixed;
  return {
      Row<&InferGather, &DefineGather>(OpId::kGather, injective, fixed),
      Row<&InferGatherElements, &DefineGatherElements>(OpId::kGatherElements, injective, fixed),
      Row<&InferGatherNd, &DefineGatherNd>(OpId::kGatherNd, injective, fixed),
  };
}

}  // namespace burnish::ops
