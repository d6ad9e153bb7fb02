// The text that names a computation. Golden: what is expected here is stored in databases, so a
// change of one byte needs a new version of the text, never a new expectation.
#include <fstream>
#include <sstream>
#include <string>

#include "base/sha256.h"
#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

Program Parsed(const std::string& text) {
  absl::StatusOr<Program> program = ParseProgram(text);
  EXPECT_THAT(program, IsOk());
  return program.ok() ? *std::move(program) : Program();
}

std::string FileText(const std::string& name) {
  std::ifstream file("compiler/ir/testdata/" + name);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Convolution with padding, bias, residual and ReLU.
constexpr char kResidualConvolution[] = R"(program/1 "layer1.0/conv2"
  input data: f32[1, 6, 6, 4]
  const weight: f32[8, 3, 3, 4]
  const bias: f32[8]
  input shortcut: f32[1, 6, 6, 8]
  output result: f32[1, 6, 6, 8]
  temp padded: f32[1, 8, 8, 4]
  block pad(n in 1, h in 8, w in 8, c in 4) {
    step padded[n, h, w, c] = 1 <= h && h < 7 && 1 <= w && w < 7 ? data[n, h - 1, w - 1, c] : 0.0
  }
  block conv(n in 1, y in 6, x in 6, o in 8; ky in 3, kx in 3, c in 4) {
    init bias[o]
    step result[n, y, x, o] += padded[n, y + ky, x + kx, c] * weight[o, ky, kx, c]
    finish max(self + shortcut[n, y, x, o], 0.0)
  })";

TEST(PrintWorkloadTest, ResidualConvolution) {
  const std::string text = PrintWorkload(Parsed(kResidualConvolution));
  EXPECT_EQ(text, FileText("residual_convolution.workload"));
  EXPECT_EQ(Sha256Hex(text), "e80975de772f6ba18299a2ba10d23b2012f05e10deec68f9c5174f32221bd75d");
}

TEST(PrintWorkloadTest, AnchorHasNoFinishAndNoInputThatOnlyAFinishReads) {
  EXPECT_EQ(PrintWorkload(Parsed(kResidualConvolution), /*empty_finish=*/true),
            FileText("residual_convolution.anchor"));
}

// What a finish reads comes last, whether it is a parameter or another block's output.
TEST(PrintWorkloadTest, NamesAreThoseOfTheAnchorWhateverTheFinishReads) {
  const Program program = Parsed(R"(program/1 p
    input S: f32[4]
    input X: f32[4, 6]
    output Y: f32[4]
    temp T: f32[4]
    temp Z: f32[4, 6]
    block T(i in 4) { step T[i] = S[i] + 1.0 }
    block Z(i in 4, k in 6) { step Z[i, k] = X[i, k] * 2.0 }
    block Y(i in 4; k in 6) { step Y[i] += Z[i, k] finish self * T[i] })");
  EXPECT_EQ(PrintWorkload(program), R"(workload/2
input b3: f32[4]
input b0: f32[4, 6]
output b1: f32[4]
temp b2: f32[4, 6]
temp b4: f32[4]
block b2(i0 in 4, i1 in 6) {
  step b2[i0, i1] = b0[i0, i1] * 0x1p+1
}
block b4(i0 in 4) {
  step b4[i0] = b3[i0] + 0x1p+0
}
block b1(i0 in 4; i1 in 6) {
  step b1[i0] += b2[i0, i1]
  finish self * b4[i0]
}
)");
  EXPECT_EQ(PrintWorkload(program, /*empty_finish=*/true), R"(workload/2
input b0: f32[4, 6]
output b1: f32[4]
temp b2: f32[4, 6]
block b2(i0 in 4, i1 in 6) {
  step b2[i0, i1] = b0[i0, i1] * 0x1p+1
}
block b1(i0 in 4; i1 in 6) {
  step b1[i0] += b2[i0, i1]
}
)");
}

