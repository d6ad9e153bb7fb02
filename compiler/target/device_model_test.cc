#include "compiler/target/device_model.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/target/target_arch.h"
#include "compiler/target/test_device_models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

DeviceModel ModelOf(absl::string_view fields) {
  const absl::StatusOr<Target> target = ParseTarget(absl::StrCat("cpu:", fields));
  EXPECT_THAT(target, IsOk());
  return target.ok() ? DeviceModelOf(*target) : DeviceModel();
}

std::vector<std::string> UnitNames(const DeviceModel& model) {
  std::vector<std::string> names;
  for (const ComputeUnit& unit : model.units) names.push_back(unit.name);
  return names;
}

TEST(DeviceModelTest, EveryMicroarchitectureKeepsTheRules) {
  for (const std::string& arch : TargetArchNames()) {
    EXPECT_THAT(BrokenRules(ModelOf(absl::StrCat("arch=", arch))), IsEmpty()) << arch;
  }
  EXPECT_THAT(BrokenRules(ModelOf("arch=haswell,l1d=32768:0,threads=4")), IsEmpty());
}

// Its instructions are in no table; x86 has none of them.
TEST(DeviceModelTest, NeonDeviceKeepsTheRules) {
  const DeviceModel neon = NeonDevice();
  EXPECT_THAT(BrokenRules(neon), IsEmpty());
  EXPECT_THAT(UnitNames(neon), UnorderedElementsAre("fmla_f32x4", "sdot_s8x4"));
  EXPECT_EQ(neon.FindAxis(Axis::kLane)->ExtentOf(NumberType::kF32), 4);
  EXPECT_EQ(neon.FindLevel("tiles"), nullptr);
}

TEST(DeviceModelTest, GpuLikeDeviceKeepsTheRules) {
  const DeviceModel gpu = GpuLikeDevice();
  EXPECT_THAT(BrokenRules(gpu), IsEmpty());
  EXPECT_EQ(gpu.FindUnit(NumberType::kF16, NumberType::kF16)->threads, 32);
  EXPECT_EQ(gpu.FindAxis(Axis::kWarp)->shared_level, "shared");
  EXPECT_EQ(gpu.FindLevel("shared")->owner, Axis::kBlock);
  EXPECT_EQ(gpu.FindAxis(Axis::kWorker), nullptr);
  EXPECT_EQ(gpu.FindUnit(NumberType::kF64, NumberType::kF64), nullptr);
}

// The rules see what they are for.
TEST(DeviceModelTest, BrokenRulesAreNamed) {
  const auto broken = [](auto spoil) {
    DeviceModel model = GpuLikeDevice();
    spoil(model);
    return BrokenRules(model);
  };
  EXPECT_THAT(broken([](auto& m) { m.cycles_per_second = 0; }), Contains("no clock"));
  EXPECT_THAT(broken([](auto& m) { m.units[0].per_cycle_with_loads = 2; }),
              Contains("unit mma_f16: loads make nothing faster"));
  EXPECT_THAT(broken([](auto& m) { m.units[1].name = "mma_f16"; }),
              Contains("unit mma_f16: a name of its own"));
  EXPECT_THAT(broken([](auto& m) { m.units[0].packed_k = 3; }),
              Contains("unit mma_f16: k in whole packs"));
  EXPECT_THAT(broken([](auto& m) { m.levels.pop_back(); }),
              Contains(HasSubstr("memory, and only memory")));
  EXPECT_THAT(broken([](auto& m) { m.levels[2].latency_cycles = 10; }),
              Contains("level L2: outer levels answer later"));
  EXPECT_THAT(broken([](auto& m) { m.levels[3].bytes_per_cycle_alone = 100; }),
              Contains("level memory: outer levels are not faster"));
  EXPECT_THAT(broken([](auto& m) { m.levels[1].owner = Axis::kWorker; }),
              Contains("level shared: an owner that the device has"));
  EXPECT_THAT(broken([](auto& m) { std::swap(m.axes[0], m.axes[2]); }),
              Contains("axis warp: from the outermost inwards"));
  EXPECT_THAT(broken([](auto& m) { m.axes[1].shared_level = "L3"; }),
              Contains("axis warp: a level to share"));
}

