// Latencies of a record compare as long as its trace gives the same machine code: twenty kernels,
// each for three instruction sets, are compiled and their disassembly is held against the file.
// Nothing here is run, and nothing depends on the CPU of this machine.
//
// Where this fails and the change of code was meant: raise kCodegenEpoch (codegen_epoch.h), then
// `./dev golden compiler/codegen`. The file is not rewritten at an unchanged epoch.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/golden.h"
#include "base/sha256.h"
#include "base/status_matchers.h"
#include "compiler/codegen/backend.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/codegen/llvm/disassembler.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr char kFile[] = "compiler/codegen/testdata/golden_objects.txt";
constexpr char kSchedules[] = "compiler/schedule/testdata/";

struct Isa {
  std::string name;
  std::vector<std::string> features;
  std::string traces;  // Folder of hand-written traces for its vectors.
};

std::vector<Isa> Isas() {
  return {{"sse4.2", {"sse4.2"}, ""},
          {"avx2", {"sse4.2", "avx", "avx2", "fma"}, ""},
          {"avx512",
           {"sse4.2", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"},
           "avx512/"}};
}

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Kernel {
  std::string name;
  Program lowered;
};

// A layer under a hand-written trace of `isa`.
Kernel Layer(const Isa& isa, const Program& defined, const std::string& trace_name) {
  const absl::StatusOr<Trace> trace =
      ParseTrace(FileText(absl::StrCat(kSchedules, isa.traces, trace_name, ".trace")));
  EXPECT_THAT(trace, IsOk()) << trace_name;
  const absl::StatusOr<Program> scheduled = ApplyTrace(*trace, defined);
  EXPECT_THAT(scheduled, IsOk()) << trace_name;
  return {trace_name, Lower(*scheduled).value()};
}

// A definition and a trace of the corpus.
Kernel Stored(const std::string& name) {
  const std::vector<std::string> parts =
      absl::StrSplit(FileText(absl::StrCat(kSchedules, "corpus/", name, ".txt")), "----\n");
  EXPECT_EQ(parts.size(), 3u) << name;
  const absl::StatusOr<Program> scheduled =
      ApplyTrace(ParseTrace(parts.at(1)).value(), ParseProgram(parts.at(0)).value());
  EXPECT_THAT(scheduled, IsOk()) << name;
  return {name, Lower(*scheduled).value()};
}

std::vector<Kernel> Kernels(const Isa& isa) {
  const TestConvShape odd = {.n = 1, .h = 9, .w = 7, .ci = 11, .co = 37};
  TestConvShape stride2 = odd, residual = odd;
  stride2.stride = 2;
  residual.k = 1;
  residual.pad = 0;
  residual.residual = true;
  std::vector<Kernel> kernels = {
      Layer(isa, ConvProgram(odd), "conv3x3_s1"),
      Layer(isa, ConvProgram(stride2), "conv3x3_s2"),
      Layer(isa, ConvProgram(stride2), "conv3x3_s2_blocked"),
      Layer(isa, ConvProgram(residual), "conv1x1_residual"),
      Layer(
          isa,
          ConvProgram({.n = 1, .h = 13, .w = 11, .ci = 3, .co = 40, .k = 7, .stride = 2, .pad = 3}),
          "stem7x7"),
      Layer(isa, DenseProgram(1, 45, 101), "dense"),
      Layer(isa, WinogradProgram({.n = 1, .h = 9, .w = 7, .ci = 5, .co = 43}),
            "winograd_f4_tiles")};
  for (const char* name : {"argmax_22", "average_pool_13", "batch_matmul_11", "cast_28",
                           "conv_depthwise_5", "conv_transpose_6", "gather_36", "layer_norm_16",
                           "max_pool_12", "resize_37", "softmax_20", "unary_26", "where_27"}) {
    kernels.push_back(Stored(name));
  }
  return kernels;
}

std::string CodeSha256(const Isa& isa, const Program& lowered) {
  const absl::StatusOr<CompiledModule> module = MakeLlvmBackend()->Compile(
      {.features = isa.features}, {{.symbol = "kernel", .program = &lowered}});
  EXPECT_THAT(module, IsOk());
  const absl::StatusOr<std::vector<MachineInstruction>> code = Disassemble(module->elf);
  EXPECT_THAT(code, IsOk());
  std::string text;
  for (const MachineInstruction& instruction : *code) {
    absl::StrAppend(&text, instruction.mnemonic, " ", instruction.operands, "\n");
  }
  return Sha256Hex(text);
}

TEST(GoldenObjectsTest, CodeOfTwentyKernelsChangesWithTheEpochOnly) {
  const std::string epoch = absl::StrCat("epoch ", kCodegenEpoch, "\n");
  std::string got = epoch;
  for (const Isa& isa : Isas()) {
    const std::vector<Kernel> kernels = Kernels(isa);
    ASSERT_EQ(kernels.size(), 20u);
    for (const Kernel& kernel : kernels) {
      SCOPED_TRACE(absl::StrCat(kernel.name, " ", isa.name));
      absl::StrAppend(&got, kernel.name, " ", isa.name, " ", CodeSha256(isa, kernel.lowered), "\n");
    }
  }
  const std::string want = FileText(kFile);
  if (got != want && absl::StartsWith(want, epoch)) {
    EXPECT_TRUE(CompareOrUpdate(kFile, got, /*update=*/false))
        << "\nThe code of stored traces changed: latencies on record no longer tell. If that is "
           "meant, raise kCodegenEpoch, then ./dev golden compiler/codegen";
    return;
  }
  EXPECT_TRUE(MatchesGolden(kFile, got));
}

}  // namespace
}  // namespace burnish
