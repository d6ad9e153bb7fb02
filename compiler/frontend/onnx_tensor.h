// ONNX's TensorProto -> constant: every way to store the elements, with sizes checked.
#ifndef COMPILER_FRONTEND_ONNX_TENSOR_H_
#define COMPILER_FRONTEND_ONNX_TENSOR_H_

#include <cstdint>
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
};

// UNIMPLEMENTED for an element type that is not supported (float16, bfloat16, string ..). `what`
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
