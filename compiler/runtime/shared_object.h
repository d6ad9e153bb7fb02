// Generated code in this process: ELF bytes, loaded from memory.
#ifndef COMPILER_RUNTIME_SHARED_OBJECT_H_
#define COMPILER_RUNTIME_SHARED_OBJECT_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Checks what the dynamic linker would trust: a 64-bit ELF shared object of this machine whose
// segments and dynamic table lie within the bytes, and which the kernel ABI allows: no libraries
// needed, no constructors, no TLS, nothing that outlives dlclose. It keeps damaged bytes and other
// people's libraries out; it cannot make hostile machine code safe to run (that is the runner's
// sandbox).
RuntimeStatus CheckElf(std::span<const uint8_t> elf);

// Movable; unloads when destroyed, which must be after the last call of its kernels.
class SharedObject {
 public:
  // Holds one file descriptor (memfd) as long as it is loaded.
  static RuntimeOr<SharedObject> Load(std::span<const uint8_t> elf);

  SharedObject(SharedObject&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  SharedObject& operator=(SharedObject&& other) = delete;
  ~SharedObject();

  // kNotFound when the symbol is not exported.
  RuntimeOr<BurnishKernel> Kernel(const std::string& symbol) const;

 private:
  SharedObject(void* handle, int descriptor) : handle_(handle), descriptor_(descriptor) {}

  void* handle_;
  int descriptor_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SHARED_OBJECT_H_
