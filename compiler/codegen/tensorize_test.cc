// Every instruction that `tensorize` knows: its nest compiles to it for each instruction set and
// computes what the definition computes; where a buffer is stored another way than when the nest
// was scheduled, the nest is done without it.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/codegen/kernel_runner.h"
#include "compiler/codegen/llvm/disassembler.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/codegen/text/text_backend.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/instruction.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

struct Isa {
  std::string name;
  std::vector<std::string> features;
};

std::vector<Isa> Isas() {
  return {{"sse42", {"sse4.2"}},
          {"avx2", {"sse4.2", "avx", "avx2", "fma"}},
          {"avxvnni", {"sse4.2", "avx", "avx2", "fma", "avxvnni"}},
          {"avx512", {"sse4.2", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"}},
          {"avx512vnni",
           {"sse4.2", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"}},
          {"avx512bf16",
           {"sse4.2", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512bf16"}}};
}

// 5 x 48 sums of 20 products.
Program Definition(const std::string& left = "i8") {
  const std::string text = R"(program/1 dot input X: $left[5, 20]
    const W: $right[48, 20]
    output Y: $sum[5, 48]
    block Y(m in 5, n in 48; k in 20) {
      init $sum(7_i32)
      step Y[m, n] += $sum(X[m, k]) * $sum(W[n, k])
      finish max(self, $sum(-5000_i32))
    })";
  const bool is_float = left == "bf16";
  return ParseProgram(absl::StrReplaceAll(text, {{"$left", left},
                                                 {"$right", is_float ? "bf16" : "i8"},
                                                 {"$sum", is_float ? "f32" : "i32"}}))
      .value();
}

// A register tile of 5 rows and one vector, weights packed in its order.
Program Lowered(const Program& defined, const std::string& intrinsic, int lanes, int depth = 2) {
  const Trace trace = ParseTrace(absl::StrCat("split@1 n->(no,ni) size=", lanes, R"(
      split@1 k->(ko,ki) size=)",
                                              depth, R"(
      reorder@1 (no,ko,m,ni,ki)
      relayout@1 W->Wp dims=(no,ko,ni,ki)
      stage@1 Y->acc inside=no scope=register
      precompute@1 Wp
      parallel@1 no
      unroll@1 m
      tensorize@1 ni intrinsic=)",
                                              intrinsic))
                          .value();
  return Lower(ApplyTrace(trace, defined).value()).value();
}

class TensorizeTest : public ::testing::TestWithParam<Isa> {
 protected:
  // Compiles, counts multiply-adds, and compares with the interpreter where this CPU can.
  void Check(const Program& defined, const Program& lowered, int64_t* multiply_adds,
             int64_t* spills) {
    ASSERT_OK_AND_ASSIGN(
        CompiledModule module,
        MakeLlvmBackend()->Compile({.features = GetParam().features}, {{.program = &lowered}}));
    *spills = module.kernels[0].innermost_spill_count;
    ASSERT_OK_AND_ASSIGN(const std::vector<MachineInstruction> code, Disassemble(module.elf));
    *multiply_adds = std::count_if(code.begin(), code.end(), [](const MachineInstruction& i) {
      return i.mnemonic == "pmaddwd" || i.mnemonic == "vpmaddwd" || i.mnemonic == "vpdpbusd" ||
             i.mnemonic == "vpdpwssd" || i.mnemonic == "vdpbf16ps";
    });
    // A trace that names an instruction is no leave to use it where the target lacks it.
    const bool has_vnni = GetParam().name.find("vnni") != std::string::npos;
    for (const MachineInstruction& i : code) {
      EXPECT_FALSE(!has_vnni && i.mnemonic.rfind("vpdp", 0) == 0) << i.mnemonic;
    }
    const CpuInfo cpu = HostCpuInfo();
    for (const std::string& feature : GetParam().features) {
      if (!cpu.Has(feature)) GTEST_SKIP() << "compiled, not run: the CPU has no " << feature;
    }
    const std::vector<TensorValue> arguments = RandomArguments(defined, 3);
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want,
                         Interpret(defined, arguments, {.magnitudes = true}));
    ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
    for (int workers : {1, 3}) {
      ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                           runner.Run(lowered, arguments, workers));
      EXPECT_EQ(got[0].integers, want[0].integers);
      for (size_t i = 0; i < want[0].floats.size(); ++i) {
        EXPECT_NEAR(got[0].floats[i], want[0].floats[i], 4e-7 * want[0].magnitudes[i]);
      }
    }
  }
};

TEST_P(TensorizeTest, InstructionDoesTheNest) {
  const std::string isa = GetParam().name;
  for (const Instruction* row : AllInstructions()) {
    SCOPED_TRACE(row->name);
    // Products of tiles: tiles_test.cc.
    if (!row->is_nest() || row->tiles != nullptr) continue;
    const int lanes = row->n, depth = row->k;
    const Program defined = Definition(std::string(NumberTypeName(row->left)));
    int64_t multiply_adds = 0, spills = 0;
    Check(defined, Lowered(defined, std::string(row->name), lanes, depth), &multiply_adds, &spills);
    const int width = isa.starts_with("avx512") ? 16 : isa == "sse42" ? 4 : 8;
    // Where the instruction is missing, the nest is done without it.
    const bool has = row->kind == InstructionKind::kBf16Dot   ? isa == "avx512bf16"
                     : row->kind == InstructionKind::kByteDot ? isa.ends_with("vnni")
                                                              : true;
    EXPECT_EQ(multiply_adds, has ? 5 * std::max(1, lanes / width) : 0);
    // Five rows of four vectors are more than sixteen registers hold.
    if (has && lanes <= width) EXPECT_EQ(spills, 0);
  }
}

// The greatest products: sums of two of them are beyond 16 bits, where pmaddubsw would saturate.
TEST_P(TensorizeTest, SumsOfTheGreatestProductsAreExact) {
  const Program defined = Definition("u8");
  for (const int8_t weight : {-128, 127}) {
    const TensorValue x{
        .dtype = DType::kU8, .shape = {5, 20}, .integers = std::vector<int64_t>(100, 255)};
    const TensorValue w{
        .dtype = DType::kI8, .shape = {48, 20}, .integers = std::vector<int64_t>(960, weight)};
    for (const char* intrinsic : {"vnni_u8s8x8", "dot2_u8i8x8"}) {
      const int depth = intrinsic[0] == 'v' ? 4 : 2;
      const Program lowered = Lowered(defined, intrinsic, 8, depth);
      ASSERT_OK_AND_ASSIGN(
          CompiledModule module,
          MakeLlvmBackend()->Compile({.features = GetParam().features}, {{.program = &lowered}}));
      const CpuInfo cpu = HostCpuInfo();
      for (const std::string& feature : GetParam().features) {
        if (!cpu.Has(feature)) GTEST_SKIP() << "compiled, not run: the CPU has no " << feature;
      }
      ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
      ASSERT_OK_AND_ASSIGN(const auto got, runner.Run(lowered, {x, w}));
      EXPECT_EQ(got[0].integers,
                std::vector<int64_t>(240, std::max<int64_t>(7 + 20 * 255 * weight, -5000)));
    }
  }
}

TEST_P(TensorizeTest, NestWhoseWeightsAreStoredAnotherWayIsDoneWithoutIt) {
  const Program defined = Definition();
  Program lowered = Lowered(defined, "dot2_i8x8", 8);
  for (Buffer& buffer : lowered.buffers) {
    if (buffer.role != BufferRole::kPacked) continue;
    for (int64_t& stride : buffer.storage.strides) stride *= 3;
  }
  int64_t multiply_adds = 0, spills = 0;
  Check(defined, lowered, &multiply_adds, &spills);
  EXPECT_EQ(multiply_adds, 0);
}

TEST_P(TensorizeTest, InstructionThatNobodyKnowsIsRefused) {
  Program lowered = Lowered(Definition(), "dot2_i8x8", 8);
  for (Node& node : lowered.nodes) {
    if (node.loop_kind == LoopKind::kTensorized) node.intrinsic = "dot9";
  }
  EXPECT_THAT(
      MakeLlvmBackend()->Compile({.features = GetParam().features}, {{.program = &lowered}}),
      StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("no instruction dot9")));
}

// The text backend has no instruction, and does each nest as the loops that it is.
TEST(TensorizedInCTest, NestsAreLoops) {
  for (const Instruction* row : AllInstructions()) {
    if (!row->is_nest() || row->tiles != nullptr) continue;
    SCOPED_TRACE(row->name);
    const Program defined = Definition(std::string(NumberTypeName(row->left)));
    const Program lowered = Lowered(defined, std::string(row->name), row->n, row->k);
    ASSERT_OK_AND_ASSIGN(CompiledModule module,
                         MakeTextBackend()->Compile({}, {{.program = &lowered}}));
    const std::vector<TensorValue> arguments = RandomArguments(defined, 3);
    ASSERT_OK_AND_ASSIGN(const auto want, Interpret(defined, arguments, {.magnitudes = true}));
    ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
    ASSERT_OK_AND_ASSIGN(const auto got, runner.Run(lowered, arguments, 3));
    EXPECT_EQ(got[0].integers, want[0].integers);
    ASSERT_EQ(got[0].floats.size(), want[0].floats.size());
    for (size_t i = 0; i < want[0].floats.size(); ++i) {
      EXPECT_NEAR(got[0].floats[i], want[0].floats[i], 4e-7 * want[0].magnitudes[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, TensorizeTest, ::testing::ValuesIn(Isas()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace burnish
