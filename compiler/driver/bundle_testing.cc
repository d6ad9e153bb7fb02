#include "compiler/driver/bundle_testing.h"

#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/driver/to_status.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {
absl::StatusOr<std::vector<TensorValue>> RunBundle(const std::string& bundle, const Graph& graph,
                                                   const std::vector<TensorValue>& inputs,
                                                   int thread_count,
                                                   std::vector<Replacement> replacements) {
  auto model = Model::LoadBytes({reinterpret_cast<const uint8_t*>(bundle.data()), bundle.size()},
                                {.replacements = std::move(replacements)});
  if (!model.ok()) return ToStatus(model.status());
  auto pool = ThreadPool::Create({.thread_count = thread_count});
  if (!pool.ok()) return ToStatus(pool.status());
  auto session = Session::Create(*model, std::shared_ptr<ThreadPool>(std::move(*pool)));
  if (!session.ok()) return ToStatus(session.status());
  const RunSizes& sizes = (*model)->manifest().run_sizes;
  if (!sizes.inputs.empty()) {
    std::vector<ShapedInput> shaped;
    for (size_t i = 0; i < inputs.size(); ++i) {
      shaped.push_back({(*model)->manifest().inputs[i].tensor.name, inputs[i].shape});
    }
    std::vector<int64_t> extents(sizes.sizes.size());
    RuntimeStatus status = ReadGivenSizes(sizes, shaped, extents);
    if (status.ok()) status = (*session)->SetSizes(extents);
    if (!status.ok()) return ToStatus(status);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ConstantPtr bytes = FromTensorValue(inputs[i]);
    const RuntimeStatus status =
        (*session)->SetInput(i, {bytes->bytes().data(), bytes->bytes().size()});
    if (!status.ok()) return ToStatus(status);
  }
  std::vector<std::vector<uint8_t>> first;
  std::vector<TensorValue> values;
  for (int run = 0; run < 2; ++run) {
    if (const RuntimeStatus status = (*session)->Run(); !status.ok()) return ToStatus(status);
    values.clear();
    for (size_t i = 0; i < graph.shown_outputs(); ++i) {
      const TensorType type{graph.value(graph.outputs[i]).type.dtype, (*session)->OutputShape(i)};
      std::vector<uint8_t> bytes(ElementCount(type.shape) * SizeBytes(type.dtype));
      if (const RuntimeStatus status = (*session)->GetOutput(i, bytes); !status.ok()) {
        return ToStatus(status);
      }
      if (run == 0) {
        first.push_back(bytes);
      } else if (bytes != first[i]) {
        return absl::InternalError(absl::StrCat("output ", i, " differs in the second run"));
      }
      values.push_back(ToTensorValue(type, *MakeConstant(std::move(bytes))));
    }
  }
  return values;
}

}  // namespace burnish
