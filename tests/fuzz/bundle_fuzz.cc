// libFuzzer target: a bundle or an artifact is refused with a status, or its manifest means the
// same after it was written again. The first byte says whether a whole file follows, or a manifest
// in a file whose hashes fit, which no fuzzer finds by itself; or how weights are packed.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/bundle.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/check_control.h"
#include "compiler/runtime/host_call.h"
#include "compiler/runtime/refit.h"
#include "compiler/runtime/section_file.h"

namespace burnish {
namespace {

// What is read is allocated: a manifest that asks for more is refused by whoever has the memory.
constexpr uint64_t kWeightsBytesMax = 1 << 20;

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

void FuzzBundle(std::span<const uint8_t> bytes) {
  const RuntimeOr<BundleReader> reader = BundleReader::FromBytes(bytes);
  if (!reader.ok()) return;
  const BundleManifest& manifest = reader->manifest();
  CHECK(CheckManifest(manifest).ok());
  (void)reader->ReadElf();
  if (manifest.weights_bytes > kWeightsBytesMax) return;
  std::vector<uint8_t> weights(manifest.weights_bytes);
  const RuntimeStatus read = reader->ReadWeights(weights, /*check_hash=*/true);
  if (!read.ok()) return;
  const RuntimeOr<std::string> written = WriteBundle(manifest, {}, weights);
  CHECK(written.ok()) << written.status().message();
  const RuntimeOr<BundleReader> again = BundleReader::FromBytes(BytesOf(*written));
  CHECK(again.ok()) << again.status().message();
  CHECK_EQ(EncodeManifest(again->manifest()), EncodeManifest(manifest));
  CHECK(again->manifest().control == manifest.control);
}

void FuzzArtifact(std::span<const uint8_t> bytes) {
  const RuntimeOr<ArtifactManifest> manifest = ReadArtifactManifest(bytes);
  if (!manifest.ok()) return;
  const std::string written = WriteArtifact(*manifest, {});
  const RuntimeOr<ArtifactManifest> again = ReadArtifactManifest(BytesOf(written));
  CHECK(again.ok()) << again.status().message();
  CHECK(*again == *manifest);
}

void FuzzBundleManifest(std::span<const uint8_t> bytes) {
  const RuntimeOr<BundleManifest> manifest = DecodeManifest(bytes);
  if (!manifest.ok()) return;
  const std::string encoded = EncodeManifest(*manifest);
  const RuntimeOr<BundleManifest> decoded = DecodeManifest(BytesOf(encoded));
  CHECK(decoded.ok()) << decoded.status().message();
  CHECK_EQ(EncodeManifest(*decoded), encoded);
  if (manifest->weights_bytes > kWeightsBytesMax) return;
  const std::vector<uint8_t> weights(manifest->weights_bytes);
  FuzzBundle(BytesOf(WriteSectionFile(kBundleFormat, {{SectionKind::kManifest, bytes},
                                                      {SectionKind::kElf, {}},
                                                      {SectionKind::kWeights, weights}})));
}

// A small model of which only the control program is foreign.
BundleManifest ModelWith(ControlProgram control) {
  BundleManifest manifest;
  manifest.arena_bytes = 4096;
  manifest.weights_bytes = 4096;
  const TensorInfo row = DenseTensor("t", ElementType::kF32, {256});
  manifest.inputs = {{.tensor = row, .storage_bytes = 1024}};
  manifest.outputs = {{.tensor = row, .storage_bytes = 1024}};
  KernelManifest& kernel = manifest.kernels.emplace_back();
  kernel.compute.buffers = {
      {.role = ArgumentRole::kInput, .alignment_bytes = 4, .size_bytes = 64},
      {.role = ArgumentRole::kOutput, .alignment_bytes = 4, .size_bytes = 64}};
  for (uint32_t step = 0; step < 6; ++step) {
    ModelStep& made = manifest.steps.emplace_back();
    made.buffers = {{}, {.offset_bytes = 64}};
    // The first walkers are used as far as they go: those of the steps' own loops pass.
    if (step % 2 == 1 && step / 2 < control.walkers.size()) {
      made.buffers[0] = {Region::kWalker, step / 2, 0};
    }
  }
  manifest.control = std::move(control);
  return manifest;
}

// Whatever passes keeps each walker in its region, in the first iterations and the last.
void FuzzControl(std::span<const uint8_t> bytes) {
  RuntimeOr<ControlProgram> control = DecodeControl(bytes);
  if (!control.ok()) return;
  const RuntimeOr<ControlProgram> again = DecodeControl(BytesOf(EncodeControl(*control)));
  CHECK(again.ok());
  CHECK(*again == *control);
  const BundleManifest manifest = ModelWith(*std::move(control));
  if (!CheckManifest(manifest).ok()) return;
  for (const Walker& walker : manifest.control.walkers) {
    const uint64_t count = manifest.control.blocks[walker.block].count;
    for (uint64_t i = 0; i < 9 && i < count; ++i) {
      const uint64_t t = i < 8 ? i : count - 1;
      Place place = walker.base;
      if (t == 0 && walker.has_first) {
        place = walker.first;
      } else {
        const uint64_t turn = t - walker.lag;
        place.offset_bytes += (walker.period > 0 ? turn % walker.period : turn) *
                              static_cast<uint64_t>(walker.stride_bytes);
      }
      CHECK(CheckPlace(manifest, place, walker.size_bytes).ok());
      CHECK_EQ(place.offset_bytes % walker.alignment_bytes, 0u);
    }
  }
}

// Decoded calls mean the same again, and the check answers, whatever their shapes and strides.
void FuzzHostCalls(std::span<const uint8_t> bytes) {
  const RuntimeOr<std::vector<HostCall>> calls = DecodeHostCalls(bytes);
  if (!calls.ok()) return;
  CHECK_EQ(EncodeHostCalls(*calls), std::string(bytes.begin(), bytes.end()));
  const std::vector<KernelManifest> kernels(calls->size());
  (void)CheckHostCalls(*calls, kernels);
}

// Whatever passes is read within the arena and gives shapes within the outputs'.
void FuzzRunSizes(std::span<const uint8_t> bytes) {
  RuntimeOr<RunSizes> sizes = DecodeRunSizes(bytes);
  if (!sizes.ok()) return;
  CHECK_EQ(EncodeRunSizes(*sizes), std::string(bytes.begin(), bytes.end()));
  BundleManifest manifest = ModelWith({});
  manifest.run_sizes = *std::move(sizes);
  if (!CheckManifest(manifest).ok()) return;
  std::vector<int64_t> extents;
  for (const RunSize& size : manifest.run_sizes.sizes) {
    CHECK(CheckPlace(manifest, size.place, sizeof(int64_t)).ok());
    extents.push_back(size.greatest);
  }
  const std::vector<int64_t>& bound = manifest.outputs[0].tensor.shape;
  const std::vector<int64_t> shape =
      ShapeInRun(manifest.run_sizes, Region::kOutput, 0, bound, extents);
  for (size_t d = 0; d < bound.size(); ++d) CHECK(shape[d] >= 0 && shape[d] <= bound[d]);
}

// Whatever passes gives shapes within the inputs'.
void FuzzInputAxes(std::span<const uint8_t> bytes) {
  RuntimeOr<std::vector<InputAxis>> axes = DecodeInputAxes(bytes);
  if (!axes.ok()) return;
  CHECK_EQ(EncodeInputAxes(*axes), std::string(bytes.begin(), bytes.end()));
  BundleManifest manifest = ModelWith({});
  for (const char* name : {"a", "b"}) {
    manifest.run_sizes.sizes.push_back({.name = name, .place = {}, .least = 0, .greatest = 2});
  }
  manifest.run_sizes.inputs = *std::move(axes);
  if (!CheckManifest(manifest).ok()) return;
  const std::vector<int64_t> extents(2, 2);
  for (size_t i = 0; i < manifest.inputs.size(); ++i) {
    const std::vector<int64_t>& bound = manifest.inputs[i].tensor.shape;
    const std::vector<int64_t> shape = InputShapeInRun(manifest.run_sizes, i, bound, extents);
    for (size_t d = 0; d < bound.size(); ++d) CHECK(shape[d] >= 0 && shape[d] <= bound[d]);
  }
}

// A model with two sizes that its input gives.
BundleManifest ModelOfTwoSizes() {
  BundleManifest manifest = ModelWith({});
  manifest.inputs[0].tensor = DenseTensor("t", ElementType::kF32, {16, 16});
  for (const char* name : {"a", "b"}) {
    manifest.run_sizes.sizes.push_back({.name = name, .place = {}, .least = 0, .greatest = 16});
  }
  for (uint32_t axis = 0; axis < 2; ++axis) {
    manifest.run_sizes.inputs.push_back(
        {.input = 0, .axis = axis, .constant = 0, .parts = {{.size = axis}}});
  }
  return manifest;
}

// Whatever passes names iterations that there are.
void FuzzTrims(std::span<const uint8_t> bytes) {
  RuntimeOr<std::vector<StepTrim>> trims = DecodeTrims(bytes);
  if (!trims.ok()) return;
  CHECK_EQ(EncodeTrims(*trims), std::string(bytes.begin(), bytes.end()));
  BundleManifest manifest = ModelOfTwoSizes();
  manifest.trims = *std::move(trims);
  if (!CheckManifest(manifest).ok()) return;
  for (const StepTrim& trim : manifest.trims) {
    for (const uint32_t iteration : NeededIterations(trim, std::vector<int64_t>{3, 16})) {
      CHECK(iteration < trim.iterations);
    }
  }
}

// Whatever passes lies in the arena, and no flag outside is written.
void FuzzLiveTables(std::span<const uint8_t> bytes) {
  RuntimeOr<std::vector<LiveTable>> tables = DecodeLiveTables(bytes);
  if (!tables.ok()) return;
  CHECK_EQ(EncodeLiveTables(*tables), std::string(bytes.begin(), bytes.end()));
  BundleManifest manifest = ModelOfTwoSizes();
  manifest.live = *std::move(tables);
  if (!CheckManifest(manifest).ok()) return;
  for (const LiveTable& table : manifest.live) {
    CHECK(CheckPlace(manifest, table.place, table.size_bytes).ok());
    std::vector<uint8_t> flags(table.size_bytes);
    FillLiveTable(table, std::vector<int64_t>{3, 16}, flags);
    for (const uint8_t flag : flags) CHECK(flag <= 1);
  }
}

// A variant of a bundle, as a file: whatever passes fits the whole.
void FuzzVariant(std::span<const uint8_t> bytes) {
  const BundleManifest whole = ModelOfTwoSizes();
  const std::vector<uint8_t> weights(whole.weights_bytes);
  const RuntimeOr<std::string> written =
      WriteBundle(whole, {}, weights, {}, {std::string(bytes.begin(), bytes.end())});
  if (!written.ok()) return;
  const RuntimeOr<BundleReader> reader = BundleReader::FromBytes(BytesOf(*written));
  CHECK(reader.ok()) << reader.status().message();
  for (const BundleReader& variant : reader->variants()) {
    CHECK(CheckManifest(variant.manifest()).ok());
    CHECK_EQ(variant.manifest().weights_bytes, whole.weights_bytes);
    CHECK_EQ(variant.manifest().inputs.size(), whole.inputs.size());
    for (size_t d = 0; d < 2; ++d) {
      CHECK(variant.manifest().inputs[0].tensor.shape[d] <= whole.inputs[0].tensor.shape[d]);
    }
  }
}

// Whatever passes the check has places for all that is written; the bytes mean the same again.
void FuzzRefit(std::span<const uint8_t> bytes, bool is_plan) {
  const RuntimeOr<RefitInfo> info = is_plan ? DecodeRefitPlan(bytes) : DecodeRefit(bytes);
  if (!info.ok()) return;
  (void)CheckRefit(*info, kWeightsBytesMax, /*packs=*/nullptr, /*program=*/nullptr);
  const std::string encoded = is_plan ? EncodeRefitPlan(*info) : EncodeRefit(*info);
  CHECK_EQ(encoded, std::string(bytes.begin(), bytes.end()));
}

}  // namespace
}  // namespace burnish

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  switch (data[0] >= 0xf8 ? data[0] : data[0] % 5) {
    case 0:
      FuzzBundle(bytes);
      break;
    case 1:
      FuzzArtifact(bytes);
      break;
    case 2:
      FuzzBundleManifest(bytes);
      break;
    case 3:
      FuzzArtifact(BytesOf(WriteSectionFile(
          kArtifactFormat, {{SectionKind::kManifest, bytes}, {SectionKind::kElf, {}}})));
      break;
    case 4:
      FuzzControl(bytes);
      break;
    case 0xf8:
      FuzzVariant(bytes);
      break;
    case 0xf9:
      FuzzLiveTables(bytes);
      break;
    case 0xfa:
      FuzzTrims(bytes);
      break;
    case 0xfb:
      FuzzInputAxes(bytes);
      break;
    case 0xfc:
      FuzzRunSizes(bytes);
      break;
    case 0xfd:
      FuzzHostCalls(bytes);
      break;
    case 0xfe:
      FuzzRefit(bytes, /*is_plan=*/false);
      break;
    case 0xff:
      FuzzRefit(bytes, /*is_plan=*/true);
      break;
  }
  return 0;
}
