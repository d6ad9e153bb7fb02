#include "compiler/codegen/llvm/llvm_backend.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "base/status_matchers.h"
#include "compiler/codegen/test_programs.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const CodegenTarget& Avx2() {
  static const CodegenTarget* const target =
      new CodegenTarget{.tune_cpu = "znver3", .features = {"sse4.2", "avx", "avx2", "fma"}};
  return *target;
}

absl::StatusOr<KernelInfo> Info(const Program& program, const CodegenTarget& target = Avx2()) {
  auto module = MakeLlvmBackend()->Compile(target, {{.program = &program}});
  if (!module.ok()) return module.status();
  return module->kernels[0];
}

// 16 registers: 12 accumulators, 2 vectors of B and a broadcast of A fit; 14 accumulators do not.
TEST(LlvmBackendTest, RegisterTilesThatFitDoNotSpill) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int, int>>{{6, 16}, {5, 16}, {4, 24}, {3, 32}, {1, 32}}) {
    for (const bool rows_inside : {false, true}) {
      SCOPED_TRACE(absl::StrCat(rows, "x", columns, rows_inside ? " rows inside" : ""));
      ASSERT_OK_AND_ASSIGN(
          const KernelInfo info,
          Info(GemmTileProgram(
              {.rows = rows, .columns = columns, .lanes = 8, .rows_inside = rows_inside})));
      EXPECT_EQ(info.innermost_spill_count, 0);
    }
  }
}

TEST(LlvmBackendTest, RegisterTilesThatDoNotFitAreFlagged) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int, int>>{{7, 16}, {5, 24}, {4, 32}, {8, 16}}) {
    SCOPED_TRACE(absl::StrCat(rows, "x", columns));
    ASSERT_OK_AND_ASSIGN(const KernelInfo info,
                         Info(GemmTileProgram({.rows = rows, .columns = columns, .lanes = 8})));
    EXPECT_GT(info.innermost_spill_count, 0);
    EXPECT_GE(info.spill_count, info.innermost_spill_count);
  }
}

TEST(LlvmBackendTest, Avx512HasTwiceTheRegisters) {
  const CodegenTarget target{.tune_cpu = "znver4",
                             .features = {"sse4.2", "avx2", "fma", "avx512f", "avx512vl"}};
  for (const auto& [rows, columns] :
       std::vector<std::pair<int, int>>{{14, 32}, {8, 48}, {6, 64}, {28, 16}}) {
    SCOPED_TRACE(absl::StrCat(rows, "x", columns));
    ASSERT_OK_AND_ASSIGN(
        const KernelInfo info,
        Info(GemmTileProgram({.rows = rows, .columns = columns, .lanes = 16}), target));
    EXPECT_EQ(info.innermost_spill_count, 0);
  }
}

