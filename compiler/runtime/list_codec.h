// A list of structs, whose fields byte_archive.h's Fields names, as the bytes of a section.
#ifndef COMPILER_RUNTIME_LIST_CODEC_H_
#define COMPILER_RUNTIME_LIST_CODEC_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/byte_archive.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

template <typename T>
std::string EncodeList(const std::vector<T>& items) {
  ByteWriter writer;
  writer.List(items);
  return writer.Take();
}

// kDataLoss: other bytes, with `what` they should have said.
template <typename T>
RuntimeOr<std::vector<T>> DecodeList(std::span<const uint8_t> bytes, const char* what) {
  ByteReader reader(bytes);
  std::vector<T> items;
  reader.List(items);
  if (!reader.ok() || !reader.AtEnd()) {
    return RuntimeStatus(RuntimeCode::kDataLoss, std::string("damaged file: ") + what);
  }
  return items;
}

}  // namespace burnish

#endif  // COMPILER_RUNTIME_LIST_CODEC_H_
