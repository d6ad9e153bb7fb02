// Six layers of ResNet-50 on tile registers, by the machine code: what a step of the reduction
// loads and multiplies, and that nothing spills. No machine with such registers is needed; times on
// one: docs/performance.md.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_matchers.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "gtest/gtest.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/rules/rule_test_util.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=sapphirerapids,threads=1";
constexpr int64_t kPointsMax = 100000;

struct Layer {
  std::string name;
  int64_t size, in, out, kernel;
};

std::vector<Layer> Layers() {
  return {{"3x3 at 56", 56, 64, 64, 3},   {"3x3 at 28", 28, 128, 128, 3},
          {"3x3 at 14", 14, 256, 256, 3}, {"3x3 at 7", 7, 512, 512, 3},
          {"1x1 at 28", 28, 512, 256, 1}, {"1x1 at 14", 14, 256, 1024, 1}};
}

Program WorkloadOf(const Layer& layer, bool of_bytes) {
  const int64_t pad = layer.kernel / 2;
  TaskCase task{.name = "layer",
                .op = of_bytes ? "conv_integer" : "conv",
                .inputs = {{1, layer.size, layer.size, layer.in},
                           {layer.out, layer.in, layer.kernel, layer.kernel},
                           {layer.out}},
                .attributes = {{"channels_last", int64_t{1}}, {"pads", Ints{pad, pad, pad, pad}}},
                .dtype = DType::kBf16};
  if (of_bytes) task.types = {DType::kU8, DType::kI8, DType::kI32};
  return burnish::WorkloadOf(task);
}

// One straight line of the machine code.
struct Block {
  int64_t products = 0, loads = 0, stores = 0, on_stack = 0, instructions = 0;
  std::string text;
};

std::vector<Block> BlocksOf(const std::string& assembly) {
  std::vector<Block> blocks(1);
  for (absl::string_view line : absl::StrSplit(assembly, '\n')) {
    if (absl::StartsWith(line, ".LBB")) blocks.emplace_back();
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.empty() || !absl::StartsWith(line, "\t") || absl::StartsWith(words[0], ".")) continue;
    Block& block = blocks.back();
    ++block.instructions;
    absl::StrAppend(&block.text, line, "\n");
    block.products += absl::StartsWith(words[0], "tdp") ? 1 : 0;
    block.loads += absl::StartsWith(words[0], "tileload") ? 1 : 0;
    block.stores += absl::StartsWith(words[0], "tilestore") ? 1 : 0;
    // Frames have no other pointer: %rbp is one register of many.
    block.on_stack += absl::StrContains(line, "(%rsp") ? 1 : 0;
    if (absl::StartsWith(words[0], "j")) blocks.emplace_back();
  }
  return blocks;
}

class TileLayersTest : public ::testing::TestWithParam<bool> {};

// Blocks of 2 x 2 tiles: two rows and two columns of operands are loaded for four products. (On a
// Granite Rapids such a loop ran at the peak of the unit while one operand came from L1.)
TEST_P(TileLayersTest, AStepLoadsFourOperandsForFourProducts) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(kTarget));
  for (const Layer& layer : Layers()) {
    SCOPED_TRACE(layer.name);
    const Program workload = WorkloadOf(layer, GetParam());
    int sketches = 0;
    for (const Sketch& sketch :
         GenerateSketches(workload, DeviceModelOf(target), {.prefetch = false})) {
      if (!absl::StrContains(sketch.name, "tile_product")) continue;
      // As many rows as a line of the image holds in one tile, at best: 14 of 56, 28 and 14.
      Point best;
      int64_t rows = 0;
      for (const Point& point : EnumeratePoints(sketch, kPointsMax)) {
        const auto value = [&](absl::string_view name) {
          for (size_t d = 0; d < sketch.decisions.size(); ++d) {
            if (sketch.decisions[d].name == name) return point[d];
          }
          return int64_t{0};
        };
        if (value("tr") != 2 || value("tc") != 2 || value("rows") <= rows) continue;
        rows = value("rows");
        best = point;
      }
      ASSERT_GE(rows, layer.size == 7 ? 7 : 14) << sketch.name;
      ASSERT_OK_AND_ASSIGN(const Program scheduled,
                           ApplyTrace(StepsAt(sketch.steps, best), workload));
      ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(scheduled));
      ASSERT_OK_AND_ASSIGN(
          const std::string assembly,
          MakeLlvmBackend()->Emit({.tune_cpu = target.arch, .features = target.features},
                                  {.symbol = "layer", .program = &lowered}, "asm"));
      Block inner;
      for (const Block& block : BlocksOf(assembly)) {
        if (block.products > inner.products) inner = block;
        // Of rests, too: nothing of a step goes by way of the stack.
        if (block.products > 0) EXPECT_EQ(block.on_stack, 0) << sketch.name << "\n" << block.text;
      }
      EXPECT_EQ(inner.products, 4) << sketch.name;
      EXPECT_EQ(inner.loads, 4) << sketch.name;
      EXPECT_EQ(inner.stores, 0) << sketch.name;
      // Four products of 16 rows take 64 cycles, at four instructions or more a cycle.
      EXPECT_LE(inner.instructions, 30) << sketch.name;
      RecordProperty(absl::StrCat(layer.name, " ", sketch.name),
                     absl::StrCat(inner.products, " products, ", inner.loads, " loads, ",
                                  inner.instructions, " instructions, ", rows, " rows"));
      ++sketches;
    }
    EXPECT_GE(sketches, 1);
  }
}

// The model prefers the unit, by its row of the device alone.
TEST_P(TileLayersTest, DefaultsTakeTiles) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(kTarget));
  for (const Layer& layer : Layers()) {
    const std::string trace =
        PrintTrace(DefaultSchedule(WorkloadOf(layer, GetParam()), DeviceModelOf(target)));
    EXPECT_TRUE(absl::StrContains(trace, GetParam() ? "intrinsic=amx_u8s8" : "intrinsic=amx_bf16"))
        << layer.name << "\n"
        << trace;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, TileLayersTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "u8s8" : "bf16"; });

}  // namespace
}  // namespace burnish
