// Whole models through the driver, the builder program and the runtime, against the interpreter.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/cpu_info.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/bundle_testing.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/random_concats.h"
#include "compiler/runtime/bundle.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/builder_client.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using Shape = std::vector<int64_t>;

Target Host(int threads) { return *HostTarget(HostCpuInfo(), threads); }

// One builder for all tests, as a tuner has.
Builder& SharedBuilder() {
  static BuilderClient& builder = *new BuilderClient();
  return builder;
}

// Traces by the task's name.
class TracesByName : public ScheduleSource {
 public:
  explicit TracesByName(std::map<std::string, std::string> traces) : traces_(std::move(traces)) {}

  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target& target) override {
    std::vector<KnownSchedule> found;
    if (const auto trace = traces_.find(task.name); trace != traces_.end()) {
      found.push_back({.trace = trace->second,
                       .origin = ScheduleOrigin::kTuned,
                       .numerics = {.kind = NumericsClass::kReassociated}});
    }
    return found;
  }

 private:
  const std::map<std::string, std::string> traces_;
};

void ExpectRunsLikeTheGraph(const Graph& graph, const BuiltModel& built, uint64_t seed) {
  const std::vector<TensorValue> inputs = RandomInputs(graph, seed);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, inputs));
  std::vector<TensorValue> with_one_thread;
  for (const int threads : {1, 2, 3}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                         RunBundle(built.bundle, graph, inputs, threads));
    EXPECT_EQ(CompareOutputs(want, got, 1e-5), "") << threads << " threads";
    if (threads == 1) with_one_thread = got;
    EXPECT_EQ(CompareOutputs(with_one_thread, got, 0), "") << threads << " threads";
  }
}

absl::StatusOr<BuiltModel> Build(const Graph& graph, ScheduleSource& source, int opt_level = 3) {
  return BuildModel(graph, source, SharedBuilder(), {.target = Host(2), .opt_level = opt_level});
}

ValueId Conv(Graph& graph, ValueId x, int64_t channels, int64_t kernel, int64_t stride = 1) {
  const Shape in = graph.value(x).type.shape;
  const uint64_t seed = graph.values.size();
  const ValueId w =
      AddRandomConstant(graph, absl::StrCat("w", seed), {channels, in[1], kernel, kernel}, seed);
  const ValueId b = AddRandomConstant(graph, absl::StrCat("b", seed), {channels}, seed + 1);
  return Op(graph, "conv", {x, w, b},
            {{"strides", Shape{stride, stride}},
             {"pads", Shape(4, kernel / 2)},
             {"dilations", Shape{1, 1}},
             {"group", int64_t{1}}});
}

// A residual block: 3x3, 3x3, addition, ReLU.
Graph ResidualGraph() {
  Graph graph;
  graph.name = "residual";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 3, 9, 7}});
  const ValueId a = Op(graph, "relu", {Conv(graph, x, 16, 3)});
  const ValueId b = Op(graph, "relu", {Conv(graph, a, 16, 3)});
  const ValueId c = Op(graph, "relu", {Op(graph, "add", {Conv(graph, b, 16, 3), a})});
  const ValueId pooled = Op(graph, "max_pool", {c},
                            {{"kernel_shape", Shape{3, 3}},
                             {"strides", Shape{2, 2}},
                             {"pads", Shape(4, 1)},
                             {"dilations", Shape{1, 1}},
                             {"ceil_mode", int64_t{0}}});
  graph.outputs = {pooled};
  graph.values[pooled].name = "y";
  return graph;
}

// Of a 3x3 convolution with bias, channels last: P is b4 or b5, Y is the output. Tiles of 3 pixels
// by 8 channels in registers, weights packed.
std::string ConvTrace(absl::string_view padded, absl::string_view output) {
  return absl::StrReplaceAll(
      "border@1 P->b0\n"
      "fuse@1 (Y.i0,Y.i1,Y.i2)->m\n"
      "split@1 Y.i3->(op,oi) size=8\n"
      "split@1 m->(mt,mi) max=3\n"
      "reorder@1 (op,mt,Y.i4,Y.i5,Y.i6,mi,oi)\n"
      "stage@1 Y->acc inside=mt scope=register\n"
      "relayout@1 b1->Wp dims=(op,Y.i4,Y.i5,Y.i6,oi)\n"
      "precompute@1 Wp\n"
      "parallel@1 op\n"
      "unroll@1 mi\n"
      "vectorize@1 oi lanes=4\n",
      {{"P", padded}, {"Y", output}});
}

