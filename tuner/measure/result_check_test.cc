#include "tuner/measure/result_check.h"

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

const std::string kId(32, 'a');
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

RunClaim Claim() {
  return {.candidate_id = kId,
          .worker_id = "w",
          .numerics = {.kind = NumericsClass::kReassociated},
          .seed = 7,
          .threads = 2,
          .process_count = 2,
          .latency_count = 3,
          .method_version = 3};
}

// As an honest runner says it.
Measurement Honest() {
  Measurement measurement{
      .candidate_id = kId,
      .outcome = Latencies{{{.latency_ns = {1000, 1001, 999}, .inner_count = 100}}},
      .environment = {.mode = MeasureMode::kIsolated,
                      .threads = 2,
                      .cpus = {0, 1},
                      .vector_bytes = 32,
                      .worker = "w",
                      .seed = 7,
                      .method_version = 3},
      .numerics = {.kind = NumericsClass::kReassociated, .error = 1e-7},
      .effort = {.check_ns = 1, .wait_ns = 2, .run_ns = 3}};
  return measurement;
}

ProcessLatencies& Process(Measurement& measurement) {
  return std::get<Latencies>(measurement.outcome).processes[0];
}

TEST(ResultCheckTest, HonestResultsAreBelieved) {
  EXPECT_THAT(CheckRunResult(Honest(), Claim()), IsOk());
  Measurement failed = Honest();
  failed.outcome = Failure{FailureKind::kCrashed, "signal 11"};
  EXPECT_THAT(CheckRunResult(failed, Claim()), IsOk());
  Measurement silent{.candidate_id = kId, .outcome = Honest().outcome};
  EXPECT_THAT(CheckRunResult(silent, Claim()), IsOk());
  Measurement not_a_number = Honest();
  not_a_number.numerics.error = HUGE_VAL;
  EXPECT_THAT(CheckRunResult(not_a_number, Claim()), IsOk());
}

