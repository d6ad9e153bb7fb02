#include "tuner/cost_model/candidate_features.h"

#include <string>
#include <vector>

#include "base/check.h"
#include "base/status_matchers.h"
#include "compiler/schedule/test_programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/device_model.h"
#include "proto/target.h"
#include "tuner/cost_model/features.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

DeviceModel Device() {
  const auto target = ParseTarget("cpu:arch=znver3");
  CHECK(target.ok());
  return DeviceModelOf(*target);
}

CandidateFeatureExtractor Dense() { return {DenseProgram(1, 64, 48), Device(), 2}; }

constexpr char kWide[] = "split@1 o->(op,oi) size=16\nreorder@1 (n,op,k,oi)\n";
constexpr char kParallel[] = "split@1 o->(op,oi) size=16\nreorder@1 (op,n,k,oi)\nparallel@1 op\n";

TEST(CandidateFeatureExtractorTest, RowDoesNotDependOnWhatWasAskedBefore) {
  CandidateFeatureExtractor warm = Dense(), cold = Dense();
  ASSERT_THAT(warm.Extract(kWide), IsOk());
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures after, warm.Extract(kParallel));
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures alone, cold.Extract(kParallel));
  EXPECT_THAT(after.features, SizeIs(kFeatureCount));
  EXPECT_EQ(after.features[kLogAnalyticSeconds], alone.features[kLogAnalyticSeconds]);
  EXPECT_EQ(after.fingerprint, alone.fingerprint);
}

TEST(CandidateFeatureExtractorTest, EqualLoweredProgramsHaveEqualFingerprints) {
  CandidateFeatureExtractor dense = Dense();
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures wide, dense.Extract(kWide));
  // Comments and blanks say nothing.
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures same,
                       dense.Extract("# the same\n" + std::string(kWide) + "\n"));
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures other, dense.Extract(kParallel));
  EXPECT_THAT(wide.fingerprint, SizeIs(16));
  EXPECT_EQ(wide.fingerprint, same.fingerprint);
  EXPECT_NE(wide.fingerprint, other.fingerprint);
}

TEST(CandidateFeatureExtractorTest, TraceThatDoesNotApplyIsTheCandidatesFault) {
  CandidateFeatureExtractor dense = Dense();
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures before, dense.Extract(kWide));
  EXPECT_THAT(dense.Extract("split"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(dense.Extract(std::string(kWide) + "parallel@1 nowhere\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("step 3")));
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures after, dense.Extract(kWide));
  EXPECT_EQ(after.fingerprint, before.fingerprint);
}

}  // namespace
}  // namespace burnish
