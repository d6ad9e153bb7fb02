// write_bundles KERNELS FOLDER: bundles of one step for the tests of the Python package. Each has
// an input "x" and an output "y" of one type and shape, and y = x.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/bundle.h"
#include "compiler/runtime/bundle_manifest.h"

namespace burnish {
namespace {

constexpr uint32_t kCopy = 0, kWait = 1;  // Kernels of kernels.c.
// A bound of ten seconds or so: nothing but a failing test reaches it.
constexpr uint64_t kPollCountMax = 40'000'000'000;

std::vector<uint8_t> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  CHECK(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

KernelManifest CopyKernel(const std::string& name, uint64_t size_bytes) {
  const auto buffer = [](ArgumentRole role, uint64_t bytes) {
    return BufferInfo{.role = role, .alignment_bytes = 64, .size_bytes = bytes};
  };
  KernelManifest kernel;
  kernel.name = name;
  kernel.compute.buffers = {buffer(ArgumentRole::kInput, size_bytes),
                            buffer(ArgumentRole::kConstant, sizeof(uint64_t)),
                            buffer(ArgumentRole::kOutput, size_bytes)};
  return kernel;
}

// `number`: what the kernel finds in its constant.
std::string Bundle(const std::vector<uint8_t>& elf, const TensorInfo& x, uint32_t kernel,
                   uint64_t number) {
  const uint64_t size_bytes = x.dense_bytes();
  TensorInfo y = x;
  y.name = "y";
  BundleManifest manifest;
  manifest.model_name = "copy";
  manifest.target = "cpu:arch=any,features=,threads=2";
  manifest.thread_count = 2;
  manifest.weights_bytes = sizeof(uint64_t);
  manifest.inputs = {{x, size_bytes}};
  manifest.outputs = {{y, size_bytes}};
  manifest.constants = {{.name = "n", .offset_bytes = 0, .size_bytes = sizeof(uint64_t)}};
  manifest.kernels = {CopyKernel("copy", size_bytes), CopyKernel("wait", size_bytes)};
  ModelStep step;
  step.name = "step";
  step.kernel = kernel;
  step.buffers = {{Region::kInput, 0, 0}, {Region::kWeights, 0, 0}, {Region::kOutput, 0, 0}};
  step.workload_id = std::string(64, 'a');
  step.schedule_origin = "default";
  step.outputs = {{.buffer = 2, .tensor = y}};
  manifest.steps = {step};
  uint8_t weights[sizeof(number)];
  std::memcpy(weights, &number, sizeof(number));
  auto bundle = WriteBundle(manifest, elf, weights);
  CHECK(bundle.ok());
  return *std::move(bundle);
}

void WriteAll(const std::vector<uint8_t>& elf, const std::string& folder) {
  const auto write = [&](const std::string& name, const TensorInfo& x, uint32_t kernel,
                         uint64_t number) {
    std::ofstream file(folder + "/" + name + ".bundle", std::ios::binary);
    file << Bundle(elf, x, kernel, number);
    CHECK(file.good());
  };
  const auto copy = [&](const std::string& name, const TensorInfo& x) {
    write(name, x, kCopy, x.dense_bytes());
  };
  for (int type = static_cast<int>(ElementType::kF32); type <= static_cast<int>(ElementType::kBool);
       ++type) {
    const auto element = static_cast<ElementType>(type);
    copy(ElementTypeName(element), DenseTensor("x", element, {2, 3}));
  }
  copy("scalar", DenseTensor("x", ElementType::kF32, {}));
  copy("empty", DenseTensor("x", ElementType::kF32, {0, 3}));
  copy("rank16", DenseTensor("x", ElementType::kF32, std::vector<int64_t>(16, 1)));
  copy("out", DenseTensor("out", ElementType::kF32, {4}));
  copy("large", DenseTensor("x", ElementType::kF32, {1 << 18}));
  write("wait", DenseTensor("x", ElementType::kF32, {4}), kWait, kPollCountMax);
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  burnish::WriteAll(burnish::ReadFile(argv[1]), argv[2]);
}
