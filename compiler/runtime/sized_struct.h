// Structs of the C API in both directions of time: programs and library are built at different
// times, and a struct grows at its end. Each begins with `uint32_t struct_size`, its sizeof as the
// program was compiled. The rule is that of Linux's clone3 and openat2 (copy_struct_from_user).
#ifndef COMPILER_RUNTIME_SIZED_STRUCT_H_
#define COMPILER_RUNTIME_SIZED_STRUCT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Above it a size comes from a struct that was not initialized; no struct will have 4 KiB.
inline constexpr uint32_t kStructBytesMax = 4096;

inline RuntimeStatus CheckStructSize(const char* name, uint32_t struct_size) {
  if (struct_size > sizeof(uint32_t) && struct_size <= kStructBytesMax) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kInvalidArgument, "got " + std::string(name) + ".struct_size " +
                                                          std::to_string(struct_size) +
                                                          ": set it to sizeof(" + name + ")");
}

// Structs of a program are pointers here and never references: a reference says that all of the
// struct is there.
inline uint32_t StructSizeAt(const void* given) {
  uint32_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  return size;
}

// What the program's struct lacks is 0. kInvalidArgument: it asks for something, in a field behind
// those of this library, that this library does not know.
template <typename Struct>
RuntimeOr<Struct> ReadStruct(const char* name, const Struct* given) {
  static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, struct_size) == 0);
  const uint32_t struct_size = StructSizeAt(given);
  RUNTIME_RETURN_IF_ERROR(CheckStructSize(name, struct_size));
  const auto* bytes = reinterpret_cast<const uint8_t*>(given);
  Struct known = {};
  std::memcpy(static_cast<void*>(&known), bytes, std::min<size_t>(struct_size, sizeof(Struct)));
  if (struct_size > sizeof(Struct) && std::any_of(bytes + sizeof(Struct), bytes + struct_size,
                                                  [](uint8_t byte) { return byte != 0; })) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got a " + std::string(name) + " of " + std::to_string(struct_size) +
                             " bytes that asks for what this library does not know; it knows " +
                             std::to_string(sizeof(Struct)) + ": use a newer libburnish");
  }
  return known;
}

// Fills in what the program's struct has room for, and 0 behind what this library knows.
template <typename Struct>
RuntimeStatus WriteStruct(const char* name, Struct value, Struct* destination) {
  static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, struct_size) == 0);
  const uint32_t struct_size = StructSizeAt(destination);
  RUNTIME_RETURN_IF_ERROR(CheckStructSize(name, struct_size));
  value.struct_size = struct_size;
  auto* bytes = reinterpret_cast<uint8_t*>(destination);
  const size_t known = std::min<size_t>(struct_size, sizeof(Struct));
  std::memcpy(bytes, &value, known);
  std::fill(bytes + known, bytes + struct_size, uint8_t{0});
  return RuntimeStatus();
}

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SIZED_STRUCT_H_
