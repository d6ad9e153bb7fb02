#include "compiler/runtime/kernel_manifest.h"

#include <bit>
#include <string>

namespace burnish {
namespace {

RuntimeStatus Invalid(const std::string& text) {
  return RuntimeStatus(RuntimeCode::kInvalidArgument, text);
}

}  // namespace

RuntimeStatus CheckFunction(const FunctionInfo& function) {
  if (function.buffers.size() > kBufferCountMax) {
    return Invalid("got " + std::to_string(function.buffers.size()) + " buffers, want at most " +
                   std::to_string(kBufferCountMax));
  }
  for (const BufferInfo& buffer : function.buffers) {
    if (buffer.role < ArgumentRole::kInput || buffer.role > ArgumentRole::kOutput) {
      return Invalid("got an unknown buffer role");
    }
    if (!std::has_single_bit(buffer.alignment_bytes) || buffer.alignment_bytes > 4096) {
      return Invalid("got alignment " + std::to_string(buffer.alignment_bytes) +
                     ", want a power of two up to 4096");
    }
    if (buffer.size_bytes > kMemoryBytesMax) return Invalid("got a buffer above 1 TiB");
  }
  if (function.in_place.size() > kBufferCountMax) return Invalid("got too many in-place pairs");
  for (const InPlacePair& pair : function.in_place) {
    if (pair.output >= function.buffers.size() || pair.input >= function.buffers.size() ||
        function.buffers[pair.output].role != ArgumentRole::kOutput ||
        function.buffers[pair.input].role != ArgumentRole::kInput) {
      return Invalid("got an in-place pair that does not name an output and an input");
    }
  }
  if (function.scratch_bytes_per_worker > kMemoryBytesMax ||
      function.shared_scratch_bytes > kMemoryBytesMax) {
    return Invalid("got scratch above 1 TiB");
  }
  return RuntimeStatus();
}

RuntimeStatus CheckKernel(const KernelManifest& kernel) {
  RUNTIME_RETURN_IF_ERROR(CheckFunction(kernel.compute));
  return kernel.pack.has_value() ? CheckFunction(*kernel.pack) : RuntimeStatus();
}

}  // namespace burnish
