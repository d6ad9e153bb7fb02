#include "compiler/runtime/bundle.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "compiler/runtime/byte_archive.h"

namespace burnish {

namespace {

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string EncodeVariants(const std::vector<std::string>& variants) {
  ByteWriter writer;
  writer.Texts(variants);
  return writer.Take();
}

// What a manifest has in sections of their own.
struct ManifestSections {
  std::string manifest, control, calls, sizes, input_axes, trims, live, strides, notes;
};

// Beside what its sections' kinds ask for. 7: loops that run the last of their iterations, or whose
// kernels leave something out.
uint32_t FormatOf(const BundleManifest& manifest) {
  const std::vector<ControlBlock>& blocks = manifest.control.blocks;
  const auto is_new = [](const ControlBlock& block) {
    return block.kind == BlockKind::kLastIterations;
  };
  const bool leaves_out = !manifest.control.empty() && !manifest.live.empty();
  return leaves_out || std::any_of(blocks.begin(), blocks.end(), is_new) ? 7 : 0;
}

ManifestSections SectionsOf(const BundleManifest& manifest) {
  return {
      .manifest = EncodeManifest(manifest),
      .control = manifest.control.empty() ? "" : EncodeControl(manifest.control),
      .calls = manifest.host_calls.empty() ? "" : EncodeHostCalls(manifest.host_calls),
      .sizes = manifest.run_sizes.empty() ? "" : EncodeRunSizes(manifest.run_sizes),
      .input_axes =
          manifest.run_sizes.inputs.empty() ? "" : EncodeInputAxes(manifest.run_sizes.inputs),
      .trims = manifest.trims.empty() ? "" : EncodeTrims(manifest.trims),
      .live = manifest.live.empty() ? "" : EncodeLiveTables(manifest.live),
      .strides = manifest.input_strides.empty() ? "" : EncodeInputStrides(manifest.input_strides),
      .notes = manifest.notes.empty() ? "" : EncodeNumberNotes(manifest.notes)};
}

// Whether what fits the variant's sizes may be given to it in place of the whole: inputs and
// outputs are the same, and no dimension is larger.
bool StandsFor(const BundleManifest& variant, const BundleManifest& whole) {
  const auto same_tensors = [](const std::vector<ModelTensor>& ours,
                               const std::vector<ModelTensor>& theirs) {
    if (ours.size() != theirs.size()) return false;
    for (size_t i = 0; i < ours.size(); ++i) {
      const TensorInfo &a = ours[i].tensor, &b = theirs[i].tensor;
      if (a.name != b.name || a.type != b.type || a.shape.size() != b.shape.size()) return false;
      for (size_t d = 0; d < a.shape.size(); ++d) {
        if (a.shape[d] > b.shape[d]) return false;
      }
    }
    return true;
  };
  const RunSizes &ours = variant.run_sizes, &theirs = whole.run_sizes;
  if (ours.inputs.empty() || variant.weights_bytes != whole.weights_bytes ||
      !same_tensors(variant.inputs, whole.inputs) ||
      !same_tensors(variant.outputs, whole.outputs) || ours.sizes.size() != theirs.sizes.size() ||
      ours.axes != theirs.axes || ours.inputs != theirs.inputs) {
    return false;
  }
  for (size_t i = 0; i < ours.sizes.size(); ++i) {
    if (ours.sizes[i].name != theirs.sizes[i].name ||
        ours.sizes[i].greatest > theirs.sizes[i].greatest) {
      return false;
    }
  }
  return true;
}

RuntimeStatus VariantDoesNotFit() {
  return RuntimeStatus(RuntimeCode::kInvalidArgument,
                       "what a bundle has for smaller sizes is not the same model");
}

}  // namespace

RuntimeOr<std::string> WriteVariant(const BundleManifest& manifest, std::span<const uint8_t> elf) {
  RUNTIME_RETURN_IF_ERROR(CheckManifest(manifest));
  const ManifestSections parts = SectionsOf(manifest);
  std::vector<Section> sections = {{SectionKind::kManifest, BytesOf(parts.manifest)},
                                   {SectionKind::kElf, elf}};
  for (const auto& [kind, bytes] : {std::pair(SectionKind::kControl, &parts.control),
                                    {SectionKind::kHostCalls, &parts.calls},
                                    {SectionKind::kRunSizes, &parts.sizes},
                                    {SectionKind::kInputAxes, &parts.input_axes},
                                    {SectionKind::kTrims, &parts.trims},
                                    {SectionKind::kLiveTables, &parts.live},
                                    {SectionKind::kInputStrides, &parts.strides},
                                    {SectionKind::kNumberNotes, &parts.notes}}) {
    if (!bytes->empty()) sections.push_back({kind, BytesOf(*bytes)});
  }
  return WriteSectionFile(kBundleFormat, sections, FormatOf(manifest));
}

RuntimeOr<std::string> WriteBundle(const BundleManifest& manifest, std::span<const uint8_t> elf,
                                   std::span<const uint8_t> weights, const RefitSections& refit,
                                   const std::vector<std::string>& variants) {
  return WriteBundleOfPieces(manifest, elf, {weights}, refit, variants);
}

RuntimeOr<std::string> WriteBundleOfPieces(const BundleManifest& manifest,
                                           std::span<const uint8_t> elf,
                                           std::vector<std::span<const uint8_t>> weights,
                                           const RefitSections& refit,
                                           const std::vector<std::string>& variants) {
  RUNTIME_RETURN_IF_ERROR(CheckManifest(manifest));
  uint64_t weights_bytes = 0;
  for (const std::span<const uint8_t> piece : weights) weights_bytes += piece.size();
  if (weights_bytes != manifest.weights_bytes) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "got " + std::to_string(weights_bytes) +
                                                            " bytes of weights, want " +
                                                            std::to_string(manifest.weights_bytes));
  }
  const ManifestSections parts = SectionsOf(manifest);
  std::vector<Section> sections = {{SectionKind::kManifest, BytesOf(parts.manifest)},
                                   {SectionKind::kElf, elf},
                                   {SectionKind::kWeights, {}, std::move(weights)}};
  const auto add = [&](SectionKind kind, std::span<const uint8_t> bytes) {
    if (!bytes.empty()) sections.push_back({kind, bytes});
  };
  add(SectionKind::kRefit, refit.refit);
  add(SectionKind::kPacks, refit.packs);
  add(SectionKind::kControl, BytesOf(parts.control));
  add(SectionKind::kHostCalls, BytesOf(parts.calls));
  add(SectionKind::kRefitPlan, refit.plan);
  add(SectionKind::kRefitProgram, refit.program);
  add(SectionKind::kRunSizes, BytesOf(parts.sizes));
  add(SectionKind::kInputAxes, BytesOf(parts.input_axes));
  add(SectionKind::kTrims, BytesOf(parts.trims));
  add(SectionKind::kLiveTables, BytesOf(parts.live));
  add(SectionKind::kInputStrides, BytesOf(parts.strides));
  add(SectionKind::kNumberNotes, BytesOf(parts.notes));
  const std::string smaller = variants.empty() ? "" : EncodeVariants(variants);
  add(SectionKind::kVariants, BytesOf(smaller));
  std::string bundle = WriteSectionFile(kBundleFormat, sections, FormatOf(manifest));
  if (!variants.empty()) {
    // Of what a reader would refuse, nothing is written.
    const RuntimeOr<BundleReader> reader = BundleReader::FromBytes(BytesOf(bundle));
    if (!reader.ok()) return reader.status();
  }
  return bundle;
}

