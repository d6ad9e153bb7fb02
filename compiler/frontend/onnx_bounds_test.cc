// Sizes that a few bytes of a model ask for, and numbers that its operators cannot mean: an error
// with the node's name, before memory is taken.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

struct Hostile {
  std::string node;
  std::vector<std::vector<int64_t>> inputs;  // f32, named a, b, c ..
  std::string initializers;
  const char* says;
};

std::string Scalar(absl::string_view name, int64_t value) {
  return absl::StrCat("initializer { name: '", name, "' data_type: 7 int64_data: ", value, " } ");
}

TEST(OnnxBoundsTest, HostileSizes) {
  const std::vector<int64_t> image = {1, 1, 8, 8};
  const int64_t large = int64_t{1} << 30;
  const Hostile cases[] = {
      {"op_type: 'Trilu' input: 'a'", {{1, large}}, "", "over 67108864 elements"},
      {"op_type: 'EyeLike' input: 'a'", {{large, 1}}, "", "over 67108864 elements"},
      {"op_type: 'OneHot' input: ['a', 'd', 'v']",
       {{4}},
       Scalar("d", large) + OnnxFloats("v", {2}, {0, 1}),
       "depth: want one number from 1 to 2^24"},
      {"op_type: 'Hardmax' input: 'a'", {{2, large}}, "", "over 67108864 elements"},
      {"op_type: 'CenterCropPad' input: ['a', 's']", {{4}}, OnnxInts("s", {-1}), "shape: got -1"},
      {"op_type: 'CenterCropPad' input: ['a', 's']",
       {{4}},
       OnnxInts("s", {int64_t{1} << 40}),
       "shape: got 1099511627776"},
      {"op_type: 'DFT' input: ['a', 'n']", {{1, 8, 1}}, Scalar("n", large), "a transform of"},
      {"op_type: 'DFT' input: ['a', 'n']", {{1, 8, 1}}, Scalar("n", -1), "a transform of"},
      {"op_type: 'STFT' input: ['a', 's', '', 'n']",
       {{1, large, 1}},
       Scalar("s", 1) + Scalar("n", 1024),
       "over 67108864 elements"},
      {"op_type: 'STFT' input: ['a', 's', '', 'n']",
       {{1, 64, 1}},
       Scalar("s", 0) + Scalar("n", 16),
       "frames of 16 each 0"},
      {"op_type: 'HannWindow' input: 'n'", {}, Scalar("n", large), "size: got"},
      {"op_type: 'AffineGrid' input: ['a', 's']",
       {{1, 2, 3}},
       OnnxInts("s", {1, 1, large, large}),
       "over 67108864 elements"},
      {"op_type: 'Resize' input: ['a', '', 's'] attribute { name: 'mode' type: STRING s: 'linear' "
       "} "
       "attribute { name: 'antialias' type: INT i: 1 }",
       {{1, large}},
       OnnxFloats("s", {2}, {1, 1e-9f}),
       "over 67108864 elements"},
      {"op_type: 'Resize' input: ['a', '', '', 's'] attribute { name: 'mode' type: STRING s: "
       "'cubic' }",
       {image},
       OnnxInts("s", {1, 1, large - 1, 8}),
       "over 67108864 elements"},
      {"op_type: 'RoiAlign' input: ['a', 'b', 'i'] "
       "attribute { name: 'sampling_ratio' type: INT i: 1073741824 }",
       {image, {1, 4}},
       OnnxInts("i", {0}),
       "sampling_ratio, output_height or output_width"},
      {"op_type: 'Einsum' input: 'a' attribute { name: 'equation' type: STRING s: 'ij->ik' }",
       {{2, 3}},
       "",
       "an output label is nowhere"},
      {"op_type: 'Einsum' input: 'a' attribute { name: 'equation' type: STRING s: 'i.j->ij' }",
       {{2, 3}},
       "",
       "equation: got 'i.j'"},
      {"op_type: 'Einsum' input: 'a' attribute { name: 'equation' type: STRING s: 'ij->ii' }",
       {{2, 3}},
       "",
       "an output label is there twice"},
      {"op_type: 'Einsum' input: ['a', 'b'] "
       "attribute { name: 'equation' type: STRING s: 'ij,jk->ik' }",
       {{2, 3}, {4, 5}},
       "",
       "label j has the extents 3 and 4"},
      {"op_type: 'Det' input: 'a'", {{9, 9}}, "", "matrices of 9 rows"},
      {"op_type: 'LinearAttention' input: ['a', 'a', 'a'] "
       "attribute { name: 'q_num_heads' type: INT i: 1 } "
       "attribute { name: 'kv_num_heads' type: INT i: 1 } "
       "attribute { name: 'update_rule' type: STRING s: 'linear' }",
       {{1, 4096, 8}},
       "",
       "got 4096 tokens"},
      {"op_type: 'Attention' input: ['a', 'a', 'a']", {{1, 4, 8}}, "", "got 0 heads"},
      {"op_type: 'Attention' input: ['a', 'a', 'b']",
       {{1, 2, 4, 8}, {1, 3, 4, 8}},
       "",
       "query, key and value disagree"},
      {"op_type: 'Attention' input: ['a', 'a', 'a'] "
       "attribute { name: 'is_causal' type: INT i: 1 }",
       {{1, 1, large, 4}},
       "",
       "elements"},
      {"op_type: 'TensorScatter' input: ['a', 'b']",
       {{2, 4, 5}, {2, 6, 5}},
       "",
       "want an update of the cache's shape"},
      {"op_type: 'GridSample' input: ['a', 'b']", {image, {1, 2, 2, 3}}, "", "want X [N, C"},
      {"op_type: 'DeformConv' input: ['a', 'b', 'c']",
       {image, {1, 1, 2, 2}, {1, 3, 7, 7}},
       "",
       "disagree"},
  };
  for (const Hostile& c : cases) {
    std::string inputs;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      absl::StrAppend(&inputs, OnnxTensorInfo("input", std::string(1, static_cast<char>('a' + i)),
                                              c.inputs[i], 1));
    }
    const absl::Status status =
        ImportOnnx(OnnxModel(absl::StrCat(inputs, c.initializers, "node { ", c.node,
                                          " name: 'n' output: 'y' } ",
                                          OnnxTensorInfo("output", "y", {}, 1)),
                             27))
            .status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says)) << c.node;
    EXPECT_THAT(std::string(status.message()), HasSubstr("node 'n' (")) << c.node;
  }
}

}  // namespace
}  // namespace burnish
