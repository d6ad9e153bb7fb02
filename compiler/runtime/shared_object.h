// Generated code in this process: ELF bytes, loaded into memory of its own.
#ifndef COMPILER_RUNTIME_SHARED_OBJECT_H_
#define COMPILER_RUNTIME_SHARED_OBJECT_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Movable; unloads when destroyed, which must be after the last call of its kernels.
class SharedObject {
 public:
  // Runs none of the code: the C library's loader, which would, has no part in it. What the kernel
  // ABI has no use for is refused (elf_image.h). Nothing is writable in the end, and only what the
  // file calls code is executable. kDataLoss: refused; kResourceExhausted: no memory. It keeps
  // damaged bytes out; it cannot make hostile code safe to call (that is the runner's sandbox).
  // `elf` may go away afterwards. Needs mmap and mprotect alone, so a sandboxed process can do it.
  static RuntimeOr<SharedObject> Load(std::span<const uint8_t> elf);

  SharedObject(SharedObject&& other) noexcept
      : mapping_(std::exchange(other.mapping_, {})), functions_(std::move(other.functions_)) {}
  SharedObject& operator=(SharedObject&& other) = delete;
  ~SharedObject();

  // kNotFound when the symbol is not exported.
  RuntimeOr<BurnishKernel> Kernel(const std::string& symbol) const;

 private:
  SharedObject() = default;

  std::span<uint8_t> mapping_;                 // What munmap gets.
  std::map<std::string, uint64_t> functions_;  // Addresses in this process, by name.
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SHARED_OBJECT_H_
