#include "compiler/runtime/refit.h"

#include <algorithm>
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

constexpr size_t kNamesMax = 8;  // In an error: for people.

// Of as many bytes at least as are asked for: a whole number of lines, one at least.
AlignedBytes Scratch(size_t size_bytes) {
  constexpr size_t kLine = AlignedBytes::kAlignment;
  return AlignedBytes((size_bytes + kLine) / kLine * kLine);
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
    const bool fits = buffer.alignment_bytes <= AlignedBytes::kAlignment &&
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

// What recipes read.
struct Sources {
  ByteViews dense;                   // By their numbers; empty: a parameter that stays.
  std::vector<AlignedBytes> memory;  // Of those that do not lie so already.
};

// The parameters that are replaced.
RuntimeOr<Sources> ReadReplacements(const RefitInfo& info,
                                    std::span<const Replacement> replacements) {
  Sources sources;
  sources.dense.resize(info.parameters.size());
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
    std::span<const uint8_t>& bytes = sources.dense[found - info.parameters.begin()];
    if (!bytes.empty()) return Invalid(what + " twice");
    RUNTIME_ASSIGN_OR_RETURN(const CallTensor given,
                             CheckCallTensor(what, *found, replacement.tensor,
                                             /*is_written=*/false));
    if (given.is_dense) {
      bytes = {given.data, found->dense_bytes()};
      continue;
    }
    const AlignedBytes& copy = sources.memory.emplace_back(found->dense_bytes());
    CopyStrided(ElementBytes(found->type), found->shape, given.data, given.strides.data(),
                copy.data(), found->strides.data());
    bytes = copy;
  }
  return sources;
}

// What a recipe needs: the names of the parameters that were given and that were not.
struct Needs {
  std::vector<std::string> given, missing;
};

