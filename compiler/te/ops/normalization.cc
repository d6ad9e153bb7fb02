// Batch, layer, instance, group and local response normalization.
#include <numeric>

#include "compiler/te/ops/families.h"
#include "compiler/te/ops/reduce.h"

namespace burnish::ops {
namespace {

Expr Root(const Expr& x) { return Unary(ExprKind::kSqrt, x); }
Expr Divide(const Expr& a, const Expr& b) { return Binary(ExprKind::kDiv, a, b); }
double Epsilon(const Attributes& attributes) { return attributes.Float("epsilon", 1e-5); }

absl::Status CheckFloats(Types inputs, size_t least, size_t most, size_t rank_min) {
  RETURN_IF_ERROR(CheckInputCount(inputs, least, most));
  RETURN_IF_ERROR(CheckSameDType(inputs));
  RETURN_IF_ERROR(CheckFloat(inputs[0], "X"));
  if (inputs[0].shape.size() < rank_min) {
    return Bad("got X ", TypeText(inputs[0]), ", want at least ", rank_min, " dimensions");
  }
  return absl::OkStatus();
}

// ---- batch_norm with the statistics of training: y = x * A[c] + B[c].

int ChannelDim(const Attributes& attributes, int rank) {
  return attributes.Int("channels_last", 0) != 0 ? rank - 1 : 1;
}

InferResult InferBatchNorm(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckFloats(inputs, 5, 5, 2));
  const int rank = static_cast<int>(inputs[0].shape.size());
  const int64_t channels = inputs[0].shape[ChannelDim(attributes, rank)];
  const char* const names[] = {"X", "scale", "bias", "mean", "var"};
  for (size_t i = 1; i < 5; ++i) RETURN_IF_ERROR(CheckShape(inputs[i], {channels}, names[i]));
  return std::vector<TensorType>{inputs[0]};
}

// Blocks A and B (one value a channel: when the statistics are constants they can be packed), Y.
std::vector<Tensor> DefineBatchNorm(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor &x = inputs[0], &scale = inputs[1], &bias = inputs[2], &mean = inputs[3],
               &var = inputs[4];
  const int channel = ChannelDim(attributes, x.rank());
  const Expr epsilon = Float(Epsilon(attributes), x.type.dtype);
  const Tensor a = te.Compute(
      "A", scale.type, [&](const Indices& c) { return Divide(scale(c), Root(var(c) + epsilon)); });
  const Tensor b =
      te.Compute("B", bias.type, [&](const Indices& c) { return bias(c) - mean(c) * a(c); });
  return {te.Compute("Y", x.type,
                     [&](const Indices& i) { return x(i) * a({i[channel]}) + b({i[channel]}); })};
}

// ---- Normalization by the mean and variance of the input itself, in two passes.

struct Statistics {
  Tensor mean;
  Tensor inverse;  // 1 / sqrt(variance + epsilon)
};

// Blocks M and V: over `axes` of x, kept with extent 1.
Statistics DefineStatistics(TeBuilder& te, const Tensor& x, const std::vector<int>& axes,
                            double epsilon) {
  const DType dtype = x.type.dtype;
  int64_t count = 1;
  for (const int axis : axes) count *= x.dim(axis);
  const auto mean_of = [&](const Expr& self) {
    return Divide(self, Float(static_cast<double>(count), dtype));
  };
  AxesReduction sum{.axes = axes, .dtype = dtype};
  sum.term = [&](const Indices& full, const Indices&) { return x(full); };
  sum.finish = [&](const Indices&, const Expr& self) { return mean_of(self); };
  const Tensor mean = ReduceAxes(te, "M", x.type.shape, sum);
  sum.term = [&](const Indices& full, const Indices&) {
    // Two passes: E(x^2) - E(x)^2 cancels where the mean is large against the deviation, in float
    // after few digits.
    const Expr difference = x(full) - AtKept(mean, axes, full);
    return difference * difference;
  };
  sum.finish = [&](const Indices&, const Expr& self) {
    return Divide(Float(1, dtype), Root(mean_of(self) + Float(epsilon, dtype)));
  };
  return {mean, ReduceAxes(te, "V", x.type.shape, sum)};
}

std::vector<int> AxesFrom(int first, int rank) {
  std::vector<int> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

InferResult InferLayerNorm(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckFloats(inputs, 2, 3, 1));
  const std::vector<int64_t>& shape = inputs[0].shape;
  ASSIGN_OR_RETURN(const int axis,
                   CheckAxis(attributes.Int("axis", -1), static_cast<int>(shape.size())));
  const std::vector<int64_t> normalized(shape.begin() + axis, shape.end());
  for (size_t i = 1; i < inputs.size(); ++i) {
    const auto broadcast = BroadcastShapes(inputs[i].shape, normalized);
    if (!broadcast.ok() || *broadcast != normalized) {
      return Bad("got ", TypeText(inputs[i]), ", want one that broadcasts to ",
                 ListText(normalized), ", for ", i == 1 ? "scale" : "bias");
    }
  }
  return std::vector<TensorType>{inputs[0]};
}

std::vector<Tensor> DefineLayerNorm(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const int axis = NormalizeAxis(attributes.Int("axis", -1), x.rank());
  const std::vector<int> axes = AxesFrom(axis, x.rank());
  const Statistics s = DefineStatistics(te, x, axes, Epsilon(attributes));
  return {te.Compute("Y", x.type, [&](const Indices& i) {
    Expr y =
        (x(i) - AtKept(s.mean, axes, i)) * AtKept(s.inverse, axes, i) * AtBroadcast(inputs[1], i);
    return inputs.size() > 2 ? y + AtBroadcast(inputs[2], i) : y;
  })};
}

InferResult InferInstanceNorm(const Attributes&, Types inputs) {
  RETURN_IF_ERROR(CheckFloats(inputs, 3, 3, 3));
  RETURN_IF_ERROR(CheckShape(inputs[1], {inputs[0].shape[1]}, "scale"));
  RETURN_IF_ERROR(CheckShape(inputs[2], {inputs[0].shape[1]}, "bias"));
  return std::vector<TensorType>{inputs[0]};
}

std::vector<Tensor> DefineInstanceNorm(TeBuilder& te, const Attributes& attributes,
                                       Tensors inputs) {
  const Tensor& x = inputs[0];
  const std::vector<int> axes = AxesFrom(2, x.rank());
  const Statistics s = DefineStatistics(te, x, axes, Epsilon(attributes));
  return {te.Compute("Y", x.type, [&](const Indices& i) {
    return (x(i) - AtKept(s.mean, axes, i)) * AtKept(s.inverse, axes, i) * inputs[1]({i[1]}) +
           inputs[2]({i[1]});
  })};
}

// Scale and bias hold one value a channel (opset 21) or one a group (opset 18).
InferResult InferGroupNorm(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckFloats(inputs, 3, 3, 2));
  const int64_t channels = inputs[0].shape[1];
  const int64_t groups = attributes.Int("num_groups", 1);
  if (groups < 1 || channels % groups != 0) {
    return Bad("got num_groups=", groups, ", want a divisor of the ", channels, " channels");
  }
  const bool by_group = inputs[1].shape == std::vector<int64_t>{groups};
  const std::vector<int64_t> want = {by_group ? groups : channels};
  RETURN_IF_ERROR(CheckShape(inputs[1], want, "scale"));
  RETURN_IF_ERROR(CheckShape(inputs[2], want, "bias"));
  return std::vector<TensorType>{inputs[0]};
}

