#include "worker/runner/bound_kernel.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "compiler/runtime/time_kernel.h"
#include "worker/runner/kernel_arguments.h"
#include "worker/runner/tensor_data.h"

namespace burnish {
namespace {

constexpr uint64_t kPageBytes = 4096;
// Bounds the contexts that are built. It bites where constants are small, under 16 KiB with an
// arena of 64 MiB, and reading those is little of a call.
constexpr size_t kColdCopiesMax = 4096;

size_t CountOf(const std::vector<TensorSpec>& parameters, ArgumentRole role) {
  return std::count_if(parameters.begin(), parameters.end(),
                       [role](const TensorSpec& spec) { return spec.role == role; });
}
size_t CountOf(const FunctionInfo& function, ArgumentRole role) {
  return std::count_if(function.buffers.begin(), function.buffers.end(),
                       [role](const BufferInfo& buffer) { return buffer.role == role; });
}

RuntimeStatus SignatureError(const std::string& what, size_t got, size_t want) {
  return RuntimeStatus(RuntimeCode::kInvalidArgument, "the artifact has " + std::to_string(got) +
                                                          " " + what + ", the workload has " +
                                                          std::to_string(want));
}

// A candidate is one kernel; artifacts of several are bundles.
RuntimeStatus CheckIsCandidate(const ArtifactManifest& manifest) {
  if (manifest.kernels.size() == 1) return RuntimeStatus();
  return SignatureError("kernels", manifest.kernels.size(), 1);
}

RuntimeStatus TooLarge(unsigned __int128 bytes, uint64_t memory_bytes_max) {
  return RuntimeStatus(RuntimeCode::kResourceExhausted,
                       "wants " + std::to_string(static_cast<uint64_t>(bytes >> 20)) +
                           " MiB, may have " + std::to_string(memory_bytes_max >> 20) + " MiB");
}

// Nobody may write to the pages of `buffer` any more.
RuntimeStatus MakeReadOnly(const GuardedBuffer& buffer) {
  const auto base = reinterpret_cast<uintptr_t>(buffer.bytes().data());
  // The whole page at the start: a buffer ends at a guard page, so what lies before it on its first
  // page is canary.
  const uintptr_t first = base / kPageBytes * kPageBytes;
  const uintptr_t end = RoundUp(base + buffer.bytes().size(), kPageBytes);
  if (end == first) return RuntimeStatus();
  if (mprotect(reinterpret_cast<void*>(first), end - first, PROT_READ) == 0) return RuntimeStatus();
  return ErrnoStatus("protecting an input", errno);
}

// Enters the pages into this process's tables, so that no fault is timed. At once where the kernel
// can (Linux 5.14): a touch of each costs a fault for every sixteen and a miss of all caches for
// each, 8 ms for 64 MiB.
void MapPages(std::span<uint8_t> bytes) {
  if (bytes.empty()) return;
#ifdef MADV_POPULATE_READ
  const uint64_t size = RoundUp(bytes.size(), kPageBytes);
  if (madvise(bytes.data(), size, MADV_POPULATE_READ) == 0) return;
#endif
  for (uint64_t page = 0; page < bytes.size(); page += kPageBytes) {
    (void)*static_cast<const volatile uint8_t*>(bytes.data() + page);
  }
}

RuntimeOr<GuardedBuffer> GuardedFor(const BufferInfo& buffer) {
  return GuardedBuffer::Allocate(
      {.size_bytes = buffer.size_bytes, .alignment_bytes = buffer.alignment_bytes});
}

}  // namespace

RuntimeOr<SealedArtifact> BoundKernel::Read(const KernelSpec& spec) {
  return Artifact::Read(
      {reinterpret_cast<const uint8_t*>(spec.artifact.data()), spec.artifact.size()});
}

RuntimeOr<uint64_t> BoundKernel::OutputFileBytes(const ArtifactManifest& manifest,
                                                 uint64_t memory_bytes_max) {
  RUNTIME_RETURN_IF_ERROR(CheckIsCandidate(manifest));
  uint64_t file_bytes = 0;
  for (const BufferInfo& buffer : manifest.kernels[0].compute.buffers) {
    if (buffer.role != ArgumentRole::kOutput) continue;
    // No overflow: CheckKernel bounds what a manifest may say.
    file_bytes += GuardedBuffer::FileBytes(buffer.size_bytes);
    if (file_bytes > memory_bytes_max) return TooLarge(file_bytes, memory_bytes_max);
  }
  return file_bytes;
}

RuntimeOr<std::unique_ptr<BoundKernel>> BoundKernel::Create(const KernelSpec& spec,
                                                            std::unique_ptr<Artifact> artifact,
                                                            const Options& options,
                                                            ThreadPool& pool) {
  std::unique_ptr<BoundKernel> bound(new BoundKernel(spec, options.seed, pool));
  bound->artifact_ = std::move(artifact);
  // Signature and memory before anything is allocated: the artifact came from elsewhere, and its
  // sizes are only claims.
  RUNTIME_RETURN_IF_ERROR(bound->CheckSignature());
  RUNTIME_RETURN_IF_ERROR(bound->CheckMemory(options.memory_bytes_max));
  // Other types' constants may be indices, which have to be their own.
  if (options.timing_only && bound->ConstantsAreFloats()) return bound;
  RUNTIME_RETURN_IF_ERROR(bound->FillArguments());
  RUNTIME_RETURN_IF_ERROR(bound->AllocateOutputs(options.outputs_descriptor));
  RUNTIME_RETURN_IF_ERROR(bound->AllocateScratch());
  return bound;
}

// The parameters of a role come in the workload's order; only what `pack` writes is not among them.
RuntimeStatus BoundKernel::CheckSignature() const {
  RUNTIME_RETURN_IF_ERROR(CheckIsCandidate(manifest()));
  const KernelManifest& kernel = manifest().kernels[0];
  const size_t input_count = CountOf(compute(), ArgumentRole::kInput);
  const size_t constant_count = CountOf(compute(), ArgumentRole::kConstant);
  const size_t output_count = CountOf(compute(), ArgumentRole::kOutput);
  const size_t want_constants = CountOf(spec_.parameters, ArgumentRole::kConstant);
  if (input_count != CountOf(spec_.parameters, ArgumentRole::kInput)) {
    return SignatureError("inputs", input_count, CountOf(spec_.parameters, ArgumentRole::kInput));
  }
  if (output_count != CountOf(spec_.parameters, ArgumentRole::kOutput)) {
    return SignatureError("outputs", output_count,
                          CountOf(spec_.parameters, ArgumentRole::kOutput));
  }
  if (!kernel.pack.has_value()) {
    if (constant_count == want_constants) return RuntimeStatus();
    return SignatureError("constants", constant_count, want_constants);
  }
  // With a pack function the call's constants are what it gives out, and its own inputs are the
  // workload's.
  const size_t packed_count = CountOf(*kernel.pack, ArgumentRole::kOutput);
  if (kernel.pack->buffers.size() - packed_count != want_constants) {
    return SignatureError("constants to pack", kernel.pack->buffers.size() - packed_count,
                          want_constants);
  }
  if (packed_count == constant_count) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kInvalidArgument,
                       "the artifact packs other constants than it reads");
}

