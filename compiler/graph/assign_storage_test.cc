#include "compiler/graph/assign_storage.h"

#include <cmath>

#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Shape = std::vector<int64_t>;

// Values [1, 6, 6, 4] with channels last, each made by an exp of the input.
struct Images {
  Graph graph;
  ValueId x;
  Images() { x = AddInput(graph, "x", {DType::kF32, {1, 6, 6, 4}}); }
  ValueId Made() { return Op(graph, "exp", {x}); }
  ValueId Conv(ValueId v, int64_t kernel, Shape pads, int64_t stride = 1) {
    const int64_t channels = graph.value(v).type.shape[3];
    const ValueId w = AddRandomConstant(graph, "w", {4, channels, kernel, kernel}, 1);
    return Op(graph, "conv", {v, w},
              {{"pads", std::move(pads)},
               {"strides", Shape{stride, stride}},
               {"channels_last", int64_t{1}}});
  }
  ValueId MaxPool(ValueId v, Shape pads) {
    return Op(graph, "max_pool", {v},
              {{"kernel_shape", Shape{3, 3}},
               {"pads", std::move(pads)},
               {"strides", Shape{1, 1}},
               {"channels_last", int64_t{1}}});
  }
  StorageAssignment Assign(const StorageOptions& options = {}) {
    return AssignStorage(graph, Fuse(graph, {.consumers = false, .producers = false}), options);
  }
};

TEST(AssignStorageTest, TheWidestReaderSetsTheBorder) {
  Images m;
  const ValueId y = m.Made();
  m.graph.outputs = {m.Conv(y, 3, {1, 1, 1, 1}), m.Conv(y, 5, {2, 2, 2, 2})};
  const Storage storage = m.Assign().places[y].storage;
  EXPECT_THAT(storage.border, ElementsAre(Pair(0, 0), Pair(2, 2), Pair(2, 2), Pair(0, 0)));
  EXPECT_EQ(storage.border_value, 0);
  EXPECT_THAT(storage.strides, ElementsAre(400, 40, 4, 1));
  EXPECT_EQ(storage.offset, 2 * 40 + 2 * 4);
  EXPECT_TRUE(m.Assign({.borders = false}).places[y].storage.border.empty());
}

// With stride 2 the last window ends before the lower pad begins.
TEST(AssignStorageTest, PadsThatNoWindowReachesAreNotThere) {
  Images m;
  const ValueId y = m.Made();
  m.graph.outputs = {m.Conv(y, 3, {1, 1, 1, 1}, /*stride=*/2)};
  EXPECT_THAT(m.Assign().places[y].storage.border,
              ElementsAre(Pair(0, 0), Pair(1, 0), Pair(1, 0), Pair(0, 0)));
}

TEST(AssignStorageTest, MaxPoolsWantMinusInfinity) {
  Images m;
  const ValueId y = m.Made();
  m.graph.outputs = {m.MaxPool(y, {1, 1, 1, 1})};
  EXPECT_EQ(m.Assign().places[y].storage.border_value, -INFINITY);
}

TEST(AssignStorageTest, WhereReadersDisagreeZeroWins) {
  Images m;
  const ValueId y = m.Made();
  m.graph.outputs = {m.MaxPool(y, {1, 1, 1, 1}), m.Conv(y, 3, {1, 0, 1, 0})};
  const Storage storage = m.Assign().places[y].storage;
  EXPECT_EQ(storage.border_value, 0);
  EXPECT_THAT(storage.border, ElementsAre(Pair(0, 0), Pair(1, 1), Pair(0, 0), Pair(0, 0)));
}

TEST(AssignStorageTest, TheModelsInterfaceIsDense) {
  Images m;
  const ValueId y = m.Made();
  m.graph.outputs = {m.Conv(m.x, 3, {1, 1, 1, 1}), m.Conv(y, 3, {1, 1, 1, 1}), y};
  const StorageAssignment storage = m.Assign();
  EXPECT_TRUE(storage.places[m.x].storage.border.empty());
  EXPECT_TRUE(storage.places[y].storage.border.empty());
}

