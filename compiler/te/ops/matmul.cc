// Matrix products: fully connected layers, general and batched products.
#include <algorithm>

#include "base/check.h"
#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

// ---- dense: Y[.., n] = sum_k X[.., k] * W[n, k] + B[n].

InferResult InferDense(const Attributes&, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 3));
  RETURN_IF_ERROR(CheckSameDType(inputs));
  RETURN_IF_ERROR(CheckFloat(inputs[0], "X"));
  const TensorType& x = inputs[0];
  const TensorType& w = inputs[1];
  if (x.shape.empty()) return Bad("got X ", TypeText(x), ", want at least 1 dimension");
  if (w.shape.size() != 2 || w.shape[1] != x.shape.back()) {
    return Bad("got W ", TypeText(w), ", want [N,", x.shape.back(), "] for X ", TypeText(x));
  }
  if (inputs.size() > 2) RETURN_IF_ERROR(CheckShape(inputs[2], {w.shape[0]}, "the bias"));
  TensorType out = x;
  out.shape.back() = w.shape[0];
  return std::vector<TensorType>{out};
}

// Axis names of a matrix behind `batch` leading dimensions.
std::vector<std::string> MatrixAxisNames(int batch, bool rows, bool columns) {
  std::vector<std::string> names;
  for (int d = 0; d < batch; ++d) names.push_back(absl::StrCat("b", d));
  if (rows) names.push_back("m");
  if (columns) names.push_back("n");
  return names;
}

std::vector<Tensor> DefineDense(TeBuilder& te, const Attributes&, Tensors inputs) {
  const Tensor& x = inputs[0];
  const Tensor& w = inputs[1];
  TensorType type = x.type;
  type.shape.back() = w.dim(0);
  TeBuilder::ReduceSpec spec;
  spec.axis_names = MatrixAxisNames(std::max(0, x.rank() - 2), x.rank() > 1, true);
  spec.reduction_names = {"k"};
  spec.reduction_extents = {w.dim(1)};
  spec.step = [&](const Indices& i, const Indices& k) {
    Indices at = i;
    at.back() = k[0];
    return x(at) * w({i.back(), k[0]});
  };
  if (inputs.size() > 2) {
    // Begins the sum: no addition at its end.
    spec.init = [&](const Indices& i) { return inputs[2]({i.back()}); };
  }
  return {te.Reduce("Y", type, spec)};
}

// ---- gemm: Y = alpha * A' B' + beta * C.

InferResult InferGemm(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 3));
  RETURN_IF_ERROR(CheckSameDType(inputs));
  RETURN_IF_ERROR(CheckFloat(inputs[0], "A"));
  for (int i = 0; i < 2; ++i) {
    if (inputs[i].shape.size() != 2) {
      return Bad("got ", TypeText(inputs[i]), ", want 2 dimensions, for input ", i);
    }
  }
  const bool trans_a = attributes.Int("trans_a", 0) != 0;
  const bool trans_b = attributes.Int("trans_b", 0) != 0;
  const int64_t k = inputs[0].shape[trans_a ? 0 : 1];
  if (inputs[1].shape[trans_b ? 1 : 0] != k) {
    return Bad("got A ", TypeText(inputs[0]), " and B ", TypeText(inputs[1]), ", want ", k,
               " in dimension ", trans_b ? 1 : 0, " of B");
  }
  const TensorType out = {inputs[0].dtype,
                          {inputs[0].shape[trans_a ? 1 : 0], inputs[1].shape[trans_b ? 0 : 1]}};
  if (inputs.size() > 2) {
    const auto shape = BroadcastShapes(inputs[2].shape, out.shape);
    if (!shape.ok() || *shape != out.shape) {
      return Bad("got C ", TypeText(inputs[2]), ", want one that broadcasts to ",
                 ListText(out.shape));
    }
  }
  return std::vector<TensorType>{out};
}

