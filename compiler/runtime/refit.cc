#include "compiler/runtime/refit.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "compiler/runtime/byte_archive.h"
#include "compiler/runtime/strided_copy.h"
#include "compiler/runtime/tensor_codec.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/runtime/time_kernel.h"

namespace burnish {
namespace {

// What pack functions ask of their buffers at most (CheckRefit).
constexpr size_t kAlignment = 64;
constexpr size_t kNamesMax = 8;  // In an error: for people.

struct FreeMemory {
  void operator()(uint8_t* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint8_t, FreeMemory>;

// Zeros: what a pack function does not write must not differ from build to build.
RuntimeOr<Memory> Allocate(size_t size_bytes) {
  const size_t rounded = (size_bytes + kAlignment) / kAlignment * kAlignment;
  Memory memory(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded)));
  if (memory == nullptr) {
    return RuntimeStatus(RuntimeCode::kResourceExhausted,
                         "no memory for " + std::to_string(rounded) + " bytes to pack");
  }
  std::memset(memory.get(), 0, rounded);
  return memory;
}

RuntimeStatus Invalid(const std::string& text) {
  return RuntimeStatus(RuntimeCode::kInvalidArgument, "refit: " + text);
}

RuntimeStatus CheckInput(const RefitInfo& info, const RefitInput& input) {
  if (input.parameter >= info.parameters.size()) return Invalid("got no such parameter");
  const TensorInfo& parameter = info.parameters[input.parameter];
  if (input.storage_bytes > kMemoryBytesMax) return Invalid("got a storage above 1 TiB");
  RUNTIME_RETURN_IF_ERROR(CheckTensor(input.tensor, input.storage_bytes));
  if (input.tensor.type != parameter.type ||
      input.tensor.element_count() != parameter.element_count()) {
    return Invalid("parameter \"" + parameter.name + "\" is packed as another tensor");
  }
  // Reading by these strides stays inside of the parameter.
  TensorInfo read = input.tensor;
  read.strides = input.source_strides;
  read.offset_bytes = 0;
  return CheckTensor(read, parameter.dense_bytes());
}

// The sizes of inputs and outputs are those of the pack function's buffers, in order.
RuntimeStatus CheckPack(const RefitRecipe& recipe, const FunctionInfo& function) {
  size_t input = 0, output = 0;
  for (const BufferInfo& buffer : function.buffers) {
    const bool fits = buffer.alignment_bytes <= kAlignment &&
                      (buffer.role == ArgumentRole::kOutput
                           ? output < recipe.outputs.size() &&
                                 recipe.outputs[output++].size_bytes == buffer.size_bytes
                           : input < recipe.inputs.size() &&
                                 recipe.inputs[input++].storage_bytes == buffer.size_bytes);
    if (!fits) return Invalid("a pack function wants other buffers");
  }
  if (input == recipe.inputs.size() && output == recipe.outputs.size()) return RuntimeStatus();
  return Invalid("a pack function has fewer buffers");
}

std::string NamesOf(const RefitInfo& info) {
  std::string names;
  for (size_t i = 0; i < info.parameters.size() && i < kNamesMax; ++i) {
    names += (i > 0 ? ", \"" : "\"") + info.parameters[i].name + "\"";
  }
  if (info.parameters.size() > kNamesMax) {
    names += " and " + std::to_string(info.parameters.size() - kNamesMax) + " more";
  }
  return names.empty() ? "none" : names;
}

// Dense bytes of what is replaced, by parameter; empty: it stays.
RuntimeOr<std::vector<std::vector<uint8_t>>> ReadReplacements(
    const RefitInfo& info, std::span<const Replacement> replacements) {
  std::vector<std::vector<uint8_t>> dense(info.parameters.size());
  for (const Replacement& replacement : replacements) {
    const auto found = std::find_if(
        info.parameters.begin(), info.parameters.end(),
        [&](const TensorInfo& parameter) { return parameter.name == replacement.name; });
    const std::string what = "parameter \"" + replacement.name + "\"";
    if (found == info.parameters.end()) {
      return RuntimeStatus(RuntimeCode::kOutOfRange,
                           what +
                               " cannot be replaced in this bundle (the model has none of this "
                               "name, or it was folded, shared or rewritten when it was "
                               "compiled): compile the model again. Those that can: " +
                               NamesOf(info));
    }
    std::vector<uint8_t>& bytes = dense[found - info.parameters.begin()];
    if (!bytes.empty()) return Invalid(what + " twice");
    RUNTIME_ASSIGN_OR_RETURN(const CallTensor given,
                             CheckCallTensor(what, *found, replacement.tensor,
                                             /*is_written=*/false));
    bytes.resize(found->dense_bytes());
    CopyStrided(ElementBytes(found->type), found->shape, given.data, given.strides.data(),
                bytes.data(), found->strides.data());
  }
  return dense;
}

}  // namespace

template <typename Archive>
void Fields(Archive& archive, RefitInput& input) {
  archive.Number(input.parameter);
  Fields(archive, input.tensor);
  archive.Numbers(input.source_strides);
  archive.Number(input.storage_bytes);
  archive.Number(input.border_bits);
}

template <typename Archive>
void Fields(Archive& archive, RefitOutput& output) {
  archive.Number(output.offset_bytes);
  archive.Number(output.size_bytes);
}

template <typename Archive>
void Fields(Archive& archive, RefitRecipe& recipe) {
  archive.Number(recipe.pack);
  archive.List(recipe.inputs);
  archive.List(recipe.outputs);
}

template <typename Archive>
void Fields(Archive& archive, RefitInfo& info) {
  archive.List(info.parameters);
  archive.List(info.recipes);
}

std::string EncodeRefit(const RefitInfo& info) {
  ByteWriter writer;
  Fields(writer, const_cast<RefitInfo&>(info));  // A writer changes nothing.
  return writer.Take();
}

RuntimeOr<RefitInfo> DecodeRefit(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  RefitInfo info;
  Fields(reader, info);
  if (!reader.ok() || !reader.AtEnd()) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: how its weights are packed");
  }
  return info;
}

