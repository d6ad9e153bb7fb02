// ONNX's TensorProto -> constant: every way to store the elements, with sizes checked.
#ifndef COMPILER_FRONTEND_ONNX_TENSOR_H_
#define COMPILER_FRONTEND_ONNX_TENSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/element_count.h"
#include "compiler/frontend/onnx_external_data.h"
#include "compiler/graph/constant.h"

namespace onnx {
class TensorProto;
}

namespace burnish {

struct OnnxTensor {
  TensorType type;
  ConstantPtr data;
  int bits = 0;  // Of integers of fewer than 8 bits, which `data` has a byte each.
};

// INT4, UINT4, INT2, UINT2: constants may have such elements, and become numbers of 8 bits.
struct FewBits {
  int bits;
  DType dtype;  // i8 or u8.
};
std::optional<FewBits> FewBitsOfOnnx(int onnx_type);
// "i4", "u2" ..; with 0 bits, which stands for all of a type's own, "f32".
std::string FewBitsName(DType dtype, int bits);

// `rows` rows of `kept` numbers, a byte each. `packed`: several numbers a byte, the first in its
// lowest bits; each row begins with a byte of its own, so that the end of its last one may be
// unused.
ConstantPtr UnpackBits(absl::Span<const uint8_t> packed, FewBits type, int64_t rows, int64_t kept);

// UNIMPLEMENTED for an element type that is not supported (float8, string ..). `what`
// begins the message: "initializer 'w'".
absl::StatusOr<DType> DTypeOfOnnx(int onnx_type, absl::string_view what);
// The number of onnx::TensorProto::DataType.
int OnnxTypeOf(DType dtype);

// What tensors of a model have beside their messages.
struct OnnxTensorBytes {
  OnnxExternalData files;
  // Raw data that was taken out of a tensor's message: no copy, however often the model is
  // imported.
  std::unordered_map<const onnx::TensorProto*, ConstantPtr> raw = {};
};

// INVALID_ARGUMENT where the data has not the size that the dimensions give.
absl::StatusOr<OnnxTensor> ReadOnnxTensor(const onnx::TensorProto& tensor, OnnxTensorBytes& bytes,
                                          int64_t max_elements, absl::string_view what);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_TENSOR_H_
