// The test kernels (testdata/test_kernels.c) as an artifact, and a small model of them as a bundle.
#ifndef COMPILER_RUNTIME_TEST_BUNDLE_H_
#define COMPILER_RUNTIME_TEST_BUNDLE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/bundle_manifest.h"

namespace burnish {

inline constexpr int kTestCount = 1000;  // Elements of the model's vectors.

// Test kernels by index.
enum TestKernel : uint32_t {
  kAddKernel = 0,
  kReverseKernel = 1,
  kGatherKernel = 2,
  kScaleKernel = 3,
  kSum25Kernel = 4,
  kCrashKernel = 5,
  kHalveKernel = 6,
};

std::vector<uint8_t> TestElf();
ArtifactManifest TestArtifactManifest();
std::string TestArtifact();
// Code of the test's own.
RuntimeOr<std::unique_ptr<Artifact>> LoadArtifact(
    std::span<const uint8_t> bytes, const std::vector<std::string>& host_features = HostFeatures());

// Inputs: "x" f32[2,500]; "index" i32[4]; "image" f32[3,3], stored in 5x5 with a border of -7.
// Steps and outputs, by TestWeights w:
//   scaled = x * w; reversed = reverse(scaled); "sum" = reversed + x;
//   "picked" = reversed[index]; "total" = sum of image and border.
BundleManifest TestBundleManifest();
std::string TestBundle();
std::vector<float> TestWeights();

// Input "x" f32[2,4]; output "places" i64[2,8], of which as many columns hold as x has elements
// that are not 0.
BundleManifest TestSizesManifest();
std::string TestSizesBundle();

// Inputs "x" and "y" f32[b,n], b of 1 to 2, n of 0 to 500; output "sum" of them, of their shape.
BundleManifest TestGivenManifest();
std::string TestGivenBundle();

template <typename T>
std::span<const uint8_t> AsBytes(const T& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(*values.data())};
}
template <typename T>
std::span<uint8_t> AsWritableBytes(T& values) {
  return {reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(*values.data())};
}

}  // namespace burnish

#endif  // COMPILER_RUNTIME_TEST_BUNDLE_H_
