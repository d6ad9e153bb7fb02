#include "compiler/target/isa_model.h"

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/target/target_arch.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

IsaModel ModelOf(absl::string_view fields) {
  const absl::StatusOr<Target> target = ParseTarget(absl::StrCat("cpu:", fields));
  EXPECT_THAT(target, IsOk());
  return target.ok() ? IsaModelOf(*target) : IsaModel();
}

TEST(IsaModelTest, Zen3HasSixteenYmmAndTwoFmaPortsOfLatencyFour) {
  const IsaModel model = ModelOf("arch=znver3,threads=2");
  EXPECT_EQ(model.ToText(),
            "vector=16x32,fma=1:2x4,loads=2,stores=1,broadcast=0,mask=0,dot=0,l1d=32768:8,"
            "l2=524288:8,l3=33554432:16,line=64");
  EXPECT_EQ(model.float_lanes(), 8);
  EXPECT_EQ(model.accumulators_min(), 8);
}

TEST(IsaModelTest, Avx512HasThirtyTwoRegistersAndABroadcastOperand) {
  for (const char* arch : {"skylake-avx512", "icelake-server", "sapphirerapids", "znver5"}) {
    const IsaModel model = ModelOf(absl::StrCat("arch=", arch));
    EXPECT_EQ(model.vector_bytes, 64) << arch;
    EXPECT_EQ(model.vector_register_count, 32) << arch;
    EXPECT_TRUE(model.broadcast_operand) << arch;
    EXPECT_EQ(model.fma_per_cycle, 2) << arch;
  }
  EXPECT_EQ(ModelOf("arch=znver4").fma_per_cycle, 1);  // 512-bit operations in two halves.
}

TEST(IsaModelTest, HiddenFeaturesNarrowTheVector) {
  const IsaModel model = ModelOf("arch=znver4,features=avx2+fma");
  EXPECT_EQ(model.vector_bytes, 32);
  EXPECT_EQ(model.vector_register_count, 16);
  EXPECT_EQ(model.fma_per_cycle, 2);
  EXPECT_FALSE(model.broadcast_operand);
}

TEST(IsaModelTest, Sse42HasNoFusedMultiplyAdd) {
  const IsaModel model = ModelOf("arch=x86-64-v2");
  EXPECT_EQ(model.vector_bytes, 16);
  EXPECT_FALSE(model.fused_multiply_add);
  EXPECT_EQ(model.fma_per_cycle, 1);
  EXPECT_EQ(ModelOf("arch=haswell,features=sse4.2").vector_bytes, 16);
}

TEST(IsaModelTest, CachesAreThoseOfTheText) {
  const IsaModel model = ModelOf("arch=haswell,l1d=16384:4,l2=131072:0,line=32");
  EXPECT_EQ(model.l1d, (CacheLevel{.size_bytes = 16384, .ways = 4}));
  EXPECT_EQ(model.l2, (CacheLevel{.size_bytes = 131072, .ways = 0}));
  EXPECT_EQ(model.l3, CacheLevel());
  EXPECT_EQ(model.line_bytes, 32);
}

TEST(IsaModelTest, EveryArchHasAUsableUnitAtItsOwnWidth) {
  for (const std::string& name : TargetArchNames()) {
    const IsaModel model = ModelOf(absl::StrCat("arch=", name));
    EXPECT_GE(model.fma_per_cycle, 1) << name;
    EXPECT_GE(model.loads_per_cycle, 1) << name;
    EXPECT_GE(model.stores_per_cycle, 1) << name;
    EXPECT_GE(model.fma_latency_cycles, 3) << name;
    EXPECT_LE(model.accumulators_min(), model.vector_register_count) << name;
    EXPECT_GT(model.l1d.size_bytes, 0) << name;
    EXPECT_GT(model.l2.size_bytes, model.l1d.size_bytes) << name;
  }
}

}  // namespace
}  // namespace burnish