std::vector<Tensor> DefineGemm(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const bool trans_a = attributes.Int("trans_a", 0) != 0;
  const bool trans_b = attributes.Int("trans_b", 0) != 0;
  const double alpha = attributes.Float("alpha", 1);
  const double beta = attributes.Float("beta", 1);
  const DType dtype = inputs[0].type.dtype;
  const auto added = [&](const Indices& i) {
    const Expr c = AtBroadcast(inputs[2], i);
    return beta == 1 ? c : Float(beta, dtype) * c;
  };
  // With beta = 0 nothing reads C, as in BLAS: a NaN there does not spread.
  const bool adds = inputs.size() > 2 && beta != 0;
  TeBuilder::ReduceSpec spec;
  spec.axis_names = {"m", "n"};
  spec.reduction_names = {"k"};
  spec.reduction_extents = {inputs[0].dim(trans_a ? 0 : 1)};
  spec.step = [&](const Indices& i, const Indices& k) {
    const Expr a = trans_a ? inputs[0]({k[0], i[0]}) : inputs[0]({i[0], k[0]});
    const Expr b = trans_b ? inputs[1]({i[1], k[0]}) : inputs[1]({k[0], i[1]});
    return a * b;
  };
  // C may begin the sum only where the sum is not scaled.
  if (alpha != 1) {
    spec.finish = [&](const Indices& i, const Expr& self) {
      const Expr scaled = Float(alpha, dtype) * self;
      return adds ? scaled + added(i) : scaled;
    };
  } else if (adds) {
    spec.init = added;
  }
  const TensorType type = {dtype, {inputs[0].dim(trans_a ? 1 : 0), inputs[1].dim(trans_b ? 0 : 1)}};
  return {te.Reduce("Y", type, spec)};
}

// ---- matmul, with numpy's rules for vectors and batches.

struct MatmulShape {
  bool a_vector = false;
  bool b_vector = false;
  bool trans_a = false;
  bool trans_b = false;
  int64_t k = 0;
  int64_t b_k = 0;
  std::vector<int64_t> batch;
  std::vector<int64_t> out;
};

absl::StatusOr<MatmulShape> MatmulShapeOf(const Attributes& attributes,
                                          const std::vector<int64_t>& a,
                                          const std::vector<int64_t>& b) {
  if (a.empty() || b.empty()) return Bad("got a scalar, want at least 1 dimension");
  MatmulShape s;
  s.a_vector = a.size() == 1;
  s.b_vector = b.size() == 1;
  s.trans_a = !s.a_vector && attributes.Int("trans_a", 0) != 0;
  s.trans_b = !s.b_vector && attributes.Int("trans_b", 0) != 0;
  s.k = s.trans_a ? a[a.size() - 2] : a.back();
  s.b_k = s.b_vector || s.trans_b ? b.back() : b[b.size() - 2];
  if (s.k != s.b_k) {
    return Bad("got ", ListText(a), " and ", ListText(b), ", want equal inner dimensions, not ",
               s.k, " and ", s.b_k);
  }
  ASSIGN_OR_RETURN(s.batch, BroadcastShapes({a.begin(), a.end() - (s.a_vector ? 1 : 2)},
                                            {b.begin(), b.end() - (s.b_vector ? 1 : 2)}));
  s.out = s.batch;
  if (!s.a_vector) s.out.push_back(s.trans_a ? a.back() : a[a.size() - 2]);
  if (!s.b_vector) s.out.push_back(s.trans_b ? b[b.size() - 2] : b.back());
  return s;
}

InferResult InferMatmul(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 2));
  RETURN_IF_ERROR(CheckSameDType(inputs));
  RETURN_IF_ERROR(CheckNumber(inputs[0], "A"));
  ASSIGN_OR_RETURN(const MatmulShape s,
                   MatmulShapeOf(attributes, inputs[0].shape, inputs[1].shape));
  return std::vector<TensorType>{{inputs[0].dtype, s.out}};
}

// The element of one operand: its batch indices out of the result's, then row and column.
Expr AtBatch(const Tensor& t, const Indices& batch, const Indices& matrix) {
  const int leading = t.rank() - static_cast<int>(matrix.size());
  Indices at;
  for (int d = 0; d < leading; ++d) {
    at.push_back(t.dim(d) == 1 ? Int(0) : batch[batch.size() - leading + d]);
  }
  at.insert(at.end(), matrix.begin(), matrix.end());
  return t(at);
}

// Sums of type `sum`, beginning with input 2 where there is one.
Tensor DefineProduct(TeBuilder& te, const Attributes& attributes, Tensors inputs, DType sum) {
  const absl::StatusOr<MatmulShape> shape =
      MatmulShapeOf(attributes, inputs[0].type.shape, inputs[1].type.shape);
  CHECK_OK(shape);
  const MatmulShape& s = *shape;
  const int batch_rank = static_cast<int>(s.batch.size());
  TeBuilder::ReduceSpec spec;
  spec.axis_names = MatrixAxisNames(batch_rank, !s.a_vector, !s.b_vector);
  spec.reduction_names = {"k"};
  spec.reduction_extents = {s.k};
  spec.step = [&](const Indices& i, const Indices& k) {
    const Indices batch(i.begin(), i.begin() + batch_rank);
    Indices a = {k[0]};
    if (!s.a_vector) {
      a = s.trans_a ? Indices{k[0], i[batch_rank]} : Indices{i[batch_rank], k[0]};
    }
    Indices b = {k[0]};
    if (!s.b_vector) b = s.trans_b ? Indices{i.back(), k[0]} : Indices{k[0], i.back()};
    return Cast(sum, AtBatch(inputs[0], batch, a)) * Cast(sum, AtBatch(inputs[1], batch, b));
  };
  if (inputs.size() > 2) {
    spec.init = [&](const Indices& i) { return inputs[2]({i.back()}); };
  }
  return te.Reduce("Y", {sum, s.out}, spec);
}

