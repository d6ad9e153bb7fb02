// The manifest's bytes. The order of fields here is the format: a change raises the version of
// section_file.cc.
#include <string>

#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/byte_archive.h"
#include "compiler/runtime/tensor_codec.h"

namespace burnish {

template <typename Archive>
void Fields(Archive& archive, ModelTensor& tensor) {
  Fields(archive, tensor.tensor);
  archive.Number(tensor.storage_bytes);
}

template <typename Archive>
void Fields(Archive& archive, ConstantInfo& constant) {
  archive.Text(constant.name);
  archive.Number(constant.offset_bytes);
  archive.Number(constant.size_bytes);
}

template <typename Archive>
void Fields(Archive& archive, StepOutput& output) {
  archive.Number(output.buffer);
  Fields(archive, output.tensor);
}

template <typename Archive>
void Fields(Archive& archive, ModelStep& step) {
  archive.Text(step.name);
  archive.Number(step.kernel);
  archive.List(step.buffers);
  archive.Number(step.flop_count);
  archive.Number(step.moved_bytes);
  archive.Text(step.workload_id);
  archive.Text(step.schedule_origin);
  archive.List(step.outputs);
}

template <typename Archive>
void Fields(Archive& archive, Fill& fill) {
  Fields(archive, fill.place);
  archive.Number(fill.size_bytes);
  archive.Number(fill.repeat_count);
  archive.Number(fill.repeat_stride_bytes);
  archive.Number(fill.element_bytes);
  archive.Number(fill.element_bits);
}

template <typename Archive>
void Fields(Archive& archive, BundleManifest& manifest) {
  archive.Number(manifest.abi_version);
  archive.Text(manifest.model_name);
  archive.Text(manifest.target);
  archive.Texts(manifest.features);
  archive.Number(manifest.thread_count);
  archive.Number(manifest.arena_bytes);
  archive.Number(manifest.weights_bytes);
  archive.List(manifest.inputs);
  archive.List(manifest.outputs);
  archive.List(manifest.constants);
  archive.List(manifest.kernels);
  archive.List(manifest.steps);
  archive.List(manifest.fills);
}

std::string EncodeManifest(const BundleManifest& manifest) {
  ByteWriter writer;
  // Fields() is shared with the reader and so takes a mutable value; a writer changes nothing.
  Fields(writer, const_cast<BundleManifest&>(manifest));
  return writer.Take();
}

RuntimeOr<BundleManifest> DecodeManifest(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  BundleManifest manifest;
  Fields(reader, manifest);
  if (!reader.ok() || !reader.AtEnd()) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: the bundle's manifest");
  }
  return manifest;
}

}  // namespace burnish
