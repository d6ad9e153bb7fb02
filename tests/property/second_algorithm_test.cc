// A second algorithm that rounds in another way than the definition, made up in this file: a row of
// the table of algorithms, a primitive and a rule. Nothing else in the program knows about it, and
// it goes the whole way: sketches, defaults, texts, machine code, messages, records, the choice
// under an error budget, the report.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/extra_row.h"
#include "base/numerics.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "compiler/codegen/kernel_runner.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/driver/select.h"
#include "compiler/ir/fingerprint.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/primitive.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "db/open.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/measurement.h"
#include "proto/measurement.pb.h"
#include "tests/property/schedule_check.h"
#include "tuner/cli/build_report.h"
#include "tuner/cost_model/features.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/rule_test_util.h"
#include "tuner/study/task_tools.h"
#include "worker/runner/runner_executor.h"

namespace burnish {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// ---- The algorithm: a product is a difference of squares, x * w = ((sx + w)^2 - (sx - w)^2) / 4s.

constexpr char kName[] = "quarter_squares";

const ExtraRow<Algorithm> kRow({.name = kName,
                                .number = 7,
                                .parameter_meaning = "a scale",
                                .parameter_label = "s",
                                .parameter_max = 8,
                                .assumed_error = [](int32_t scale) { return 1e-6 * scale; },
                                .difference_max = [](int32_t scale) { return 2e-4 * scale; },
                                .saving_max = 3,
                                .folds_zeros = false});

absl::Status ApplyQuarterSquares(const Step& step, Program& program) {
  ASSIGN_OR_RETURN(const int64_t scale, step.GetInt("scale"));
  const BlockId id = FindBlock(program, step.inputs.at(0));
  if (id < 0) return absl::InvalidArgumentError("no such block");
  Expr& product = program.blocks[id].step;
  if (product->kind != ExprKind::kMul) return absl::InvalidArgumentError("no product");
  const Expr x = product->operands[0] * Float(static_cast<double>(scale));
  const Expr w = product->operands[1];
  const Expr sum = x + w, difference = x - w;
  product = (sum * sum - difference * difference) * Float(0.25 / static_cast<double>(scale));
  program.numerics = {.kind = NumericsClass::kAlgorithm,
                      .algorithm = kName,
                      .parameter = static_cast<int32_t>(scale)};
  return absl::OkStatus();
}

constexpr ArgumentSpec kArguments[] = {{"scale", ArgumentType::kInteger}};
const ExtraRow<Primitive> kPrimitive({kName, 1, kArguments, ApplyQuarterSquares});

std::vector<Draft> QuarterSquaresRule(const RuleContext& context, BlockId id) {
  const Block& block = context.program.blocks[id];
  if (block.reduction.empty() || block.step->kind != ExprKind::kMul ||
      block.step->dtype != DType::kF32) {
    return {};
  }
  Schedule s(context.program);
  const Expr scale = s.Decide({.name = "scale", .kind = DecisionKind::kChoice, .values = {1, 2}});
  s.Algorithm(kName, s.FindBlock(block.name), {}, "", {{"scale", ValueOf(scale)}});
  return {{kName, std::move(s)}};
}

const ExtraRow<SketchRule> kRule({kName, AnyDevice, RuleKind::kAlgorithm, 0, /*shares=*/true,
                                  QuarterSquaresRule});

// ---- What everybody else makes of it.

Target TestTarget() { return *ParseTarget("cpu:arch=x86-64-v2,threads=1"); }

Program Workload() {
  return WorkloadOf({.name = "dense", .op = "dense", .inputs = {{5, 30}, {7, 30}}});
}

// The default by the algorithm with this scale.
DefaultChoice ChoiceOf(int32_t scale) {
  for (const DefaultChoice& choice :
       DefaultSchedules(Workload(), DeviceModelOf(TestTarget()), {.algorithms = true})) {
    if (choice.numerics.algorithm == kName && choice.numerics.parameter == scale) return choice;
  }
  ADD_FAILURE() << "no default of scale " << scale;
  return {};
}

TEST(SecondAlgorithmTest, DefaultsHaveOneOfEachParameterWhereAlgorithmsAreAllowed) {
  EXPECT_EQ(ChoiceOf(1).trace.size(), 1);
  EXPECT_EQ(PrintTrace(ChoiceOf(2).trace), "quarter_squares@1 b2 scale=2\n");
  for (const DefaultChoice& choice : DefaultSchedules(Workload(), DeviceModelOf(TestTarget()))) {
    EXPECT_TRUE(choice.numerics.lossless());
  }
}

TEST(SecondAlgorithmTest, StudyTriesItEarlyAndItsBoundLeavesRoom) {
  const std::string text = PrintWorkload(Workload());
  const StudyTaskSpec task{.workload = {.text = text, .id = Sha256Bytes(text)}};
  const TaskToolsOptions options{.peak_flops = [](const Program&) { return 1e9; }};
  ASSERT_OK_AND_ASSIGN(const auto tools, MakeTaskTools(options, {&task, 1}, TestTarget(), {}));
  EXPECT_THAT(tools[0].seed_traces, Contains("quarter_squares@1 b2 scale=1\n"));
  ASSERT_OK_AND_ASSIGN(const auto strict,
                       MakeTaskTools(options, {&task, 1}, TestTarget(), {.strict = true}));
  EXPECT_NEAR(static_cast<double>(strict[0].bound_ns), 3 * static_cast<double>(tools[0].bound_ns),
              3);
  EXPECT_TRUE(strict[0].seed_traces.empty());
}

TEST(SecondAlgorithmTest, TextsOfTraceAndProgramReadBack) {
  ASSERT_OK_AND_ASSIGN(const Trace trace, ParseTrace("quarter_squares@1 b2 scale=2\n"));
  EXPECT_EQ(trace, ChoiceOf(2).trace);
  ASSERT_OK_AND_ASSIGN(const Program scheduled, ApplyTrace(trace, Workload()));
  EXPECT_THAT(Print(scheduled), HasSubstr("numerics quarter_squares(2)\n"));
  ASSERT_OK_AND_ASSIGN(const Program parsed, ParseProgram(Print(scheduled)));
  EXPECT_EQ(parsed.numerics, scheduled.numerics);
}

TEST(SecondAlgorithmTest, FingerprintAndFeaturesTellItFromOthers) {
  ASSERT_OK_AND_ASSIGN(const Program scheduled, ApplyTrace(ChoiceOf(2).trace, Workload()));
  ASSERT_OK_AND_ASSIGN(Program lowered, Lower(scheduled));
  const std::string fingerprint = FingerprintOf(lowered);
  const DeviceModel device = DeviceModelOf(TestTarget());
  const float feature = ExtractFeatures(lowered, device, 1)[kAlgorithmKey];
  lowered.numerics.algorithm = kUnnamedAlgorithm;
  EXPECT_NE(FingerprintOf(lowered), fingerprint);
  EXPECT_NE(ExtractFeatures(lowered, device, 1)[kAlgorithmKey], feature);
}

TEST(SecondAlgorithmTest, MachineCodeComputesTheDefinitionWithinTheRunnersBound) {
  const Program workload = Workload();
  const std::vector<TensorValue> arguments = ArgumentsOf(workload);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, Interpret(workload, arguments));
  for (const int32_t scale : {1, 2}) {
    ASSERT_OK_AND_ASSIGN(const Program scheduled, ApplyTrace(ChoiceOf(scale).trace, workload));
    ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(scheduled));
    ASSERT_OK_AND_ASSIGN(
        CompiledModule module,
        MakeLlvmBackend()->Compile(HostTargets().front(), {{.program = &lowered}}));
    ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got, runner.Run(lowered, arguments));
    double difference = 0, greatest = 0;
    for (size_t i = 0; i < want[0].floats.size(); ++i) {
      difference = std::max(difference, std::abs(got[0].floats[i] - want[0].floats[i]));
      greatest = std::max(greatest, std::abs(want[0].floats[i]));
    }
    EXPECT_GT(difference, 0);
    EXPECT_LT(difference / greatest, ErrorBound(scheduled.numerics));
    EXPECT_EQ(ErrorBound(scheduled.numerics), 2e-4 * scale);
  }
}

