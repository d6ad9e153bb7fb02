#include "tuner/cost_model/candidate_features.h"

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/status_matchers.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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

Trace TraceOf(absl::string_view text) {
  const auto trace = ParseTrace(text);
  CHECK_OK(trace);
  return *trace;
}

Trace Wide() { return TraceOf("split@1 o->(op,oi) size=16\nreorder@1 (n,op,k,oi)\n"); }
Trace Parallel() {
  return TraceOf("split@1 o->(op,oi) size=16\nreorder@1 (op,n,k,oi)\nparallel@1 op\n");
}

TEST(CandidateFeatureExtractorTest, RowDoesNotDependOnWhatWasAskedBefore) {
  CandidateFeatureExtractor warm = Dense(), cold = Dense();
  ASSERT_THAT(warm.Extract(Wide()), IsOk());
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures after, warm.Extract(Parallel()));
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures alone, cold.Extract(Parallel()));
  EXPECT_THAT(after.features, SizeIs(kFeatureCount));
  EXPECT_EQ(after.features[kLogAnalyticSeconds], alone.features[kLogAnalyticSeconds]);
  EXPECT_EQ(after.fingerprint, alone.fingerprint);
}

TEST(CandidateFeatureExtractorTest, EqualLoweredProgramsHaveEqualFingerprints) {
  CandidateFeatureExtractor dense = Dense();
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures wide, dense.Extract(Wide()));
  // By another way.
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures same,
                       dense.Extract(TraceOf("split@1 o->(op,oi) size=16\n"
                                             "reorder@1 (k,n,op,oi)\nreorder@1 (n,op,k,oi)\n")));
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures other, dense.Extract(Parallel()));
  EXPECT_THAT(wide.fingerprint, SizeIs(16));
  EXPECT_EQ(wide.fingerprint, same.fingerprint);
  EXPECT_NE(wide.fingerprint, other.fingerprint);
}

TEST(CandidateFeatureExtractorTest, TraceThatDoesNotApplyIsTheCandidatesFault) {
  CandidateFeatureExtractor dense = Dense();
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures before, dense.Extract(Wide()));
  Trace broken = Wide();
  broken.push_back(TraceOf("parallel@1 nowhere\n")[0]);
  EXPECT_THAT(dense.Extract(broken),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("step 3")));
  ASSERT_OK_AND_ASSIGN(const CandidateFeatures after, dense.Extract(Wide()));
  EXPECT_EQ(after.fingerprint, before.fingerprint);
}

}  // namespace
}  // namespace burnish