TEST(DriverTest, ResidualNetworkWithDefaultNests) {
  DefaultScheduleSource source;
  const Graph graph = ResidualGraph();
  for (const int level : {0, 1, 2, 3}) {
    SCOPED_TRACE(absl::StrCat("level ", level));
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source, level));
    ExpectRunsLikeTheGraph(graph, built, 1);
    EXPECT_THAT(built.tasks, Each(Field(&TaskReport::origin, ScheduleOrigin::kDefault)));
  }
}

// Host kernels between others: of the model's input and of parts of a concat, which lie with gaps,
// of a constant, and into an output.
Graph HostGraph() {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 5, 6}});
  const ValueId sums = Op(graph, "cum_sum", {x}, {{"axis", int64_t{1}}, {"reverse", int64_t{1}}});
  const ValueId both = Op(graph, "concat", {Op(graph, "relu", {x}), sums}, {{"axis", int64_t{2}}});
  const ValueId scaled = Op(graph, "exp", {Op(graph, "neg", {Op(graph, "abs", {both})})});
  const Attributes top = MakeAttributes({{"axis", int64_t{1}}, {"k", int64_t{3}}});
  const absl::StatusOr<GraphNodeId> k = AddNode(graph, "top_k", {scaled}, top, "top");
  const ValueId values = graph.nodes[*k].outputs[0], places = graph.nodes[*k].outputs[1];
  const ValueId base = AddRandomConstant(graph, "base", {2, 5, 12}, 7);
  const ValueId scattered =
      Op(graph, "scatter_elements", {base, places, Op(graph, "neg", {values})},
         {{"axis", int64_t{1}}, {"reduction", std::string("add")}});
  graph.outputs = {Op(graph, "relu", {scattered}), places};
  const char* names[] = {"y", "places"};
  for (int i = 0; i < 2; ++i) graph.values[graph.outputs[i]].name = names[i];
  return graph;
}

TEST(DriverTest, HostKernelsAreStepsLikeOthers) {
  DefaultScheduleSource source;
  const Graph graph = HostGraph();
  for (const int level : {0, 2, 3}) {
    SCOPED_TRACE(absl::StrCat("level ", level));
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source, level));
    ExpectRunsLikeTheGraph(graph, built, 3);
    auto reader = BundleReader::FromBytes(
        {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()});
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(reader->manifest().host_calls.size(), 3u);
    int gaps = 0;
    for (const HostCall& call : reader->manifest().host_calls) {
      for (const TensorInfo& tensor : call.tensors) gaps += !tensor.IsDense();
    }
    if (level >= 2) EXPECT_GE(gaps, 1) << "no tensor lies with gaps: the test is too easy";
    EXPECT_THAT(built.tasks, Not(Contains(Field(&TaskReport::name, "top_k"))));
  }
}

TEST(DriverTest, DataThatAHostKernelRefusesNamesItsStep) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {4}});
  const ValueId places = AddInput(graph, "places", {DType::kI64, {2}});
  graph.outputs = {
      Op(graph, "scatter_elements", {x, places, AddRandomConstant(graph, "updates", {2}, 1)})};
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  std::vector<TensorValue> inputs = RandomInputs(graph, 1);
  inputs[1].integers = {0, 4};
  EXPECT_THAT(RunBundle(built.bundle, graph, inputs, 2),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr("scatter_elements"), HasSubstr("out of bounds"))));
  inputs[1].integers = {-4, 3};
  EXPECT_THAT(RunBundle(built.bundle, graph, inputs, 2), IsOk());
}

TEST(DriverTest, FusionTakesStepsAway) {
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(const BuiltModel apart, Build(ResidualGraph(), source, 0));
  ASSERT_OK_AND_ASSIGN(const BuiltModel fused, Build(ResidualGraph(), source, 1));
  EXPECT_EQ(apart.step_count, 8);
  EXPECT_EQ(fused.step_count, 4);
}

