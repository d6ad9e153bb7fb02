#include "compiler/driver/bundle_testing.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/driver/to_status.h"
#include "compiler/runtime/call_tensor.h"
#include "compiler/runtime/guarded_buffer.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/run_sizes.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {
namespace {

struct GuardedTensor {
  GuardedBuffer memory;
  CallTensor tensor;
};

RuntimeOr<GuardedTensor> Guarded(const TensorInfo& tensor, bool is_written) {
  RUNTIME_ASSIGN_OR_RETURN(
      GuardedBuffer memory,
      GuardedBuffer::Allocate({.size_bytes = tensor.dense_bytes(),
                               .alignment_bytes = static_cast<uint32_t>(ElementBytes(tensor.type)),
                               .shared_descriptor = -1}));
  const GivenTensor given{.data = memory.bytes().data(),
                          .type = tensor.type,
                          .rank = static_cast<int32_t>(tensor.shape.size())};
  RUNTIME_ASSIGN_OR_RETURN(CallTensor placed,
                           CheckCallTensor(tensor.name, tensor, given, is_written));
  return GuardedTensor{std::move(memory), placed};
}

// The outputs' elements, of a run on a caller's tensors that end where memory ends.
RuntimeOr<std::vector<std::vector<uint8_t>>> RunGuarded(Session& session,
                                                        const BundleManifest& manifest,
                                                        const std::vector<TensorValue>& inputs,
                                                        std::vector<int64_t> extents) {
  std::vector<GuardedTensor> memories;
  std::vector<CallTensor> given, wanted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorInfo tensor = manifest.inputs[i].tensor;
    tensor.shape = inputs[i].shape;
    RUNTIME_ASSIGN_OR_RETURN(GuardedTensor memory, Guarded(tensor, /*is_written=*/false));
    const ConstantPtr bytes = FromTensorValue(inputs[i]);
    std::copy(bytes->bytes().begin(), bytes->bytes().end(), memory.memory.bytes().begin());
    given.push_back(memory.tensor);
    memories.push_back(std::move(memory));
  }
  for (const ModelTensor& output : manifest.outputs) {
    RUNTIME_ASSIGN_OR_RETURN(GuardedTensor memory, Guarded(output.tensor, /*is_written=*/true));
    wanted.push_back(memory.tensor);
    memories.push_back(std::move(memory));
  }
  RUNTIME_RETURN_IF_ERROR(session.RunTensors(given, wanted, {}, extents));
  std::vector<std::vector<uint8_t>> outputs;
  for (size_t i = 0; i < wanted.size(); ++i) {
    TensorInfo tensor = manifest.outputs[i].tensor;
    tensor.shape = ShapeInRun(manifest.run_sizes, Region::kOutput, i, tensor.shape, extents);
    outputs.emplace_back(wanted[i].data, wanted[i].data + tensor.dense_bytes());
  }
  return outputs;
}

}  // namespace

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
  std::vector<int64_t> extents(sizes.sizes.size());
  if (!sizes.inputs.empty()) {
    std::vector<ShapedInput> shaped;
    for (size_t i = 0; i < inputs.size(); ++i) {
      shaped.push_back({(*model)->manifest().inputs[i].tensor.name, inputs[i].shape});
    }
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
  if (sizes.inputs.empty()) return values;
  const auto guarded = RunGuarded(**session, (*model)->manifest(), inputs, extents);
  if (!guarded.ok()) return ToStatus(guarded.status());
  for (size_t i = 0; i < first.size(); ++i) {
    if ((*guarded)[i] == first[i]) continue;
    return absl::InternalError(absl::StrCat("output ", i, " differs on the caller's tensors"));
  }
  return values;
}

}  // namespace burnish