TEST(AssignStorageTest, PartsOfAConcatLieInItsBuffer) {
  Images m;
  const ValueId a = m.Made();
  const ValueId b = Op(m.graph, "relu", {m.x});
  const ValueId ab = Op(m.graph, "concat", {a, b}, {{"axis", int64_t{3}}});
  const ValueId c = Op(m.graph, "tanh", {m.x});
  const ValueId abc = Op(m.graph, "concat", {ab, c}, {{"axis", int64_t{3}}});
  m.graph.outputs = {m.Conv(ab, 1, {0, 0, 0, 0}), m.Conv(abc, 3, {1, 1, 1, 1})};
  const StorageAssignment storage = m.Assign();
  const Storage& root = storage.places[abc].storage;
  EXPECT_THAT(root.strides, ElementsAre(8 * 8 * 12, 8 * 12, 12, 1));
  for (const auto& [value, channel] :
       {std::pair(a, 0), std::pair(b, 4), std::pair(ab, 0), std::pair(c, 8), std::pair(abc, 0)}) {
    EXPECT_EQ(storage.places[value].allocation, abc);
    EXPECT_EQ(storage.places[value].storage.strides, root.strides);
    EXPECT_EQ(storage.places[value].storage.offset, root.offset + channel);
    EXPECT_EQ(storage.places[value].storage.border, root.border);
  }
  const Fusion fusion = Fuse(m.graph, {.consumers = false, .producers = false});
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    EXPECT_EQ(storage.copy_free[g], m.graph.nodes[fusion.groups[g].nodes[0]].op == "concat");
  }
}

TEST(AssignStorageTest, AConcatOfAnInputOrOfOneValueTwiceIsCopied) {
  Images m;
  const ValueId a = m.Made();
  const ValueId twice = Op(m.graph, "concat", {a, a}, {{"axis", int64_t{3}}});
  const ValueId input =
      Op(m.graph, "concat", {m.x, Op(m.graph, "relu", {m.x})}, {{"axis", int64_t{3}}});
  m.graph.outputs = {m.Conv(twice, 1, {0, 0, 0, 0}), m.Conv(input, 1, {0, 0, 0, 0})};
  const StorageAssignment storage = m.Assign();
  EXPECT_EQ(storage.places[a].allocation, a);
  for (bool free : storage.copy_free) EXPECT_FALSE(free);
}

TEST(AssignStorageTest, PartsHaveTheWholesBorderButAmongNeighbours) {
  Images m;
  const ValueId a = m.Made();
  const ValueId b = Op(m.graph, "relu", {m.x});
  const ValueId tall = Op(m.graph, "concat", {a, b}, {{"axis", int64_t{1}}});
  m.graph.outputs = {m.Conv(tall, 3, {1, 1, 1, 1})};
  const StorageAssignment storage = m.Assign();
  const Storage& root = storage.places[tall].storage;
  EXPECT_THAT(root.border, ElementsAre(Pair(0, 0), Pair(1, 1), Pair(1, 1), Pair(0, 0)));
  for (const auto& [part, row] : {std::pair(a, 0), std::pair(b, 6)}) {
    const ValuePlace& place = storage.places[part];
    EXPECT_EQ(place.allocation, tall);
    EXPECT_EQ(place.storage.strides, root.strides);
    EXPECT_EQ(place.storage.offset, root.offset + row * root.strides[1]);
    EXPECT_THAT(place.storage.border, ElementsAre(Pair(0, 0), Pair(0, 0), Pair(1, 1), Pair(0, 0)));
  }
}