// Each lie alone, with what the refusal names.
TEST(ResultCheckTest, EveryFieldOfARunIsChecked) {
  struct Lie {
    const char* named;
    std::function<void(Measurement&)> tell;
  };
  const std::vector<Lie> lies = {
      {"another candidate", [](Measurement& m) { m.candidate_id = std::string(32, 'b'); }},
      {"another candidate", [](Measurement& m) { m.candidate_id.clear(); }},
      {"0 processes", [](Measurement& m) { m.outcome = Latencies{}; }},
      {"3 processes",
       [](Measurement& m) { m.outcome = Latencies{{Process(m), Process(m), Process(m)}}; }},
      {"0 latencies", [](Measurement& m) { Process(m).latency_ns.clear(); }},
      {"4 latencies", [](Measurement& m) { Process(m).latency_ns.resize(4, 1000); }},
      {"latency_ns 0", [](Measurement& m) { Process(m).latency_ns[1] = 0; }},
      {"latency_ns -5", [](Measurement& m) { Process(m).latency_ns[1] = -5; }},
      {"latency_ns", [](Measurement& m) { Process(m).latency_ns[1] = kHuge; }},
      {"inner_count", [](Measurement& m) { Process(m).inner_count = 0; }},
      {"inner_count", [](Measurement& m) { Process(m).inner_count = 2'000'000'000; }},
      {"warm_up_count", [](Measurement& m) { Process(m).warm_up_count = -1; }},
      {"reference_before_ns", [](Measurement& m) { Process(m).reference_before_ns = -1; }},
      {"reference_after_ns", [](Measurement& m) { Process(m).reference_after_ns = kHuge; }},
      {"probe_before_ns", [](Measurement& m) { Process(m).probe_before_ns = kHuge; }},
      {"probe_after_ns", [](Measurement& m) { Process(m).probe_after_ns = -1; }},
      {"steal_ns", [](Measurement& m) { Process(m).steal_ns = kHuge; }},
      {"throttle_count", [](Measurement& m) { Process(m).throttle_count = -1; }},
      {"involuntary_switch_count",
       [](Measurement& m) { Process(m).involuntary_switch_count = kHuge; }},
      {"page_fault_count", [](Measurement& m) { Process(m).page_fault_count = -1; }},
      {"huge_page_bytes", [](Measurement& m) { Process(m).huge_page_bytes = kHuge; }},
      {"mode", [](Measurement& m) { m.environment.mode = MeasureMode::kInNetwork; }},
      {"arena_bytes", [](Measurement& m) { m.environment.arena_bytes = -1; }},
      {"threads", [](Measurement& m) { m.environment.threads = 64; }},
      {"CPU -1", [](Measurement& m) { m.environment.cpus[0] = -1; }},
      {"cpus of 100000", [](Measurement& m) { m.environment.cpus.resize(100'000); }},
      {"siblings with CPU", [](Measurement& m) { m.environment.siblings = {1 << 20}; }},
      {"vector_bytes", [](Measurement& m) { m.environment.vector_bytes = 1 << 20; }},
      {"cpu_model", [](Measurement& m) { m.environment.cpu_model = std::string(700'000, 'x'); }},
      {"microcode", [](Measurement& m) { m.environment.microcode = std::string(1000, 'x'); }},
      {"hypervisor", [](Measurement& m) { m.environment.hypervisor = std::string(1000, 'x'); }},
      {"kernel_release",
       [](Measurement& m) { m.environment.kernel_release = std::string(1000, 'x'); }},
      {"device", [](Measurement& m) { m.environment.device = std::string(1000, 'x'); }},
      {"host", [](Measurement& m) { m.environment.host = std::string(1000, 'x'); }},
      {"worker", [](Measurement& m) { m.environment.worker = "somebody else"; }},
      {"distribution", [](Measurement& m) { m.environment.distribution = std::string(99, 'x'); }},
      {"seed", [](Measurement& m) { m.environment.seed = 8; }},
      {"method_version", [](Measurement& m) { m.environment.method_version = 2; }},
      {"check_ns", [](Measurement& m) { m.effort.check_ns = kHuge; }},
      {"wait_ns", [](Measurement& m) { m.effort.wait_ns = kHuge; }},
      {"run_ns", [](Measurement& m) { m.effort.run_ns = kHuge; }},
      {"numerics", [](Measurement& m) { m.numerics.kind = NumericsClass::kExact; }},
      {"numerics", [](Measurement& m) { m.numerics.parameter = 4; }},
      {"numerics.error", [](Measurement& m) { m.numerics.error = -2; }},
      {"numerics.error", [](Measurement& m) { m.numerics.error = std::nan(""); }},
      {"network_factor", [](Measurement& m) { m.network_factor = 0.5; }},
      {"network_factor", [](Measurement& m) { m.network_factor = std::nan(""); }},
      {"message",
       [](Measurement& m) {
         m.outcome = Failure{FailureKind::kCrashed, std::string(700'000, 'x')};
       }},
  };
  for (const Lie& lie : lies) {
    Measurement measurement = Honest();
    lie.tell(measurement);
    EXPECT_THAT(CheckRunResult(measurement, Claim()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(lie.named)));
  }
}

// What becomes of jobs and candidates is the tracker's and the study's to say.
TEST(ResultCheckTest, AWorkerSaysOnlyWhatItCanSee) {
  const std::vector<FailureKind> not_a_workers = {FailureKind::kWorkerLost, FailureKind::kCancelled,
                                                  FailureKind::kPoisoned, FailureKind::kParked};
  for (int number = 1; number <= kFailureKindCount; ++number) {
    const auto kind = static_cast<FailureKind>(number);
    const bool is_a_workers =
        std::find(not_a_workers.begin(), not_a_workers.end(), kind) == not_a_workers.end();
    const Failure failure{kind, "says who?"};
    Measurement measurement = Honest();
    measurement.outcome = failure;
    for (const absl::Status& status :
         {CheckRunResult(measurement, Claim()),
          CheckBuildResult({.candidate_id = kId, .outcome = failure}, kId, 4)}) {
      if (is_a_workers) {
        EXPECT_THAT(status, IsOk()) << FailureKindName(kind);
      } else {
        EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr(std::string(FailureKindName(kind)))));
      }
    }
  }
}

TEST(ResultCheckTest, EveryFieldOfABuildIsChecked) {
  const auto check = [](const std::function<void(BuiltArtifact&)>& tell) {
    BuiltArtifact built{.build = {.llvm_version = "19.1.7", .codegen_epoch = 4, .build_ns = 5},
                        .numerics = {.kind = NumericsClass::kReassociated}};
    tell(built);
    return CheckBuildResult({.candidate_id = kId, .outcome = built}, kId, 4);
  };
  const auto refused = [](const char* named) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(named));
  };
  EXPECT_THAT(check([](BuiltArtifact&) {}), IsOk());
  EXPECT_THAT(check([](BuiltArtifact& b) { b.build.spill_count = -1; }), refused("spill_count"));
  EXPECT_THAT(check([](BuiltArtifact& b) { b.build.code_bytes = kHuge; }), refused("code_bytes"));
  EXPECT_THAT(check([](BuiltArtifact& b) { b.build.scratch_bytes = -1; }),
              refused("scratch_bytes"));
  EXPECT_THAT(check([](BuiltArtifact& b) { b.build.packed_bytes = kHuge; }),
              refused("packed_bytes"));
  EXPECT_THAT(check([](BuiltArtifact& b) { b.build.build_ns = kHuge; }), refused("build_ns"));
  EXPECT_THAT(check([](BuiltArtifact& b) { b.build.codegen_epoch = 5; }), refused("codegen_epoch"));
  EXPECT_THAT(check([](BuiltArtifact& b) { b.build.llvm_version = std::string(999, 'x'); }),
              refused("llvm_version"));
  EXPECT_THAT(check([](BuiltArtifact& b) { b.numerics.parameter = 1 << 30; }),
              refused("numerics.parameter"));
  const BuildResult other{.candidate_id = std::string(32, 'b'), .outcome = Failure{}};
  EXPECT_THAT(CheckBuildResult(other, kId, 4), refused("another candidate"));
}

}  // namespace
}  // namespace burnish
