// The whole way from a definition over a hand-written trace and lowering to machine code, on odd
// shapes with tails everywhere: compiled code computes what the interpreter computes on the
// unscheduled program.
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/codegen/backend.h"
#include "compiler/codegen/kernel_runner.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/codegen/text/text_backend.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

struct Isa {
  std::string name;
  std::vector<std::string> features;
  std::string traces;  // Folder of the traces for its vectors.
  std::unique_ptr<Backend> (*make)() = [] { return MakeLlvmBackend(); };
};

std::vector<Isa> Isas() {
  const std::string folder = "compiler/schedule/testdata/";
  return {{"sse42", {"sse4.2"}, folder},
          {"avx2", {"sse4.2", "avx", "avx2", "fma"}, folder},
          {"avx512",
           {"sse4.2", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"},
           folder + "avx512/"},
          {"c", {}, folder, &MakeTextBackend}};
}

class ScheduledLayersTest : public ::testing::TestWithParam<Isa> {
 protected:
  // `tolerance`: greatest |got - want| / greatest |want|.
  void Check(const Program& defined, const std::string& trace_name, double tolerance = 2e-6) {
    std::ifstream file(GetParam().traces + trace_name + ".trace");
    std::stringstream text;
    text << file.rdbuf();
    ASSERT_OK_AND_ASSIGN(const Trace trace, ParseTrace(text.str()));
    ASSERT_FALSE(trace.empty());
    ASSERT_OK_AND_ASSIGN(const Program scheduled, ApplyTrace(trace, defined));
    ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(scheduled));
    ASSERT_OK_AND_ASSIGN(
        CompiledModule module,
        GetParam().make()->Compile({.features = GetParam().features}, {{.program = &lowered}}));
    const CpuInfo cpu = HostCpuInfo();
    for (const std::string& feature : GetParam().features) {
      if (!cpu.Has(feature)) GTEST_SKIP() << "compiled, not run: the CPU has no " << feature;
    }
    const std::vector<TensorValue> arguments = RandomArguments(defined, 1);
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, Interpret(defined, arguments));
    ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
    for (int workers : {1, 2, 5}) {
      SCOPED_TRACE(testing::Message() << workers << " workers");
      ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                           runner.Run(lowered, arguments, workers));
      double error = 0, scale = 0;
      for (size_t i = 0; i < want[0].floats.size(); ++i) {
        // A NaN is an element that was not written.
        ASSERT_FALSE(std::isnan(got[0].floats[i])) << "element " << i;
        error = std::max(error, std::abs(got[0].floats[i] - want[0].floats[i]));
        scale = std::max(scale, std::abs(want[0].floats[i]));
      }
      EXPECT_LE(error / scale, tolerance);
    }
  }
};

TEST_P(ScheduledLayersTest, Convolutions) {
  Check(ConvProgram({.n = 1, .h = 5, .w = 7, .ci = 5, .co = 35}), "conv3x3_s1");
  Check(ConvProgram({.n = 2, .h = 3, .w = 5, .ci = 8, .co = 33}), "conv3x3_s1");
  Check(ConvProgram({.n = 1, .h = 9, .w = 7, .ci = 11, .co = 37, .stride = 2}), "conv3x3_s2");
  Check(ConvProgram({.n = 1, .h = 9, .w = 7, .ci = 11, .co = 37, .stride = 2}),
        "conv3x3_s2_blocked");
  Check(
      ConvProgram({.n = 1, .h = 7, .w = 5, .ci = 13, .co = 67, .k = 1, .pad = 0, .residual = true}),
      "conv1x1_residual");
  Check(ConvProgram({.n = 1, .h = 13, .w = 11, .ci = 3, .co = 40, .k = 7, .stride = 2, .pad = 3}),
        "stem7x7");
}

TEST_P(ScheduledLayersTest, FullyConnected) { Check(DenseProgram(1, 45, 101), "dense"); }

TEST_P(ScheduledLayersTest, Winograd) {
  for (const char* trace : {"winograd_f4_tiles", "winograd_f4_channels"}) {
    SCOPED_TRACE(trace);
    Check(WinogradProgram({.n = 1, .h = 9, .w = 7, .ci = 5, .co = 43}), trace, 2e-5);
    Check(WinogradProgram({.n = 1, .h = 12, .w = 8, .ci = 8, .co = 64}), trace, 2e-5);
  }
}

// The last vector of a row begins early, the last of a sum has lanes beyond the row's end.
TEST_P(ScheduledLayersTest, SoftmaxOfRowsThatAreNoWholeVectors) {
  for (const int columns : {33, 37, 63}) {
    SCOPED_TRACE(columns);
    ASSERT_OK_AND_ASSIGN(
        const Program defined,
        ParseProgram(absl::StrCat(
            "program/1 softmax input X: f32[7, ", columns, "] output Y: f32[7, ", columns,
            "] temp M: f32[7, 1] temp E: f32[7, ", columns, "] temp S: f32[7, 1]\n",
            "block M(r in 7, u in 1; k in ", columns, ") { step M[r, u] max= X[r, k] }\n",
            "block E(r in 7, c in ", columns, ") { step E[r, c] = exp(X[r, c] - M[r, 0]) }\n",
            "block S(r in 7, u in 1; k in ", columns, ") { step S[r, u] += E[r, k] }\n",
            "block Y(r in 7, c in ", columns, ") { step Y[r, c] = E[r, c] / S[r, 0] }\n")));
    Check(defined, "ragged_softmax");
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ScheduledLayersTest, ::testing::ValuesIn(Isas()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace burnish