RuntimeStatus CheckRefit(const RefitInfo& info, uint64_t weights_bytes, const Artifact* packs) {
  for (const TensorInfo& parameter : info.parameters) {
    RUNTIME_RETURN_IF_ERROR(CheckTensor(parameter, kMemoryBytesMax));
    if (!parameter.IsDense()) return Invalid("got a parameter that is not dense");
  }
  for (const RefitRecipe& recipe : info.recipes) {
    for (const RefitInput& input : recipe.inputs) RUNTIME_RETURN_IF_ERROR(CheckInput(info, input));
    for (const RefitOutput& output : recipe.outputs) {
      if (output.offset_bytes > weights_bytes ||
          output.size_bytes > weights_bytes - output.offset_bytes) {
        return Invalid("got bytes outside of the weights");
      }
    }
    if (recipe.pack < 0) {
      if (recipe.inputs.size() != 1 || recipe.outputs.size() != 1 ||
          recipe.inputs[0].storage_bytes != recipe.outputs[0].size_bytes) {
        return Invalid("got one parameter as another number of bytes");
      }
    } else if (packs == nullptr ||
               static_cast<size_t>(recipe.pack) >= packs->manifest().kernels.size()) {
      return Invalid("got no such pack function");
    } else {
      RUNTIME_RETURN_IF_ERROR(CheckPack(recipe, packs->manifest().kernels[recipe.pack].compute));
    }
  }
  return RuntimeStatus();
}

