// ONNX models for tests, written as protobuf text.
#ifndef COMPILER_FRONTEND_ONNX_TESTING_H_
#define COMPILER_FRONTEND_ONNX_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace burnish {

// Serialized ModelProto with the given body of its graph, in protobuf text format.
std::string OnnxModel(absl::string_view graph_text, int opset = 17);

// Text of a graph input or output: OnnxTensorInfo("input", "x", {1, 3}); element type FLOAT.
std::string OnnxTensorInfo(absl::string_view field, absl::string_view name,
                           const std::vector<int64_t>& shape, int type = 1);
// Text of an i64 initializer.
std::string OnnxInts(absl::string_view name, const std::vector<int64_t>& values);
// Text of an f32 initializer.
std::string OnnxFloats(absl::string_view name, const std::vector<int64_t>& shape,
                       const std::vector<float>& values);

// A small model with most ways to store data: convolution, batch norm, reshape by computed shape.
std::string SmallOnnxModel();

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_TESTING_H_