Needs NeedsOf(const RefitInfo& info, const RefitRecipe& recipe, const ByteViews& dense) {
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

// Adds all of what the program computes; of parameters that are not given, from zeros, which
// nothing that is written depends on.
RuntimeStatus Compute(const RefitInfo& info, const RunRefitProgram& run_program, Sources& sources) {
  ByteViews inputs;
  for (const uint32_t parameter : info.program_inputs) inputs.push_back(sources.dense[parameter]);
  RUNTIME_ASSIGN_OR_RETURN(std::vector<AlignedBytes> computed, run_program(inputs));
  for (AlignedBytes& bytes : computed) {
    sources.dense.push_back(bytes);
    sources.memory.push_back(std::move(bytes));
  }
  return RuntimeStatus();
}

// Whether a source's elements lie in its storage as they do in the source.
bool LiesSo(const RefitInput& input, std::span<const uint8_t> dense) {
  return input.tensor.offset_bytes == 0 && input.tensor.strides == input.source_strides &&
         input.storage_bytes == dense.size() && AlignedBytes::IsAligned(dense.data());
}

// Into the weights, by way of other memory where a pack function could not write there.
RuntimeStatus Pack(const Artifact& packs, const RefitRecipe& recipe, const ByteViews& inputs,
                   std::span<uint8_t> weights) {
  std::vector<AlignedBytes> apart;
  std::vector<uint8_t*> places, outputs;
  for (const RefitOutput& output : recipe.outputs) {
    uint8_t* const place = weights.data() + output.offset_bytes;
    places.push_back(place);
    outputs.push_back(AlignedBytes::IsAligned(place)
                          ? place
                          : apart.emplace_back(Scratch(output.size_bytes)).data());
  }
  RUNTIME_RETURN_IF_ERROR(RunPack(packs, recipe.pack, inputs, outputs));
  for (size_t i = 0; i < places.size(); ++i) {
    if (outputs[i] != places[i]) std::memcpy(places[i], outputs[i], recipe.outputs[i].size_bytes);
  }
  return RuntimeStatus();
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

AlignedBytes LayOut(const RefitInput& input, const uint8_t* dense) {
  AlignedBytes bytes(input.storage_bytes);
  const auto size = static_cast<size_t>(ElementBytes(input.tensor.type));
  if (input.border_bits != 0) {
    for (size_t at = 0; at + size <= bytes.size(); at += size) {
      std::memcpy(bytes.data() + at, &input.border_bits, size);  // Little-endian host.
    }
  } else if (input.storage_bytes != size * input.tensor.element_count()) {
    std::memset(bytes.data(), 0, bytes.size());
  }
  CopyStrided(static_cast<int>(size), input.tensor.shape, dense, input.source_strides.data(),
              bytes.data() + input.tensor.offset_bytes, input.tensor.strides.data());
  return bytes;
}

RuntimeStatus RunPack(const Artifact& packs, int32_t index, const ByteViews& inputs,
                      std::span<uint8_t* const> outputs) {
  const FunctionInfo& function = packs.manifest().kernels[index].compute;
  std::vector<void*> buffers;
  size_t next_input = 0, next_output = 0;
  for (const BufferInfo& buffer : function.buffers) {
    if (buffer.role != ArgumentRole::kOutput) {
      buffers.push_back(const_cast<uint8_t*>(inputs[next_input++].data()));
      continue;
    }
    buffers.push_back(outputs[next_output++]);
    // Zeros: what a pack function does not write must not differ from build to build.
    std::memset(buffers.back(), 0, buffer.size_bytes);
  }
  const AlignedBytes scratch = Scratch(function.scratch_bytes_per_worker);
  const AlignedBytes shared = Scratch(function.shared_scratch_bytes);
  std::memset(scratch.data(), 0, scratch.size());
  std::memset(shared.data(), 0, shared.size());
  // One thread: packing runs once a build or a refit.
  RUNTIME_ASSIGN_OR_RETURN(const std::unique_ptr<ThreadPool> pool,
                           ThreadPool::Create({.thread_count = 1}));
  constexpr size_t kLine = AlignedBytes::kAlignment;
  return RunKernelOnce(
      *pool, packs.kernel(index),
      {.buffer_count = static_cast<uint32_t>(buffers.size()),
       .buffers = buffers.data(),
       .scratch = scratch.data(),
       .scratch_bytes_per_worker = (function.scratch_bytes_per_worker + kLine - 1) / kLine * kLine,
       .shared_scratch = shared.data()});
}

RuntimeStatus ApplyRefit(const RefitInfo& info, const Artifact* packs,
                         const RunRefitProgram& run_program,
                         std::span<const Replacement> replacements, std::span<uint8_t> weights) {
  RUNTIME_ASSIGN_OR_RETURN(Sources sources, ReadReplacements(info, replacements));
  // Before anything is computed or written.
  std::vector<const RefitRecipe*> recipes;
  bool computes = false;
  for (const RefitRecipe& recipe : info.recipes) {
    const Needs needs = NeedsOf(info, recipe, sources.dense);
    if (needs.given.empty()) continue;
    if (!needs.missing.empty()) return Missing(needs);
    recipes.push_back(&recipe);
    for (const RefitInput& input : recipe.inputs) {
      computes |= input.source >= info.parameters.size() &&
                  input.source < info.parameters.size() + info.computed.size();
    }
  }
  if (computes) {
    RUNTIME_RETURN_IF_ERROR(Compute(info, run_program, sources));
  } else {
    sources.dense.resize(info.parameters.size() + info.computed.size());
  }
  for (const RefitConstant& constant : info.constants) {
    sources.dense.emplace_back(reinterpret_cast<const uint8_t*>(constant.bytes.data()),
                               constant.bytes.size());
  }
  for (const RefitRecipe* recipe : recipes) {
    std::vector<AlignedBytes> laid_out;
    ByteViews inputs;
    for (const RefitInput& input : recipe->inputs) {
      const std::span<const uint8_t> dense = sources.dense[input.source];
      inputs.push_back(LiesSo(input, dense) ? dense
                                            : laid_out.emplace_back(LayOut(input, dense.data())));
    }
    if (recipe->pack >= 0) {
      RUNTIME_RETURN_IF_ERROR(Pack(*packs, *recipe, inputs, weights));
    } else {
      std::memcpy(weights.data() + recipe->outputs[0].offset_bytes, inputs[0].data(),
                  inputs[0].size());
    }
  }
  return RuntimeStatus();
}

}  // namespace burnish