std::vector<uint8_t> LayOut(const RefitInput& input, const uint8_t* dense) {
  std::vector<uint8_t> bytes(input.storage_bytes);
  const auto size = static_cast<size_t>(ElementBytes(input.tensor.type));
  if (input.border_bits != 0) {
    for (size_t at = 0; at + size <= bytes.size(); at += size) {
      std::memcpy(&bytes[at], &input.border_bits, size);  // Little-endian host.
    }
  }
  CopyStrided(static_cast<int>(size), input.tensor.shape, dense, input.source_strides.data(),
              bytes.data() + input.tensor.offset_bytes, input.tensor.strides.data());
  return bytes;
}

RuntimeOr<std::vector<std::vector<uint8_t>>> RunPack(
    const Artifact& packs, int32_t index, const std::vector<std::vector<uint8_t>>& inputs) {
  const FunctionInfo& function = packs.manifest().kernels[index].compute;
  std::vector<Memory> memory;
  std::vector<void*> buffers;
  size_t next = 0;
  for (const BufferInfo& buffer : function.buffers) {
    RUNTIME_ASSIGN_OR_RETURN(Memory allocated, Allocate(buffer.size_bytes));
    memory.push_back(std::move(allocated));
    buffers.push_back(memory.back().get());
    if (buffer.role == ArgumentRole::kOutput) continue;
    const std::vector<uint8_t>& bytes = inputs.at(next++);
    if (!bytes.empty()) std::memcpy(memory.back().get(), bytes.data(), bytes.size());
  }
  RUNTIME_ASSIGN_OR_RETURN(const Memory scratch, Allocate(function.scratch_bytes_per_worker));
  RUNTIME_ASSIGN_OR_RETURN(const Memory shared, Allocate(function.shared_scratch_bytes));
  // One thread: packing runs once a build or a refit.
  RUNTIME_ASSIGN_OR_RETURN(const std::unique_ptr<ThreadPool> pool,
                           ThreadPool::Create({.thread_count = 1}));
  RUNTIME_RETURN_IF_ERROR(RunKernelOnce(
      *pool, packs.kernel(index),
      {.buffer_count = static_cast<uint32_t>(buffers.size()),
       .buffers = buffers.data(),
       .scratch = scratch.get(),
       .scratch_bytes_per_worker =
           (function.scratch_bytes_per_worker + kAlignment - 1) / kAlignment * kAlignment,
       .shared_scratch = shared.get()}));
  std::vector<std::vector<uint8_t>> outputs;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferInfo& buffer = function.buffers[i];
    if (buffer.role != ArgumentRole::kOutput) continue;
    outputs.emplace_back(memory[i].get(), memory[i].get() + buffer.size_bytes);
  }
  return outputs;
}

RuntimeStatus ApplyRefit(const RefitInfo& info, const Artifact* packs,
                         std::span<const Replacement> replacements, std::span<uint8_t> weights) {
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<std::vector<uint8_t>> dense,
                           ReadReplacements(info, replacements));
  for (const RefitRecipe& recipe : info.recipes) {
    std::vector<std::vector<uint8_t>> packed;
    std::string given, missing;
    for (const RefitInput& input : recipe.inputs) {
      const bool is_given = !dense[input.parameter].empty();
      (is_given ? given : missing) = info.parameters[input.parameter].name;
      if (is_given) packed.push_back(LayOut(input, dense[input.parameter].data()));
    }
    if (given.empty()) continue;
    if (!missing.empty()) {
      return Invalid("parameters \"" + given + "\" and \"" + missing +
                     "\" are packed together: replace both");
    }
    if (recipe.pack >= 0) {
      RUNTIME_ASSIGN_OR_RETURN(packed, RunPack(*packs, recipe.pack, packed));
    }
    for (size_t i = 0; i < recipe.outputs.size(); ++i) {
      std::copy(packed[i].begin(), packed[i].end(),
                weights.begin() + static_cast<std::ptrdiff_t>(recipe.outputs[i].offset_bytes));
    }
  }
  return RuntimeStatus();
}

}  // namespace burnish
