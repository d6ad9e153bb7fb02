#include "proto/record.h"

#include "base/sha256.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/record.pb.h"
#include "proto/workload.pb.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

MeasurementEntry Entry() {
  MeasurementEntry entry = {
      .study_id = "study",
      .trial_id = "study/1",
      .recorded_ns = 17,
      .candidate = {.workload = *MakeWorkload("matmul relu", "matmul"),
                    .target = *ParseTarget("cpu:arch=znver3"),
                    .contract = "nhwc",
                    .trace = "split@1 i->(a,b) max=6\n",
                    .codegen_epoch = 3},
      .measurement = {.outcome = Latencies{.processes = {{.latency_ns = {10, 11}}}}},
  };
  entry.measurement.candidate_id = entry.candidate.Id();
  return entry;
}

TEST(WorkloadTest, IdsAreTheHashesOfTheTexts) {
  ASSERT_OK_AND_ASSIGN(const Workload workload, MakeWorkload("abc", "a"));
  // FIPS 180-2, appendix B.1.
  Sha256Digest digest;
  std::copy(workload.id.begin(), workload.id.end(), digest.begin());
  EXPECT_EQ(HexOf(digest), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_THAT(FromProto(ToProto(workload)), IsOkAndHolds(workload));
}

TEST(WorkloadTest, EmptyAndHugeTextsAndShortAnchorsAreRefused) {
  EXPECT_THAT(MakeWorkload("", "a"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(MakeWorkload(std::string(Workload::kTextBytesMax + 1, 'x'), "a"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4194305 bytes")));
  v1::Workload message;
  message.set_text("x");
  message.set_anchor_id("short");
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CandidateTest, IdChangesWithEachPartAndWithWhereAPartEnds) {
  const Candidate base = Entry().candidate;
  Candidate other = base;
  EXPECT_EQ(base.Id(), other.Id());
  EXPECT_EQ(base.Id().size(), 32);
  other.workload = *MakeWorkload("matmul gelu", "matmul");
  EXPECT_NE(base.Id(), other.Id());
  other = base;
  other.target.threads = 2;
  EXPECT_NE(base.Id(), other.Id());
  other = base;
  other.codegen_epoch = 4;
  EXPECT_NE(base.Id(), other.Id());
  const std::string workload(32, 'w');
  EXPECT_NE(CandidateId(workload, "t", "ab", "c", 1), CandidateId(workload, "t", "a", "bc", 1));
  EXPECT_NE(CandidateId(workload, "t", "", "1:c", 1), CandidateId(workload, "t", "1:c", "", 1));
}

TEST(CandidateTest, IdIsTheSameForEver) {
  Sha256Digest digest;
  const std::string id = CandidateId(std::string(32, 'w'), "cpu:arch=znver3", "", "fuse@1", 1);
  std::copy(id.begin(), id.end(), digest.begin());
  // printf '32:wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww15:cpu:arch=znver30:6:fuse@11' | sha256sum
  EXPECT_EQ(HexOf(digest), "de103898c8e50b62b42058764afc2efb403c1b94388e2a4966b0094999df9077");
}

TEST(MeasurementEntryTest, SurvivesTheWire) {
  EXPECT_THAT(FromProto(ToProto(Entry())), IsOkAndHolds(Entry()));
}

TEST(MeasurementEntryTest, WhatBelongsInNoLogIsRefused) {
  struct Case {
    const char* what;
    void (*change)(MeasurementEntry&);
  };
  for (const Case& bad : {
           Case{"trial_id of 0 bytes", [](MeasurementEntry& e) { e.trial_id = ""; }},
           Case{"trial_id of 129 bytes", [](MeasurementEntry& e) { e.trial_id.assign(129, 'x'); }},
           Case{"got number 1, want 0", [](MeasurementEntry& e) { e.number = 1; }},
           Case{"another candidate's",
                [](MeasurementEntry& e) { e.measurement.candidate_id.assign(32, 'x'); }},
           Case{"no workload", [](MeasurementEntry& e) { e.candidate.workload = {}; }},
           Case{"no process", [](MeasurementEntry& e) { e.measurement.outcome = Latencies{}; }},
           Case{"got network_factor 0.9",
                [](MeasurementEntry& e) { e.measurement.network_factor = 0.9; }},
           Case{"got network_factor -1",
                [](MeasurementEntry& e) {
                  e.purpose = Purpose::kRefine;
                  e.measurement.network_factor = -1;
                }},
           Case{"got purpose 7", [](MeasurementEntry& e) { e.purpose = Purpose{7}; }},
           Case{"failed by 'worker lost'",
                [](MeasurementEntry& e) {
                  e.measurement.outcome = Failure{.kind = FailureKind::kWorkerLost};
                }},
           Case{"failed by 'cancelled'",
                [](MeasurementEntry& e) {
                  e.measurement.outcome = Failure{.kind = FailureKind::kCancelled};
                }},
       }) {
    MeasurementEntry entry = Entry();
    ASSERT_THAT(ValidateEntry(entry), IsOk());
    bad.change(entry);
    EXPECT_THAT(ValidateEntry(entry),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.what)));
  }
}

TEST(MeasurementEntryTest, VerdictOfARefineSurvivesTheWire) {
  MeasurementEntry entry = Entry();
  entry.purpose = Purpose::kRefine;
  entry.measurement.network_factor = 0.97;
  ASSERT_THAT(ValidateEntry(entry), IsOk());
  EXPECT_THAT(FromProto(ToProto(entry)), IsOkAndHolds(entry));
}

TEST(RecordTest, WriterThatKnewNoFactorMeantNone) {
  v1::Record message = ToProto(Record{.rank_ns = 7});
  message.clear_network_factor();
  EXPECT_THAT(FromProto(message), IsOkAndHolds(Record{.rank_ns = 7}));
}

TEST(RecordTest, EveryFieldSurvivesTheWire) {
  const Record want = {
      .row_id = 1,
      .candidate_id = std::string(32, 'c'),
      .method_version = 2,
      .workload_id = std::string(32, 'w'),
      .anchor_id = std::string(32, 'a'),
      .target = "cpu:arch=znver3",
      .contract = "nhwc",
      .trace = "fuse@1",
      .codegen_epoch = 3,
      .rank_ns = 4,
      .median_ns = 5,
      .interval_low_ns = 6,
      .interval_high_ns = 7,
      .process_count = 8,
      .repeat_count = 9,
      .failure = Failure{.kind = FailureKind::kCrashed, .message = "signal 11"},
      .numerics = {.kind = NumericsClass::kExact, .error = 0},
      .scratch_bytes = 10,
      .packed_bytes = 11,
      .code_bytes = 12,
      .lowered_sha256 = std::string(32, 'l'),
      .code_sha256 = std::string(32, 'k'),
      .first_recorded_ns = 13,
      .first_trial_id = "t",
      .host = "h",
      .network_factor = 0.875,
  };
  EXPECT_FALSE(want.successful());
  EXPECT_THAT(FromProto(ToProto(want)), IsOkAndHolds(want));
}

}  // namespace
}  // namespace burnish
