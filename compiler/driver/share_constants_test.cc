// A table that is looked up by row and multiplied by, as language models have: in the bundle once.
#include <string>
#include <vector>

#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/bundle_testing.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/constant.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/target/target.h"
#include "gtest/gtest.h"
#include "proto/builder_client.h"
#include "proto/measurement.h"

namespace burnish {
namespace {

// 4,099: a prime, so that no tile divides it.
constexpr int64_t kWords = 4099, kWidth = 264, kTokens = 8;
constexpr int64_t kTableBytes = kWords * kWidth * 4;

constexpr char kPackingTrace[] =
    "split@1 b2.i1->(op,oi) size=32\n"
    "reorder@1 (op,b2.i0,b2.i2,oi)\n"
    "relayout@1 b1->Wp dims=(op,b2.i2,oi)\n"
    "precompute@1 Wp\n"
    "vectorize@1 oi lanes=8\n";

class PackedDense : public ScheduleSource {
 public:
  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target&) override {
    std::vector<KnownSchedule> found;
    if (task.name == "dense") {
      found.push_back({.trace = kPackingTrace,
                       .origin = ScheduleOrigin::kTuned,
                       .numerics = {.kind = NumericsClass::kReassociated}});
    }
    return found;
  }
};

absl::StatusOr<BuiltModel> Build(const Graph& graph) {
  static BuilderClient& builder = *new BuilderClient();
  PackedDense source;
  return BuildModel(graph, source, builder, {.target = *HostTarget(HostCpuInfo(), 2)});
}

enum class Tie { kByNode, kByFoldedTranspose, kNone };

// table[words] * table', over the one table, over its transpose as exporters fold it, or over
// another one of the same size.
Graph Tied(Tie tie, int64_t looked_up_from = 0) {
  Graph graph;
  graph.name = "tied";
  const TensorType type = {DType::kF32, {kWords, kWidth}};
  const ValueId words = AddInput(graph, "words", {DType::kI64, {kTokens}});
  const ValueId table = AddRandomConstant(graph, "table", type.shape, 1);
  ValueId turned = -1;
  if (tie == Tie::kByNode) {
    turned = Op(graph, "transpose", {table}, {{"perm", std::vector<int64_t>{1, 0}}});
  } else {
    std::vector<float> bytes = CopyAs<float>(*graph.value(table).data);
    // Of a row that no test looks up: the tables differ, the outputs do not.
    if (tie == Tie::kNone) bytes[looked_up_from * kWidth] += 1;
    turned = AddConstant(graph, "turned", {DType::kF32, {kWidth, kWords}},
                         TransposeConstant(type, *graph.value(table).data, {1, 0}));
    if (tie == Tie::kNone) graph.values[table].data = MakeConstant(std::move(bytes));
  }
  const ValueId rows = Op(graph, "gather", {table, words}, {{"axis", int64_t{0}}});
  graph.outputs = {Op(graph, "matmul", {Op(graph, "relu", {rows}), turned})};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}

std::vector<TensorValue> Words() {
  return {
      {.dtype = DType::kI64, .shape = {kTokens}, .integers = {0, 1, 31, 32, 4098, -1, 2048, 77}}};
}

TEST(ShareConstantsTest, ATableThatIsLookedUpAndMultipliedByLiesInTheBundleOnce) {
  const Graph untied = Tied(Tie::kNone, /*looked_up_from=*/100);
  ASSERT_OK_AND_ASSIGN(const BuiltModel twice, Build(untied));
  EXPECT_GE(twice.weights_bytes, 2 * kTableBytes);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> of_two,
                       RunBundle(twice.bundle, untied, Words(), 2));
  for (const Tie tie : {Tie::kByNode, Tie::kByFoldedTranspose}) {
    const Graph graph = Tied(tie);
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph));
    EXPECT_GE(built.weights_bytes, kTableBytes);
    EXPECT_LE(built.weights_bytes, kTableBytes + kTableBytes / 50);
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                         RunBundle(built.bundle, graph, Words(), 2));
    EXPECT_EQ(got[0].floats, of_two[0].floats);
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, Words()));
    EXPECT_EQ(CompareOutputs(want, got, 1e-5), "");
  }
}

// Every row is read: from the packed form that would take longer than the product saves.
TEST(ShareConstantsTest, AReaderOfTheWholeTableKeepsItsOwnForm) {
  Graph graph = Tied(Tie::kByNode);
  const ValueId table = 1;
  ASSERT_EQ(graph.value(table).name, "table");
  const ValueId shift = AddInput(graph, "shift", {DType::kF32, {kWords, kWidth}});
  graph.outputs.push_back(Op(graph, "add", {shift, table}));
  graph.values[graph.outputs[1]].name = "shifted";
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph));
  EXPECT_GE(built.weights_bytes, 2 * kTableBytes);
}

}  // namespace
}  // namespace burnish
