#include "compiler/runtime/input_strides.h"

#include <algorithm>

#include "compiler/runtime/list_codec.h"

namespace burnish {

// The order of fields is the format: a change raises the version of section_file.cc.
template <typename Archive>
void Fields(Archive& archive, InputStrides& table) {
  archive.Number(table.input);
  archive.Number(table.place.region);
  archive.Number(table.place.index);
  archive.Number(table.place.offset_bytes);
  archive.Number(table.in_place);
}

std::string EncodeInputStrides(const std::vector<InputStrides>& tables) {
  return EncodeList(tables);
}

RuntimeOr<std::vector<InputStrides>> DecodeInputStrides(std::span<const uint8_t> bytes) {
  return DecodeList<InputStrides>(bytes, "strides of inputs");
}

int LastSizedAxis(const RunSizes& sizes, size_t input) {
  int last = -1;
  for (const InputAxis& axis : sizes.inputs) {
    if (axis.input == input) last = std::max(last, static_cast<int>(axis.axis));
  }
  return last;
}

void FillStrides(std::span<const int64_t> shape, int last_sized_axis, std::span<int64_t> numbers) {
  int64_t stride = 1;
  numbers[0] = 0;
  for (size_t d = shape.size(); d-- > 0;) {
    numbers[1 + d] = stride;
    if (static_cast<int>(d) <= last_sized_axis) numbers[0] += (shape[d] - 1) * stride;
    stride *= shape[d];
  }
}

}  // namespace burnish
