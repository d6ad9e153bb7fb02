// Transposed convolution, as a convolution of the input with zeros between its elements.
//
// Output y gets x[i] * w[k] wherever y = i * stride - pad + k * dilation. With the taps counted
// backwards, k' = K - 1 - k, that is P[y + k' * dilation] where P holds x[i] at
// i * stride + dilation * (K - 1) - pad, and zeros elsewhere.
#include "base/check.h"
#include "compiler/te/ops/conv.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

ConvShape ShapeOf(const Attributes& attributes, Tensors inputs) {
  std::vector<TensorType> types;
  for (const Tensor& t : inputs) types.push_back(t.type);
  absl::StatusOr<ConvShape> shape = ConvTransposeShapeOf(attributes, types);
  CHECK_OK(shape);
  return *std::move(shape);
}

// Block P(n, h, w, c).
Tensor Spread(TeBuilder& te, const ConvShape& s, const Tensor& x) {
  std::vector<int64_t> extents;
  std::vector<int64_t> starts;
  bool same = true;
  for (int d = 0; d < s.dims; ++d) {
    extents.push_back(s.out[d] + s.dilations[d] * (s.kernel[d] - 1));
    starts.push_back(s.dilations[d] * (s.kernel[d] - 1) - s.pads_begin[d]);
    same = same && s.strides[d] == 1 && starts[d] == 0 && extents[d] == s.in[d];
  }
  if (same) return x;
  const auto at = [&](const Indices& i) {
    const Indices position = s.Spatial(i);
    Expr inside = Bool(true);
    Indices source;
    for (int d = 0; d < s.dims; ++d) {
      const Expr shifted = position[d] - starts[d];
      source.push_back(FloorDiv(shifted, s.strides[d]));
      inside = And(inside, Eq(Mod(shifted, s.strides[d]), Int(0)));
      inside = And(inside, And(Le(Int(0), shifted), Lt(source[d], Int(s.in[d]))));
    }
    return Select(inside, x(s.Order<Expr>(i[0], i[s.ChannelDim()], source)),
                  Number(0, x.type.dtype));
  };
  return te.Compute("P", {x.type.dtype, s.Shape(s.in_channels, extents)}, at,
                    s.Order<std::string>("n", "c", InputAxisNames(s.dims)));
}

std::vector<Tensor> Define(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const ConvShape s = ShapeOf(attributes, inputs);
  const Tensor spread = Spread(te, s, inputs[0]);
  const auto weight = [&](const Expr& o, const Expr& c, const Indices& tap) {
    const int64_t in = s.in_channels_per_group();
    const int64_t out = s.out_channels_per_group();
    Indices at = {s.group == 1 ? c : FloorDiv(o, out) * in + c, s.group == 1 ? o : Mod(o, out)};
    for (int d = 0; d < s.dims; ++d) at.push_back(Int(s.kernel[d] - 1) - tap[d]);
    return inputs[1](at);
  };
  return {DefineTaps(te, s, spread, std::vector<int64_t>(s.dims, 1), weight,
                     inputs.size() > 2 ? &inputs[2] : nullptr)};
}

InferResult Infer(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 3));
  RETURN_IF_ERROR(CheckSameDType(inputs));
  RETURN_IF_ERROR(CheckFloat(inputs[0], "X"));
  ASSIGN_OR_RETURN(const ConvShape s, ConvTransposeShapeOf(attributes, inputs));
  return std::vector<TensorType>{{inputs[0].dtype, s.Shape(s.out_channels, s.out)}};
}

// What the operator is worth, not what multiplying by the inserted zeros costs.
int64_t FlopCount(const Attributes& attributes, Types inputs) {
  const absl::StatusOr<ConvShape> s = ConvTransposeShapeOf(attributes, inputs);
  CHECK_OK(s);
  return 2 * s->batch * s->in_channels * s->out_channels_per_group() * ElementCount(s->in) *
         ElementCount(s->kernel);
}

}  // namespace

std::vector<OperatorDef> ConvTransposeOperators() {
  return {{OpId::kConvTranspose,
           FusionKind::kReduction,
           LayoutRule::kChannelsLast,
           {},
           &Infer,
           &Define,
           &FlopCount}};
}

}  // namespace burnish::ops
