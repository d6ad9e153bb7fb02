#include "compiler/graph/split_phases_pass.h"

#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

struct Spec {
  Shape input;  // Spatial.
  Shape kernel, strides, pads, output_padding;
  bool bias = true;
  int64_t group = 1;
  Shape dilations = Shape(strides.size(), 1);
};

Graph GraphOf(const Spec& spec, bool channels_last) {
  Graph graph;
  Shape x = {2}, w = {4, 3};
  if (!channels_last) x.push_back(4);
  x.insert(x.end(), spec.input.begin(), spec.input.end());
  if (channels_last) x.push_back(4);
  w.insert(w.end(), spec.kernel.begin(), spec.kernel.end());
  std::vector<ValueId> inputs = {AddInput(graph, "x", {DType::kF32, x}),
                                 AddRandomConstant(graph, "w", w, 7)};
  if (spec.bias) inputs.push_back(AddRandomConstant(graph, "b", {3 * spec.group}, 8));
  graph.outputs = {Op(graph, "conv_transpose", inputs,
                      {{"strides", spec.strides},
                       {"dilations", spec.dilations},
                       {"pads", spec.pads},
                       {"output_padding", spec.output_padding},
                       {"group", spec.group},
                       {"channels_last", int64_t{channels_last}}})};
  return graph;
}

std::string Ops(const Graph& graph) {
  std::string ops;
  for (const GraphNode& node : graph.nodes)
    ops += (ops.empty() ? "" : " ") + std::string(OpName(node.op));
  return ops;
}

// What the pass leaves, which must compute the same in both layouts.
std::string Split(const Spec& spec) {
  std::string left;
  for (const bool channels_last : {false, true}) {
    const Graph before = GraphOf(spec, channels_last);
    Graph after = before;
    EXPECT_THAT(SplitPhases(after), IsOk());
    EXPECT_THAT(VerifyGraph(after), IsOk());
    EXPECT_EQ(Difference(before, after, 1e-6), "");
    EXPECT_TRUE(left.empty() || left == Ops(after)) << Ops(after);
    left = Ops(after);
  }
  return left;
}

TEST(SplitPhasesTest, AKernelAsLongAsTheStrideIsAProductAndAnInterleaving) {
  EXPECT_EQ(Split({{5, 4}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}}),
            "conv reshape transpose reshape");
  EXPECT_EQ(Split({{5, 4}, {2, 3}, {2, 3}, {0, 0, 0, 0}, {0, 0}, false}),
            "conv reshape transpose reshape");
}

TEST(SplitPhasesTest, LongerKernelsMeetSeveralElements) {
  constexpr char kCut[] = "conv reshape transpose reshape slice";
  EXPECT_EQ(Split({{5, 4}, {4, 4}, {2, 2}, {1, 1, 1, 1}, {0, 0}}), kCut);
  EXPECT_EQ(Split({{5, 4}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}}), kCut);
  EXPECT_EQ(Split({{5, 4}, {5, 7}, {3, 2}, {0, 3, 2, 1}, {2, 0}}), kCut);
  EXPECT_EQ(Split({{9}, {16}, {8}, {4, 4}, {0}}), kCut);
  EXPECT_EQ(Split({{3, 2, 3}, {3, 2, 4}, {2, 1, 2}, {1, 0, 1, 1, 0, 1}, {0, 0, 1}}), kCut);
}

TEST(SplitPhasesTest, OutputsThatNoTapReachesAreTheBias) {
  EXPECT_EQ(Split({{4, 3}, {1, 2}, {3, 2}, {0, 0, 0, 0}, {0, 1}}),
            "conv reshape transpose reshape slice");
  EXPECT_EQ(Split({{4}, {2}, {2}, {0, 0}, {1}}), "conv reshape transpose reshape slice");
}

TEST(SplitPhasesTest, PaddingThatCutsWholeElements) {
  EXPECT_EQ(Split({{6, 6}, {2, 2}, {2, 2}, {3, 2, 4, 1}, {0, 0}}),
            "conv reshape transpose reshape slice");
}

TEST(SplitPhasesTest, GroupsDilationsAndStrideOneStay) {
  EXPECT_EQ(Split({{5, 4}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, true, 2}), "conv_transpose");
  EXPECT_EQ(Split({{5, 4}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, true, 1, {2, 1}}),
            "conv_transpose");
  EXPECT_EQ(Split({{5, 4}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}}), "conv_transpose");
}

}  // namespace
}  // namespace burnish
