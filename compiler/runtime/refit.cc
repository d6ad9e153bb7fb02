#include "compiler/runtime/refit.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
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

// nullptr: there is no such source.
const TensorInfo* SourceTensor(const RefitInfo& info, size_t source) {
  if (source < info.parameters.size()) return &info.parameters[source];
  source -= info.parameters.size();
  if (source < info.computed.size()) return &info.computed[source].tensor;
  source -= info.computed.size();
  return source < info.constants.size() ? &info.constants[source].tensor : nullptr;
}

// The parameters that a source is made of.
std::vector<uint32_t> ParametersOf(const RefitInfo& info, uint32_t source) {
  if (source < info.parameters.size()) return {source};
  source -= static_cast<uint32_t>(info.parameters.size());
  return source < info.computed.size() ? info.computed[source].parameters : std::vector<uint32_t>();
}

RuntimeStatus CheckInput(const RefitInfo& info, const RefitInput& input) {
  const TensorInfo* source = SourceTensor(info, input.source);
  if (source == nullptr) return Invalid("got no such parameter");
  const TensorInfo& parameter = *source;
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

bool IsSameTensor(const ModelTensor& of_program, const TensorInfo& tensor) {
  return of_program.tensor.IsDense() && of_program.tensor.type == tensor.type &&
         of_program.tensor.shape == tensor.shape;
}

RuntimeStatus CheckProgram(const RefitInfo& info, const BundleManifest* program) {
  if (info.computed.empty()) return RuntimeStatus();
  if (program == nullptr) return Invalid("got no refit program");
  if (program->inputs.size() != info.program_inputs.size() ||
      program->outputs.size() != info.computed.size()) {
    return Invalid("the refit program has other inputs or outputs");
  }
  for (size_t i = 0; i < info.program_inputs.size(); ++i) {
    const uint32_t parameter = info.program_inputs[i];
    if (parameter >= info.parameters.size() ||
        !IsSameTensor(program->inputs[i], info.parameters[parameter])) {
      return Invalid("the refit program has another input");
    }
  }
  for (size_t i = 0; i < info.computed.size(); ++i) {
    if (!IsSameTensor(program->outputs[i], info.computed[i].tensor)) {
      return Invalid("the refit program has another output");
    }
    for (const uint32_t parameter : info.computed[i].parameters) {
      if (parameter >= info.parameters.size()) return Invalid("got no such parameter");
    }
  }
  return RuntimeStatus();
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
                               "compiled): compile the model with --refit. Those that can: " +
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

// What a recipe needs: the names of the parameters that were given and that were not.
struct Needs {
  std::vector<std::string> given, missing;
};

Needs NeedsOf(const RefitInfo& info, const RefitRecipe& recipe, const DenseTensors& dense) {
  Needs needs;
  std::vector<bool> seen(info.parameters.size(), false);
  for (const RefitInput& input : recipe.inputs) {
    for (const uint32_t parameter : ParametersOf(info, input.source)) {
      if (seen[parameter]) continue;
      seen[parameter] = true;
      (dense[parameter].empty() ? needs.missing : needs.given)
          .push_back(info.parameters[parameter].name);
    }
  }
  return needs;
}

RuntimeStatus Missing(const Needs& needs) {
  if (needs.missing.size() == 1) {
    return Invalid("parameters \"" + needs.given[0] + "\" and \"" + needs.missing[0] +
                   "\" are packed together: replace both");
  }
  std::string names;
  for (size_t i = 0; i < needs.missing.size() && i < kNamesMax; ++i) {
    names += (i > 0 ? ", \"" : "\"") + needs.missing[i] + "\"";
  }
  if (needs.missing.size() > kNamesMax) {
    names += " and " + std::to_string(needs.missing.size() - kNamesMax) + " more";
  }
  return Invalid("parameter \"" + needs.given[0] + "\" is packed together with others: replace " +
                 names + ", too");
}

// Makes all of what the program computes; of parameters that are not given, from zeros, which
// nothing that is written depends on.
RuntimeOr<DenseTensors> RunProgram(const RefitInfo& info, const DenseTensors& dense,
                                   const RunRefitProgram& run_program) {
  DenseTensors inputs;
  for (const uint32_t parameter : info.program_inputs) {
    inputs.push_back(dense[parameter]);
  }
  return run_program(inputs);
}

}  // namespace

template <typename Archive>
void Fields(Archive& archive, RefitInput& input) {
  archive.Number(input.source);
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

template <typename Archive>
void Fields(Archive& archive, RefitComputed& computed) {
  Fields(archive, computed.tensor);
  archive.Numbers(computed.parameters);
}

template <typename Archive>
void Fields(Archive& archive, RefitConstant& constant) {
  Fields(archive, constant.tensor);
  archive.Text(constant.bytes);
}

template <typename Archive>
void PlanFields(Archive& archive, RefitInfo& info) {
  Fields(archive, info);
  archive.List(info.computed);
  archive.Numbers(info.program_inputs);
  archive.List(info.constants);
}

namespace {

RuntimeOr<RefitInfo> Whole(const ByteReader& reader, RefitInfo info) {
  if (reader.ok() && reader.AtEnd()) return info;
  return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: how its weights are packed");
}

}  // namespace

std::string EncodeRefit(const RefitInfo& info) {
  ByteWriter writer;
  Fields(writer, const_cast<RefitInfo&>(info));  // A writer changes nothing.
  return writer.Take();
}

std::string EncodeRefitPlan(const RefitInfo& info) {
  ByteWriter writer;
  PlanFields(writer, const_cast<RefitInfo&>(info));
  return writer.Take();
}

RuntimeOr<RefitInfo> DecodeRefit(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  RefitInfo info;
  Fields(reader, info);
  return Whole(reader, std::move(info));
}

RuntimeOr<RefitInfo> DecodeRefitPlan(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  RefitInfo info;
  PlanFields(reader, info);
  return Whole(reader, std::move(info));
}

RuntimeStatus CheckRefit(const RefitInfo& info, uint64_t weights_bytes, const Artifact* packs,
                         const BundleManifest* program) {
  for (size_t i = 0; SourceTensor(info, i) != nullptr; ++i) {
    const TensorInfo& source = *SourceTensor(info, i);
    RUNTIME_RETURN_IF_ERROR(CheckTensor(source, kMemoryBytesMax));
    if (!source.IsDense()) return Invalid("got a parameter that is not dense");
  }
  for (const RefitConstant& constant : info.constants) {
    if (constant.bytes.size() != constant.tensor.dense_bytes()) {
      return Invalid("got a constant of another size");
    }
  }
  RUNTIME_RETURN_IF_ERROR(CheckProgram(info, program));
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
                         const RunRefitProgram& run_program,
                         std::span<const Replacement> replacements, std::span<uint8_t> weights) {
  RUNTIME_ASSIGN_OR_RETURN(DenseTensors sources, ReadReplacements(info, replacements));
  // Before anything is computed or written.
  std::vector<const RefitRecipe*> recipes;
  bool computes = false;
  for (const RefitRecipe& recipe : info.recipes) {
    const Needs needs = NeedsOf(info, recipe, sources);
    if (needs.given.empty()) continue;
    if (!needs.missing.empty()) return Missing(needs);
    recipes.push_back(&recipe);
    for (const RefitInput& input : recipe.inputs) {
      computes |= input.source >= info.parameters.size() &&
                  input.source < info.parameters.size() + info.computed.size();
    }
  }
  DenseTensors computed(info.computed.size());
  if (computes) {
    RUNTIME_ASSIGN_OR_RETURN(computed, RunProgram(info, sources, run_program));
  }
  std::move(computed.begin(), computed.end(), std::back_inserter(sources));
  for (const RefitConstant& constant : info.constants) {
    sources.emplace_back(constant.bytes.begin(), constant.bytes.end());
  }
  for (const RefitRecipe* recipe : recipes) {
    DenseTensors packed;
    for (const RefitInput& input : recipe->inputs) {
      packed.push_back(LayOut(input, sources[input.source].data()));
    }
    if (recipe->pack >= 0) {
      RUNTIME_ASSIGN_OR_RETURN(packed, RunPack(*packs, recipe->pack, packed));
    }
    for (size_t i = 0; i < recipe->outputs.size(); ++i) {
      std::copy(packed[i].begin(), packed[i].end(),
                weights.begin() + static_cast<std::ptrdiff_t>(recipe->outputs[i].offset_bytes));
    }
  }
  return RuntimeStatus();
}

}  // namespace burnish