TEST(DriverTest, EqualModelsGiveEqualBytes) {
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(const BuiltModel first, Build(ResidualGraph(), source));
  ASSERT_OK_AND_ASSIGN(const BuiltModel second, Build(ResidualGraph(), source));
  EXPECT_TRUE(first.bundle == second.bundle);
}

TEST(DriverTest, ProgressCountsTheTasksAndNamesTheStages) {
  DefaultScheduleSource source;
  std::vector<BuildProgress> told;
  ASSERT_OK_AND_ASSIGN(
      const BuiltModel built,
      BuildModel(ResidualGraph(), source, SharedBuilder(),
                 {.target = Host(2),
                  .progress = [&](const BuildProgress& progress) { told.push_back(progress); }}));
  ASSERT_GE(told.size(), built.tasks.size() + 3);
  for (size_t i = 0; i + 2 < told.size(); ++i) {
    EXPECT_EQ(told[i].stage, BuildProgress::Stage::kSchedules);
    EXPECT_EQ(told[i].done, static_cast<int>(i));
    EXPECT_EQ(told[i].total, static_cast<int>(told.size()) - 3);
  }
  EXPECT_EQ(told[told.size() - 2].stage, BuildProgress::Stage::kKernels);
  EXPECT_EQ(told.back().stage, BuildProgress::Stage::kWeights);
}

// Convolutions that read a border, with packed weights and a residual in place.
TEST(DriverTest, BordersThatSchedulesAskForAreInTheirInputs) {
  TracesByName source(
      {{"conv+relu", ConvTrace("b4", "b3")}, {"conv+add+relu", ConvTrace("b4", "b3")}});
  const Graph graph = ResidualGraph();
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  for (const TaskReport& task : built.tasks) {
    if (task.name.find("conv") == std::string::npos) continue;
    EXPECT_THAT(task.rejected, IsEmpty()) << task.name << "\n" << task.trace;
    EXPECT_EQ(task.origin, ScheduleOrigin::kTuned) << task.name;
    EXPECT_GT(task.build.packed_bytes, 0) << task.name;
  }
  ExpectRunsLikeTheGraph(graph, built, 2);
  ASSERT_OK_AND_ASSIGN(const BuiltModel again, Build(graph, source));
  EXPECT_TRUE(built.bundle == again.bundle);
}

TEST(DriverTest, TraceThatDoesNotApplyIsPassedOver) {
  TracesByName source({{"conv+relu", "fuse@1 (nothing,here)->m\n"}});
  const Graph graph = ResidualGraph();
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  EXPECT_EQ(built.tasks[1].origin, ScheduleOrigin::kDefault);
  EXPECT_THAT(built.tasks[1].rejected, ElementsAre(HasSubstr("nothing")));
  ExpectRunsLikeTheGraph(graph, built, 3);
  EXPECT_THAT(
      BuildModel(graph, source, SharedBuilder(), {.target = Host(2), .require_tuned = true}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("max_pool")));
}

// Winograd's algorithm for every convolution with ReLU, said to be more exact than it is.
class HopefulWinograd : public ScheduleSource {
 public:
  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target& target) override {
    if (task.name != "conv+relu") return std::vector<KnownSchedule>();
    return std::vector<KnownSchedule>{{.trace = "winograd@1 b3->(U,V0,V,M,T) m=4\n",
                                       .origin = ScheduleOrigin::kTuned,
                                       .numerics = {.kind = NumericsClass::kAlgorithm,
                                                    .algorithm = "winograd",
                                                    .parameter = 4,
                                                    .error = kClaimedError}}};
  }
  static constexpr double kClaimedError = 1e-12;
};

int WinogradCount(const BuiltModel& built) {
  return static_cast<int>(std::count_if(
      built.tasks.begin(), built.tasks.end(),
      [](const TaskReport& task) { return task.numerics.kind == NumericsClass::kAlgorithm; }));
}

