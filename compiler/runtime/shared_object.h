// Generated code in this process: ELF bytes in a sealed file, mapped from there.
#ifndef COMPILER_RUNTIME_SHARED_OBJECT_H_
#define COMPILER_RUNTIME_SHARED_OBJECT_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Machine code that nobody can change any more, this process included: a file of memory.
class SealedCode {
 public:
  // `elf` may go away afterwards. Nothing is checked. kResourceExhausted: no memory.
  static RuntimeOr<SealedCode> Of(std::span<const uint8_t> elf);

  int descriptor() const { return file_.get(); }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  SealedCode(UniqueFd file, uint64_t size_bytes)
      : file_(std::move(file)), size_bytes_(size_bytes) {}

  UniqueFd file_;
  uint64_t size_bytes_;
};

// Movable; unloads when destroyed, which must be after the last call of its kernels.
class SharedObject {
 public:
  // Runs none of the code: the C library's loader, which would, has no part in it. What the kernel
  // ABI has no use for is refused (elf_image.h). Only what the file calls code is executable. It is
  // mapped from the file: no page is ever writable and later executable, which hardened services
  // forbid. Nothing is writable in the end. kDataLoss: refused; kResourceExhausted: no memory. It
  // keeps damaged bytes out; it cannot make hostile code safe to call (that is the runner's
  // sandbox). `code` may go away afterwards. Needs mmap and mprotect alone.
  static RuntimeOr<SharedObject> Load(const SealedCode& code);
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
