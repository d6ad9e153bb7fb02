#include "compiler/runtime/bundle.h"

#include <algorithm>
#include <array>
#include <iterator>
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

// What a manifest has in a section of its own.
struct ManifestPart {
  SectionKind kind;
  std::string (*encode)(const BundleManifest&);  // Empty: there is nothing to say.
  RuntimeStatus (*decode)(std::span<const uint8_t> bytes, BundleManifest&);
};

template <auto member, auto encode, auto decode>
constexpr ManifestPart PartOf(SectionKind kind) {
  return {.kind = kind,
          .encode =
              [](const BundleManifest& manifest) {
                return (manifest.*member).empty() ? std::string() : encode(manifest.*member);
              },
          .decode =
              [](std::span<const uint8_t> bytes, BundleManifest& manifest) {
                RUNTIME_ASSIGN_OR_RETURN(manifest.*member, decode(bytes));
                return RuntimeStatus();
              }};
}

// Axes of inputs belong to the run's sizes, but are younger.
constexpr ManifestPart kInputAxes = {
    .kind = SectionKind::kInputAxes,
    .encode =
        [](const BundleManifest& manifest) {
          const std::vector<InputAxis>& axes = manifest.run_sizes.inputs;
          return axes.empty() ? std::string() : EncodeInputAxes(axes);
        },
    .decode =
        [](std::span<const uint8_t> bytes, BundleManifest& manifest) {
          RUNTIME_ASSIGN_OR_RETURN(manifest.run_sizes.inputs, DecodeInputAxes(bytes));
          return RuntimeStatus();
        }};

// Read in this order: axes of inputs behind the sizes, which know nothing of them.
constexpr ManifestPart kParts[] = {
    PartOf<&BundleManifest::control, EncodeControl, DecodeControl>(SectionKind::kControl),
    PartOf<&BundleManifest::host_calls, EncodeHostCalls, DecodeHostCalls>(SectionKind::kHostCalls),
    PartOf<&BundleManifest::run_sizes, EncodeRunSizes, DecodeRunSizes>(SectionKind::kRunSizes),
    kInputAxes,
    PartOf<&BundleManifest::trims, EncodeTrims, DecodeTrims>(SectionKind::kTrims),
    PartOf<&BundleManifest::live, EncodeLiveTables, DecodeLiveTables>(SectionKind::kLiveTables),
    PartOf<&BundleManifest::notes, EncodeNumberNotes, DecodeNumberNotes>(SectionKind::kNumberNotes),
    PartOf<&BundleManifest::input_strides, EncodeInputStrides, DecodeInputStrides>(
        SectionKind::kInputStrides),
    PartOf<&BundleManifest::input_defaults, EncodeInputDefaults, DecodeInputDefaults>(
        SectionKind::kInputDefaults),
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

// A file of the manifest's sections and `others`, by kind.
std::string FileOf(const BundleManifest& manifest, std::vector<Section> others) {
  const std::string text = EncodeManifest(manifest);
  others.push_back({SectionKind::kManifest, BytesOf(text)});
  std::array<std::string, std::size(kParts)> parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = kParts[i].encode(manifest);
    if (!parts[i].empty()) others.push_back({kParts[i].kind, BytesOf(parts[i])});
  }
  std::sort(others.begin(), others.end(),
            [](const Section& a, const Section& b) { return a.kind < b.kind; });
  return WriteSectionFile(kBundleFormat, others, FormatOf(manifest));
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
  return FileOf(manifest, {{SectionKind::kElf, elf}});
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
  std::vector<Section> sections = {{SectionKind::kElf, elf},
                                   {SectionKind::kWeights, {}, std::move(weights)}};
  const std::string smaller = variants.empty() ? "" : EncodeVariants(variants);
  for (const auto& [kind, bytes] : {std::pair(SectionKind::kRefit, refit.refit),
                                    {SectionKind::kPacks, refit.packs},
                                    {SectionKind::kRefitPlan, refit.plan},
                                    {SectionKind::kRefitProgram, refit.program},
                                    {SectionKind::kVariants, BytesOf(smaller)}}) {
    if (!bytes.empty()) sections.push_back({kind, bytes});
  }
  std::string bundle = FileOf(manifest, std::move(sections));
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
  for (const ManifestPart& part : kParts) {
    if (file.Find(part.kind) == nullptr) continue;
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> encoded, file.Read(part.kind));
    RUNTIME_RETURN_IF_ERROR(part.decode(encoded, manifest));
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
