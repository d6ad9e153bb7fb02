// Source: He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, table 1, with the
// stride in the 3x3 convolution ("v1.5").
#include "absl/strings/str_cat.h"
#include "compiler/frontend/zoo_builder.h"

namespace burnish {
namespace {

ValueId ConvNorm(ZooBuilder& b, ValueId x, const std::string& name, const ConvSpec& spec) {
  return b.BatchNorm(b.Conv(x, name, spec), name + ".norm");
}

// The branch beside the block where its shape changes.
ValueId Shortcut(ZooBuilder& b, ValueId x, const std::string& name, int64_t channels,
                 int64_t stride) {
  if (b.dim(x, 1) == channels && stride == 1) return x;
  return ConvNorm(b, x, name + ".shortcut", {.channels = channels, .stride = stride});
}

ValueId BasicBlock(ZooBuilder& b, ValueId x, const std::string& name, int64_t width,
                   int64_t stride) {
  ValueId y =
      b.Relu(ConvNorm(b, x, name + ".conv1", {.channels = width, .kernel = 3, .stride = stride}));
  y = ConvNorm(b, y, name + ".conv2", {.channels = width, .kernel = 3});
  return b.Relu(b.Op("add", {y, Shortcut(b, x, name, width, stride)}));
}

ValueId Bottleneck(ZooBuilder& b, ValueId x, const std::string& name, int64_t width,
                   int64_t stride) {
  ValueId y = b.Relu(ConvNorm(b, x, name + ".conv1", {.channels = width}));
  y = b.Relu(ConvNorm(b, y, name + ".conv2", {.channels = width, .kernel = 3, .stride = stride}));
  y = ConvNorm(b, y, name + ".conv3", {.channels = 4 * width});
  return b.Relu(b.Op("add", {y, Shortcut(b, x, name, 4 * width, stride)}));
}

}  // namespace

Graph BuildResnet(const ZooOptions& options, int layers) {
  const bool deep = layers == 50;
  const int blocks[4] = {deep ? 3 : 2, deep ? 4 : 2, deep ? 6 : 2, deep ? 3 : 2};
  ZooBuilder b(absl::StrCat("resnet", layers), options);
  ValueId x = b.ImageInput();
  x = b.Relu(ConvNorm(b, x, "stem", {.channels = 64, .kernel = 7, .stride = 2}));
  x = b.MaxPool(x, /*kernel=*/3, /*stride=*/2, /*pad=*/1);
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < blocks[stage]; ++block) {
      const std::string name = absl::StrCat("stage", stage + 1, ".", block);
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const int64_t width = int64_t{64} << stage;
      x = deep ? Bottleneck(b, x, name, width, stride) : BasicBlock(b, x, name, width, stride);
    }
  }
  b.Output(b.Dense(b.GlobalAverage(x), "classifier", 1000), "output");
  return b.Take();
}

}  // namespace burnish
