#include "compiler/frontend/onnx_testing.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "google/protobuf/text_format.h"
#include "third_party/onnx.pb.h"

namespace burnish {

std::string OnnxModel(absl::string_view graph_text, int opset) {
  onnx::ModelProto model;
  const std::string text = absl::StrCat("ir_version: 8 opset_import { domain: '' version: ", opset,
                                        " } graph { name: 'test' ", graph_text, " }");
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &model)) << text;
  return model.SerializeAsString();
}

std::string OnnxTensorInfo(absl::string_view field, absl::string_view name,
                           const std::vector<int64_t>& shape, int type) {
  std::string dims;
  for (int64_t extent : shape) {
    // Negative: a symbolic dimension.
    if (extent < 0) absl::StrAppend(&dims, "dim { dim_param: 'N' } ");
    if (extent >= 0) absl::StrAppend(&dims, "dim { dim_value: ", extent, " } ");
  }
  return absl::StrCat(field, " { name: '", name, "' type { tensor_type { elem_type: ", type,
                      " shape { ", dims, "} } } } ");
}

std::string OnnxInts(absl::string_view name, const std::vector<int64_t>& values) {
  return absl::StrCat("initializer { name: '", name, "' data_type: 7 dims: ", values.size(),
                      " int64_data: [", absl::StrJoin(values, ","), "] } ");
}

std::string OnnxFloats(absl::string_view name, const std::vector<int64_t>& shape,
                       const std::vector<float>& values) {
  return absl::StrCat("initializer { name: '", name, "' data_type: 1 dims: [",
                      absl::StrJoin(shape, ","), "] float_data: [", absl::StrJoin(values, ","),
                      "] } ");
}

std::string SmallOnnxModel() {
  std::vector<float> weights(3 * 2 * 3 * 3);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.1f * static_cast<float>(i % 7) - 0.3f;
  return OnnxModel(absl::StrCat(
      OnnxTensorInfo("input", "x", {1, 2, 5, 5}), OnnxTensorInfo("output", "y", {1, 3}),
      OnnxFloats("w", {3, 2, 3, 3}, weights), OnnxFloats("scale", {3}, {1, 2, 3}),
      OnnxFloats("bias", {3}, {0, 1, 0}), OnnxFloats("mean", {3}, {0.5, 0, 1}),
      OnnxFloats("var", {3}, {1, 0.5, 2}),
      R"(initializer { name: 'minus' data_type: 7 dims: 1 raw_data: '\377\377\377\377\377\377\377\377' }
         node { op_type: 'Conv' input: ['x', 'w'] output: 'c'
                attribute { name: 'auto_pad' type: STRING s: 'SAME_UPPER' }
                attribute { name: 'strides' type: INTS ints: [2, 2] } }
         node { op_type: 'BatchNormalization' input: ['c', 'scale', 'bias', 'mean', 'var'] output: 'b' }
         node { op_type: 'Relu' input: 'b' output: 'r' }
         node { op_type: 'GlobalAveragePool' input: 'r' output: 'g' }
         node { op_type: 'Shape' input: 'g' output: 's' }
         node { op_type: 'Constant' output: 'zero'
                attribute { name: 'value_ints' type: INTS ints: [0] } }
         node { op_type: 'Gather' input: ['s', 'zero'] output: 'n' }
         node { op_type: 'Concat' input: ['n', 'minus'] output: 'shape'
                attribute { name: 'axis' type: INT i: 0 } }
         node { op_type: 'Reshape' input: ['g', 'shape'] output: 'f' }
         node { op_type: 'Dropout' input: 'f' output: 'd' }
         node { op_type: 'Softmax' input: 'd' output: 'y' })"));
}

}  // namespace burnish
