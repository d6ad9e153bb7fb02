#include "tuner/cli/explain_text.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/golden.h"
#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator.h"
#include "db/open.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/study.h"
#include "proto/study.pb.h"
#include "proto/workload.h"
#include "tuner/cli/format.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

constexpr char kStudy[] = "s-1";

// Builds nothing, and says what a builder might.
class FakeBuilder : public Builder {
 public:
  absl::StatusOr<CompileReply> Build(const CompileRequest& request) override {
    CompiledKernel kernel;
    kernel.build.code_bytes = 1536;
    kernel.build.packed_bytes = 256 << 10;
    if (request.output == CompileOutput::kText) {
      EXPECT_EQ(request.form, "asm");
      kernel.text = ".LBB0_1:\n\tvfmadd231ps\t(%rsi), %zmm2, %zmm3\n\tjne\t.LBB0_1\n";
    }
    return CompileReply{.results = {{.outcome = kernel}}};
  }
};

// A product of 96 x 256 by 256 x 512, and what a study of two threads knows of it: each point of
// the default's sketch, at what the model expects times a factor by the point.
class ExplainTextTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto target = ParseTarget("cpu:arch=znver4,threads=2");
    ASSERT_THAT(target, IsOk());
    target_ = *target;
    TeBuilder te("dense");
    const Tensor x = te.Parameter("x", {DType::kF32, {96, 256}}, BufferRole::kInput);
    const Tensor w = te.Parameter("w", {DType::kF32, {256, 512}}, BufferRole::kConstant);
    te.Output("y", FindOperator("matmul")->define(te, Attributes(), {x, w})[0]);
    const Program defined = Canonicalize(te.Build());
    const auto workload = MakeWorkload(PrintWorkload(defined), PrintWorkload(defined, true));
    ASSERT_THAT(workload, IsOk());
    workload_ = *workload;
    ASSERT_OK_AND_ASSIGN(program_, ParseProgram(workload_.text));  // With the text's names.
    ASSERT_OK_AND_ASSIGN(database_, OpenDatabase("memory:"));
    ASSERT_THAT(
        database_.studies->Create(
            {.id = kStudy,
             .target = target_.ToText(),
             .spec = ToProto(StudySpec{.task = "matmul:m=96,n=512,k=256"}).SerializeAsString()},
            {{.workload_id = workload_.id, .name = "matmul 96x256 -> 96x512"}}),
        IsOk());
    const DeviceModel device = DeviceModelOf(target_);
    const std::vector<DefaultChoice> defaults = DefaultSchedules(program_, device);
    Add(PrintTrace(defaults[0].trace), 1.1 * defaults[0].seconds);
    for (const Sketch& sketch : GenerateSketches(program_, device)) {
      const std::optional<Point> point = Recognize(sketch, defaults[0].trace);
      if (!point.has_value()) continue;
      for (const Point& other : EnumeratePoints(sketch, 1000)) {
        if (other == *point || count_ == 40) continue;
        double factor = 1.2;
        for (size_t d = 0; d < other.size(); ++d) {
          if (other[d] != (*point)[d]) factor *= 1.1 + 0.1 * static_cast<double>(d);
        }
        const auto trace = Bind(sketch, other);
        ASSERT_THAT(trace, IsOk());
        Add(PrintTrace(*trace), factor * defaults[0].seconds);
      }
      break;
    }
    ASSERT_EQ(count_, 40);
  }

  void Add(const std::string& trace, double seconds) {
    MeasurementEntry entry{
        .study_id = kStudy,
        .trial_id = absl::StrCat(kStudy, "/t0/", count_),
        .recorded_ns = 1'764'000'000'000'000'000,
        .candidate = {
            .workload = workload_, .target = target_, .trace = trace, .codegen_epoch = 1}};
    entry.measurement.environment.method_version = kMeasureMethodVersion;
    entry.measurement.environment.host = "bench";
    entry.measurement.build.code_sha256 = Sha256Bytes(absl::StrCat("code", count_));
    entry.measurement.outcome =
        Latencies{{ProcessLatencies{.latency_ns = {static_cast<int64_t>(1e9 * seconds)}}}};
    entry.measurement.numerics = {.kind = NumericsClass::kReassociated, .error = 1e-7};
    ASSERT_THAT(database_.records->Append(entry), IsOkAndHolds(AppendOutcome::kRecorded));
    ++count_;
  }

  absl::StatusOr<Explanation> ExplainWhat(const std::string& what, Builder* builder) {
    absl::StatusOr<FoundRecord> found = FindRecord(database_, {.what = what});
    if (!found.ok()) return found.status();
    return Explain(*std::move(found), {.runner_up_max = 3, .builder = builder});
  }

  Target target_;
  Program program_;
  Workload workload_;
  Database database_;
  int count_ = 0;
};

TEST_F(ExplainTextTest, TextAndJsonStayAsReviewed) {
  FakeBuilder builder;
  ASSERT_OK_AND_ASSIGN(const Explanation explanation,
                       ExplainWhat("matmul 96x256 -> 96x512", &builder));
  EXPECT_TRUE(MatchesGolden(
      "tuner/cli/testdata/explain.txt",
      absl::StrCat(ExplainText(explanation, 100), "\n", ExplainJson(explanation).dump(1), "\n")));
}

TEST_F(ExplainTextTest, AnyNameOfARecordFindsIt) {
  const std::string trial = absl::StrCat(kStudy, "/t0/0");
  ASSERT_OK_AND_ASSIGN(const Explanation by_trial, ExplainWhat(trial, nullptr));
  EXPECT_FALSE(by_trial.code.has_value());
  const std::string hash = HexString(workload_.id);
  for (const std::string& name :
       {std::string("matmul:m=96,n=512,k=256"), HexString(by_trial.found.record.candidate_id), hash,
        hash.substr(0, 8)}) {
    ASSERT_OK_AND_ASSIGN(const Explanation found, ExplainWhat(name, nullptr));
    EXPECT_EQ(found.found.record.first_trial_id, trial) << name;
  }
  ASSERT_OK_AND_ASSIGN(const Explanation other, ExplainWhat("s-1/t0/7", nullptr));
  EXPECT_EQ(other.found.record.first_trial_id, "s-1/t0/7");
  // The best is in front of it, and still the first to look at.
  EXPECT_LT(other.comparison.runners_up[0].factor, 1);
  for (const char* wrong : {"s-1/t0/99", "s-1/t9/0", "s-1/0/0", "s-2/t0/0", "nobody", "a/b"}) {
    EXPECT_FALSE(ExplainWhat(wrong, nullptr).ok()) << wrong;
  }
}

}  // namespace
}  // namespace burnish