std::vector<Tensor> DefineMatmul(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  return {DefineProduct(te, attributes, inputs, inputs[0].type.dtype)};
}

// ---- matmul_integer: factors of 8 or 16 bits, sums of 32; a bias [N] begins the sums.

InferResult InferMatmulInteger(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckIntegerProduct(inputs));
  ASSIGN_OR_RETURN(const MatmulShape s,
                   MatmulShapeOf(attributes, inputs[0].shape, inputs[1].shape));
  if (inputs.size() > 2) {
    if (s.b_vector) return Bad("got a bias for a product with a vector, want none");
    RETURN_IF_ERROR(CheckShape(inputs[2], {s.out.back()}, "the bias"));
  }
  return std::vector<TensorType>{{DType::kI32, s.out}};
}

std::vector<Tensor> DefineMatmulInteger(TeBuilder& te, const Attributes& attributes,
                                        Tensors inputs) {
  return {DefineProduct(te, attributes, inputs, DType::kI32)};
}

// ---- matmul_blocks: Y[.., n] = sum over b, j of X[.., b * J + j] * (W[b, j, n] * S[b, n]),
// weights of 8 bits with a scale for each column of a block of J rows.

InferResult InferMatmulBlocks(const Attributes&, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 3, 3));
  const TensorType &x = inputs[0], &w = inputs[1];
  RETURN_IF_ERROR(CheckFloat(x, "X"));
  if (x.shape.empty()) return Bad("got X ", TypeText(x), ", want at least 1 dimension");
  if (w.dtype != DType::kI8 || w.shape.size() != 3 || w.shape[0] * w.shape[1] != x.shape.back()) {
    return Bad("got W ", TypeText(w), ", want i8[B,J,N] with B * J = ", x.shape.back(), " for X ",
               TypeText(x));
  }
  if (inputs[2].dtype != DType::kF32) {
    return Bad("got ", TypeText(inputs[2]), ", want f32, for the scale");
  }
  RETURN_IF_ERROR(CheckShape(inputs[2], {w.shape[0], w.shape[2]}, "the scale"));
  TensorType out = x;
  out.shape.back() = w.shape[2];
  return std::vector<TensorType>{out};
}

std::vector<Tensor> DefineMatmulBlocks(TeBuilder& te, const Attributes&, Tensors inputs) {
  const Tensor &x = inputs[0], &w = inputs[1], &scale = inputs[2];
  TensorType type = x.type;
  type.shape.back() = w.dim(2);
  TeBuilder::ReduceSpec spec;
  spec.axis_names = MatrixAxisNames(std::max(0, x.rank() - 2), x.rank() > 1, true);
  spec.reduction_names = {"b", "k"};
  spec.reduction_extents = {w.dim(0), w.dim(1)};
  spec.step = [&](const Indices& i, const Indices& k) {
    Indices at = i;
    at.back() = k[0] * w.dim(1) + k[1];
    const Expr weight = Cast(DType::kF32, w({k[0], k[1], i.back()})) * scale({k[0], i.back()});
    return x(at) * Cast(ComputeType(x.type.dtype), weight);
  };
  return {te.Reduce("Y", type, spec)};
}

}  // namespace

std::vector<OperatorDef> MatmulOperators() {
  return {
      Row<&InferDense, &DefineDense>(OpId::kDense, FusionKind::kReduction, LayoutRule::kFixed),
      Row<&InferGemm, &DefineGemm>(OpId::kGemm, FusionKind::kReduction, LayoutRule::kFixed),
      Row<&InferMatmul, &DefineMatmul>(OpId::kMatmul, FusionKind::kReduction, LayoutRule::kFixed),
      Row<&InferMatmulInteger, &DefineMatmulInteger>(OpId::kMatmulInteger, FusionKind::kReduction,
                                                     LayoutRule::kFixed),
      Row<&InferMatmulBlocks, &DefineMatmulBlocks>(OpId::kMatmulBlocks, FusionKind::kReduction,
                                                   LayoutRule::kFixed),
  };
}

}  // namespace burnish::ops
