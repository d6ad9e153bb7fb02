#include "compiler/driver/weights.h"

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "compiler/driver/storage_layout.h"
#include "compiler/runtime/time_kernel.h"

namespace burnish {
namespace {

// Of every constant in the section, and of the memory that pack functions work on. Kernels ask for
// 64; the section itself is aligned to a page.
constexpr size_t kAlignment = 64;

struct FreeMemory {
  void operator()(uint8_t* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint8_t, FreeMemory>;

Memory Allocate(size_t size_bytes) {
  const size_t rounded = (size_bytes + kAlignment) / kAlignment * kAlignment;
  Memory memory(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded)));
  CHECK(memory != nullptr);
  // What a pack function does not write must not differ from build to build.
  std::memset(memory.get(), 0, rounded);
  return memory;
}

}  // namespace

std::string StorageText(const Storage& storage) {
  std::string text = absl::StrCat(absl::StrJoin(storage.strides, ","), " ", storage.offset);
  if (!storage.border.empty()) {
    absl::StrAppend(&text, " ", absl::StrJoin(storage.border, ",", absl::PairFormatter(":")), " ",
                    storage.border_value);
  }
  return text;
}

absl::StatusOr<std::unique_ptr<WeightsWriter>> WeightsWriter::Create(const Graph& graph,
                                                                     const Artifact* packs) {
  // One thread: packing runs once a build.
  RuntimeOr<std::unique_ptr<ThreadPool>> pool = ThreadPool::Create({.thread_count = 1});
  if (!pool.ok()) return absl::ResourceExhaustedError(pool.status().message());
  return std::unique_ptr<WeightsWriter>(new WeightsWriter(graph, packs, std::move(*pool)));
}

std::vector<uint8_t> WeightsWriter::Stored(ValueId value, const Storage& storage) const {
  const GraphValue& constant = graph_.value(value);
  return LayOut(constant.type.dtype, constant.type.shape, storage, constant.data->bytes().data());
}

int64_t WeightsWriter::Append(std::string name, absl::Span<const uint8_t> bytes) {
  bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
  const auto offset = static_cast<int64_t>(bytes_.size());
  bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constants_.push_back({.name = std::move(name),
                        .offset_bytes = static_cast<uint64_t>(offset),
                        .size_bytes = bytes.size()});
  return offset;
}

int64_t WeightsWriter::AddConstant(ValueId value, const Storage& storage) {
  // By value and storage: a constant that two steps read alike is stored once.
  const auto [found, is_new] = plain_.try_emplace({value, StorageText(storage)}, 0);
  if (is_new) found->second = Append(graph_.value(value).name, Stored(value, storage));
  return found->second;
}

absl::StatusOr<std::vector<int64_t>> WeightsWriter::AddPacked(
    int pack_index, const std::vector<PackInput>& inputs) {
  std::vector<std::pair<ValueId, StorageKey>> key;
  for (const PackInput& input : inputs) key.emplace_back(input.value, StorageText(input.storage));
  if (const auto found = packed_.find({pack_index, key}); found != packed_.end()) {
    return found->second;
  }
  CHECK(packs_ != nullptr);
  const FunctionInfo& function = packs_->manifest().kernels[pack_index].compute;
  std::vector<Memory> memory;
  std::vector<void*> buffers;
  size_t next = 0;
  for (const BufferInfo& buffer : function.buffers) {
    CHECK_LE(buffer.alignment_bytes, kAlignment);
    memory.push_back(Allocate(buffer.size_bytes));
    buffers.push_back(memory.back().get());
    if (buffer.role == ArgumentRole::kOutput) continue;
    CHECK_LT(next, inputs.size());
    const std::vector<uint8_t> bytes = Stored(inputs[next].value, inputs[next].storage);
    CHECK_EQ(bytes.size(), buffer.size_bytes);
    if (!bytes.empty()) std::memcpy(memory.back().get(), bytes.data(), bytes.size());
    ++next;
  }
  const Memory scratch = Allocate(function.scratch_bytes_per_worker);
  const Memory shared = Allocate(function.shared_scratch_bytes);
  const RuntimeStatus status = RunKernelOnce(
      *pool_, packs_->kernel(pack_index),
      {.buffer_count = static_cast<uint32_t>(buffers.size()),
       .buffers = buffers.data(),
       .scratch = scratch.get(),
       .scratch_bytes_per_worker =
           (function.scratch_bytes_per_worker + kAlignment - 1) / kAlignment * kAlignment,
       .shared_scratch = shared.get()});
  if (!status.ok()) return absl::InternalError(absl::StrCat("packing: ", status.message()));

  const std::string name =
      absl::StrJoin(inputs, "+", [&](std::string* out, const PackInput& input) {
        absl::StrAppend(out, graph_.value(input.value).name);
      });
  std::vector<int64_t>& offsets = packed_[{pack_index, std::move(key)}];
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferInfo& buffer = function.buffers[i];
    if (buffer.role != ArgumentRole::kOutput) continue;
    offsets.push_back(Append(absl::StrCat(name, "#", offsets.size()),
                             {memory[i].get(), static_cast<size_t>(buffer.size_bytes)}));
  }
  return offsets;
}

}  // namespace burnish
