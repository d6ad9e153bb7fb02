// The names of all operators: the one place that spells them. Rows, passes and the graph use OpId.
// Importers and tests may use the names, which are those of model files, of printed graphs and of
// records.
#ifndef COMPILER_TE_OP_ID_H_
#define COMPILER_TE_OP_ID_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>

#include "absl/strings/string_view.h"

namespace burnish {

// Sorted by name.
// clang-format off
#define BURNISH_OPERATORS(X) \
  X(kAbs, "abs") \
  X(kAdd, "add") \
  X(kAnd, "and") \
  X(kArgmax, "argmax") \
  X(kArgmin, "argmin") \
  X(kAveragePool, "average_pool") \
  X(kBatchNorm, "batch_norm") \
  X(kCast, "cast") \
  X(kCeil, "ceil") \
  X(kCelu, "celu") \
  X(kClip, "clip") \
  X(kConcat, "concat") \
  X(kConv, "conv") \
  X(kConvInteger, "conv_integer") \
  X(kConvTranspose, "conv_transpose") \
  X(kCos, "cos") \
  X(kCumProd, "cum_prod") \
  X(kCumSum, "cum_sum") \
  X(kDense, "dense") \
  X(kDequantize, "dequantize") \
  X(kDiv, "div") \
  X(kElu, "elu") \
  X(kEqual, "equal") \
  X(kErf, "erf") \
  X(kExp, "exp") \
  X(kExpand, "expand") \
  X(kFloor, "floor") \
  X(kGather, "gather") \
  X(kGatherElements, "gather_elements") \
  X(kGatherNd, "gather_nd") \
  X(kGelu, "gelu") \
  X(kGemm, "gemm") \
  X(kGreater, "greater") \
  X(kGreaterEqual, "greater_equal") \
  X(kGroupNorm, "group_norm") \
  X(kHardSigmoid, "hard_sigmoid") \
  X(kHardSwish, "hard_swish") \
  X(kIdentity, "identity") \
  X(kIf, "if") \
  X(kInstanceNorm, "instance_norm") \
  X(kIsNan, "is_nan") \
  X(kLayerNorm, "layer_norm") \
  X(kLeakyRelu, "leaky_relu") \
  X(kLess, "less") \
  X(kLessEqual, "less_equal") \
  X(kLog, "log") \
  X(kLogSoftmax, "log_softmax") \
  X(kLoop, "loop") \
  X(kLrn, "lrn") \
  X(kMatmul, "matmul") \
  X(kMatmulBlocks, "matmul_blocks") \
  X(kMatmulInteger, "matmul_integer") \
  X(kMax, "max") \
  X(kMaxPool, "max_pool") \
  X(kMin, "min") \
  X(kMish, "mish") \
  X(kMod, "mod") \
  X(kMul, "mul") \
  X(kNeg, "neg") \
  X(kNonMaxSuppression, "non_max_suppression") \
  X(kNonZero, "non_zero") \
  X(kNot, "not") \
  X(kOr, "or") \
  X(kPad, "pad") \
  X(kPow, "pow") \
  X(kPrelu, "prelu") \
  X(kQuantize, "quantize") \
  X(kReciprocal, "reciprocal") \
  X(kReduceL1, "reduce_l1") \
  X(kReduceL2, "reduce_l2") \
  X(kReduceLogSum, "reduce_log_sum") \
  X(kReduceLogSumExp, "reduce_log_sum_exp") \
  X(kReduceMax, "reduce_max") \
  X(kReduceMean, "reduce_mean") \
  X(kReduceMin, "reduce_min") \
  X(kReduceProd, "reduce_prod") \
  X(kReduceSum, "reduce_sum") \
  X(kReduceSumSquare, "reduce_sum_square") \
  X(kRelu, "relu") \
  X(kRequantize, "requantize") \
  X(kReshape, "reshape") \
  X(kResize, "resize") \
  X(kRound, "round") \
  X(kScatterElements, "scatter_elements") \
  X(kScatterNd, "scatter_nd") \
  X(kSelu, "selu") \
  X(kSigmoid, "sigmoid") \
  X(kSign, "sign") \
  X(kSilu, "silu") \
  X(kSin, "sin") \
  X(kSlice, "slice") \
  X(kSoftmax, "softmax") \
  X(kSoftplus, "softplus") \
  X(kSoftsign, "softsign") \
  X(kSplit, "split") \
  X(kSqrt, "sqrt") \
  X(kSub, "sub") \
  X(kTanh, "tanh") \
  X(kThresholdedRelu, "thresholded_relu") \
  X(kTopK, "top_k") \
  X(kTranspose, "transpose") \
  X(kUnique, "unique") \
  X(kWhere, "where") \
  X(kXor, "xor")
// clang-format on

enum class OpId : uint8_t {
#define BURNISH_OPERATOR(id, name) id,
  BURNISH_OPERATORS(BURNISH_OPERATOR)
#undef BURNISH_OPERATOR
};

inline constexpr size_t kOpCount = 0
#define BURNISH_OPERATOR(id, name) +1
    BURNISH_OPERATORS(BURNISH_OPERATOR)
#undef BURNISH_OPERATOR
    ;

absl::string_view OpName(OpId op);
std::ostream& operator<<(std::ostream& out, OpId op);
// None where there is no such operator.
std::optional<OpId> FindOpId(absl::string_view name);

// By name, for importers and tests.
inline bool operator==(OpId op, absl::string_view name) { return OpName(op) == name; }

}  // namespace burnish

#endif  // COMPILER_TE_OP_ID_H_