// The reader of `a` has to copy it. What it asked for is of no use to others.
TEST(AssignStorageTest, ABorderAmongNeighboursIsNotThere) {
  Images m;
  const ValueId a = m.Made();
  const ValueId b = Op(m.graph, "relu", {m.x});
  const ValueId tall = Op(m.graph, "concat", {a, b}, {{"axis", int64_t{1}}});
  m.graph.outputs = {m.Conv(a, 3, {1, 1, 1, 1}), m.Conv(tall, 1, {0, 0, 0, 0})};
  const StorageAssignment storage = m.Assign();
  EXPECT_EQ(storage.places[a].allocation, tall);
  EXPECT_TRUE(storage.places[a].storage.border.empty());
  EXPECT_TRUE(storage.places[tall].storage.border.empty());
}

TEST(AssignStorageTest, ConcatsAlongTwoAxesAreNested) {
  Images m;
  const ValueId a = m.Made();
  const ValueId b = Op(m.graph, "relu", {m.x});
  const ValueId tall = Op(m.graph, "concat", {a, b}, {{"axis", int64_t{1}}});
  const ValueId c =
      Op(m.graph, "relu", {Op(m.graph, "concat", {m.x, m.x}, {{"axis", int64_t{1}}})});
  const ValueId wide = Op(m.graph, "concat", {c, tall}, {{"axis", int64_t{3}}});
  m.graph.outputs = {m.Conv(wide, 3, {1, 1, 1, 1}), m.Conv(b, 3, {0, 1, 0, 1})};
  const StorageAssignment storage = m.Assign();
  const Storage& root = storage.places[wide].storage;
  EXPECT_THAT(root.strides, ElementsAre(14 * 8 * 8, 8 * 8, 8, 1));
  EXPECT_EQ(storage.places[tall].allocation, wide);
  EXPECT_EQ(storage.places[tall].storage.border, root.border);
  EXPECT_EQ(storage.places[b].allocation, wide);
  EXPECT_EQ(storage.places[b].storage.strides, root.strides);
  EXPECT_EQ(storage.places[b].storage.offset, root.offset + 4 + 6 * 64);
  EXPECT_THAT(storage.places[b].storage.border,
              ElementsAre(Pair(0, 0), Pair(0, 0), Pair(1, 1), Pair(0, 0)));
}

// In the caller's memory, which has no borders.
TEST(AssignStorageTest, PartsOfAnOutputLieInIt) {
  Images m;
  const ValueId a = m.Made();
  const ValueId b = Op(m.graph, "relu", {m.x});
  const ValueId ab = Op(m.graph, "concat", {a, b}, {{"axis", int64_t{3}}});
  m.graph.outputs = {ab, m.Conv(a, 3, {1, 1, 1, 1})};
  const StorageAssignment storage = m.Assign();
  EXPECT_TRUE(storage.places[ab].storage.border.empty());
  for (const auto& [part, channel] : {std::pair(a, 0), std::pair(b, 4)}) {
    EXPECT_EQ(storage.places[part].allocation, ab);
    EXPECT_EQ(storage.places[part].storage.offset, channel);
    EXPECT_TRUE(storage.places[part].storage.border.empty());
  }
}

TEST(AssignStorageTest, ReshapesShareMemoryUnlessABorderStandsBetween) {
  Images m;
  const ValueId a = m.Made();
  const ValueId b = m.Made();
  const ValueId flat_a = Op(m.graph, "reshape", {a}, {{"shape", Shape{36, 4}}});
  const ValueId flat_b = Op(m.graph, "reshape", {b}, {{"shape", Shape{36, 4}}});
  m.graph.outputs = {Op(m.graph, "add", {flat_a, flat_b}), m.Conv(b, 3, {1, 1, 1, 1})};
  const StorageAssignment storage = m.Assign();
  EXPECT_EQ(storage.places[flat_a].allocation, a);
  EXPECT_THAT(storage.places[flat_a].storage.strides, ElementsAre(4, 1));
  EXPECT_EQ(storage.places[flat_b].allocation, flat_b);
}