TEST(PrintWorkloadTest, TablesTypesAndSeveralOutputs) {
  const std::string text = PrintWorkload(Parsed(R"(program/1 mixed
    input X: i8[4, 6]
    input I: i64[3]
    output Max: i8[4]
    output Taken: f32[3]
    table $0: f32[2] {0.5, -0.25}
    block Taken(i in 3) {
      step Taken[i] = f32(X[bounds_check(I[i], 4), 2]) * $0[i % 2] + 0.1 - inf
    }
    block Max(i in 4; k in 6) { step Max[i] max= -X[i, k] })"));
  EXPECT_EQ(text, FileText("mixed.workload"));
  EXPECT_EQ(Sha256Hex(text), "b39dc6e94e97287751366bdf3404cab59ae3205f86408d163d13b4079f066c09");
}

// Other names, blocks and buffers in another order, axes declared elsewhere, and a schedule.
TEST(PrintWorkloadTest, NamesOrderAndScheduleDoNotMatter) {
  const Program other = Parsed(R"(program/1 b
    input a0: f32[1, 6, 6, 4]
    const a1: f32[8, 3, 3, 4]
    const a2: f32[8]
    input a3: f32[1, 6, 6, 8]
    output a4: f32[1, 6, 6, 8] strides [512, 64, 8, 1]
    temp unused: f32[2]
    temp acc: f32[8] register
    temp t: f32[1, 8, 8, 4] scratch
    var mt in 36
    var c in 4 reduce
    var kx in 3 reduce
    var ky in 3 reduce
    var o in 8
    var n in 1 = mt // 36
    var y in 6 = mt // 6
    var x in 6 = mt % 6
    var p0 in 1 var p1 in 8 var p2 in 8 var p3 in 4
    block B(n, y, x, o; ky, kx, c) {
      init a2[o]
      step a4[n, y, x, o] += t[n, y + ky, x + kx, c] * a1[o, ky, kx, c]
      finish max(self + a3[n, y, x, o], 0.0)
    }
    block A(p0, p1, p2, p3) {
      step t[p0, p1, p2, p3] = 1 <= p1 && p1 < 7 && 1 <= p2 && p2 < 7
                               ? a0[p0, p1 - 1, p2 - 1, p3] : 0.0
    }
    kernel {
      for p0 { for p1 { for p2 { for p3 { run A } } } }
      parallel mt { stage B in acc { for ky { for kx { for c { for o { run B } } } } } }
    })");
  EXPECT_EQ(PrintWorkload(other), PrintWorkload(Parsed(kResidualConvolution)));
}

// Two producers of one consumer: their order is that of its reads, however they were added.
TEST(PrintWorkloadTest, ProducersComeInTheOrderOfTheFirstRead) {
  const std::string head =
      "program/1 p input X: f32[4] output Y: f32[4] temp S: f32[4] temp T: "
      "f32[4] ";
  const std::string s = "block S(i in 4) { step S[i] = X[i] + 1.0 } ";
  const std::string t = "block T(i in 4) { step T[i] = X[i] * 2.0 } ";
  const std::string y = "block Y(i in 4) { step Y[i] = T[i] - S[i] } ";
  const std::string text = PrintWorkload(Parsed(head + s + t + y));
  EXPECT_EQ(text, PrintWorkload(Parsed(head + t + s + y)));
  EXPECT_EQ(text, R"(workload/2
input b0: f32[4]
output b1: f32[4]
temp b2: f32[4]
temp b3: f32[4]
block b2(i0 in 4) {
  step b2[i0] = b0[i0] * 0x1p+1
}
block b3(i0 in 4) {
  step b3[i0] = b0[i0] + 0x1p+0
}
block b1(i0 in 4) {
  step b1[i0] = b2[i0] - b3[i0]
}
)");
  // The difference the other way round is another computation.
  const std::string swapped = "block Y(i in 4) { step Y[i] = S[i] - T[i] } ";
  EXPECT_NE(text, PrintWorkload(Parsed(head + s + t + swapped)));
}

TEST(PrintWorkloadTest, ConstnessShapeTypeAndValuesMatter) {
  const std::string base =
      "program/1 p input X: f32[4] output Y: f32[4] block Y(i in 4) { step "
      "Y[i] = X[i] * 2.0 }";
  const std::string text = PrintWorkload(Parsed(base));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"input", "const"}, {"X: f32[4]", "X: f32[5]"}, {"2.0", "3.0"}, {"*", "+"}}) {
    std::string changed = base;
    changed.replace(changed.find(from), from.size(), to);
    EXPECT_NE(PrintWorkload(Parsed(changed)), text) << changed;
  }
}

TEST(PrintWorkloadTest, ParsedTextIsTheSameWorkloadWithDefaultNests) {
  for (const char* name :
       {"residual_convolution.workload", "residual_convolution.anchor", "mixed.workload"}) {
    const std::string text = FileText(name);
    ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(text));
    EXPECT_EQ(PrintWorkload(program), text);
    EXPECT_EQ(program.nodes[program.root].children.size(), program.blocks.size());
  }
}

}  // namespace
}  // namespace burnish
