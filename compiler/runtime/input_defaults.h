// Values of inputs that a run need not give: what a model's file has for them.
#ifndef COMPILER_RUNTIME_INPUT_DEFAULTS_H_
#define COMPILER_RUNTIME_INPUT_DEFAULTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

struct InputDefault {
  uint32_t input = 0;
  std::string dense;  // TensorInfo::dense_bytes() of it, row-major.

  std::span<const uint8_t> bytes() const {
    return {reinterpret_cast<const uint8_t*>(dense.data()), dense.size()};
  }

  friend bool operator==(const InputDefault&, const InputDefault&) = default;
};

std::string EncodeInputDefaults(const std::vector<InputDefault>& defaults);
// kDataLoss: not such bytes. Checks no meaning.
RuntimeOr<std::vector<InputDefault>> DecodeInputDefaults(std::span<const uint8_t> bytes);

// nullptr: a run must give the input.
const InputDefault* DefaultOf(const std::vector<InputDefault>& defaults, size_t input);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_INPUT_DEFAULTS_H_
