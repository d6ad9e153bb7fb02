#include "compiler/graph/crop_kernels_pass.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

struct ConvSpec {
  Shape input;  // Spatial.
  Shape kernel, strides, dilations, pads;
  int64_t channels_last = 0;
};

Graph ConvGraph(const ConvSpec& spec) {
  Graph graph;
  Shape x = {2}, w = {5, 3};
  if (spec.channels_last == 0) x.push_back(3);
  x.insert(x.end(), spec.input.begin(), spec.input.end());
  if (spec.channels_last != 0) x.push_back(3);
  w.insert(w.end(), spec.kernel.begin(), spec.kernel.end());
  const ValueId input = AddInput(graph, "x", {DType::kF32, x});
  graph.outputs = {
      Op(graph, "conv",
         {input, AddRandomConstant(graph, "w", w, 7), AddRandomConstant(graph, "b", {5}, 8)},
         {{"strides", spec.strides},
          {"dilations", spec.dilations},
          {"pads", spec.pads},
          {"channels_last", spec.channels_last}})};
  return graph;
}

// The spatial part of the weights' shape after the pass, which must not change the outputs.
Shape CroppedKernel(const ConvSpec& spec) {
  const Graph before = ConvGraph(spec);
  Graph after = before;
  EXPECT_THAT(CropKernels(after), IsOk());
  EXPECT_EQ(Difference(before, after, 0), "");
  const Shape& w = after.value(after.nodes[0].inputs[1]).type.shape;
  return Shape(w.begin() + 2, w.end());
}

TEST(CropKernelsTest, DilatedByMoreThanTheInputOnlyTheMiddleTapIsLeft) {
  for (const int64_t last : {0, 1}) {
    EXPECT_EQ(CroppedKernel({{7, 9}, {3, 3}, {1, 1}, {12, 12}, {12, 12, 12, 12}, last}),
              (Shape{1, 1}));
  }
}

TEST(CropKernelsTest, TapsThatAnyOutputNeedsStay) {
  EXPECT_EQ(CroppedKernel({{13, 5}, {3, 3}, {1, 1}, {12, 6}, {12, 6, 12, 6}}), (Shape{3, 1}));
}

TEST(CropKernelsTest, OneFrameOfAVideoIsAnImage) {
  EXPECT_EQ(CroppedKernel({{1, 4, 4}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, 1}),
            (Shape{1, 3, 3}));
}

TEST(CropKernelsTest, PaddingThatDoesNotCoverAStepOfTheDilationKeepsItsTap) {
  // Tap 0 meets no input, but without it the first output would begin before the padding does.
  EXPECT_EQ(CroppedKernel({{3}, {2}, {1}, {5}, {4, 2}}), (Shape{2}));
}

TEST(CropKernelsTest, EverySmallConvolutionComputesTheSame) {
  int cropped = 0;
  for (int64_t in = 1; in <= 5; ++in) {
    for (int64_t taps = 1; taps <= 4; ++taps) {
      for (int64_t stride = 1; stride <= 3; ++stride) {
        for (int64_t dilation = 1; dilation <= 4; ++dilation) {
          for (int64_t begin = 0; begin <= 4; ++begin) {
            const int64_t reach = dilation * (taps - 1) + 1, end = (begin + 2) % 5;
            if (in + begin + end < reach) continue;
            SCOPED_TRACE(absl::StrCat("in ", in, " taps ", taps, " stride ", stride, " dilation ",
                                      dilation, " pads ", begin, " ", end));
            const ConvSpec spec{{in}, {taps}, {stride}, {dilation}, {begin, end}};
            cropped += CroppedKernel(spec) != spec.kernel ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_GT(cropped, 50);
}

}  // namespace
}  // namespace burnish