std::vector<Tensor> DefineGroupNorm(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const int64_t channels = x.dim(1);
  const int64_t groups = attributes.Int("num_groups", 1);
  const int64_t size = channels / groups;
  // G: the input with its channels as [group, channel of the group].
  TensorType grouped = x.type;
  grouped.shape[1] = size;
  grouped.shape.insert(grouped.shape.begin() + 1, groups);
  const Tensor g = te.Compute("G", grouped, [&](const Indices& i) {
    Indices at = i;
    at.erase(at.begin() + 1);
    at[1] = i[1] * size + i[2];
    return x(at);
  });
  const std::vector<int> axes = AxesFrom(2, g.rank());
  const Statistics s = DefineStatistics(te, g, axes, Epsilon(attributes));
  return {te.Compute("Y", x.type, [&](const Indices& i) {
    const Expr group = FloorDiv(i[1], size);
    Indices full = i;
    full.insert(full.begin() + 1, group);
    const Expr at = inputs[1].dim(0) == channels ? i[1] : group;
    return (x(i) - AtKept(s.mean, axes, full)) * AtKept(s.inverse, axes, full) * inputs[1]({at}) +
           inputs[2]({at});
  })};
}

// ---- lrn: x / (bias + alpha / size * sum of squares of nearby channels) ^ beta
// Source: Krizhevsky et al., "ImageNet classification with deep convolutional neural networks",
// NIPS 2012, section 3.3. Channels are dimension 1, or with channels_last=1 the last one.

