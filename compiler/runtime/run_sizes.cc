#include "compiler/runtime/run_sizes.h"

#include <cstring>

#include "compiler/runtime/byte_archive.h"

namespace burnish {

// The order of fields is the format: a change raises the version of section_file.cc.
template <typename Archive>
void Fields(Archive& archive, RunSize& size) {
  archive.Text(size.name);
  Fields(archive, size.place);
  archive.Number(size.least);
  archive.Number(size.greatest);
}

template <typename Archive>
void Fields(Archive& archive, BoundedAxis& axis) {
  archive.Number(axis.region);
  archive.Number(axis.tensor);
  archive.Number(axis.axis);
  archive.Number(axis.size);
}

std::string EncodeRunSizes(const RunSizes& sizes) {
  ByteWriter writer;
  writer.List(sizes.sizes);
  writer.List(sizes.axes);
  return writer.Take();
}

RuntimeOr<RunSizes> DecodeRunSizes(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  RunSizes sizes;
  reader.List(sizes.sizes);
  reader.List(sizes.axes);
  if (!reader.ok() || !reader.AtEnd()) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: the bundle's sizes");
  }
  return sizes;
}

std::vector<int64_t> ShapeInRun(const RunSizes& sizes, Region region, size_t tensor,
                                const std::vector<int64_t>& bound,
                                std::span<const int64_t> extents) {
  std::vector<int64_t> shape = bound;
  for (const BoundedAxis& axis : sizes.axes) {
    if (axis.region == region && axis.tensor == tensor) shape[axis.axis] = extents[axis.size];
  }
  return shape;
}

void MoveTogether(int element_bytes, std::span<const int64_t> bound, std::span<const int64_t> shape,
                  uint8_t* data) {
  // Behind the last axis that is shorter than its bound, elements lie together as they are.
  size_t inner = shape.size();
  while (inner > 0 && shape[inner - 1] == bound[inner - 1]) --inner;
  if (inner == 0) return;
  --inner;
  uint64_t run_bytes = element_bytes, step_bytes = element_bytes;
  for (size_t d = inner; d < shape.size(); ++d) {
    run_bytes *= static_cast<uint64_t>(shape[d]);
    step_bytes *= static_cast<uint64_t>(bound[d]);
  }
  uint64_t runs = 1;
  for (size_t d = 0; d < inner; ++d) runs *= static_cast<uint64_t>(shape[d]);
  if (run_bytes == 0) return;
  // Each run moves towards the start or stays, so in their order none is overwritten before it
  // moved.
  for (uint64_t run = 0; run < runs; ++run) {
    uint64_t rest = run, from = 0, pitch = step_bytes;
    for (size_t d = inner; d-- > 0; pitch *= static_cast<uint64_t>(bound[d])) {
      from += rest % static_cast<uint64_t>(shape[d]) * pitch;
      rest /= static_cast<uint64_t>(shape[d]);
    }
    std::memmove(data + run * run_bytes, data + from, run_bytes);
  }
}

}  // namespace burnish