MeasurementEntry EntryOf(const DefaultChoice& choice, double error) {
  const std::string text = PrintWorkload(Workload());
  MeasurementEntry entry = {
      .study_id = "study",
      .trial_id = "t/0",
      .candidate = {.workload = {.text = text,
                                 .id = Sha256Bytes(text),
                                 .anchor_id = Sha256Bytes(text)},
                    .target = TestTarget(),
                    .contract = "",
                    .trace = PrintTrace(choice.trace)},
      .measurement = {.outcome = Latencies{.processes = {{.latency_ns = {100}}}},
                      .environment = {.method_version = 1},
                      .numerics = choice.numerics}};
  entry.measurement.numerics.error = error;
  entry.measurement.candidate_id = entry.candidate.Id();
  return entry;
}

TEST(SecondAlgorithmTest, MessagesAndRecordsKeepItAndAccuracyLimitsHoldIt) {
  const MeasurementEntry entry = EntryOf(ChoiceOf(2), 3e-6);
  EXPECT_THAT(FromProto(ToProto(entry.measurement)), IsOkAndHolds(entry.measurement));
  const std::string path = absl::StrCat(::testing::TempDir(), "/second_algorithm.db");
  for (const std::string& url : {std::string("memory:"), path}) {
    ASSERT_OK_AND_ASSIGN(const Database database, OpenDatabase(url));
    RecordStore* const store = database.records.get();
    ASSERT_THAT(store->Append(entry), IsOk());
    BestQuery query{.workload_id = entry.candidate.workload.id, .target = TestTarget().ToText()};
    const auto found = [&](AccuracyLimit accuracy) {
      query.accuracy = accuracy;
      const absl::StatusOr<BestAnswer> answer = store->Best(query);
      EXPECT_THAT(answer, IsOk());
      return answer.ok() ? answer->records : std::vector<Record>();
    };
    ASSERT_EQ(found({.error_max = 1e-5}).size(), 1);
    EXPECT_EQ(found({.error_max = 1e-5})[0].numerics, entry.measurement.numerics);
    EXPECT_TRUE(found({.error_max = 1e-6}).empty());
    EXPECT_TRUE(found({.error_max = 1e-5, .strict = true}).empty());
  }
}

TEST(SecondAlgorithmTest, BudgetAndReportKnowItsAssumedError) {
  const KnownSchedule mine{.numerics = ChoiceOf(2).numerics};
  const KnownSchedule exact{.numerics = {.kind = NumericsClass::kExact}};
  EXPECT_EQ(Select({{.schedules = {mine, exact}}}, {.error_budget = 3e-6})[0], 0);
  EXPECT_EQ(Select({{.schedules = {mine, exact}}}, {.error_budget = 1e-6})[0], 1);
  const BuiltModel built{.tasks = {{.name = "dense", .numerics = mine.numerics}}};
  EXPECT_THAT(BuildTableText(built), HasSubstr("quarter_squares s2, error 2.0e-06 assumed"));
}

}  // namespace
}  // namespace burnish