TEST(DriverTest, ErrorOfTheWholeModelIsMeasured) {
  HopefulWinograd source;
  const Graph graph = ResidualGraph();
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  EXPECT_EQ(WinogradCount(built), 2);
  EXPECT_LT(built.expected_error, 2 * HopefulWinograd::kClaimedError);
  ASSERT_TRUE(built.measured_error.has_value());
  // Single precision: no two ways of summing agree better than this.
  EXPECT_GT(*built.measured_error, 1e-8);
  EXPECT_LT(*built.measured_error, 1e-4);
  ExpectRunsLikeTheGraph(graph, built, 5);
}

TEST(DriverTest, AlgorithmsThatTheModelCannotAffordAreReplaced) {
  HopefulWinograd source;
  const Graph graph = ResidualGraph();
  ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                       BuildModel(graph, source, SharedBuilder(),
                                  {.target = Host(2), .select = {.error_budget = 1e-8}}));
  EXPECT_EQ(WinogradCount(built), 0);
  EXPECT_EQ(built.expected_error, 0);
  ExpectRunsLikeTheGraph(graph, built, 6);
}

TEST(DriverTest, LayersOfOneShapeShareOneKernel) {
  Graph graph;
  graph.name = "twins";
  ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4, 5, 5}});
  for (int i = 0; i < 4; ++i) x = Op(graph, "relu", {Conv(graph, x, 4, 1)});
  graph.outputs = {x};
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source, 1));
  EXPECT_EQ(built.step_count, 4);
  EXPECT_EQ(built.kernel_count, 1);
  ExpectRunsLikeTheGraph(graph, built, 4);
}

TEST(DriverTest, ClassifierWithDenseAndSoftmax) {
  Graph graph;
  graph.name = "classifier";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 13}});
  const ValueId w = AddRandomConstant(graph, "w", {11, 13}, 5);
  const ValueId b = AddRandomConstant(graph, "b", {11}, 6);
  const ValueId y = Op(graph, "softmax", {Op(graph, "dense", {x, w, b})}, {{"axis", int64_t{-1}}});
  graph.outputs = {y};
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  ExpectRunsLikeTheGraph(graph, built, 5);
}

TEST(DriverTest, BranchesThatAreConcatenatedWriteIntoTheWhole) {
  Graph graph;
  graph.name = "branches";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 3, 6, 6}});
  const ValueId a = Op(graph, "relu", {Conv(graph, x, 16, 1)});
  const ValueId b = Op(graph, "relu", {Conv(graph, x, 16, 3)});
  const ValueId both = Op(graph, "concat", {a, b}, {{"axis", int64_t{1}}});
  graph.outputs = {Op(graph, "relu", {Conv(graph, both, 8, 3)})};
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  EXPECT_THAT(built.tasks, Each(Field(&TaskReport::name, Not(HasSubstr("concat")))));
  ExpectRunsLikeTheGraph(graph, built, 6);
}

// Tasks of a model by name, with how many steps are one.
std::map<std::string, int64_t> StepsByName(const BuiltModel& built) {
  std::map<std::string, int64_t> steps;
  for (const TaskReport& task : built.tasks) steps[task.name] += task.weight;
  return steps;
}

TEST(DriverTest, AConcatOfInputsIsOneCopyEach) {
  DefaultScheduleSource source;
  for (const DType dtype : {DType::kF32, DType::kI64}) {
    for (const int64_t axis : {0, 1, 2}) {
      for (const int count : {2, 3, 16, 40}) {
        SCOPED_TRACE(absl::StrCat(count, " along axis ", axis));
        Graph graph;
        graph.name = "joined";
        std::vector<ValueId> parts;
        for (int i = 0; i < count; ++i) {
          Shape shape = {3, 5, 7};
          shape[axis] = 1 + i % 3;
          parts.push_back(AddInput(graph, absl::StrCat("x", i), {dtype, shape}));
        }
        graph.outputs = {Op(graph, "concat", parts, {{"axis", axis}})};
        ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
        EXPECT_THAT(StepsByName(built), ElementsAre(Pair("identity", count)));
        ExpectRunsLikeTheGraph(graph, built, count);
      }
    }
  }
}

