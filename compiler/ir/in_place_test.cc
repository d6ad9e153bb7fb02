#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/verifier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Names of the inputs that output Y may overwrite.
std::vector<std::string> Shared(const std::string& text) {
  const absl::StatusOr<Program> program = ParseProgram("program/1 p\n" + text);
  EXPECT_THAT(program, IsOk()) << text;
  std::vector<std::string> names;
  if (!program.ok()) return names;
  for (const BufferId id : InPlaceInputs(*program, FindBuffer(*program, "Y"))) {
    names.push_back(program->buffers[id].name);
  }
  return names;
}

// 1x1 convolution with a residual R, in this kernel; R with this storage.
std::string Residual(const std::string& kernel, const std::string& storage = "",
                     const std::string& vars = "") {
  return absl::StrCat("input X: f32[6, 8]\nconst W: f32[4, 8]\ninput R: f32[6, 4]", storage,
                      "\noutput Y: f32[6, 4]\ntemp acc: f32[2, 4] register\n",
                      vars.empty()
                          ? "var mt in 3 var mi in 2 var ko in 2 var ki in 4\n"
                            "var Y.m in 6 = mt * 2 + mi var Y.c in 8 reduce = ko * 4 + ki\n"
                          : vars,
                      "var Y.o in 4\n"
                      "block Y(Y.m, Y.o; Y.c) {\n"
                      "  step Y[Y.m, Y.o] += X[Y.m, Y.c] * W[Y.o, Y.c]\n"
                      "  finish max(self + R[Y.m, Y.o], 0.0)\n}\n",
                      "kernel {", kernel, "}\n");
}
const char kStagedWhole[] =
    "parallel mt { stage Y in acc { for ko { for ki { unroll mi { vectorize(4) Y.o { run Y } } } } "
    "} }";

TEST(InPlaceInputsTest, ResidualOfAConvolutionWithAllItsSumsInRegisters) {
  // X is read by every output element of its row.
  EXPECT_THAT(Shared(Residual(kStagedWhole)), ElementsAre("R"));
}

// Partial sums over the first half of K lie in Y when the second half starts.
TEST(InPlaceInputsTest, BlockedReductionParksPartialSumsInTheOutput) {
  EXPECT_THAT(Shared(Residual("for ko { parallel mt { stage Y in acc { for ki { unroll mi { "
                              "vectorize(4) Y.o { run Y } } } } } }")),
              IsEmpty());
}

TEST(InPlaceInputsTest, ReductionWithoutAStageAddsUpInTheOutput) {
  EXPECT_THAT(
      Shared(Residual("parallel mt { for mi { for Y.o { for ko { for ki { run Y } } } } }")),
      IsEmpty());
}

TEST(InPlaceInputsTest, OtherStorageIsOtherMemory) {
  EXPECT_THAT(Shared(Residual(kStagedWhole, " strides [8, 1]")), IsEmpty());
  EXPECT_THAT(Shared(Residual(kStagedWhole, " offset 4")), IsEmpty());
  EXPECT_THAT(Shared(Residual(kStagedWhole, " border [(1, 1), (0, 0)] 0.0")), IsEmpty());
}

// Tiles {0..3} and {2..5}: the second finish of elements 2 and 3 would read what the first wrote.
TEST(InPlaceInputsTest, ElementsThatAreFinishedTwiceKeepTheirInputs) {
  EXPECT_THAT(Shared(Residual("for mt { stage Y in acc { for Y.c { unroll mi { vectorize(4) Y.o { "
                              "run Y } } } } }",
                              "",
                              "var mt in 2 var mi in 4 var Y.m in 6 repeats = mt * 2 + mi\n"
                              "var Y.c in 8 reduce\n")),
              IsEmpty());
}

TEST(InPlaceInputsTest, ElementwiseChainInOneBlock) {
  EXPECT_THAT(Shared("input X: f32[4, 3] input R: f32[4, 3] input S: f32[3] output Y: f32[4, 3]\n"
                     "block Y(i in 4, j in 3) { step Y[i, j] = max(X[i, j], 0.0) + R[i, j] * S[j] "
                     "finish self + X[i, j] }"),
              ElementsAre("X", "R"));
}

TEST(InPlaceInputsTest, ElementwiseBlockThatReadsAnotherElement) {
  EXPECT_THAT(Shared("input X: f32[4] output Y: f32[4]\n"
                     "block Y(i in 4) { step Y[i] = X[i] + X[3 - i] }"),
              IsEmpty());
}

// X is not read by the block that writes Y, but by one before it.
TEST(InPlaceInputsTest, ChainOfTwoBlocks) {
  EXPECT_THAT(Shared("input X: f32[4] input R: f32[4] temp T: f32[4] output Y: f32[4]\n"
                     "block T(i in 4) { step T[i] = X[3 - i] }\n"
                     "block Y(i in 4) { step Y[i] = T[i] + R[i] }"),
              ElementsAre("R"));
}

TEST(InPlaceInputsTest, SoftmaxReadsItsInputInSeveralBlocks) {
  EXPECT_THAT(Shared("input X: f32[4, 8] temp M: f32[4] temp S: f32[4] output Y: f32[4, 8]\n"
                     "block M(i in 4; k in 8) { init -inf step M[i] max= X[i, k] }\n"
                     "block S(i in 4; k in 8) { step S[i] += exp(X[i, k] - M[i]) }\n"
                     "block Y(i in 4, j in 8) { step Y[i, j] = exp(X[i, j] - M[i]) / S[i] }"),
              IsEmpty());
}

TEST(InPlaceInputsTest, TypesAndConstantsAreNotOverwritten) {
  EXPECT_THAT(Shared("input X: i32[4] const K: f32[4] output Y: f32[4]\n"
                     "block Y(i in 4) { step Y[i] = f32(X[i]) + K[i] }"),
              IsEmpty());
}

}  // namespace
}  // namespace burnish
