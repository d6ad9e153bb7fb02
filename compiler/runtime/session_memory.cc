#include "compiler/runtime/session_memory.h"

#include <algorithm>
#include <string>

namespace burnish {
namespace {

constexpr uint64_t kPageBytes = 4096;  // The largest alignment that a buffer may ask for.

// Hands out page-aligned pieces of an area that is allocated once all of them are known.
class Layout {
 public:
  uint64_t Add(uint64_t size_bytes) {
    const uint64_t offset = end_;
    end_ += (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    return offset;
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
};

}  // namespace

RuntimeStatus NoSuch(const char* what, size_t index, size_t count) {
  return RuntimeStatus(RuntimeCode::kOutOfRange, std::string("got ") + what + " " +
                                                     std::to_string(index) + ", want less than " +
                                                     std::to_string(count));
}

RuntimeStatus CheckDenseSize(const TensorInfo& tensor, uint64_t size_bytes) {
  if (size_bytes == tensor.dense_bytes()) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kInvalidArgument,
                       "got " + std::to_string(size_bytes) + " bytes for \"" + tensor.name +
                           "\", want " + std::to_string(tensor.dense_bytes()));
}

RuntimeOr<SessionMemory> SessionMemory::Allocate(const Model& model, int worker_count) {
  SessionMemory made;
  made.model_ = &model;
  const BundleManifest& manifest = model.manifest();
  uint64_t per_worker = 0, shared_bytes = 0;
  for (const KernelManifest& kernel : manifest.kernels) {
    per_worker = std::max(per_worker, kernel.compute.scratch_bytes_per_worker);
    shared_bytes = std::max(shared_bytes, kernel.compute.shared_scratch_bytes);
  }
  // Two cache lines apart: adjacent-line prefetchers would else make workers share lines.
  per_worker = (per_worker + 127) / 128 * 128;

  // Each area is at most 1 TiB and there are fewer than 2^20: the sum does not overflow.
  const uint64_t area_count = manifest.inputs.size() + manifest.outputs.size();
  if (area_count >= uint64_t{1} << 20) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "got too many inputs and outputs");
  }
  Layout layout;
  const uint64_t arena = layout.Add(manifest.arena_bytes);
  const uint64_t of_workers = layout.Add(per_worker * worker_count);
  const uint64_t shared = layout.Add(shared_bytes);
  const auto offsets_of = [&layout](const std::vector<ModelTensor>& tensors) {
    std::vector<uint64_t> offsets;
    for (const ModelTensor& tensor : tensors) offsets.push_back(layout.Add(tensor.storage_bytes));
    return offsets;
  };
  const std::vector<uint64_t> inputs = offsets_of(manifest.inputs);
  const std::vector<uint64_t> outputs = offsets_of(manifest.outputs);
  // One allocation: huge pages are two megabytes each, and many small areas would waste most of
  // them.
  RUNTIME_ASSIGN_OR_RETURN(made.memory_, HugePageArena::Allocate(layout.end()));
  uint8_t* const base = made.memory_.bytes().data();
  made.arena_ = base + arena;
  made.scratch_ = {.of_workers = per_worker > 0 ? base + of_workers : nullptr,
                   .bytes_per_worker = per_worker,
                   .shared = shared_bytes > 0 ? base + shared : nullptr};
  const auto place = [&made, base](Region region, const std::vector<uint64_t>& offsets) {
    Tensors& tensors = made.Of(region);
    for (const uint64_t offset : offsets) tensors.own.push_back(base + offset);
    tensors.bound.resize(offsets.size());
    tensors.of_call.resize(offsets.size());
    tensors.alignment = made.AlignmentsOf(region);
  };
  place(Region::kInput, inputs);
  place(Region::kOutput, outputs);
  return made;
}

const std::vector<ModelTensor>& SessionMemory::TensorsOf(Region region) const {
  return region == Region::kInput ? model_->manifest().inputs : model_->manifest().outputs;
}

std::vector<uint32_t> SessionMemory::AlignmentsOf(Region region) const {
  const std::vector<ModelTensor>& tensors = TensorsOf(region);
  std::vector<uint32_t> alignment;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& tensor = tensors[i].tensor;
    // The caller's memory has no gaps but those that the caller knows of, and a step's strides
    // are compiled into its kernel.
    const bool is_dense = tensor.IsDense() && tensors[i].storage_bytes == tensor.dense_bytes();
    alignment.push_back(
        is_dense ? RegionAlignment(model_->manifest(), region, static_cast<uint32_t>(i)) : 0);
  }
  return alignment;
}

uint8_t* SessionMemory::Address(const Place& place) const {
  const auto of = [&place](const Tensors& tensors) {
    if (tensors.of_call[place.index] != nullptr) return tensors.of_call[place.index];
    if (tensors.bound[place.index] != nullptr) return tensors.bound[place.index];
    return tensors.own[place.index];
  };
  switch (place.region) {
    case Region::kArena:
      return arena_ + place.offset_bytes;
    case Region::kWeights:
      return model_->weights().data() + place.offset_bytes;
    case Region::kInput:
      return of(inputs_) + place.offset_bytes;
    case Region::kOutput:
      return of(outputs_) + place.offset_bytes;
    case Region::kWalker:
      return nullptr;
  }
  return nullptr;  // CheckManifest lets no other region through.
}

RuntimeStatus SessionMemory::CheckBinding(Region region, size_t index, const void* memory,
                                          uint64_t size_bytes) const {
  const std::vector<ModelTensor>& all = TensorsOf(region);
  if (index >= all.size()) {
    return NoSuch(region == Region::kInput ? "input" : "output", index, all.size());
  }
  if (memory == nullptr) return RuntimeStatus();
  const TensorInfo& tensor = all[index].tensor;
  RUNTIME_RETURN_IF_ERROR(CheckDenseSize(tensor, size_bytes));
  const uint32_t alignment = Of(region).alignment[index];
  if (alignment == 0) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                         "\"" + tensor.name + "\" cannot be bound: the model stores it with gaps");
  }
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                         "the memory bound to \"" + tensor.name + "\" must be aligned to " +
                             std::to_string(alignment) + " bytes");
  }
  return RuntimeStatus();
}

RuntimeStatus SessionMemory::Bind(Region region, size_t index, void* memory, uint64_t size_bytes) {
  RUNTIME_RETURN_IF_ERROR(CheckBinding(region, index, memory, size_bytes));
  Of(region).bound[index] = static_cast<uint8_t*>(memory);
  return RuntimeStatus();
}

bool SessionMemory::CanTake(Region region, size_t index, const CallTensor& tensor) const {
  const uint32_t alignment = Of(region).alignment[index];
  return tensor.is_dense && tensor.data != nullptr && alignment != 0 &&
         reinterpret_cast<uintptr_t>(tensor.data) % alignment == 0;
}

void SessionMemory::SetOfCall(Region region, size_t index, uint8_t* memory) {
  Of(region).of_call[index] = memory;
}

void SessionMemory::EndCall() {
  for (Tensors* tensors : {&inputs_, &outputs_}) {
    std::fill(tensors->of_call.begin(), tensors->of_call.end(), nullptr);
  }
}

}  // namespace burnish