// Seven floats apart: where a part begins is one of sixteen places of a cache line.
TEST(DriverTest, PartsThatBeginAlikeInACacheLineShareOneKernel) {
  Graph graph;
  graph.name = "sevens";
  std::vector<ValueId> parts;
  for (int i = 0; i < 40; ++i) {
    parts.push_back(AddInput(graph, absl::StrCat("x", i), {DType::kF32, {2, 7}}));
  }
  graph.outputs = {Op(graph, "concat", parts, {{"axis", int64_t{1}}})};
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  EXPECT_EQ(built.step_count, 40);
  EXPECT_EQ(built.kernel_count, 16);
  ExpectRunsLikeTheGraph(graph, built, 14);
}

// A dense block, as exporters write it: every layer reads the concat of all values before.
TEST(DriverTest, ADenseBlockCopiesNothing) {
  Graph graph;
  graph.name = "dense block";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 3, 6, 5}});
  std::vector<ValueId> values = {Conv(graph, x, 16, 3)};
  for (int layer = 0; layer < 4; ++layer) {
    const ValueId all =
        values.size() == 1 ? values[0] : Op(graph, "concat", values, {{"axis", int64_t{1}}});
    values.push_back(Conv(graph, Op(graph, "tanh", {all}), 8, 3));
  }
  graph.outputs = {Op(graph, "neg", {Op(graph, "concat", values, {{"axis", int64_t{1}}})})};
  TracesByName source({{"conv", "border@1 b4->b0\n"}});
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  EXPECT_THAT(built.tasks, Each(Field(&TaskReport::rejected, IsEmpty())));
  // The transposes are those of the image and of the output.
  EXPECT_THAT(StepsByName(built),
              ElementsAre(Pair("conv", 5), Pair("neg", 1), Pair("tanh", 4), Pair("transpose", 2)));
  ExpectRunsLikeTheGraph(graph, built, 11);
}

// One value in three concats along different axes, and twice in one: one place is its own.
TEST(DriverTest, AValueInSeveralConcatsIsCopiedForAllButOne) {
  Graph graph;
  graph.name = "shared";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3, 4}});
  const ValueId a = Op(graph, "tanh", {x});
  const ValueId b = Op(graph, "neg", {x});
  const auto join = [&](std::vector<ValueId> parts, int64_t axis) {
    return Op(graph, "concat", std::move(parts), {{"axis", axis}});
  };
  for (const ValueId whole : {join({a, b}, 0), join({b, a, a}, 1), join({a, x}, 2)}) {
    graph.outputs.push_back(Op(graph, "abs", {whole}));
  }
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  // `a` has four places, `b` has two, and `x` is an input.
  EXPECT_EQ(StepsByName(built)["identity"], 3 + 1 + 1);
  ExpectRunsLikeTheGraph(graph, built, 12);
}

// A convolution wants a border around rows that lie between others' rows.
TEST(DriverTest, AReaderAmongNeighboursReadsACopy) {
  Graph graph;
  graph.name = "rows";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 3, 6, 5}});
  const ValueId a = Conv(graph, x, 8, 1);
  const ValueId b = Op(graph, "relu", {Conv(graph, x, 8, 1)});
  const ValueId tall = Op(graph, "concat", {b, a, Op(graph, "neg", {b})}, {{"axis", int64_t{2}}});
  graph.outputs = {Op(graph, "tanh", {Conv(graph, a, 8, 3)}),
                   Op(graph, "sigmoid", {Conv(graph, tall, 8, 3)})};
  TracesByName source({{"conv+tanh", "border@1 b4->b0\n"}, {"conv+sigmoid", "border@1 b4->b0\n"}});
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  EXPECT_THAT(built.tasks, Each(Field(&TaskReport::rejected, IsEmpty())));
  EXPECT_EQ(StepsByName(built)["identity"], 1);
  ExpectRunsLikeTheGraph(graph, built, 13);
}

TEST(DriverTest, RandomConcatsAtEveryLevel) {
  DefaultScheduleSource plain;
  TracesByName bordered({{"conv", "border@1 b3->b0\n"}, {"max_pool", "border@1 b2->b0\n"}});
  for (uint64_t seed = 0; seed < 64; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Graph graph = RandomConcats(seed);
    ScheduleSource& source = seed % 8 < 2 ? static_cast<ScheduleSource&>(plain) : bordered;
    const int level = seed % 4 == 1 ? static_cast<int>(seed / 4 % 2) : 3;
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source, level));
    if (level == 3) EXPECT_EQ(StepsByName(built).count("concat"), 0u);
    ExpectRunsLikeTheGraph(graph, built, seed);
  }
}