// At the model's edges a reshape is another view of the caller's memory.
TEST(AssignStorageTest, ReshapesOfInputsAndIntoOutputsAreFree) {
  Images m;
  const ValueId rows = Op(m.graph, "reshape", {m.x}, {{"shape", Shape{36, 4}}});
  const ValueId made = Op(m.graph, "tanh", {rows});
  const ValueId read_twice = Op(m.graph, "exp", {rows});
  const ValueId flat = Op(m.graph, "reshape", {made}, {{"shape", Shape{144}}});
  // Nobody writes what the caller gives: such an output is a copy.
  const ValueId copied = Op(m.graph, "reshape", {m.x}, {{"shape", Shape{144}}});
  m.graph.outputs = {flat, copied, Op(m.graph, "add", {read_twice, made})};
  const StorageAssignment storage = m.Assign();
  EXPECT_EQ(storage.places[rows].allocation, m.x);
  EXPECT_THAT(storage.places[rows].storage.strides, ElementsAre(4, 1));
  EXPECT_EQ(storage.places[made].allocation, flat);
  EXPECT_EQ(storage.places[read_twice].allocation, read_twice);
  EXPECT_EQ(storage.places[copied].allocation, copied);
  const Fusion fusion = Fuse(m.graph, {.consumers = false, .producers = false});
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    const GraphNode& node = m.graph.nodes[fusion.groups[g].nodes[0]];
    EXPECT_EQ(storage.copy_free[g], node.op == "reshape" && node.outputs[0] != copied);
  }
}

// From the image to rows, as detectors do before they join what they found at several scales.
TEST(AssignStorageTest, AReshapeIntoAContiguousPartOfAConcatIsFree) {
  Images m;
  const ValueId a = m.Made();
  const ValueId b = Op(m.graph, "relu", {m.x});
  const auto rows = [&](ValueId v) {
    const ValueId flat = Op(m.graph, "reshape", {v}, {{"shape", Shape{36, 4}}});
    return Op(m.graph, "reshape", {flat}, {{"shape", Shape{1, 36, 4}}});
  };
  const ValueId rows_a = rows(a);
  const ValueId rows_b = rows(b);
  const ValueId both = Op(m.graph, "concat", {rows_a, rows_b}, {{"axis", int64_t{1}}});
  const ValueId row_a = Op(m.graph, "reshape", {a}, {{"shape", Shape{144}}});
  m.graph.outputs = {both, Op(m.graph, "tanh", {row_a})};
  const StorageAssignment storage = m.Assign();
  EXPECT_EQ(storage.places[a].allocation, both);
  EXPECT_EQ(storage.places[row_a].allocation, both);
  EXPECT_EQ(storage.places[b].allocation, both);
  EXPECT_EQ(storage.places[b].storage.offset, 144);
  EXPECT_THAT(storage.places[b].storage.strides, ElementsAre(144, 24, 4, 1));
  const Fusion fusion = Fuse(m.graph, {.consumers = false, .producers = false});
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    const OpId op = m.graph.nodes[fusion.groups[g].nodes[0]].op;
    EXPECT_EQ(storage.copy_free[g], op == "concat" || op == "reshape");
  }
}

TEST(AssignStorageTest, AReshapeIntoAPartWithGapsOrOfAValueWithABorderIsCopied) {
  Images m;
  const ValueId a = m.Made();
  const ValueId b = m.Made();
  const ValueId c = m.Made();
  const auto flat = [&](ValueId v) {
    return Op(m.graph, "reshape", {v}, {{"shape", Shape{36, 4}}});
  };
  const ValueId wide = Op(m.graph, "concat", {flat(a), flat(b)}, {{"axis", int64_t{1}}});
  const ValueId tall = Op(m.graph, "concat", {flat(b), flat(c)}, {{"axis", int64_t{0}}});
  m.graph.outputs = {Op(m.graph, "tanh", {wide}), Op(m.graph, "tanh", {tall}),
                     m.Conv(c, 3, {1, 1, 1, 1})};
  const StorageAssignment storage = m.Assign();
  EXPECT_EQ(storage.places[a].allocation, a);
  EXPECT_EQ(storage.places[b].allocation, tall);
  EXPECT_EQ(storage.places[c].allocation, c);
}

}  // namespace
}  // namespace burnish