RuntimeOr<BundleReader> BundleReader::OpenFile(const std::string& path) {
  RUNTIME_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, OpenFileSource(path));
  auto reader = Open(std::move(source), /*is_variant=*/false);
  if (!reader.ok()) {
    return RuntimeStatus(reader.status().code(), path + ": " + reader.status().message());
  }
  return reader;
}

RuntimeOr<BundleReader> BundleReader::FromBytes(std::span<const uint8_t> bytes) {
  return Open(MemorySource(bytes), /*is_variant=*/false);
}

RuntimeOr<BundleReader> BundleReader::Open(std::unique_ptr<ByteSource> source, bool is_variant) {
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
  if (file.Find(SectionKind::kInputStrides) != nullptr) {
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> strides,
                             file.Read(SectionKind::kInputStrides));
    RUNTIME_ASSIGN_OR_RETURN(manifest.input_strides, DecodeInputStrides(strides));
  }
  if (file.Find(SectionKind::kNumberNotes) != nullptr) {
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> notes,
                             file.Read(SectionKind::kNumberNotes));
    RUNTIME_ASSIGN_OR_RETURN(manifest.notes, DecodeNumberNotes(notes));
  }
  RUNTIME_RETURN_IF_ERROR(CheckManifest(manifest));
  if (is_variant) {
    // Weights, and all that is said of weights, are the whole bundle's.
    for (const SectionKind kind :
         {SectionKind::kWeights, SectionKind::kVariants, SectionKind::kRefit,
          SectionKind::kRefitPlan, SectionKind::kPacks, SectionKind::kRefitProgram}) {
      if (file.Find(kind) != nullptr) return VariantDoesNotFit();
    }
    return BundleReader(std::move(file), std::move(manifest));
  }
  const SectionFile::Entry* weights = file.Find(SectionKind::kWeights);
  if (weights == nullptr || weights->size_bytes != manifest.weights_bytes) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: its weights are missing");
  }
  BundleReader reader(std::move(file), std::move(manifest));
  RUNTIME_RETURN_IF_ERROR(reader.OpenVariants());
  return reader;
}

RuntimeStatus BundleReader::OpenVariants() {
  if (file_.Find(SectionKind::kVariants) == nullptr) return RuntimeStatus();
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, file_.Read(SectionKind::kVariants));
  ByteReader reader(bytes);
  std::vector<std::string> variants;
  reader.Texts(variants);
  if (!reader.ok() || !reader.AtEnd() || variants.size() > kVariantsMax) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: what it has for smaller sizes");
  }
  variant_bytes_ = std::make_shared<const std::vector<std::string>>(std::move(variants));
  for (const std::string& variant : *variant_bytes_) {
    RUNTIME_ASSIGN_OR_RETURN(BundleReader opened,
                             Open(MemorySource(BytesOf(variant)), /*is_variant=*/true));
    if (!StandsFor(opened.manifest(), manifest_)) return VariantDoesNotFit();
    variants_.push_back(std::move(opened));
  }
  return RuntimeStatus();
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
