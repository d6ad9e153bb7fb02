#include "compiler/runtime/bundle.h"

#include <memory>
#include <string>
#include <utility>

namespace burnish {

RuntimeOr<std::string> WriteBundle(const BundleManifest& manifest, std::span<const uint8_t> elf,
                                   std::span<const uint8_t> weights, const RefitSections& refit) {
  RUNTIME_RETURN_IF_ERROR(CheckManifest(manifest));
  if (weights.size() != manifest.weights_bytes) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "got " + std::to_string(weights.size()) +
                                                            " bytes of weights, want " +
                                                            std::to_string(manifest.weights_bytes));
  }
  const std::string encoded = EncodeManifest(manifest);
  std::vector<Section> sections = {
      {SectionKind::kManifest, {reinterpret_cast<const uint8_t*>(encoded.data()), encoded.size()}},
      {SectionKind::kElf, elf},
      {SectionKind::kWeights, weights}};
  const auto add = [&](SectionKind kind, std::span<const uint8_t> bytes) {
    if (!bytes.empty()) sections.push_back({kind, bytes});
  };
  const auto bytes_of = [](const std::string& text) {
    return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  const std::string control = manifest.control.empty() ? "" : EncodeControl(manifest.control);
  const std::string calls = manifest.host_calls.empty() ? "" : EncodeHostCalls(manifest.host_calls);
  const std::string sizes = manifest.run_sizes.empty() ? "" : EncodeRunSizes(manifest.run_sizes);
  const std::string input_axes =
      manifest.run_sizes.inputs.empty() ? "" : EncodeInputAxes(manifest.run_sizes.inputs);
  add(SectionKind::kRefit, refit.refit);
  add(SectionKind::kPacks, refit.packs);
  add(SectionKind::kControl, bytes_of(control));
  add(SectionKind::kHostCalls, bytes_of(calls));
  add(SectionKind::kRefitPlan, refit.plan);
  add(SectionKind::kRefitProgram, refit.program);
  add(SectionKind::kRunSizes, bytes_of(sizes));
  add(SectionKind::kInputAxes, bytes_of(input_axes));
  const std::string trims = manifest.trims.empty() ? "" : EncodeTrims(manifest.trims);
  add(SectionKind::kTrims, bytes_of(trims));
  const std::string live = manifest.live.empty() ? "" : EncodeLiveTables(manifest.live);
  add(SectionKind::kLiveTables, bytes_of(live));
  return WriteSectionFile(kBundleFormat, sections);
}

RuntimeOr<BundleReader> BundleReader::OpenFile(const std::string& path) {
  RUNTIME_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, OpenFileSource(path));
  auto reader = Open(std::move(source));
  if (!reader.ok()) {
    return RuntimeStatus(reader.status().code(), path + ": " + reader.status().message());
  }
  return reader;
}

RuntimeOr<BundleReader> BundleReader::FromBytes(std::span<const uint8_t> bytes) {
  return Open(MemorySource(bytes));
}

RuntimeOr<BundleReader> BundleReader::Open(std::unique_ptr<ByteSource> source) {
  RUNTIME_ASSIGN_OR_RETURN(SectionFile file, SectionFile::Open(kBundleFormat, std::move(source)));
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, file.Read(SectionKind::kManifest));
  RUNTIME_ASSIGN_OR_RETURN(BundleManifest manifest, DecodeManifest(bytes));
  if (file.Find(SectionKind::kControl) != nullptr) {
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> control, file.Read(SectionKind::kControl));
    RUNTIME_ASSIGN_OR_RETURN(manifest.control, DecodeControl(control));
  }
  if (file.Find(SectionKind::kHostCalls) != nullptr) {
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> calls, file.Read(SectionKind::kHostCalls));
    RUNTIME_ASSIGN_OR_RETURN(manifest.host_calls, DecodeHostCalls(calls));
  }
  if (file.Find(SectionKind::kRunSizes) != nullptr) {
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> sizes, file.Read(SectionKind::kRunSizes));
    RUNTIME_ASSIGN_OR_RETURN(manifest.run_sizes, DecodeRunSizes(sizes));
  }
  if (file.Find(SectionKind::kInputAxes) != nullptr) {
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> axes, file.Read(SectionKind::kInputAxes));
    RUNTIME_ASSIGN_OR_RETURN(manifest.run_sizes.inputs, DecodeInputAxes(axes));
  }
  if (file.Find(SectionKind::kTrims) != nullptr) {
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> trims, file.Read(SectionKind::kTrims));
    RUNTIME_ASSIGN_OR_RETURN(manifest.trims, DecodeTrims(trims));
  }
  if (file.Find(SectionKind::kLiveTables) != nullptr) {
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> live, file.Read(SectionKind::kLiveTables));
    RUNTIME_ASSIGN_OR_RETURN(manifest.live, DecodeLiveTables(live));
  }
  RUNTIME_RETURN_IF_ERROR(CheckManifest(manifest));
  const SectionFile::Entry* weights = file.Find(SectionKind::kWeights);
  if (weights == nullptr || weights->size_bytes != manifest.weights_bytes) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: its weights are missing");
  }
  return BundleReader(std::move(file), std::move(manifest));
}

const Sha256Digest& BundleReader::weights_digest() const {
  return file_.Find(SectionKind::kWeights)->digest;
}

RuntimeOr<std::vector<uint8_t>> BundleReader::ReadElf() const {
  return file_.Read(SectionKind::kElf);
}

RuntimeOr<std::vector<uint8_t>> BundleReader::ReadIfThere(SectionKind kind) const {
  if (file_.Find(kind) == nullptr) return std::vector<uint8_t>();
  return file_.Read(kind);
}

RuntimeOr<std::vector<uint8_t>> BundleReader::ReadRefit() const {
  return ReadIfThere(SectionKind::kRefit);
}

RuntimeOr<std::vector<uint8_t>> BundleReader::ReadRefitPlan() const {
  return ReadIfThere(SectionKind::kRefitPlan);
}

RuntimeOr<std::vector<uint8_t>> BundleReader::ReadRefitProgram() const {
  return ReadIfThere(SectionKind::kRefitProgram);
}

RuntimeOr<std::vector<uint8_t>> BundleReader::ReadPacks() const {
  return ReadIfThere(SectionKind::kPacks);
}

RuntimeStatus BundleReader::ReadWeights(std::span<uint8_t> destination, bool check_hash) const {
  return file_.ReadInto(*file_.Find(SectionKind::kWeights), destination, check_hash);
}

}  // namespace burnish
