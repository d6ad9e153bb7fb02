#include "proto/synchronize.h"

#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/calibration.pb.h"
#include "proto/tracker.pb.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

WorkerReport FullReport() {
  return {.worker_id = "w1",
          .host = "h1",
          .incarnation = 7,
          .epoch = 8,
          .sequence = 9,
          .leaving = true,
          .slots = {{.info = {.kind = JobKind::kRun,
                              .device_keys = {"cpu-znver3"},
                              .labels = {{"epoch", "3"}}},
                     .executing = Lease{.job_id = "j1", .epoch = 5},
                     .cancelling = true,
                     .results = {{.lease = {.job_id = "j0", .epoch = 4},
                                  .outcome = JobOutcome(std::string("payload"))},
                                 {.lease = {.job_id = "j2", .epoch = 3}}}},
                    {.info = {.kind = JobKind::kBuild}}},
          .calibration = CalibrationRow{.threads = 1,
                                        .clock_ghz = 3,
                                        .units = {{"fma_f32x8", 96, 90}},
                                        .levels = {{"memory", 12, 12, 90}}}};
}

TEST(SynchronizeTest, ReportComesBackAsItWas) {
  EXPECT_THAT(FromProto(ToProto(FullReport())), IsOkAndHolds(FullReport()));
}

TEST(SynchronizeTest, RowOfAnotherVersionIsLeftOutAndABrokenOneRefused) {
  v1::SynchronizeRequest message = ToProto(FullReport());
  message.mutable_calibration()->set_version(99);
  ASSERT_OK_AND_ASSIGN(const WorkerReport report, FromProto(message));
  EXPECT_FALSE(report.calibration.has_value());
  EXPECT_EQ(report.slots.size(), 2u);
  message = ToProto(FullReport());
  message.mutable_calibration()->mutable_levels(0)->set_gb_per_s_alone(-1);
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(SynchronizeTest, OrdersComeBackAsTheyWere) {
  const WorkerOrders orders{
      .sequence = 9,
      .slots = {{.lease = Lease{.job_id = "j3", .epoch = 6},
                 .job = JobSpec{.id = "j3", .kind = JobKind::kRun, .payload = "p"},
                 .received = {"j0"},
                 .send = {"j2"},
                 .discard = {"j4", "j5"}},
                {}},
      .draining = true,
      .lease_duration = absl::Seconds(15)};
  EXPECT_THAT(FromProto(ToProto(orders)), IsOkAndHolds(orders));
}

TEST(SynchronizeTest, MalformedReportIsRefusedWithTheReason) {
  const auto refusal = [](auto change) {
    v1::SynchronizeRequest message = ToProto(FullReport());
    change(message);
    return FromProto(message).status();
  };
  const auto refused = [](const char* text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(refusal([](auto& m) { m.clear_worker_id(); }), refused("worker id of 0 bytes"));
  EXPECT_THAT(refusal([](auto& m) { m.clear_incarnation(); }), refused("of its own version"));
  EXPECT_THAT(refusal([](auto& m) { m.set_epoch(-1); }), refused("epoch=-1"));
  EXPECT_THAT(refusal([](auto& m) { m.set_epoch(INT64_MAX); }), refused("epoch="));
  EXPECT_THAT(refusal([](auto& m) { m.clear_sequence(); }), refused("sequence=0"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_slots(0)->clear_info(); }), refused("kind=0"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_slots(0)->mutable_executing()->clear_epoch(); }),
              refused("epoch=0"));
  EXPECT_THAT(refusal([](auto& m) {
                for (int i = 0; i < 300; ++i) m.add_slots();
              }),
              refused("302 slots"));
  EXPECT_THAT(refusal([](auto& m) {
                for (int i = 0; i < 600; ++i) m.mutable_slots(0)->add_results();
              }),
              refused("602 results, want at most 512"));
  EXPECT_THAT(refusal([](auto& m) {
                for (int slot = 0; slot < 20; ++slot) {
                  *m.add_slots()->mutable_info() = m.slots(0).info();
                  for (int i = 0; i < 500; ++i) m.mutable_slots(slot + 2)->add_results();
                }
              }),
              refused("10002 results, want at most 8192"));
  EXPECT_THAT(refusal([](auto& m) { m.set_host(std::string(257, 'h')); }), refused("257 bytes"));
  const auto info = [&](auto change) {
    return refusal([&](auto& m) { change(*m.mutable_slots(0)->mutable_info()); });
  };
  EXPECT_THAT(info([](auto& m) { m.add_device_keys(std::string(5000, 'k')); }), refused("5000"));
  EXPECT_THAT(info([](auto& m) { (*m.mutable_labels())["a"] = std::string(5000, 'v'); }),
              refused("5000"));
  EXPECT_THAT(info([](auto& m) {
                for (int i = 0; i < 64; ++i) m.add_device_keys("k");
              }),
              refused("65 device keys"));
  EXPECT_THAT(info([](auto& m) {
                for (int i = 0; i < 33; ++i) (*m.mutable_labels())[std::to_string(i)] = "";
              }),
              refused("34 labels"));
}

TEST(SynchronizeTest, JobWithoutItsLeaseIsRefused) {
  v1::SynchronizeResponse message;
  *message.add_slots()->mutable_job() = ToProto(JobSpec{.id = "j"});
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lease")));
}

}  // namespace
}  // namespace burnish
