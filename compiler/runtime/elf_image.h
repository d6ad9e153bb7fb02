// A shared object of generated code: what its bytes say, and its memory as they ask for it. No
// memory is mapped here and nothing runs (shared_object.h does the one, its callers the other).
#ifndef COMPILER_RUNTIME_ELF_IMAGE_H_
#define COMPILER_RUNTIME_ELF_IMAGE_H_

#include <elf.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Addresses are bytes from the beginning of the image.
struct ElfSegment {
  uint64_t address = 0, memory_bytes = 0;
  uint64_t file_offset = 0, file_bytes = 0;  // The beginning of its memory; the rest is zero.
  bool is_writable = false, is_executable = false;  // Never both.
};

// An allow list: what the kernel ABI (kernel_abi.h) needs is read, all else is refused by its name.
// The bytes may be hostile. Whatever they are, nothing outside of them and of the image is touched.
// Errors: kDataLoss, "refused machine code: " and the reason.
class ElfImage {
 public:
  // Reads the headers. Segments come in the order of their addresses, and no two of them share a
  // page. What is not writable lies in the file as in memory, so that its pages are the file's.
  // `page_bytes`: of memory.
  static RuntimeOr<ElfImage> Read(std::span<const uint8_t> file, uint64_t page_bytes);

  const std::vector<ElfSegment>& segments() const { return segments_; }
  uint64_t size_bytes() const { return size_bytes_; }            // Whole pages.
  uint64_t alignment_bytes() const { return alignment_bytes_; }  // Of the image; a power of two.

  // `image` (size_bytes) has the pages of `file`, the bytes that were read, where no segment is
  // writable, and zeros elsewhere: writable segments are copied to there. All else is read in it:
  // the dynamic table lies where the segments put it, and nowhere else.
  // Relocates what may be written for an image at the address of `image`. The functions, by their
  // names of the kernel ABI, and their addresses.
  RuntimeOr<std::map<std::string, uint64_t>> Place(std::span<const uint8_t> file,
                                                   std::span<uint8_t> image) const;

 private:
  struct Tables;

  RuntimeStatus AddSegment(const Elf64_Phdr& header, std::span<const uint8_t> file,
                           uint64_t page_bytes);
  RuntimeStatus SetDynamic(const Elf64_Phdr& header);
  RuntimeOr<Tables> ReadDynamic(std::span<const uint8_t> image) const;
  RuntimeStatus Relocate(const Tables& tables, std::span<uint8_t> image) const;
  RuntimeOr<std::map<std::string, uint64_t>> Functions(const Tables& tables,
                                                       std::span<const uint8_t> image) const;
  // From `address` to the end of what the file gives of its segment; empty: it is in none.
  std::span<const uint8_t> Rest(std::span<const uint8_t> image, uint64_t address) const;

  std::vector<ElfSegment> segments_;
  uint64_t size_bytes_ = 0;
  uint64_t alignment_bytes_ = 1;
  uint64_t dynamic_address_ = 0, dynamic_bytes_ = 0;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_ELF_IMAGE_H_
