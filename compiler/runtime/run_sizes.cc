#include "compiler/runtime/run_sizes.h"

#include <cstring>

#include "compiler/runtime/byte_archive.h"
#include "compiler/runtime/list_codec.h"

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

template <typename Archive>
void Fields(Archive& archive, InputAxis::Part& part) {
  archive.Number(part.size);
  archive.Number(part.factor);
}

template <typename Archive>
void Fields(Archive& archive, InputAxis& axis) {
  archive.Number(axis.input);
  archive.Number(axis.axis);
  archive.Number(axis.constant);
  archive.List(axis.parts);
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

std::string EncodeInputAxes(const std::vector<InputAxis>& axes) { return EncodeList(axes); }

RuntimeOr<std::vector<InputAxis>> DecodeInputAxes(std::span<const uint8_t> bytes) {
  return DecodeList<InputAxis>(bytes, "the sizes of the bundle's inputs");
}

std::vector<bool> RunSizes::GivenSizes() const {
  std::vector<bool> given(sizes.size(), false);
  for (const InputAxis& axis : inputs) {
    if (axis.GivesSize()) given[axis.parts[0].size] = true;
  }
  return given;
}

namespace {

// CheckManifest has bounded it by the axis.
int64_t ExtentOf(const InputAxis& axis, std::span<const int64_t> extents) {
  int64_t extent = axis.constant;
  for (const InputAxis::Part& part : axis.parts) extent += part.factor * extents[part.size];
  return extent;
}

// "past + seq".
std::string SumText(const RunSizes& sizes, const InputAxis& axis) {
  std::string text;
  for (const InputAxis::Part& part : axis.parts) {
    if (!text.empty()) text += " + ";
    if (part.factor != 1) text += std::to_string(part.factor) + " * ";
    text += sizes.sizes[part.size].name;
  }
  if (axis.constant != 0) text += " + " + std::to_string(axis.constant);
  return text;
}

}  // namespace

RuntimeStatus ReadGivenSizes(const RunSizes& sizes, std::span<const ShapedInput> inputs,
                             std::span<int64_t> extents) {
  std::vector<const InputAxis*> giver(sizes.sizes.size(), nullptr);
  const auto invalid = [&inputs](const InputAxis& axis, const std::string& text) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "input \"" + inputs[axis.input].name +
                                                            "\": dimension " +
                                                            std::to_string(axis.axis) + " " + text);
  };
  for (const InputAxis& axis : sizes.inputs) {
    if (!axis.GivesSize()) continue;
    const uint32_t number = axis.parts[0].size;
    const RunSize& size = sizes.sizes[number];
    const int64_t got = inputs[axis.input].shape[axis.axis];
    if (got < size.least || got > size.greatest) {
      return invalid(axis, "(" + size.name + ") is " + std::to_string(got) + ", want " +
                               std::to_string(size.least) + " to " + std::to_string(size.greatest));
    }
    if (giver[number] != nullptr && extents[number] != got) {
      return invalid(axis, "(" + size.name + ") is " + std::to_string(got) +
                               ", but that of input \"" + inputs[giver[number]->input].name +
                               "\" is " + std::to_string(extents[number]));
    }
    giver[number] = &axis;
    extents[number] = got;
  }
  for (const InputAxis& axis : sizes.inputs) {
    const int64_t got = inputs[axis.input].shape[axis.axis];
    const int64_t want = ExtentOf(axis, extents);
    if (got == want) continue;
    return invalid(axis, "is " + std::to_string(got) + ", want " + SumText(sizes, axis) + " = " +
                             std::to_string(want));
  }
  return RuntimeStatus();
}

std::vector<int64_t> InputShapeInRun(const RunSizes& sizes, size_t input,
                                     const std::vector<int64_t>& bound,
                                     std::span<const int64_t> extents) {
  std::vector<int64_t> shape = bound;
  for (const InputAxis& axis : sizes.inputs) {
    if (axis.input == input) shape[axis.axis] = ExtentOf(axis, extents);
  }
  return shape;
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
