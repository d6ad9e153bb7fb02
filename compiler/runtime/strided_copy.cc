#include "compiler/runtime/strided_copy.h"

#include <array>
#include <cstring>

#include "compiler/runtime/tensor_info.h"

namespace burnish {
namespace {

struct Axis {
  int64_t extent = 1;
  int64_t from_stride = 0, to_stride = 0;  // In bytes.
};

template <typename Word>
void CopyRow(const Axis& row, const uint8_t* from, uint8_t* to) {
  for (int64_t i = 0; i < row.extent; ++i) {
    std::memcpy(to, from, sizeof(Word));  // Neither side need be aligned to its elements.
    from += row.from_stride;
    to += row.to_stride;
  }
}

void CopyRowOf(int element_bytes, const Axis& row, const uint8_t* from, uint8_t* to) {
  if (row.from_stride == element_bytes && row.to_stride == element_bytes) {
    std::memcpy(to, from, static_cast<size_t>(row.extent * element_bytes));
    return;
  }
  switch (element_bytes) {
    case 1:
      return CopyRow<uint8_t>(row, from, to);
    case 2:
      return CopyRow<uint16_t>(row, from, to);
    case 4:
      return CopyRow<uint32_t>(row, from, to);
    default:
      return CopyRow<uint64_t>(row, from, to);
  }
}

}  // namespace

void CopyStrided(int element_bytes, std::span<const int64_t> shape, const uint8_t* from,
                 const int64_t* from_strides, uint8_t* to, const int64_t* to_strides) {
  // From inner to outer. Axes that follow each other without a gap on both sides become one.
  std::array<Axis, kRankMax + 1> axes;
  size_t axis_count = 0;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return;
    if (shape[i] == 1) continue;
    const Axis axis = {shape[i], from_strides[i] * element_bytes, to_strides[i] * element_bytes};
    if (axis_count > 0) {
      Axis& inner = axes[axis_count - 1];
      if (axis.from_stride == inner.from_stride * inner.extent &&
          axis.to_stride == inner.to_stride * inner.extent) {
        inner.extent *= axis.extent;
        continue;
      }
    }
    axes[axis_count++] = axis;
  }
  if (axis_count == 0) axes[axis_count++] = {1, element_bytes, element_bytes};

  std::array<int64_t, kRankMax + 1> index = {};
  for (;;) {
    CopyRowOf(element_bytes, axes[0], from, to);
    size_t i = 1;
    for (; i < axis_count; ++i) {
      from += axes[i].from_stride;
      to += axes[i].to_stride;
      if (++index[i] < axes[i].extent) break;
      from -= axes[i].from_stride * axes[i].extent;
      to -= axes[i].to_stride * axes[i].extent;
      index[i] = 0;
    }
    if (i >= axis_count) return;
  }
}

}  // namespace burnish