RuntimeStatus BoundKernel::CheckMemory(uint64_t memory_bytes_max) const {
  const KernelManifest& kernel = manifest().kernels[0];
  // Guarded and timed memory, both.
  unsigned __int128 bytes = 0;
  for (const BufferInfo& buffer : compute().buffers)
    bytes += 2 * (unsigned __int128)buffer.size_bytes;
  if (kernel.pack.has_value()) {
    for (const BufferInfo& buffer : kernel.pack->buffers) bytes += buffer.size_bytes;
  }
  for (const TensorSpec& spec : spec_.parameters) {
    RUNTIME_RETURN_IF_ERROR(CheckTensorSpec(spec, kMemoryBytesMax));
    bytes += DenseBytes(spec);
  }
  // In 128 bits: sizes are claims of the artifact, and their sum must not wrap below the limit.
  bytes += 2 * ((unsigned __int128)ScratchStride(compute()) * pool_.thread_count() +
                compute().shared_scratch_bytes);
  if (bytes <= memory_bytes_max) return RuntimeStatus();
  return TooLarge(bytes, memory_bytes_max);
}

RuntimeStatus BoundKernel::FillArguments() {
  const KernelManifest& kernel = manifest().kernels[0];
  size_t input = 0, constant = 0;
  for (const BufferInfo& buffer : compute().buffers) {
    RUNTIME_ASSIGN_OR_RETURN(GuardedBuffer memory, GuardedFor(buffer));
    buffers_.push_back(std::move(memory));
    if (buffer.role == ArgumentRole::kOutput ||
        (buffer.role == ArgumentRole::kConstant && kernel.pack.has_value())) {
      continue;
    }
    const size_t parameter = NthOf(spec_.parameters, buffer.role,
                                   buffer.role == ArgumentRole::kInput ? input++ : constant++);
    const TensorSpec& spec = spec_.parameters[parameter];
    RUNTIME_RETURN_IF_ERROR(CheckTensorSpec(spec, buffer.size_bytes));
    RandomIntoStorage(spec, seed_, static_cast<int>(parameter), buffers_.back().bytes());
  }
  if (kernel.pack.has_value()) {
    std::vector<GuardedBuffer> constants;
    for (const BufferInfo& buffer : kernel.pack->buffers) {
      if (buffer.role == ArgumentRole::kOutput) continue;
      const size_t parameter = NthOf(spec_.parameters, ArgumentRole::kConstant, constants.size());
      const TensorSpec& spec = spec_.parameters[parameter];
      RUNTIME_RETURN_IF_ERROR(CheckTensorSpec(spec, buffer.size_bytes));
      RUNTIME_ASSIGN_OR_RETURN(GuardedBuffer memory, GuardedFor(buffer));
      RandomIntoStorage(spec, seed_, static_cast<int>(parameter), memory.bytes());
      constants.push_back(std::move(memory));
    }
    RUNTIME_RETURN_IF_ERROR(Pack(constants));
  }
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (compute().buffers[i].role != ArgumentRole::kOutput) {
      // After packing, which writes the constants. From now on a kernel that writes to an input
      // dies of it.
      RUNTIME_RETURN_IF_ERROR(MakeReadOnly(buffers_[i]));
    }
  }
  return RuntimeStatus();
}

