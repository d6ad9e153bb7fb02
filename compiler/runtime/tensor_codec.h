// A tensor in the manifests' bytes (byte_archive.h). The order of fields is the format.
#ifndef COMPILER_RUNTIME_TENSOR_CODEC_H_
#define COMPILER_RUNTIME_TENSOR_CODEC_H_

#include "compiler/runtime/tensor_info.h"

namespace burnish {

template <typename Archive>
void Fields(Archive& archive, TensorInfo& tensor) {
  archive.Text(tensor.name);
  archive.Number(tensor.type);
  archive.Numbers(tensor.shape);
  archive.Numbers(tensor.strides);
  archive.Number(tensor.offset_bytes);
}

}  // namespace burnish

#endif  // COMPILER_RUNTIME_TENSOR_CODEC_H_