TEST(DeviceModelTest, FeaturesDecideWhichUnitsThereAre) {
  EXPECT_THAT(UnitNames(ModelOf("arch=graniterapids")),
              ElementsAre("amx_bf16", "amx_u8s8", "fma_f32x16", "fma_f32x8", "fma_f32x4",
                          "fma_f64x8", "fma_f64x4", "fma_f16x32", "dot_bf16x16", "dot_bf16x8",
                          "dot_bf16x4", "vnni_u8s8x16", "vnni_u8s8x8", "vnni_u8s8x4", "dot2_i8x16",
                          "dot2_i8x8", "dot2_i8x4", "dot2_u8i8x16", "dot2_u8i8x8", "dot2_u8i8x4"));
  EXPECT_THAT(UnitNames(ModelOf("arch=znver4")),
              ElementsAre("fma_f32x16", "fma_f32x8", "fma_f32x4", "fma_f64x8", "fma_f64x4",
                          "dot_bf16x16", "dot_bf16x8", "dot_bf16x4", "vnni_u8s8x16", "vnni_u8s8x8",
                          "vnni_u8s8x4", "dot2_i8x16", "dot2_i8x8", "dot2_i8x4", "dot2_u8i8x16",
                          "dot2_u8i8x8", "dot2_u8i8x4"));
  EXPECT_THAT(UnitNames(ModelOf("arch=znver4,features=avx2+fma")),
              ElementsAre("fma_f32x8", "fma_f32x4", "fma_f64x4", "dot2_i8x8", "dot2_i8x4",
                          "dot2_u8i8x8", "dot2_u8i8x4"));
  EXPECT_THAT(UnitNames(ModelOf("arch=x86-64-v2")),
              ElementsAre("muladd_f32x4", "dot2_i8x4", "dot2_u8i8x4"));
}

// Half a cycle an instruction on a Granite Rapids: measured there.
TEST(DeviceModelTest, RatesAreTheMicroarchitectures) {
  const DeviceModel server = ModelOf("arch=graniterapids");
  EXPECT_EQ(server.FindUnit("fma_f32x16")->per_cycle, 2);
  EXPECT_EQ(server.FindUnit("fma_f32x16")->latency_cycles, 4);
  EXPECT_EQ(server.FindUnit("dot_bf16x16")->per_cycle, 0.5);
  EXPECT_EQ(server.FindUnit("vnni_u8s8x16")->per_cycle, 2);
  EXPECT_EQ(server.FindUnit("amx_u8s8")->per_cycle * 16, 1);
  EXPECT_EQ(ModelOf("arch=znver4").FindUnit("fma_f32x16")->per_cycle, 1);
  EXPECT_EQ(ModelOf("arch=znver4").FindUnit("fma_f32x8")->per_cycle, 2);
  EXPECT_EQ(ModelOf("arch=haswell,features=sse4.2").FindUnit("muladd_f32x4")->per_cycle, 1);
}

// What another program read on a Granite Rapids five days before the row was measured: 30 GB/s and
// core of L3 in 4 to 16 MiB, 22 GB/s of memory by two cores in 256 MiB and 37 in 64, with a latency
// of 304 ns there beside other work.
TEST(DeviceModelTest, AmxServersHaveRatesOfTheirOwn) {
  const DeviceModel model = ModelOf("arch=graniterapids,threads=2");
  const double ghz = model.cycles_per_second / 1e9;
  EXPECT_NEAR(model.FindLevel("L3")->BytesPerCycle(1) * ghz, 30, 3);
  EXPECT_GT(2 * model.FindLevel("memory")->BytesPerCycle(2) * ghz, 22);
  EXPECT_LT(2 * model.FindLevel("memory")->BytesPerCycle(2) * ghz, 37);
  EXPECT_LT(model.FindLevel("memory")->latency_cycles / ghz, 304);
  for (const char* arch : {"sapphirerapids", "emeraldrapids", "graniterapids-d"}) {
    const DeviceModel other = ModelOf(absl::StrCat("arch=", arch, ",threads=2"));
    EXPECT_EQ(other.cycles_per_second, model.cycles_per_second) << arch;
  }
}