RuntimeStatus BoundKernel::Pack(const std::vector<GuardedBuffer>& constants) {
  const FunctionInfo& pack = *manifest().kernels[0].pack;
  std::vector<size_t> packed;  // The call's constants.
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (compute().buffers[i].role == ArgumentRole::kConstant) packed.push_back(i);
  }
  std::vector<void*> arguments;
  size_t constant = 0, written = 0;
  for (const BufferInfo& buffer : pack.buffers) {
    if (buffer.role != ArgumentRole::kOutput) {
      arguments.push_back(constants[constant++].bytes().data());
      continue;
    }
    const size_t index = packed[written++];
    // The artifact says both sizes, so they may disagree. The guard page would catch it as a crash;
    // this says what is wrong.
    if (compute().buffers[index].size_bytes < buffer.size_bytes) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument,
                           "the artifact packs more bytes than it has room for");
    }
    arguments.push_back(buffers_[index].bytes().data());
  }
  RUNTIME_ASSIGN_OR_RETURN(
      GuardedBuffer scratch,
      GuardedBuffer::Allocate({.size_bytes = ScratchStride(pack) * pool_.thread_count()}));
  RUNTIME_ASSIGN_OR_RETURN(GuardedBuffer shared,
                           GuardedBuffer::Allocate({.size_bytes = pack.shared_scratch_bytes}));
  const RuntimeStatus status = Call(artifact_->pack(0), pack, arguments, scratch, shared);
  if (status.ok()) return status;
  return RuntimeStatus(status.code(), "pack function: " + status.message());
}

RuntimeStatus BoundKernel::AllocateOutputs(int descriptor) {
  uint64_t file_offset = 0;
  size_t output = 0;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const BufferInfo& buffer = compute().buffers[i];
    if (buffer.role != ArgumentRole::kOutput) continue;
    const TensorSpec& spec =
        spec_.parameters[NthOf(spec_.parameters, ArgumentRole::kOutput, output++)];
    RUNTIME_RETURN_IF_ERROR(CheckTensorSpec(spec, buffer.size_bytes));
    if (descriptor < 0) continue;
    RUNTIME_ASSIGN_OR_RETURN(GuardedBuffer memory,
                             GuardedBuffer::Allocate({.size_bytes = buffer.size_bytes,
                                                      .alignment_bytes = buffer.alignment_bytes,
                                                      .shared_descriptor = descriptor,
                                                      .shared_offset_bytes = file_offset}));
    // In place of the private memory: the checker reads the very pages that the kernel wrote.
    buffers_[i] = std::move(memory);
    output_bases_.push_back(file_offset +
                            GuardedBuffer::BaseInFile(buffer.size_bytes, buffer.alignment_bytes));
    file_offset += GuardedBuffer::FileBytes(buffer.size_bytes);
  }
  return RuntimeStatus();
}

