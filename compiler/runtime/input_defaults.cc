#include "compiler/runtime/input_defaults.h"

#include "compiler/runtime/list_codec.h"

namespace burnish {

// The order of fields is the format: a change raises the version of section_file.cc.
template <typename Archive>
void Fields(Archive& archive, InputDefault& value) {
  archive.Number(value.input);
  archive.Text(value.dense);
}

std::string EncodeInputDefaults(const std::vector<InputDefault>& defaults) {
  return EncodeList(defaults);
}

RuntimeOr<std::vector<InputDefault>> DecodeInputDefaults(std::span<const uint8_t> bytes) {
  return DecodeList<InputDefault>(bytes, "defaults of inputs");
}

const InputDefault* DefaultOf(const std::vector<InputDefault>& defaults, size_t input) {
  for (const InputDefault& each : defaults) {
    if (each.input == input) return &each;
  }
  return nullptr;
}

}  // namespace burnish
