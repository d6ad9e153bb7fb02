// Convolution of 1, 2 or 3 spatial dimensions: grouped, depthwise, dilated, strided, padded.
#include "compiler/te/ops/conv.h"

#include "base/check.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {

Tensor DefineTaps(TeBuilder& te, const ConvShape& s, const Tensor& padded,
                  const std::vector<int64_t>& strides, const WeightAt& weight, const Tensor* bias) {
  TeBuilder::ReduceSpec spec;
  spec.axis_names = s.Order<std::string>("n", "o", OutputAxisNames(s.dims));
  const std::vector<std::string> taps = KernelAxisNames(s.dims);
  // A depthwise convolution sums over taps only.
  const bool sums_channels = !s.depthwise();
  // The fastest axis of memory is the innermost of the reduction.
  if (sums_channels && !s.channels_last) {
    spec.reduction_names.push_back("c");
    spec.reduction_extents.push_back(s.in_channels_per_group());
  }
  spec.reduction_names.insert(spec.reduction_names.end(), taps.begin(), taps.end());
  spec.reduction_extents.insert(spec.reduction_extents.end(), s.kernel.begin(), s.kernel.end());
  if (sums_channels && s.channels_last) {
    spec.reduction_names.push_back("c");
    spec.reduction_extents.push_back(s.in_channels_per_group());
  }
  const DType sum = SumTypeOf(padded.type.dtype);
  spec.step = [&, sums_channels, sum](const Indices& i, const Indices& k) {
    const int first_tap = sums_channels && !s.channels_last ? 1 : 0;
    const Expr o = i[s.ChannelDim()];
    const Expr c = !sums_channels ? Int(0) : s.channels_last ? k.back() : k[0];
    const Indices tap(k.begin() + first_tap, k.begin() + first_tap + s.dims);
    const Indices out = s.Spatial(i);
    Indices in;
    for (int d = 0; d < s.dims; ++d) in.push_back(out[d] * strides[d] + tap[d] * s.dilations[d]);
    Expr channel = c;
    // Only then: the quotient would be there for every convolution, and rules would have to see
    // through it.
    if (s.group > 1) {
      channel = FloorDiv(o, s.out_channels_per_group()) * s.in_channels_per_group() + c;
    }
    return Cast(sum, padded(s.Order<Expr>(i[0], channel, in))) * Cast(sum, weight(o, c, tap));
  };
  // As init and not as a block of its own: the sum starts from it, in a register, at no cost.
  if (bias != nullptr) {
    spec.init = [&](const Indices& i) { return (*bias)({i[s.ChannelDim()]}); };
  }
  return te.Reduce("Y", {sum, s.Shape(s.out_channels, s.out)}, spec);
}

std::vector<Tensor> DefineConv(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  std::vector<TensorType> types;
  for (const Tensor& t : inputs) types.push_back(t.type);
  const absl::StatusOr<ConvShape> shape = ConvShapeOf(attributes, types);
  CHECK_OK(shape);
  const ConvShape& s = *shape;
  std::vector<std::pair<int64_t, int64_t>> pads;
  for (int d = 0; d < s.dims; ++d) pads.emplace_back(s.pads_begin[d], s.pads_end[d]);
  const DType dtype = inputs[0].type.dtype;
  const Expr pad =
      Number(IsFloat(dtype) ? 0 : static_cast<double>(attributes.Int("pad_value", 0)), dtype);
  // Padding is a block. A schedule may inline it or have it lie as a border in storage
  // (docs/adr/0003); the definition itself stays free of conditions in its sum.
  const Tensor padded =
      PadWith(te, "P", inputs[0], s.Order<std::pair<int64_t, int64_t>>({0, 0}, {0, 0}, pads), pad,
              s.Order<std::string>("n", "c", InputAxisNames(s.dims)));
  const auto weight = [&](const Expr& o, const Expr& c, const Indices& tap) {
    Indices at = {o, c};
    at.insert(at.end(), tap.begin(), tap.end());
    return inputs[1](at);
  };
  return {DefineTaps(te, s, padded, s.strides, weight, inputs.size() > 2 ? &inputs[2] : nullptr)};
}

namespace {

InferResult Infer(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 3));
  RETURN_IF_ERROR(CheckSameDType(inputs));
  RETURN_IF_ERROR(CheckFloat(inputs[0], "X"));
  ASSIGN_OR_RETURN(const ConvShape s, ConvShapeOf(attributes, inputs));
  return std::vector<TensorType>{{inputs[0].dtype, s.Shape(s.out_channels, s.out)}};
}

// Factors of 8 or 16 bits, sums and bias of 32.
InferResult InferInteger(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckIntegerProduct(inputs));
  ASSIGN_OR_RETURN(const ConvShape s, ConvShapeOf(attributes, inputs));
  const int64_t pad_value = attributes.Int("pad_value", 0);
  const IntLimits limits = LimitsOf(inputs[0].dtype);
  if (pad_value < limits.least || pad_value > limits.greatest) {
    return Bad("got pad_value=", pad_value, ", want a number of ", DTypeName(inputs[0].dtype));
  }
  return std::vector<TensorType>{{DType::kI32, s.Shape(s.out_channels, s.out)}};
}

}  // namespace

std::vector<OperatorDef> ConvOperators() {
  return {Row<&Infer, &DefineConv>(OpId::kConv, FusionKind::kReduction, LayoutRule::kChannelsLast),
          Row<&InferInteger, &DefineConv>(OpId::kConvInteger, FusionKind::kReduction,
                                          LayoutRule::kChannelsLast)};
}

}  // namespace burnish::ops