int CountOf(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// 27 columns are two vectors of 16, of which the second one leaves five lanes out: 11 would be 8, 2
// and 1.
TEST(LlvmBackendTest, WhatIsLeftOfARowIsOneVectorWhereLanesMayBeLeftOut) {
  const CodegenTarget masks{
      .tune_cpu = "znver4",
      .features = {"sse4.2", "avx2", "fma", "avx512f", "avx512vl", "avx512bw"}};
  CodegenTarget all_lanes = masks;
  all_lanes.features.pop_back();
  for (const bool rows_inside : {false, true}) {
    const Program program = GemmTileProgram({.rows = 7,
                                             .columns = 27,
                                             .lanes = 16,
                                             .depth_unroll = 1,
                                             .column_tiles = 3,
                                             .rows_inside = rows_inside});
    const KernelSource source{.symbol = "gemm", .program = &program};
    const auto backend = MakeLlvmBackend();
    ASSERT_OK_AND_ASSIGN(const std::string masked, backend->Emit(masks, source, "asm"));
    EXPECT_EQ(CountOf(masked, "vfmadd"), 7 * 2);
    EXPECT_EQ(CountOf(masked, "{%k"), 1 + 7) << "a load of B, and a store of each row";
    ASSERT_OK_AND_ASSIGN(const std::string pieces, backend->Emit(all_lanes, source, "asm"));
    EXPECT_EQ(CountOf(pieces, "vfmadd"), 7 * 4);
    EXPECT_EQ(CountOf(pieces, "{%k"), 0);
    ASSERT_OK_AND_ASSIGN(const KernelInfo info, Info(program, masks));
    EXPECT_EQ(info.spill_count, 0);
  }
}

TEST(LlvmBackendTest, InfoNamesBuffersInCallOrder) {
  ProgramWriter w("order");
  const BufferId y = w.Add("Y", {3}, BufferRole::kOutput);
  const BufferId p = w.Add("P", {4}, BufferRole::kPacked);
  const BufferId c = w.Add("W", {4}, BufferRole::kConstant, DType::kF64);
  const BufferId x = w.Add("X", {5}, BufferRole::kInput, DType::kI32);
  const BufferId s = w.Add("S", {100}, BufferRole::kTemp, DType::kF32, Scope::kScratch);
  const BufferId g = w.Add("G", {7}, BufferRole::kTemp);
  w.program().buffers[x].storage = DenseStorage({5}, {{2, 1}}, 0);
  w.Loop(LoopKind::kParallel, 3, [&](Expr i) {
    w.Store(s, {i}, Cast(DType::kF32, w.At(x, {i})));
    w.Store(g, {i}, w.At(s, {i}) + w.At(p, {i}));
    w.Store(y, {i}, w.At(g, {i}));
  });
  w.BeginPack();
  w.Loop(LoopKind::kSerial, 4, [&](Expr i) { w.Store(p, {i}, Cast(DType::kF32, w.At(c, {i}))); });
  ASSERT_OK_AND_ASSIGN(const KernelInfo info, Info(w.program()));
  EXPECT_EQ(info.buffer_names, (std::vector<std::string>{"X", "W", "P", "Y"}));
  EXPECT_EQ(info.buffer_bytes, (std::vector<int64_t>{32, 32, 16, 12}));
  EXPECT_TRUE(info.has_pack);
  EXPECT_EQ(info.scratch_bytes, 448);  // 400 bytes in whole cache lines.
  EXPECT_EQ(info.shared_scratch_bytes, 64);
}

TEST(LlvmBackendTest, EmitsTextOfBothForms) {
  const Program program = GemmTileProgram({.lanes = 8});
  const KernelSource source{.symbol = "gemm", .program = &program};
  const auto backend = MakeLlvmBackend();
  ASSERT_OK_AND_ASSIGN(const std::string ir, backend->Emit(Avx2(), source, "llvm"));
  EXPECT_THAT(ir, HasSubstr("i32 @gemm("));
  EXPECT_THAT(ir, HasSubstr("@llvm.fma.v8f32"));
  // Accumulators are values, not memory.
  EXPECT_THAT(ir, Not(HasSubstr("alloca")));
  ASSERT_OK_AND_ASSIGN(const std::string assembly, backend->Emit(Avx2(), source, "asm"));
  EXPECT_THAT(assembly, HasSubstr("vfmadd"));
  EXPECT_THAT(backend->Emit(Avx2(), source, "wasm"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("wasm")));
}

TEST(LlvmBackendTest, PrefetchesIntoTheCacheThatIsMeantButOnZen5) {
  const auto assembly_of = [](const char* cpu, int cache_level) {
    ProgramWriter w("copy");
    const BufferId x = w.Add("X", {100}, BufferRole::kInput);
    const BufferId y = w.Add("Y", {100}, BufferRole::kOutput);
    w.Loop(LoopKind::kSerial, 100, [&](Expr i) {
      w.Prefetch(x, {i + 16}, nullptr, cache_level);
      w.Store(y, {i}, w.At(x, {i}));
    });
    const KernelSource source{.symbol = "copy", .program = &w.program()};
    return MakeLlvmBackend()->Emit({.tune_cpu = cpu, .features = {"sse4.2"}}, source, "asm");
  };
  EXPECT_THAT(assembly_of("znver4", 1), IsOkAndHolds(HasSubstr("prefetcht0")));
  EXPECT_THAT(assembly_of("znver4", 2), IsOkAndHolds(HasSubstr("prefetcht1")));
  EXPECT_THAT(assembly_of("znver5", 1), IsOkAndHolds(HasSubstr("prefetcht0")));
  EXPECT_THAT(assembly_of("znver5", 2), IsOkAndHolds(HasSubstr("prefetcht0")));
}

TEST(LlvmBackendTest, LoopsThatZeroMemoryCallNoLibrary) {
  ProgramWriter w("zero");
  const BufferId x = w.Add("X", {100000}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {100000}, BufferRole::kOutput);
  const BufferId z = w.Add("Z", {100000}, BufferRole::kOutput);
  w.Loop(LoopKind::kSerial, 100000, [&](Expr i) { w.Store(y, {i}, Float(0)); });
  w.Loop(LoopKind::kSerial, 100000, [&](Expr i) { w.Store(z, {i}, w.At(x, {i})); });
  // The linker refuses undefined symbols.
  EXPECT_THAT(Info(w.program()), IsOk());
}

TEST(LlvmBackendTest, EndlessUnrollingIsRefused) {
  ProgramWriter w("unroll");
  const BufferId y = w.Add("Y", {1000000}, BufferRole::kOutput);
  w.Loop(LoopKind::kUnrolled, 1000000, [&](Expr i) { w.Store(y, {i}, Float(0)); });
  EXPECT_THAT(Info(w.program()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unrolls to more than")));
}

TEST(LlvmBackendTest, ObjectsOfManyThreadsAreThoseOfOne) {
  constexpr size_t kCount = 12;
  std::vector<Program> programs;
  std::vector<std::string> symbols, alone, together(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    programs.push_back(GemmTileProgram({.rows = static_cast<int>(i % 6) + 1, .lanes = 8}));
    symbols.push_back(absl::StrCat("k", i));
  }
  const auto backend = MakeLlvmBackend();
  const auto object = [&](size_t i) {
    const absl::StatusOr<CompiledObject> compiled =
        backend->CompileObject(Avx2(), {{.symbol = symbols[i], .program = &programs[i]}});
    return compiled.ok() ? compiled->elf : compiled.status().ToString();
  };
  for (size_t i = 0; i < kCount; ++i) alone.push_back(object(i));
  ParallelFor(kCount, 4, [&](size_t i) { together[i] = object(i); });
  EXPECT_EQ(together, alone);
  // A link must not change what is compiled after it, and has all of them.
  ASSERT_OK_AND_ASSIGN(const std::vector<uint8_t> library, backend->Link(alone));
  EXPECT_EQ(object(5), alone[5]);
  EXPECT_THAT(backend->Link(alone), IsOkAndHolds(library));
  const std::string text(library.begin(), library.end());
  for (const std::string& symbol : symbols) {
    EXPECT_NE(text.find(std::string("\0", 1) + symbol + '\0'), std::string::npos) << symbol;
  }
  EXPECT_THAT(backend->Link({{alone[0], alone[1], alone[0]}}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("duplicate symbol: k0")));
}

TEST(LlvmBackendTest, FolderThatCannotBeWrittenIsReported) {
  const Program program = GemmTileProgram({.lanes = 8});
  EXPECT_THAT(MakeLlvmBackend({.temporary_folder = "/nonexistent"})
                  ->Compile(Avx2(), {{.program = &program}}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/nonexistent")));
}

}  // namespace
}  // namespace burnish
