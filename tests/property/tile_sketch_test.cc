// Sketches on tile registers, the whole way to machine code, without a processor that has them: see
// compiler/codegen/tile_emulator.h. Points of each computes what the definition computes, by the
// interpreter, step by step, and compiled.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/codegen/tile_emulator.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "gtest/gtest.h"
#include "tests/property/schedule_check.h"
#include "tuner/sketch/rules/rule_test_util.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=sapphirerapids,threads=2";
// Of a sketch, that are enumerated, and of those, that are tried.
constexpr int64_t kPointsMax = 5000, kPointsTried = 3;

std::vector<TaskCase> Cases() {
  const std::pair<std::string, AttributeValue> last = {"channels_last", int64_t{1}};
  const std::pair<std::string, AttributeValue> padded = {"pads", Ints{1, 1, 1, 1}};
  const std::pair<std::string, AttributeValue> apart = {"strides", Ints{2, 2}};
  const std::pair<std::string, AttributeValue> border = {"pad_value", int64_t{7}};
  const DType kBf16 = DType::kBf16;
  const std::vector<DType> bytes = {DType::kU8, DType::kI8, DType::kI32};
  return {
      {"dense", "dense", {{28, 96}, {48, 96}, {48}}, {}, true, false, kBf16},
      {"deep_dense", "dense", {{14, 256}, {32, 256}}, {}, false, false, kBf16},
      {"odd_dense", "dense", {{37, 64}, {48, 64}, {48}}, {}, true, false, kBf16},
      {"odd_conv",
       "conv",
       {{1, 4, 17, 32}, {32, 32, 3, 3}, {32}},
       {last, padded},
       true,
       false,
       kBf16},
      {"matmul", "matmul", {{9, 64}, {64, 32}}, {}, false, true, kBf16},
      {"batch", "matmul", {{2, 16, 32}, {2, 32, 48}}, {}, false, true, kBf16},
      {"odd_scores", "matmul", {{4, 19, 32}, {4, 32, 37}}, {}, false, true, kBf16},
      {"conv3x3",
       "conv",
       {{1, 8, 7, 32}, {32, 32, 3, 3}, {32}},
       {last, padded},
       true,
       false,
       kBf16},
      {"stem",
       "conv",
       {{1, 13, 20, 4}, {32, 4, 7, 7}, {32}},
       {last, apart, {"pads", Ints{3, 3, 3, 3}}},
       true,
       false,
       kBf16},
      {"narrow", "conv", {{1, 7, 8, 24}, {24, 24, 1, 1}, {24}}, {last}, true, false, kBf16},
      {"conv1x1", "conv", {{1, 7, 4, 64}, {48, 64, 1, 1}, {48}}, {last}, true, false, kBf16},
      {"conv3x3_s2",
       "conv",
       {{1, 14, 14, 32}, {32, 32, 3, 3}, {32}},
       {last, padded, apart},
       true,
       false,
       kBf16},
      {"conv1x1_s2", "conv", {{1, 14, 14, 32}, {32, 32, 1, 1}}, {last, apart}, false, false, kBf16},
      {.name = "bytes",
       .op = "matmul_integer",
       .inputs = {{14, 128}, {128, 32}},
       .types = {DType::kU8, DType::kI8}},
      {.name = "bytes_narrow",
       .op = "matmul_integer",
       .inputs = {{14, 96}, {96, 40}},
       .types = {DType::kU8, DType::kI8}},
      {.name = "bytes_conv3x3",
       .op = "conv_integer",
       .inputs = {{1, 8, 7, 64}, {32, 64, 3, 3}, {32}},
       .attributes = {last, padded, border},
       .types = bytes},
      {.name = "bytes_conv1x1",
       .op = "conv_integer",
       .inputs = {{1, 7, 4, 64}, {48, 64, 1, 1}, {48}},
       .attributes = {last},
       .types = bytes},
      {.name = "bytes_conv3x3_s2",
       .op = "conv_integer",
       .inputs = {{1, 14, 14, 64}, {32, 64, 3, 3}, {32}},
       .attributes = {last, padded, apart, border},
       .types = bytes},
  };
}