// x ^ exponent. Square roots take a fraction of a power's time: 3/4 is what models have.
Expr Power(const Expr& x, double exponent) {
  if (exponent == 0.5) return Root(x);
  if (exponent == 0.75) return Root(x) * Root(Root(x));
  return Binary(ExprKind::kPow, x, Float(exponent, x->dtype));
}

InferResult InferLrn(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckFloats(inputs, 1, 1, 2));
  if (attributes.Int("size", 0) < 1) {
    return Bad("got size=", attributes.Int("size", 0), ", want at least 1");
  }
  return std::vector<TensorType>{inputs[0]};
}

std::vector<Tensor> DefineLrn(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const DType dtype = x.type.dtype;
  const int64_t size = attributes.Int("size", 1);
  const int channel = ChannelDim(attributes, x.rank());
  std::vector<std::pair<int64_t, int64_t>> pads(x.rank(), {0, 0});
  pads[channel] = {(size - 1) / 2, size / 2};
  const Tensor padded = PadWith(te, "P", x, pads, Float(0, dtype), {});
  const double alpha = attributes.Float("alpha", 1e-4) / static_cast<double>(size);
  TeBuilder::ReduceSpec spec;
  spec.reduction_extents = {size};
  spec.step = [&](const Indices& i, const Indices& k) {
    Indices at = i;
    at[channel] = i[channel] + k[0];
    return padded(at) * padded(at);
  };
  spec.finish = [&](const Indices& i, const Expr& self) {
    const Expr base = Float(attributes.Float("bias", 1), dtype) + Float(alpha, dtype) * self;
    return Divide(x(i), Power(base, attributes.Float("beta", 0.75)));
  };
  return {te.Reduce("Y", x.type, spec)};
}

}  // namespace

std::vector<OperatorDef> NormalizationOperators() {
  return {
      Row<&InferBatchNorm, &DefineBatchNorm>(OpId::kBatchNorm, FusionKind::kElementwise,
                                             LayoutRule::kByChannel),
      Row<&InferLayerNorm, &DefineLayerNorm>(OpId::kLayerNorm, FusionKind::kOpaque,
                                             LayoutRule::kFixed),
      Row<&InferInstanceNorm, &DefineInstanceNorm>(OpId::kInstanceNorm, FusionKind::kOpaque,
                                                   LayoutRule::kFixed),
      Row<&InferGroupNorm, &DefineGroupNorm>(OpId::kGroupNorm, FusionKind::kOpaque,
                                             LayoutRule::kFixed),
      Row<&InferLrn, &DefineLrn>(OpId::kLrn, FusionKind::kOpaque, LayoutRule::kByChannel),
  };
}

}  // namespace burnish::ops
