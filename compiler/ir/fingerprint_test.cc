#include "compiler/ir/fingerprint.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "compiler/ir/parser.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr char kScale[] = R"(program/1 scale
lowered
input X: f32[6, 8]
output Y: f32[6, 8]
var i in 6
var j in 8
kernel {
  parallel i in 6 {
    vectorize(8) j in 8 {
      Y[i, j] = X[i, j] * 2.0
    }
  }
}
)";

std::string Of(const std::string& text) {
  const auto program = ParseProgram(text);
  CHECK_OK(program);
  return FingerprintOf(*program);
}

std::string With(const char* what, const char* instead) {
  const std::string text = absl::StrReplaceAll(kScale, {{what, instead}});
  CHECK_NE(text, kScale) << what;
  return Of(text);
}

TEST(FingerprintTest, NamesDoNotCount) {
  EXPECT_EQ(With("X", "Other"), Of(kScale));
  EXPECT_EQ(With("j", "lane"), Of(kScale));
  EXPECT_EQ(With("/1 scale", "/1 twice"), Of(kScale));
}

// As lowering for an estimate leaves them over.
TEST(FingerprintTest, WhatNothingMentionsDoesNotCount) {
  EXPECT_EQ(With("var i in 6", "temp T: f32[4]\nvar t in 3\nvar i in 6"), Of(kScale));
}

TEST(FingerprintTest, WhateverElseChangesTheProgramChangesIt) {
  const std::string scale = Of(kScale);
  EXPECT_NE(With("2.0", "3.0"), scale);
  EXPECT_NE(With("X[i, j] * 2.0", "X[i, j] + 2.0"), scale);
  EXPECT_NE(With("X[i, j] * 2.0", "2.0 * X[i, j]"), scale);
  EXPECT_NE(With("= X[i, j]", "= X[0, j]"), scale);
  EXPECT_NE(With("] = X", "] += X"), scale);
  EXPECT_NE(With("vectorize(8)", "vectorize(4)"), scale);
  EXPECT_NE(With("vectorize(8)", "unroll"), scale);
  EXPECT_NE(With("vectorize(8)", "tensorize(a)"), With("vectorize(8)", "tensorize(b)"));
  EXPECT_NE(With("parallel i", "for i"), scale);
  EXPECT_NE(With("Y: f32[6, 8]", "Y: f32[6, 8] strides [16, 1]"), scale);
  EXPECT_NE(With("i in 6", "i in 5"), scale);
}

}  // namespace
}  // namespace burnish
