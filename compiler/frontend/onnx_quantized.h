// Scales and zero points of quantized tensors, read and checked. Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_ONNX_QUANTIZED_H_
#define COMPILER_FRONTEND_ONNX_QUANTIZED_H_

#include <optional>

#include "compiler/frontend/onnx_compose.h"

namespace burnish {

// Where a node has the parameters of one tensor.
struct QuantizationInputs {
  int scale;
  int zero;
  // The dimension that scales of one dimension go along; nullopt: there is one scale only.
  std::optional<int64_t> axis = std::nullopt;
  int64_t block = 0;  // Of scales with as many dimensions as the tensor.
};

// As `quantize` and `dequantize` take them.
struct Quantization {
  ValueId scale = -1, zero = -1;
};

// The parameters of a tensor of this shape that is `type` when quantized, of `bits` bits where ONNX
// has fewer than 8. Errors name the node, the
// input, what it has and what to do.
absl::StatusOr<Quantization> ReadQuantization(OnnxNode& node, Composer& c, const Shape& shape,
                                              DType type, const QuantizationInputs& at,
                                              int bits = 0);

// Input `input` as f32. Scales are floats of 32 or 16 bits, and constant ones positive numbers:
// others make every result 0, NaN or infinite.
absl::StatusOr<ValueId> ReadScale(OnnxNode& node, Composer& c, int input);

// The type of the zero point, which the result has; u8 where it is absent.
absl::StatusOr<DType> QuantizedType(OnnxNode& node, int zero);

// Input i as real numbers, f32 whatever the scale is.
absl::StatusOr<ValueId> EmitDequantized(OnnxNode& node, Composer& c, int i,
                                        const QuantizationInputs& at);
// `x` in the type of input `at.zero`.
absl::StatusOr<ValueId> EmitQuantized(OnnxNode& node, Composer& c, ValueId x,
                                      const QuantizationInputs& at);

// The exact product a * b of quantized numbers less their zero points (-1: zero), as i32. Of `b`
// the zero point is one number or one a column.
absl::StatusOr<ValueId> EmitMatMulInteger(OnnxNode& node, Composer& c, ValueId a, ValueId a_zero,
                                          ValueId b, ValueId b_zero);

// DynamicQuantizeLinear: `x` as u8, with scale and zero point from its least and greatest element.
struct DynamicallyQuantized {
  ValueId values, scale, zero;
};
DynamicallyQuantized EmitDynamicallyQuantized(Composer& c, ValueId x);
// The real numbers that those stand for.
ValueId EmitDynamicallyRounded(Composer& c, ValueId x);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_QUANTIZED_H_