RuntimeStatus BoundKernel::AllocateScratch() {
  for (const uint64_t size_bytes :
       {ScratchStride(compute()) * pool_.thread_count(), compute().shared_scratch_bytes}) {
    RUNTIME_ASSIGN_OR_RETURN(GuardedBuffer memory,
                             GuardedBuffer::Allocate({.size_bytes = size_bytes}));
    scratch_.push_back(std::move(memory));
  }
  return RuntimeStatus();
}

RuntimeStatus BoundKernel::Call(BurnishKernel kernel, const FunctionInfo& function,
                                const std::vector<void*>& buffers, GuardedBuffer& scratch,
                                GuardedBuffer& shared_scratch) {
  BurnishKernelContext context = {};
  context.buffer_count = static_cast<uint32_t>(buffers.size());
  context.buffers = buffers.data();
  context.scratch_bytes_per_worker = ScratchStride(function);
  if (!scratch.bytes().empty()) context.scratch = scratch.bytes().data();
  if (!shared_scratch.bytes().empty()) context.shared_scratch = shared_scratch.bytes().data();
  return RunKernelOnce(pool_, kernel, context);
}

RuntimeStatus BoundKernel::RunGuarded() {
  std::vector<void*> arguments;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    // An element that a kernel forgets is then NaN, which the checker finds wherever it is; a zero
    // might be right by chance.
    if (compute().buffers[i].role == ArgumentRole::kOutput) buffers_[i].FillWithNan();
    arguments.push_back(buffers_[i].bytes().data());
  }
  return Call(kernel(), compute(), arguments, scratch_[0], scratch_[1]);
}

std::string BoundKernel::WhatWasOverwritten() const {
  size_t output = 0;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (compute().buffers[i].role != ArgumentRole::kOutput) continue;
    // Inputs need no look: their pages cannot be written.
    if (!buffers_[i].CanariesIntact()) return "wrote outside of output " + std::to_string(output);
    ++output;
  }
  for (const GuardedBuffer& scratch : scratch_) {
    if (!scratch.CanariesIntact()) return "wrote outside of its scratch memory";
  }
  return "";
}

std::vector<uint8_t> BoundKernel::OutputBytes() const {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (compute().buffers[i].role != ArgumentRole::kOutput) continue;
    bytes.insert(bytes.end(), buffers_[i].bytes().begin(), buffers_[i].bytes().end());
  }
  return bytes;
}

bool BoundKernel::ConstantsAreFloats() const {
  return std::all_of(spec_.parameters.begin(), spec_.parameters.end(), [](const TensorSpec& spec) {
    return spec.role != ArgumentRole::kConstant || IsFloat(spec.type);
  });
}

RuntimeStatus BoundKernel::FillTimed(size_t index, std::span<const uint8_t> cold_arena,
                                     std::span<uint8_t> memory) const {
  if (!buffers_.empty()) {
    std::memcpy(memory.data(), buffers_[index].bytes().data(), memory.size());
    return RuntimeStatus();
  }
  const std::vector<BufferInfo>& buffers = compute().buffers;
  switch (buffers[index].role) {
    case ArgumentRole::kInput: {
      const auto input = static_cast<size_t>(
          std::count_if(buffers.begin(), buffers.begin() + static_cast<ptrdiff_t>(index),
                        [](const BufferInfo& b) { return b.role == ArgumentRole::kInput; }));
      const size_t parameter = NthOf(spec_.parameters, ArgumentRole::kInput, input);
      const TensorSpec& spec = spec_.parameters[parameter];
      RUNTIME_RETURN_IF_ERROR(CheckTensorSpec(spec, memory.size()));
      RandomIntoStorage(spec, seed_, static_cast<int>(parameter), memory);
      return RuntimeStatus();
    }
    case ArgumentRole::kConstant:
      if (cold_arena.empty()) {
        return RuntimeStatus(RuntimeCode::kInvalidArgument, "got no floats for constants");
      }
      for (size_t at = 0; at < memory.size(); at += cold_arena.size()) {
        std::memcpy(memory.data() + at, cold_arena.data(),
                    std::min(cold_arena.size(), memory.size() - at));
      }
      return RuntimeStatus();
    default:
      return RuntimeStatus();
  }
}

