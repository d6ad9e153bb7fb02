#include "compiler/frontend/zoo.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/frontend/zoo_builder.h"

namespace burnish {

std::vector<std::string> ZooModelNames() {
  return {"bert_base", "mobilenet_v2", "resnet18", "resnet50", "vgg16"};
}

absl::StatusOr<Graph> BuildZooModel(absl::string_view name, const ZooOptions& options) {
  if (options.batch < 1 || options.batch > 65536) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch: got ", options.batch, ", want 1 to 65536"));
  }
  if (options.image_size < 32 || options.image_size > 4096 || options.image_size % 32 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("image size: got ", options.image_size, ", want a multiple of 32 up to 4096"));
  }
  if (options.sequence < 1 || options.sequence > 512) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequence: got ", options.sequence, ", want 1 to 512"));
  }
  if (name == "bert_base") return BuildBertBase(options);
  if (name == "mobilenet_v2") return BuildMobilenetV2(options);
  if (name == "resnet18") return BuildResnet(options, 18);
  if (name == "resnet50") return BuildResnet(options, 50);
  if (name == "vgg16") return BuildVgg16(options);
  return absl::NotFoundError(absl::StrCat(
      "no model '", name, "' in the zoo; there are: ", absl::StrJoin(ZooModelNames(), ", ")));
}

}  // namespace burnish
