// Source: Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
// Recognition", ICLR 2015, table 1, configuration D.
#include "absl/strings/str_cat.h"
#include "compiler/frontend/zoo_builder.h"

namespace burnish {

Graph BuildVgg16(const ZooOptions& options) {
  constexpr int64_t kWidths[] = {64, 128, 256, 512, 512};
  constexpr int kConvolutions[] = {2, 2, 3, 3, 3};
  ZooBuilder b("vgg16", options);
  ValueId x = b.ImageInput();
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < kConvolutions[stage]; ++i) {
      const std::string name = absl::StrCat("stage", stage + 1, ".conv", i + 1);
      x = b.Relu(b.Conv(x, name, {.channels = kWidths[stage], .kernel = 3, .bias = true}));
    }
    x = b.MaxPool(x, /*kernel=*/2, /*stride=*/2, /*pad=*/0);
  }
  x = b.Reshape(x, {b.dim(x, 0), b.dim(x, 1) * b.dim(x, 2) * b.dim(x, 3)});
  x = b.Relu(b.Dense(x, "classifier1", 4096));
  x = b.Relu(b.Dense(x, "classifier2", 4096));
  b.Output(b.Dense(x, "classifier3", 1000), "output");
  return b.Take();
}

}  // namespace burnish
