#include "compiler/runtime/test_bundle.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "base/check.h"
#include "compiler/runtime/bundle.h"

namespace burnish {
namespace {

constexpr uint64_t kVectorBytes = kTestCount * sizeof(float);
constexpr uint64_t kArenaSlotBytes = 4096;

BufferInfo Buffer(ArgumentRole role, uint64_t size_bytes) {
  return {.role = role, .alignment_bytes = 64, .size_bytes = size_bytes};
}

KernelManifest Kernel(const std::string& name, std::vector<BufferInfo> buffers) {
  KernelManifest kernel;
  kernel.name = name;
  kernel.compute.buffers = std::move(buffers);
  return kernel;
}

ModelStep MakeStep(const std::string& name, uint32_t kernel, std::vector<Place> buffers,
                   uint32_t output_buffer, TensorInfo output) {
  ModelStep step;
  step.name = name;
  step.kernel = kernel;
  step.buffers = std::move(buffers);
  step.flop_count = kTestCount;
  step.moved_bytes = 3 * kVectorBytes;
  step.workload_id = std::string(64, 'a');
  step.schedule_origin = "default";
  step.outputs = {{.buffer = output_buffer, .tensor = std::move(output)}};
  return step;
}

}  // namespace

RuntimeOr<std::unique_ptr<Artifact>> LoadArtifact(std::span<const uint8_t> bytes,
                                                  const std::vector<std::string>& host_features) {
  RUNTIME_ASSIGN_OR_RETURN(SealedArtifact sealed, Artifact::Read(bytes, host_features));
  return Artifact::Map(std::move(sealed), CodeOrigin::kOwn);
}

std::vector<uint8_t> TestElf() {
  std::ifstream file("compiler/runtime/testdata/test_kernels.so", std::ios::binary);
  CHECK(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

ArtifactManifest TestArtifactManifest() {
  constexpr ArgumentRole kIn = ArgumentRole::kInput, kOut = ArgumentRole::kOutput;
  ArtifactManifest manifest;
  manifest.target = "cpu:arch=any,features=,threads=2";
  manifest.kernels = {
      Kernel("add",
             {Buffer(kIn, kVectorBytes), Buffer(kIn, kVectorBytes), Buffer(kOut, kVectorBytes)}),
      Kernel("reverse", {Buffer(kIn, kVectorBytes), Buffer(kOut, kVectorBytes)}),
      Kernel("gather", {Buffer(kIn, kVectorBytes), Buffer(kIn, 16), Buffer(kOut, 16)}),
      Kernel("scale", {Buffer(kIn, kVectorBytes), Buffer(ArgumentRole::kConstant, kVectorBytes),
                       Buffer(kOut, kVectorBytes)}),
      Kernel("sum25", {Buffer(kIn, 100), Buffer(kOut, 4)}),
      Kernel("crash", {Buffer(kIn, 4), Buffer(kOut, 4)}),
      Kernel("halve", {Buffer(kIn, 4), Buffer(kOut, 64)}),
  };
  manifest.kernels[kAddKernel].compute.in_place = {{.output = 2, .input = 0}};
  manifest.kernels[kReverseKernel].compute.scratch_bytes_per_worker = sizeof(float);
  manifest.kernels[kReverseKernel].compute.shared_scratch_bytes = kVectorBytes;
  manifest.kernels[kScaleKernel].pack = FunctionInfo{
      .buffers = {Buffer(kIn, kVectorBytes), Buffer(kOut, kVectorBytes)}, .in_place = {}};
  return manifest;
}

std::string TestArtifact() { return WriteArtifact(TestArtifactManifest(), TestElf()); }

BundleManifest TestBundleManifest() {
  const auto vector = [](const std::string& name) {
    return DenseTensor(name, ElementType::kF32, {kTestCount});
  };
  const auto arena = [](uint64_t slot) { return Place{Region::kArena, 0, slot * kArenaSlotBytes}; };
  const Place x = {Region::kInput, 0, 0};

  BundleManifest manifest;
  manifest.model_name = "test";
  manifest.target = "cpu:arch=any,features=,threads=2";
  manifest.thread_count = 2;
  manifest.arena_bytes = 2 * kArenaSlotBytes;
  manifest.weights_bytes = kVectorBytes;
  TensorInfo image{.name = "image",
                   .type = ElementType::kF32,
                   .shape = {3, 3},
                   .strides = {5, 1},
                   .offset_bytes = 6 * sizeof(float)};
  manifest.inputs = {{DenseTensor("x", ElementType::kF32, {2, kTestCount / 2}), kVectorBytes},
                     {DenseTensor("index", ElementType::kI32, {4}), 16},
                     {image, 25 * sizeof(float)}};
  manifest.outputs = {{vector("sum"), kVectorBytes},
                      {DenseTensor("picked", ElementType::kF32, {4}), 16},
                      {DenseTensor("total", ElementType::kF32, {}), sizeof(float)}};
  manifest.constants = {{.name = "w", .offset_bytes = 0, .size_bytes = kVectorBytes}};
  manifest.kernels = TestArtifactManifest().kernels;
  for (KernelManifest& kernel : manifest.kernels) kernel.pack.reset();
  manifest.steps = {
      MakeStep("scale", kScaleKernel, {x, {Region::kWeights, 0, 0}, arena(0)}, 2, vector("scaled")),
      MakeStep("reverse", kReverseKernel, {arena(0), arena(1)}, 1, vector("reversed")),
      MakeStep("add", kAddKernel, {arena(1), x, {Region::kOutput, 0, 0}}, 2, vector("sum")),
      MakeStep("gather", kGatherKernel, {arena(1), {Region::kInput, 1, 0}, {Region::kOutput, 1, 0}},
               2, DenseTensor("picked", ElementType::kF32, {4})),
      MakeStep("total", kSum25Kernel, {{Region::kInput, 2, 0}, {Region::kOutput, 2, 0}}, 1,
               DenseTensor("total", ElementType::kF32, {})),
  };
  const float border = -7.0f;
  uint32_t border_bits = 0;
  std::memcpy(&border_bits, &border, sizeof(border));
  manifest.fills = {{.place = {Region::kInput, 2, 0},
                     .size_bytes = 25 * sizeof(float),
                     .element_bytes = 4,
                     .element_bits = border_bits}};
  return manifest;
}

std::vector<float> TestWeights() {
  std::vector<float> weights(kTestCount);
  for (int i = 0; i < kTestCount; ++i) weights[i] = 0.5f + 0.25f * (i % 7);
  return weights;
}

std::string TestBundle() {
  const std::vector<float> weights = TestWeights();
  const std::vector<float> packed(weights.rbegin(), weights.rend());
  auto bundle = WriteBundle(TestBundleManifest(), TestElf(), AsBytes(packed));
  CHECK(bundle.ok());
  return *std::move(bundle);
}

BundleManifest TestSizesManifest() {
  BundleManifest manifest;
  manifest.model_name = "sizes";
  manifest.target = "cpu:arch=any,features=,threads=2";
  manifest.thread_count = 2;
  manifest.arena_bytes = kArenaSlotBytes;
  HostCall call{.kernel = 0,
                .signature = {.kernel = "non_zero",
                              .attributes = {},
                              .inputs = {{ElementType::kF32, {2, 4}}},
                              .outputs = {{ElementType::kI64, {2, 8}}, {ElementType::kI64, {}}}},
                .tensors = {DenseTensor("x", ElementType::kF32, {2, 4}),
                            DenseTensor("places", ElementType::kI64, {2, 8}),
                            DenseTensor("count", ElementType::kI64, {})}};
  manifest.inputs = {{call.tensors[0], 32}};
  manifest.outputs = {{call.tensors[1], 128}};
  manifest.kernels = {{.name = "non_zero", .compute = FunctionOf(call), .pack = {}}};
  manifest.host_calls = {call};
  const Place count{Region::kArena, 0, 64};
  manifest.steps = {MakeStep("find", 0, {{Region::kInput, 0, 0}, {Region::kOutput, 0, 0}, count}, 1,
                             call.tensors[1])};
  manifest.run_sizes = {.sizes = {{.name = "count", .place = count, .least = 0, .greatest = 8}},
                        .axes = {{.region = Region::kOutput, .tensor = 0, .axis = 1, .size = 0}}};
  return manifest;
}

std::string TestSizesBundle() {
  auto bundle = WriteBundle(TestSizesManifest(), TestElf(), {});
  CHECK(bundle.ok());
  return *std::move(bundle);
}

BundleManifest TestGivenManifest() {
  BundleManifest manifest;
  manifest.model_name = "given";
  manifest.target = "cpu:arch=any,features=,threads=2";
  manifest.thread_count = 2;
  manifest.arena_bytes = kArenaSlotBytes;
  const std::vector<int64_t> bound = {2, kTestCount / 2};
  manifest.inputs = {{DenseTensor("x", ElementType::kF32, bound), kVectorBytes},
                     {DenseTensor("y", ElementType::kF32, bound), kVectorBytes}};
  manifest.outputs = {{DenseTensor("sum", ElementType::kF32, bound), kVectorBytes}};
  manifest.kernels = TestArtifactManifest().kernels;
  for (KernelManifest& kernel : manifest.kernels) kernel.pack.reset();
  manifest.steps = {MakeStep(
      "add", kAddKernel, {{Region::kInput, 0, 0}, {Region::kInput, 1, 0}, {Region::kOutput, 0, 0}},
      2, manifest.outputs[0].tensor)};
  manifest.run_sizes = {
      .sizes = {{.name = "b", .place = {Region::kArena, 0, 64}, .least = 1, .greatest = 2},
                {.name = "n", .place = {Region::kArena, 0, 72}, .least = 0, .greatest = 500}},
      .axes = {{.region = Region::kOutput, .tensor = 0, .axis = 0, .size = 0},
               {.region = Region::kOutput, .tensor = 0, .axis = 1, .size = 1}},
      .inputs = {{.input = 0, .axis = 0, .parts = {{.size = 0}}},
                 {.input = 0, .axis = 1, .parts = {{.size = 1}}},
                 {.input = 1, .axis = 0, .parts = {{.size = 0}}},
                 {.input = 1, .axis = 1, .parts = {{.size = 1}}}}};
  return manifest;
}

std::string TestGivenBundle() {
  auto bundle = WriteBundle(TestGivenManifest(), TestElf(), {});
  CHECK(bundle.ok());
  return *std::move(bundle);
}

}  // namespace burnish
