// What a caller must know of a generated kernel, beside its code. Part of the manifests of
// artifacts and bundles.
#ifndef COMPILER_RUNTIME_KERNEL_MANIFEST_H_
#define COMPILER_RUNTIME_KERNEL_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Stored: never reused.
enum class ArgumentRole : uint8_t {
  kInput = 1,     // Read only.
  kConstant = 2,  // Read only, the same in every call: weights, already packed for the kernel.
  kOutput = 3,    // Written; never read before it was written, except by in-place kernels.
};

// One parameter of a kernel: an allocation, of which the kernel may see a view.
struct BufferInfo {
  ArgumentRole role = ArgumentRole::kInput;
  uint32_t alignment_bytes = 64;  // A power of two up to 4096 that the base must have.
  uint64_t size_bytes = 0;        // From the base to the last byte that may be touched.

  friend bool operator==(const BufferInfo&, const BufferInfo&) = default;
};

// The kernel stays right when `output` has the same base as `input`. Both index
// FunctionInfo::buffers.
struct InPlacePair {
  uint32_t output = 0;
  uint32_t input = 0;

  friend bool operator==(const InPlacePair&, const InPlacePair&) = default;
};

struct FunctionInfo {
  std::vector<BufferInfo> buffers;  // In the order of BurnishKernelContext::buffers.
  std::vector<InPlacePair> in_place;
  uint64_t scratch_bytes_per_worker = 0;  // The context's may be larger: kernel_abi.h.
  uint64_t shared_scratch_bytes = 0;

  friend bool operator==(const FunctionInfo&, const FunctionInfo&) = default;
};

// Kernel n of an ELF: burnish_kernel_<n>, and burnish_pack_<n> where `pack` has a value.
struct KernelManifest {
  std::string name;  // For people: profiles and errors.
  FunctionInfo compute;
  // Inputs: the constants as the model has them. Outputs: `compute`'s buffers of role kConstant, in
  // order.
  std::optional<FunctionInfo> pack;

  friend bool operator==(const KernelManifest&, const KernelManifest&) = default;
};

inline constexpr uint64_t kMemoryBytesMax = uint64_t{1} << 40;  // Of any one buffer or area.
inline constexpr uint32_t kBufferCountMax = 4096;

// Sizes and alignments within bounds, in-place pairs that name an output and an input.
RuntimeStatus CheckFunction(const FunctionInfo& function);
RuntimeStatus CheckKernel(const KernelManifest& kernel);

template <typename Archive>
void Fields(Archive& archive, BufferInfo& buffer) {
  archive.Number(buffer.role);
  archive.Number(buffer.alignment_bytes);
  archive.Number(buffer.size_bytes);
}

template <typename Archive>
void Fields(Archive& archive, InPlacePair& pair) {
  archive.Number(pair.output);
  archive.Number(pair.input);
}

template <typename Archive>
void Fields(Archive& archive, FunctionInfo& function) {
  archive.List(function.buffers);
  archive.List(function.in_place);
  archive.Number(function.scratch_bytes_per_worker);
  archive.Number(function.shared_scratch_bytes);
}

template <typename Archive>
void Fields(Archive& archive, KernelManifest& kernel) {
  archive.Text(kernel.name);
  Fields(archive, kernel.compute);
  bool has_pack = kernel.pack.has_value();
  archive.Number(has_pack);
  if (!has_pack) return;
  if (!kernel.pack.has_value()) kernel.pack.emplace();
  Fields(archive, *kernel.pack);
}

}  // namespace burnish

#endif  // COMPILER_RUNTIME_KERNEL_MANIFEST_H_
