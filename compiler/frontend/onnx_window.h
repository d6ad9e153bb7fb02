// What convolutions and poolings of all kinds read alike. Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_ONNX_WINDOW_H_
#define COMPILER_FRONTEND_ONNX_WINDOW_H_

#include "compiler/frontend/onnx_import_context.h"

namespace burnish {

// Attributes of `conv` for weights `w`, auto_pad resolved.
absl::StatusOr<Attributes> ReadConvolution(OnnxNode& node, ValueId x, ValueId w);
// Attributes of max_pool and average_pool.
absl::StatusOr<Attributes> ReadPooling(OnnxNode& node, ValueId x);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_WINDOW_H_
