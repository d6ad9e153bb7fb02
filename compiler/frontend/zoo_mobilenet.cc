// Source: Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018,
// table 2.
#include "absl/strings/str_cat.h"
#include "compiler/frontend/zoo_builder.h"

namespace burnish {
namespace {

ValueId ConvNorm(ZooBuilder& b, ValueId x, const std::string& name, const ConvSpec& spec) {
  return b.BatchNorm(b.Conv(x, name, spec), name + ".norm");
}

ValueId InvertedResidual(ZooBuilder& b, ValueId x, const std::string& name, int64_t expansion,
                         int64_t channels, int64_t stride) {
  const int64_t wide = b.dim(x, 1) * expansion;
  ValueId y = x;
  if (expansion > 1) y = b.Relu6(ConvNorm(b, y, name + ".expand", {.channels = wide}));
  y = b.Relu6(ConvNorm(b, y, name + ".depthwise",
                       {.channels = wide, .kernel = 3, .stride = stride, .group = wide}));
  y = ConvNorm(b, y, name + ".project", {.channels = channels});
  return stride == 1 && b.dim(x, 1) == channels ? b.Op("add", {x, y}) : y;
}

}  // namespace

Graph BuildMobilenetV2(const ZooOptions& options) {
  struct Stage {
    int64_t expansion, channels, blocks, stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  ZooBuilder b("mobilenet_v2", options);
  ValueId x = b.ImageInput();
  x = b.Relu6(ConvNorm(b, x, "stem", {.channels = 32, .kernel = 3, .stride = 2}));
  int index = 0;
  for (const Stage& stage : kStages) {
    for (int64_t block = 0; block < stage.blocks; ++block, ++index) {
      x = InvertedResidual(b, x, absl::StrCat("block", index), stage.expansion, stage.channels,
                           block == 0 ? stage.stride : 1);
    }
  }
  x = b.Relu6(ConvNorm(b, x, "head", {.channels = 1280}));
  b.Output(b.Dense(b.GlobalAverage(x), "classifier", 1000), "output");
  return b.Take();
}

}  // namespace burnish