TEST(DeviceModelTest, PreferredUnitOfTwoTypesComesFirst) {
  const DeviceModel server = ModelOf("arch=sapphirerapids");
  EXPECT_EQ(server.FindUnit(NumberType::kBf16, NumberType::kBf16)->name, "amx_bf16");
  EXPECT_EQ(server.FindUnit(NumberType::kU8, NumberType::kI8)->name, "amx_u8s8");
  EXPECT_EQ(server.FindUnit(NumberType::kF32, NumberType::kF32)->name, "fma_f32x16");
  EXPECT_EQ(server.FindUnit(NumberType::kI8, NumberType::kU8), nullptr);
}

// Measured on a Granite Rapids: of the time of 16 rows, 14 take 0.92, 12 take 0.83, 8 take 0.63,
// and 7 or fewer 0.58.
TEST(DeviceModelTest, FewRowsOfATileSaveWhatTheyWereMeasuredToSave) {
  const ComputeUnit tile = *AmxDevice().FindUnit("amx_bf16");
  for (const auto& [rows, share] : std::vector<std::pair<int, double>>{
           {16, 1.0}, {14, 0.92}, {13, 0.88}, {12, 0.83}, {8, 0.63}, {7, 0.58}, {1, 0.58}}) {
    EXPECT_NEAR(tile.RowShare(rows), share, 0.02) << rows << " rows";
  }
  EXPECT_EQ(ModelOf("arch=znver4").FindUnit("fma_f32x16")->RowShare(1), 1);
}

TEST(DeviceModelTest, RateFallsWithLoadsAnOperation) {
  const ComputeUnit unit = {.per_cycle = 2, .per_cycle_with_loads = 1.5};
  EXPECT_EQ(unit.PerCycle(0), 2);
  EXPECT_EQ(unit.PerCycle(0.5), 1.75);
  EXPECT_EQ(unit.PerCycle(1), 1.5);
  EXPECT_EQ(unit.PerCycle(7), 1.5);
}

TEST(DeviceModelTest, ReadersShareWhatALevelHas) {
  const MemoryLevel level = {.bytes_per_cycle_alone = 7, .bytes_per_cycle_shared = 12};
  EXPECT_EQ(level.BytesPerCycle(1), 7);
  EXPECT_EQ(level.BytesPerCycle(2), 6);
  EXPECT_EQ(level.BytesPerCycle(4), 3);
  EXPECT_EQ((MemoryLevel{.bytes_per_cycle_alone = 7}).BytesPerCycle(100), 7);
  EXPECT_EQ(MemoryLevel().BytesPerCycle(1), std::numeric_limits<double>::infinity());
}

TEST(DeviceModelTest, LanesFollowFromTheType) {
  const DeviceModel model = ModelOf("arch=znver4,threads=8");
  const ParallelAxis* const lanes = model.FindAxis(Axis::kLane);
  EXPECT_EQ(lanes->ExtentOf(NumberType::kF32), 16);
  EXPECT_EQ(lanes->ExtentOf(NumberType::kBf16), 32);
  EXPECT_EQ(lanes->ExtentOf(NumberType::kU8), 64);
  EXPECT_EQ(model.FindAxis(Axis::kWorker)->ExtentOf(NumberType::kU8), 8);
}

TEST(DeviceModelTest, LevelsAreTheTargets) {
  const DeviceModel model = ModelOf("arch=haswell,l1d=32768:8,l2=262144:8,line=32");
  EXPECT_EQ(model.FindLevel("registers")->size_bytes, 16 * 32);
  EXPECT_EQ(model.FindLevel("L1")->size_bytes, 32768);
  EXPECT_EQ(model.FindLevel("L1")->bytes_per_cycle_alone, 64);
  EXPECT_EQ(model.FindLevel("L2")->line_bytes, 32);
  EXPECT_EQ(model.FindLevel("L3"), nullptr);
  EXPECT_EQ(model.FindAxis(Axis::kWorker)->shared_level, "memory");
  EXPECT_EQ(AmxDevice().FindLevel("tiles")->size_bytes, 8192);
}

// Keys hash this text: a device model must not change it.
TEST(DeviceModelTest, CoreIsTheIsaModelOfTheTarget) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver4,threads=2"));
  EXPECT_EQ(DeviceModelOf(target).core.ToText(), IsaModelOf(target).ToText());
}

}  // namespace
}  // namespace burnish