// What the driver owes where a model gives its input back, a constant, or one value twice.
TEST(DriverTest, OutputsThatNoNodeWrites) {
  Graph graph;
  graph.name = "passthrough";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3}});
  const ValueId c = AddRandomConstant(graph, "c", {4}, 7);
  const ValueId y = Op(graph, "relu", {x});
  graph.outputs = {x, c, y, y};
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  ExpectRunsLikeTheGraph(graph, built, 7);
}

TEST(DriverTest, RandomModelsAtEveryLevel) {
  DefaultScheduleSource plain;
  TracesByName bordered({{"conv", ConvTrace("b4", "b3")},
                         {"conv+relu", ConvTrace("b4", "b3")},
                         {"conv+add", ConvTrace("b4", "b3")},
                         {"relu", "parallel@1 b1.i0\n"}});
  for (uint64_t seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Graph graph = RandomGraph(seed);
    ScheduleSource& source = seed % 2 == 0 ? static_cast<ScheduleSource&>(plain) : bordered;
    ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                         Build(graph, source, static_cast<int>(3 - seed / 2 % 4)));
    ExpectRunsLikeTheGraph(graph, built, seed);
  }
}

// The pool wants -inf around what the convolution wants zeros around, and the first convolution
// wants a border around the model's own input: both get copies.
TEST(DriverTest, InputThatCannotHaveTheBorderIsCopied) {
  Graph graph;
  graph.name = "conflict";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 3, 6, 5}});
  const ValueId a = Op(graph, "relu", {Conv(graph, x, 8, 3)});
  const ValueId b = Op(graph, "relu", {Conv(graph, a, 8, 3)});
  const ValueId pooled = Op(graph, "max_pool", {a},
                            {{"kernel_shape", Shape{3, 3}},
                             {"strides", Shape{1, 1}},
                             {"pads", Shape(4, 1)},
                             {"dilations", Shape{1, 1}},
                             {"ceil_mode", int64_t{0}}});
  graph.outputs = {b, pooled};
  TracesByName source({{"conv+relu", "border@1 b4->b0\n"}, {"max_pool", "border@1 b2->b0\n"}});
  for (const int level : {1, 3}) {
    SCOPED_TRACE(absl::StrCat("level ", level));
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source, level));
    EXPECT_THAT(built.tasks, Contains(Field(&TaskReport::name, "identity")));
    EXPECT_THAT(built.tasks, Each(Field(&TaskReport::rejected, IsEmpty())));
    ExpectRunsLikeTheGraph(graph, built, 8);
  }
}

// Vectors along pixels as if their rows were one: around such rows lies no border, and the
// convolution reads a copy that has one.
TEST(DriverTest, OutputWhoseVectorsGoAcrossRowsGetsNoBorder) {
  Graph graph;
  graph.name = "flat";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 8, 6, 5}});
  graph.outputs = {Conv(graph, Op(graph, "sigmoid", {x}), 8, 3)};
  for (const auto& [trace, copies] :
       {std::pair("fuse@1 (b1.i2,b1.i3)->v\nvectorize@1 v lanes=4\n", 1),
        std::pair("vectorize@1 b1.i3 lanes=4\n", 0)}) {
    TracesByName source({{"conv", "border@1 b4->b0\n"}, {"sigmoid", trace}});
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source, 1));
    EXPECT_THAT(built.tasks, Each(Field(&TaskReport::rejected, IsEmpty())));
    EXPECT_EQ(StepsByName(built)["identity"], copies) << trace;
    ExpectRunsLikeTheGraph(graph, built, 9);
  }
}

