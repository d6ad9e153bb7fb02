#include "worker/runner/test_candidates.h"

#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/cpu_info.h"
#include "compiler/runtime/artifact.h"
#include "compiler/target/target.h"
#include "proto/artifact_codec.h"

namespace burnish {
namespace {

constexpr uint64_t kVectorBytes = 4000;

BufferInfo Buffer(ArgumentRole role) {
  return {.role = role, .alignment_bytes = 64, .size_bytes = kVectorBytes};
}

}  // namespace

std::string VectorWorkload() {
  return "workload/1\n"
         "input b0: f32[1000]\n"
         "const b1: f32[1000]\n"
         "output b2: f32[1000]\n"
         "block b2(i0 in 1000) {\n"
         "  step b2[i0] = b0[i0] * b1[i0] + b0[0]\n"
         "}\n";
}

std::string VectorArtifact(absl::string_view kernel) {
  std::ifstream file(absl::StrCat("worker/runner/testdata/", kernel, ".so"), std::ios::binary);
  CHECK(file.good()) << kernel;
  const std::vector<char> elf{std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>()};
  ArtifactManifest manifest;
  manifest.target = "cpu:arch=any";
  KernelManifest& entry = manifest.kernels.emplace_back();
  entry.name = std::string(kernel);
  entry.compute.buffers = {Buffer(ArgumentRole::kInput), Buffer(ArgumentRole::kConstant),
                           Buffer(ArgumentRole::kOutput)};
  entry.compute.shared_scratch_bytes = 64;
  if (kernel == "PACKED") {
    entry.pack =
        FunctionInfo{.buffers = {Buffer(ArgumentRole::kConstant), Buffer(ArgumentRole::kOutput)},
                     .in_place = {}};
  }
  return WriteArtifact(manifest, {reinterpret_cast<const uint8_t*>(elf.data()), elf.size()});
}

RunJob VectorJob(absl::string_view kernel) {
  const absl::StatusOr<Target> target = HostTarget(HostCpuInfo(), /*threads=*/1);
  CHECK(target.ok()) << target.status().ToString();
  return {.candidates = {{.candidate_id = std::string(32, 'c'),
                          .artifact_sha256 = ArtifactSha256(VectorArtifact(kernel)),
                          .workload = VectorWorkload(),
                          .reference_artifact_sha256 = ArtifactSha256(VectorArtifact("RIGHT")),
                          .seed = 7,
                          .numerics = {.kind = NumericsClass::kExact}}},
          .method = {.repeat_count_min = 3,
                     .repeat_duration_min = absl::Microseconds(20),
                     .warm_up_min = absl::Microseconds(100),
                     .arena_bytes = 1 << 20,
                     .timeout = absl::Seconds(30)},
          .target = target->ToText()};
}

JobSpec ToSpec(const RunJob& job, const std::string& id) {
  return {.id = id, .kind = JobKind::kRun, .payload = Encode(job)};
}

}  // namespace burnish
