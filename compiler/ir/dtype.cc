#include "compiler/ir/dtype.h"

#include <array>
#include <utility>

namespace burnish {
namespace {

constexpr std::array<std::pair<DType, const char*>, 13> kNames = {{{DType::kF32, "f32"},
                                                                   {DType::kF64, "f64"},
                                                                   {DType::kBf16, "bf16"},
                                                                   {DType::kF16, "f16"},
                                                                   {DType::kI64, "i64"},
                                                                   {DType::kI32, "i32"},
                                                                   {DType::kI16, "i16"},
                                                                   {DType::kI8, "i8"},
                                                                   {DType::kU64, "u64"},
                                                                   {DType::kU32, "u32"},
                                                                   {DType::kU16, "u16"},
                                                                   {DType::kU8, "u8"},
                                                                   {DType::kBool, "bool"}}};

}  // namespace

absl::string_view DTypeName(DType type) {
  for (const auto& [value, name] : kNames) {
    if (value == type) return name;
  }
  return "?";
}

bool ParseDType(absl::string_view name, DType* type) {
  for (const auto& [value, text] : kNames) {
    if (name == text) {
      *type = value;
      return true;
    }
  }
  return false;
}

}  // namespace burnish