// The residual's last reader writes over it.
TEST(DriverTest, OutputTakesTheMemoryOfADeadInput) {
  Graph graph;
  graph.name = "in place";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4, 5, 5}});
  const ValueId a = Op(graph, "relu", {Conv(graph, x, 16, 1)});
  const ValueId b = Op(graph, "relu", {Conv(graph, a, 16, 1)});
  const ValueId c = Op(graph, "relu", {Op(graph, "add", {Conv(graph, b, 16, 1), a})});
  graph.outputs = {Op(graph, "sigmoid", {Conv(graph, c, 16, 1)})};
  TracesByName source({{"conv+add+relu",
                        "fuse@1 (b3.i0,b3.i1,b3.i2)->m\n"
                        "split@1 m->(mt,mi) max=3\n"
                        "reorder@1 (mt,b3.i4,mi,b3.i3)\n"
                        "stage@1 b3->acc inside=mt scope=register\n"
                        "parallel@1 mt\n"
                        "unroll@1 mi\n"
                        "vectorize@1 b3.i3 lanes=4\n"}});
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, source));
  EXPECT_THAT(built.tasks, Each(Field(&TaskReport::rejected, IsEmpty())));
  const auto reader = BundleReader::FromBytes(
      {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  bool in_place = false;
  for (const ModelStep& step : reader->manifest().steps) {
    const auto same = std::count(step.buffers.begin(), step.buffers.end(), step.buffers.back());
    in_place = in_place || same == 2;
  }
  EXPECT_TRUE(in_place);
  ExpectRunsLikeTheGraph(graph, built, 9);
}

// A builder over which some traces fail.
class PickyBuilder : public Builder {
 public:
  absl::StatusOr<CompileReply> Build(const CompileRequest& request) override {
    ASSIGN_OR_RETURN(CompileReply reply, SharedBuilder().Build(request));
    for (size_t i = 0; i < request.items.size(); ++i) {
      if (request.items[i].trace.empty()) continue;
      reply.results[i].outcome = Failure{.kind = FailureKind::kCrashed, .message = "cannot select"};
    }
    return reply;
  }
};

TEST(DriverTest, ScheduleThatDoesNotCompileIsPassedOver) {
  TracesByName source({{"conv+relu", ConvTrace("b4", "b3")}});
  PickyBuilder picky;
  const Graph graph = ResidualGraph();
  ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                       BuildModel(graph, source, picky, {.target = Host(2)}));
  EXPECT_THAT(built.tasks,
              Contains(AllOf(
                  Field(&TaskReport::name, "conv+relu"),
                  Field(&TaskReport::origin, ScheduleOrigin::kDefault),
                  Field(&TaskReport::rejected, ElementsAre(HasSubstr("crashed: cannot select"))))));
  ExpectRunsLikeTheGraph(graph, built, 10);
}

TEST(DriverTest, ManifestSaysWhatEachStepIs) {
  TracesByName source(
      {{"conv+relu", ConvTrace("b4", "b3")}, {"conv+add+relu", ConvTrace("b4", "b3")}});
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(ResidualGraph(), source));
  const auto reader = BundleReader::FromBytes(
      {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const BundleManifest& manifest = reader->manifest();
  EXPECT_EQ(manifest.model_name, "residual");
  EXPECT_EQ(manifest.thread_count, 2u);
  ASSERT_THAT(manifest.inputs, SizeIs(1));
  EXPECT_EQ(manifest.inputs[0].tensor.name, "x");
  EXPECT_EQ(manifest.outputs[0].tensor.name, "y");
  EXPECT_THAT(manifest.fills, Not(IsEmpty()));
  for (const ModelStep& step : manifest.steps) {
    EXPECT_THAT(step.workload_id, SizeIs(64));
    EXPECT_THAT(step.outputs, SizeIs(1));
    EXPECT_GT(step.moved_bytes, 0u);
  }
}

TEST(DriverTest, ModelAsText) {
  DefaultScheduleSource source;
  for (const char* form : {"ir", "schedule", "lowered", "c", "llvm", "asm"}) {
    EXPECT_THAT(EmitModel(ResidualGraph(), source, SharedBuilder(), {.target = Host(2)}, form),
                IsOkAndHolds(AllOf(HasSubstr("# conv"), HasSubstr("max_pool"))))
        << form;
  }
  EXPECT_THAT(EmitModel(ResidualGraph(), source, SharedBuilder(), {.target = Host(2)}, "c"),
              IsOkAndHolds(HasSubstr("i32 burnish_kernel_0(const KernelContext* context")));
  EXPECT_THAT(EmitModel(ResidualGraph(), source, SharedBuilder(), {.target = Host(2)}, "poem"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("poem")));
}

}  // namespace
}  // namespace burnish
