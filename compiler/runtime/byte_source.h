// Bytes that are read by offset: a file or memory.
#ifndef COMPILER_RUNTIME_BYTE_SOURCE_H_
#define COMPILER_RUNTIME_BYTE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  // Copies [offset, offset + destination.size()). A range beyond the end is kDataLoss, also when a
  // file became shorter meanwhile. Copies are what readers check and use: a file that changes under
  // a mapping could otherwise change after its hash was checked, or raise SIGBUS.
  virtual RuntimeStatus Read(uint64_t offset, std::span<uint8_t> destination) const = 0;
};

RuntimeOr<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path);

// `bytes` must outlive the source.
std::unique_ptr<ByteSource> MemorySource(std::span<const uint8_t> bytes);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_BYTE_SOURCE_H_
