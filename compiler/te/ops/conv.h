// The definition that convolution and transposed convolution share.
#ifndef COMPILER_TE_OPS_CONV_H_
#define COMPILER_TE_OPS_CONV_H_

#include <functional>
#include <vector>

#include "compiler/te/ops/conv_shape.h"

namespace burnish::ops {

// The weight for output channel o, channel c within the group, and a tap (one index a dimension).
using WeightAt = std::function<Expr(const Expr& o, const Expr& c, const Indices& tap)>;

// Block Y(n, y, x, o; ky, kx, c), or Y(n, o, y, x; c, ky, kx) with channels first: the sum over
// taps of `padded` at y * stride + ky * dilation, beginning with the bias (null: zero). Sums of
// integers have 32 bits.
Tensor DefineTaps(TeBuilder& te, const ConvShape& s, const Tensor& padded,
                  const std::vector<int64_t>& strides, const WeightAt& weight, const Tensor* bias);

// Blocks P (the padded input, with the attribute pad_value in pads; only where there are any) and
// Y.
std::vector<Tensor> DefineConv(TeBuilder& te, const Attributes& attributes, Tensors inputs);

}  // namespace burnish::ops

#endif  // COMPILER_TE_OPS_CONV_H_
