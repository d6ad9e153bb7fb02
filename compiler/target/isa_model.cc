#include "compiler/target/isa_model.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "compiler/target/target_arch.h"

namespace burnish {
namespace {

std::string CacheText(const CacheLevel& cache) {
  return absl::StrCat(cache.size_bytes, ":", cache.ways);
}

}  // namespace

IsaModel IsaModelOf(const Target& target) {
  const TargetArch* arch = FindTargetArch(target.arch);
  CHECK(arch != nullptr) << "unknown arch " << target.arch;
  // Features decide the width, as a hypervisor may hide what the microarchitecture has; and a user
  // may allow more than the family's baseline, then the narrower unit's figures are the best guess.
  const bool avx512 = target.HasFeature("avx512f") && target.HasFeature("avx512vl");
  const bool avx = target.HasFeature("avx");
  const VectorUnit unit = avx512 && arch->v64.fma_per_cycle > 0 ? arch->v64
                          : avx && arch->v32.fma_per_cycle > 0  ? arch->v32
                                                                : arch->v16;
  return {
      .vector_bytes = avx512 ? 64
                      : avx  ? 32
                             : 16,
      .vector_register_count = avx512 ? 32 : 16,
      .fused_multiply_add = target.HasFeature("fma"),
      .fma_per_cycle = target.HasFeature("fma") ? unit.fma_per_cycle : 1,
      .fma_latency_cycles = arch->fma_latency_cycles,
      .loads_per_cycle = unit.loads_per_cycle,
      .stores_per_cycle = unit.stores_per_cycle,
      .broadcast_operand = avx512,
      .masked_tail = avx512,
      .int8_dot = target.HasFeature("avx512vnni") || target.HasFeature("avxvnni"),
      .l1d = target.l1d,
      .l2 = target.l2,
      .l3 = target.l3,
      .line_bytes = target.line_bytes,
  };
}

std::string IsaModel::ToText() const {
  return absl::StrFormat(
      "vector=%dx%d,fma=%d:%dx%d,loads=%d,stores=%d,broadcast=%d,mask=%d,dot=%d,"
      "l1d=%s,l2=%s,l3=%s,line=%d",
      vector_register_count, vector_bytes, fused_multiply_add, fma_per_cycle, fma_latency_cycles,
      loads_per_cycle, stores_per_cycle, broadcast_operand, masked_tail, int8_dot, CacheText(l1d),
      CacheText(l2), CacheText(l3), line_bytes);
}

}  // namespace burnish
