// Weights that products of several sizes read, as the head of a detector does: packed once where
// the cost model says that one schedule is nearly as good for all.
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/bundle_testing.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/target/target.h"
#include "gtest/gtest.h"
#include "proto/builder_client.h"
#include "proto/measurement.h"

namespace burnish {
namespace {

constexpr int64_t kDepth = 264, kWidth = 1024, kFew = 8, kMany = 64;
constexpr int64_t kBytes = kDepth * kWidth * 4;

std::string PackingTrace(bool few) {
  return absl::StrReplaceAll(
      "split@1 b2.i1->(op,oi) size=SIZE\n"
      "reorder@1 (op,b2.i0,b2.i2,oi)\n"
      "relayout@1 b1->Wp dims=(op,b2.i2,oi)\n"
      "precompute@1 Wp\n"
      "vectorize@1 oi lanes=8\n",
      {{"SIZE", few ? "16" : "32"}});
}

// Few rows want narrow panels, many want wide ones. By `slower` the wide ones lose on few rows;
// what may be lost is 5 % of 1,100 ns.
class PanelsByRows : public ScheduleSource {
 public:
  PanelsByRows(double slower, ScheduleOrigin origin) : slower_(slower), origin_(origin) {}

  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target&) override {
    if (task.name != "dense") return std::vector<KnownSchedule>();
    const bool few = IsFew(task);
    return std::vector<KnownSchedule>{{.trace = PackingTrace(few),
                                       .origin = origin_,
                                       .estimated_ns = few ? 100.0 : 1000.0,
                                       .numerics = {.kind = NumericsClass::kReassociated}}};
  }
  absl::StatusOr<double> Estimate(const ExtractedTask& task, const std::string& trace,
                                  const Target&) override {
    // The larger task is never asked to give way.
    EXPECT_TRUE(IsFew(task));
    EXPECT_EQ(trace, PackingTrace(false));
    return 100.0 * slower_;
  }

 private:
  static bool IsFew(const ExtractedTask& task) { return task.program.buffers[0].shape[0] == kFew; }
  const double slower_;
  const ScheduleOrigin origin_;
};

Graph TwoProducts(bool of_one_table) {
  Graph graph;
  graph.name = "levels";
  const ValueId few = AddInput(graph, "few", {DType::kF32, {kFew, kDepth}});
  const ValueId many = AddInput(graph, "many", {DType::kF32, {kMany, kDepth}});
  const ValueId table = AddRandomConstant(graph, "table", {kDepth, kWidth}, 1);
  const ValueId other =
      of_one_table ? table : AddRandomConstant(graph, "other", {kDepth, kWidth}, 2);
  graph.outputs = {Op(graph, "matmul", {few, table}), Op(graph, "matmul", {many, other})};
  graph.values[graph.outputs[0]].name = "y0";
  graph.values[graph.outputs[1]].name = "y1";
  return graph;
}

// Bytes of weights in the bundle, whose results are the interpreter's.
int64_t WeightBytes(const Graph& graph, double slower,
                    ScheduleOrigin origin = ScheduleOrigin::kDefault) {
  static BuilderClient& builder = *new BuilderClient();
  PanelsByRows source(slower, origin);
  const absl::StatusOr<BuiltModel> built =
      BuildModel(graph, source, builder, {.target = *HostTarget(HostCpuInfo(), 2)});
  EXPECT_THAT(built, IsOk());
  if (!built.ok()) return 0;
  const std::vector<TensorValue> inputs = RandomInputs(graph, 3);
  const absl::StatusOr<std::vector<TensorValue>> got = RunBundle(built->bundle, graph, inputs, 2);
  const absl::StatusOr<std::vector<TensorValue>> want = InterpretGraph(graph, inputs);
  EXPECT_THAT(got, IsOk());
  if (got.ok()) EXPECT_EQ(CompareOutputs(*want, *got, 1e-5), "");
  return built->weights_bytes;
}

TEST(SharePacksTest, ATaskTakesTheFormThatALargerOneReads) {
  EXPECT_EQ(WeightBytes(TwoProducts(true), /*slower=*/1.4), kBytes);
}

TEST(SharePacksTest, WhereThatIsSlowerEachHasItsOwn) {
  EXPECT_EQ(WeightBytes(TwoProducts(true), /*slower=*/1.6), 2 * kBytes);
}

TEST(SharePacksTest, WhatWasMeasuredStays) {
  EXPECT_EQ(WeightBytes(TwoProducts(true), /*slower=*/1.0, ScheduleOrigin::kTuned), 2 * kBytes);
}

TEST(SharePacksTest, OtherWeightsAreNobodysBusiness) {
  EXPECT_EQ(WeightBytes(TwoProducts(false), /*slower=*/1.0), 2 * kBytes);
}

}  // namespace
}  // namespace burnish