// With room for other channels beside each pixel's own.
Storage Wider(const Buffer& buffer) {
  std::vector<int64_t> shape = buffer.shape;
  shape.back() += 32;
  return DenseStorage(shape, buffer.storage.border, buffer.storage.border_value);
}

class TileSketchTest : public ::testing::TestWithParam<TaskCase> {};

TEST_P(TileSketchTest, PointsComputeTheDefinition) {
  const Program workload = WorkloadOf(GetParam());
  RandomProgram defined{.program = workload, .arguments = ArgumentsOf(workload)};
  for (const Block& block : workload.blocks) {
    for (VarId axis : block.reduction) defined.term_count *= MaxExtent(workload, axis);
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, ExpectedResults(defined, workload));
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(kTarget));
  std::vector<std::string> names;
  std::vector<Program> points;
  for (const Sketch& sketch : GenerateSketches(workload, DeviceModelOf(target))) {
    if (!absl::StrContains(sketch.name, "tile_product")) continue;
    const std::vector<Point> valid = EnumeratePoints(sketch, kPointsMax);
    ASSERT_FALSE(valid.empty()) << sketch.name;
    Rng rng(RngStream{.seed = 5, .purpose = sketch.name});
    for (int64_t i = 0; i < kPointsTried; ++i) {
      const Trace trace = StepsAt(sketch.steps, valid[rng.Below(valid.size())]);
      const absl::StatusOr<Program> scheduled = ApplyTrace(trace, workload);
      // A prefetch may ask for more lines than there are slots.
      if (!scheduled.ok() && absl::StrContains(scheduled.status().message(), "prefetch")) continue;
      ASSERT_THAT(scheduled, IsOk()) << PrintTrace(trace);
      ASSERT_OK_AND_ASSIGN(Program lowered, Lower(*scheduled));
      EXPECT_THAT(CheckInterpreted(defined, want, *scheduled, lowered), IsOk())
          << PrintTrace(trace);
      names.push_back(absl::StrCat(sketch.name, "\n", PrintTrace(trace)));
      points.push_back(std::move(lowered));
    }
  }
  ASSERT_FALSE(points.empty()) << "no sketch on tiles";
  const CodegenTarget codegen{
      .features = {"amx-bf16", "amx-int8", "amx-tile", "avx", "avx2", "f16c", "fma", "sse4.2"}};
  const CpuInfo cpu = HostCpuInfo();
  for (const std::string& feature : codegen.features) {
    if (!absl::StartsWith(feature, "amx") && !cpu.Has(feature)) {
      GTEST_SKIP() << "this CPU lacks " << feature;
    }
  }
  const auto run = [&](const std::vector<Program>& programs) {
    std::vector<CompiledCase> cases;
    for (const Program& program : programs) cases.push_back({&defined, &want, &program});
    const ScopedTileEmulator emulator;
    const std::vector<absl::Status> results = CheckCompiled(codegen, cases);
    for (size_t i = 0; i < results.size(); ++i) EXPECT_THAT(results[i], IsOk()) << names[i];
    return emulator.counts().products;
  };
  const int64_t products = run(points);
  if (!cpu.Has("amx-tile")) EXPECT_GT(products, 0);
  // Storage is the driver's to choose. As parts of wider tensors, inputs keep the products, but for
  // those of a stem: its depth runs on from pixel to pixel, which then lie apart.
  for (Program& point : points) {
    for (Buffer& buffer : point.buffers) {
      if (buffer.role == BufferRole::kInput) buffer.storage = Wider(buffer);
    }
  }
  EXPECT_EQ(run(points), GetParam().name == "stem" ? 0 : products);
}

INSTANTIATE_TEST_SUITE_P(Tasks, TileSketchTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace burnish