RuntimeStatus BoundKernel::PrepareTiming(std::span<uint8_t> cold_arena) {
  uint64_t constant_bytes = 0, other_bytes = 0;
  for (const BufferInfo& buffer : compute().buffers) {
    const uint64_t size =
        RoundUp(buffer.size_bytes, buffer.alignment_bytes) + buffer.alignment_bytes;
    (buffer.role == ArgumentRole::kConstant ? constant_bytes : other_bytes) += size;
  }
  // Places for the constants: as many as the arena has room for, and their own. Together they are
  // larger than the arena, so that what a call reads has left every cache since it was read before.
  const size_t copy_count =
      ConstantsAreFloats() && constant_bytes > 0
          ? std::min<size_t>(cold_arena.size() / constant_bytes, kColdCopiesMax)
          : 0;
  // Where calls go through copies their own place is the guarded one, read like any other.
  const bool own_stay = copy_count > 0 && !buffers_.empty();
  uint64_t own_bytes = other_bytes + (own_stay ? 0 : constant_bytes);
  const uint64_t scratch_bytes = ScratchStride(compute()) * pool_.thread_count();
  own_bytes += RoundUp(scratch_bytes, BURNISH_SCRATCH_ALIGNMENT) +
               RoundUp(compute().shared_scratch_bytes, BURNISH_SCRATCH_ALIGNMENT) +
               2 * BURNISH_SCRATCH_ALIGNMENT;
  RUNTIME_ASSIGN_OR_RETURN(timing_memory_, HugePageArena::Allocate(own_bytes));

  uint64_t used = 0;
  const auto take = [&](uint64_t size, uint64_t alignment) {
    used = RoundUp(used, alignment);
    uint8_t* const at = timing_memory_.bytes().data() + used;
    used += size;
    return at;
  };
  std::vector<void*> own;
  for (size_t i = 0; i < compute().buffers.size(); ++i) {
    const BufferInfo& buffer = compute().buffers[i];
    if (own_stay && buffer.role == ArgumentRole::kConstant) {
      own.push_back(buffers_[i].bytes().data());
      continue;
    }
    own.push_back(take(buffer.size_bytes, buffer.alignment_bytes));
    RUNTIME_RETURN_IF_ERROR(
        FillTimed(i, cold_arena, {static_cast<uint8_t*>(own.back()), buffer.size_bytes}));
  }
  BurnishKernelContext context = {};
  context.buffer_count = static_cast<uint32_t>(own.size());
  context.scratch_bytes_per_worker = ScratchStride(compute());
  if (scratch_bytes > 0) context.scratch = take(scratch_bytes, BURNISH_SCRATCH_ALIGNMENT);
  if (compute().shared_scratch_bytes > 0) {
    context.shared_scratch = take(compute().shared_scratch_bytes, BURNISH_SCRATCH_ALIGNMENT);
  }

  timing_buffers_.clear();
  uint64_t at = 0;
  for (size_t i = 0; i < copy_count; ++i) {
    // Inputs and outputs are the same in all copies: activations are warm in a model, written by
    // the step before.
    std::vector<void*>& copy = timing_buffers_.emplace_back(own);
    for (size_t b = 0; b < copy.size(); ++b) {
      const BufferInfo& buffer = compute().buffers[b];
      if (buffer.role != ArgumentRole::kConstant) continue;
      at = RoundUp(at, buffer.alignment_bytes);
      copy[b] = cold_arena.data() + at;
      at += buffer.size_bytes;
    }
  }
  MapPages(cold_arena.first(at));
  timing_buffers_.push_back(own);
  constants_are_cold_ =
      !cold_arena.empty() && (copy_count > 0 || constant_bytes > cold_arena.size());
  contexts_.clear();
  for (const std::vector<void*>& buffers : timing_buffers_) {
    context.buffers = buffers.data();
    contexts_.push_back(context);
  }
  return RuntimeStatus();
}

}  // namespace burnish
