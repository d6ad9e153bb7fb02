#include "compiler/runtime/control_program.h"

#include "compiler/runtime/byte_archive.h"

namespace burnish {

// The order of fields is the format: a change raises the version of section_file.cc.
template <typename Archive>
void Fields(Archive& archive, Walker& walker) {
  archive.Number(walker.block);
  archive.Number(walker.has_first);
  Fields(archive, walker.first);
  Fields(archive, walker.base);
  archive.Number(walker.stride_bytes);
  archive.Number(walker.period);
  archive.Number(walker.lag);
  archive.Number(walker.alignment_bytes);
  archive.Number(walker.size_bytes);
}

template <typename Archive>
void Fields(Archive& archive, LoopResult& result) {
  Fields(archive, result.from);
  Fields(archive, result.to);
  archive.Number(result.size_bytes);
}

template <typename Archive>
void Fields(Archive& archive, ControlBlock& block) {
  archive.Number(block.kind);
  archive.Text(block.name);
  archive.Number(block.parent);
  archive.Number(block.first_step);
  archive.Number(block.middle_step);
  archive.Number(block.end_step);
  archive.Number(block.count);
  archive.Number(block.has_count);
  Fields(archive, block.count_place);
  archive.Number(block.has_condition);
  Fields(archive, block.condition);
  archive.List(block.results);
}

template <typename Archive>
void Fields(Archive& archive, ControlProgram& control) {
  archive.List(control.blocks);
  archive.List(control.walkers);
}

std::string EncodeControl(const ControlProgram& control) {
  ByteWriter writer;
  // Fields() is shared with the reader and so takes a mutable value; a writer changes nothing.
  Fields(writer, const_cast<ControlProgram&>(control));
  return writer.Take();
}

RuntimeOr<ControlProgram> DecodeControl(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  ControlProgram control;
  Fields(reader, control);
  if (!reader.ok() || !reader.AtEnd()) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: the bundle's control program");
  }
  return control;
}

}  // namespace burnish
