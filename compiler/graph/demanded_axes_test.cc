#include "compiler/graph/demanded_axes.h"

#include <functional>
#include <string>
#include <vector>

#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;
const SizeTerm kB = SizeTerm::OfExtent(0), kS = SizeTerm::OfExtent(1);

// x [b of 4, s of 8, 6] and its sizes; the output is to be [b, s, ..].
struct Sized {
  Graph graph;
  ValueId x, b, s;
  Sized() {
    x = AddInput(graph, "x", {DType::kF32, {4, 8, 6}});
    b = AddInput(graph, "b", {DType::kI64, {}});
    s = AddInput(graph, "s", {DType::kI64, {}});
    graph.sizes = {{.name = "b", .least = 1, .greatest = 4},
                   {.name = "s", .least = 1, .greatest = 8}};
  }
  std::vector<DemandedParts> Demand(ValueId y) {
    graph.outputs = {y, b, s};
    graph.hidden_outputs = 2;
    graph.bounded_axes = {{.output = 0, .axis = 0, .extent = 1},
                          {.output = 0, .axis = 1, .extent = 2}};
    return DemandedAxes(graph);
  }
};
AxisParts Part(const SizeTerm& holds, int64_t bound) { return {{.holds = holds, .bound = bound}}; }
const DemandedParts kRows = {Part(kB, 4), Part(kS, 8), Part(SizeTerm(6), 6)};

TEST(DemandedAxesTest, RowsGoThroughWhatKeepsThem) {
  Sized sized;
  const ValueId e = Op(sized.graph, "exp", {sized.x});
  const ValueId flat = Op(sized.graph, "reshape", {e}, {{"shape", Shape{32, 6}}});
  const ValueId w = AddConstant(sized.graph, "w", {DType::kF32, {6, 5}},
                                FromDoubles(DType::kF32, std::vector<double>(30, 1)));
  const ValueId product = Op(sized.graph, "matmul", {flat, w});
  const ValueId y = Op(sized.graph, "reshape", {product}, {{"shape", Shape{4, 8, 5}}});
  const auto demand = sized.Demand(y);
  const DemandedParts merged = {{{kB, 4}, {kS, 8}}, Part(SizeTerm(5), 5)};
  EXPECT_EQ(demand[product], merged);
  EXPECT_EQ(demand[e], kRows);
  EXPECT_EQ(demand[sized.x], kRows);
  EXPECT_TRUE(demand[w].empty());
}

TEST(DemandedAxesTest, WhatAReductionReadsIsAllOfIt) {
  Sized sized;
  const ValueId e = Op(sized.graph, "exp", {sized.x});
  const ValueId turned = Op(sized.graph, "transpose", {e}, {{"perm", Shape{0, 2, 1}}});
  const ValueId scores = Op(sized.graph, "matmul", {e, turned});
  const ValueId shares = Op(sized.graph, "softmax", {scores}, {{"axis", int64_t{-1}}});
  const auto demand = sized.Demand(shares);
  EXPECT_EQ(demand[scores][1], Part(kS, 8));
  EXPECT_EQ(demand[scores][2], Part(SizeTerm(8), 8));
  EXPECT_EQ(demand[turned][0], Part(kB, 4));
  // As rows of one operand and as columns of the other.
  EXPECT_EQ(demand[e][0], Part(kB, 4));
  EXPECT_EQ(demand[e][1], Part(SizeTerm(8), 8));
}

// What a mask leaves out, nobody reads, also where a reduction reads all of the result.
TEST(DemandedAxesTest, MasksOfPositionsReadWhatIsBelow) {
  Sized sized;
  const ValueId e = Op(sized.graph, "exp", {sized.x});
  const ValueId position = AddConstant(sized.graph, "position", {DType::kI64, {8, 1}},
                                       FromInts(DType::kI64, {0, 1, 2, 3, 4, 5, 6, 7}));
  const ValueId other = AddConstant(sized.graph, "other", {DType::kI64, {8, 1}},
                                    FromInts(DType::kI64, {0, 1, 2, 3, 4, 5, 7, 6}));
  const ValueId zero =
      AddConstant(sized.graph, "zero", {DType::kF32, {}}, FromDoubles(DType::kF32, {0}));
  const auto total = [&](ValueId positions, bool is_first) {
    Sized copy = sized;
    const ValueId holds = Op(copy.graph, "less", {positions, sized.s});
    const ValueId masked = is_first ? Op(copy.graph, "where", {holds, e, zero})
                                    : Op(copy.graph, "where", {holds, zero, e});
    const ValueId sum =
        Op(copy.graph, "reduce_sum", {masked}, {{"axes", Shape{1}}, {"keepdims", int64_t{1}}});
    const ValueId wide = Op(copy.graph, "expand", {sum}, {{"shape", Shape{4, 8, 6}}});
    return copy.Demand(wide)[e][1];
  };
  EXPECT_EQ(total(position, true), Part(kS, 8));
  EXPECT_EQ(total(position, false), Part(SizeTerm(8), 8));
  EXPECT_EQ(total(other, true), Part(SizeTerm(8), 8));
}

TEST(DemandedAxesTest, IndicesAndDivisorsHoldEverywhere) {
  Sized sized;
  const ValueId ids = AddInput(sized.graph, "ids", {DType::kI64, {4, 8}});
  sized.graph.inputs = {sized.x, ids, sized.b, sized.s};
  const ValueId same = Op(sized.graph, "add", {ids, ids});
  const ValueId table = AddConstant(sized.graph, "table", {DType::kF32, {9, 3}},
                                    FromDoubles(DType::kF32, std::vector<double>(27, 1)));
  const ValueId rows = Op(sized.graph, "gather", {table, same}, {{"axis", int64_t{0}}});
  const auto demand = sized.Demand(rows);
  EXPECT_EQ(demand[rows][1], Part(kS, 8));
  EXPECT_TRUE(demand[same].empty());
  Sized other;
  const ValueId n = Op(other.graph, "cast", {other.x}, {{"to", std::string("i64")}});
  const ValueId two = Op(other.graph, "add", {n, n});
  const auto of_quotient = other.Demand(Op(other.graph, "div", {two, n}));
  EXPECT_FALSE(of_quotient[two].empty());
  EXPECT_TRUE(of_quotient[n].empty());
}

TEST(DemandedAxesTest, TheFirstElementIsThereInEveryRun) {
  for (const int64_t least : {0, 1}) {
    Sized sized;
    sized.graph.sizes[1].least = least;
    const ValueId e = Op(sized.graph, "exp", {sized.x});
    const ValueId zero =
        AddConstant(sized.graph, "zero", {DType::kI64, {1}}, FromInts(DType::kI64, {0}));
    const ValueId first = Op(sized.graph, "gather", {e, zero}, {{"axis", int64_t{1}}});
    const auto demand = sized.Demand(Op(sized.graph, "sub", {e, first}));
    EXPECT_EQ(demand[e][0], Part(kB, 4));
    EXPECT_EQ(demand[e][1], Part(least == 1 ? kS : SizeTerm(8), 8));
  }
}

TEST(DemandedAxesTest, ReadersThatDisagreeWantAll) {
  Sized sized;
  const ValueId e = Op(sized.graph, "exp", {sized.x});
  const ValueId top =
      Op(sized.graph, "reduce_max", {e}, {{"axes", Shape{0}}, {"keepdims", int64_t{1}}});
  const auto demand = sized.Demand(Op(sized.graph, "sub", {e, top}));
  EXPECT_EQ(demand[e][0], Part(SizeTerm(4), 4));
  EXPECT_EQ(demand[e][1], Part(kS, 8));
  Sized host;
  const ValueId x = Op(host.graph, "exp", {host.x});
  const ValueId sums = Op(host.graph, "cum_sum", {x}, {{"axis", int64_t{0}}});
  EXPECT_TRUE(host.Demand(sums)[x].empty());
}

// y = exp(all), where `all` stacks tanh(state * w + row) of the first s rows of e = exp(x).
struct Looped {
  Graph graph;
  ValueId s, b, e, row, state, next, y;
  ControlReads control;
  explicit Looped(bool mixes_rows) {
    const ValueId x = AddInput(graph, "x", {DType::kF32, {8, 4, 6}});
    const ValueId start = AddInput(graph, "start", {DType::kF32, {4, 6}});
    // What the loop gives and takes no node writes.
    row = AddInput(graph, "row", {DType::kF32, {4, 6}});
    state = AddInput(graph, "state", {DType::kF32, {4, 6}});
    const ValueId all = AddInput(graph, "all", {DType::kF32, {8, 4, 6}});
    s = AddInput(graph, "s", {DType::kI64, {}});
    b = AddInput(graph, "b", {DType::kI64, {}});
    graph.sizes = {{.name = "b", .least = 1, .greatest = 4},
                   {.name = "s", .least = 1, .greatest = 8}};
    std::swap(graph.inputs[5], graph.inputs[6]);
    e = Op(graph, "exp", {x});
    const ValueId w = AddConstant(graph, "w", {DType::kF32, {6, 6}},
                                  FromDoubles(DType::kF32, std::vector<double>(36, 1)));
    ValueId product = Op(graph, "matmul", {state, w});
    if (mixes_rows) {
      const ValueId top =
          Op(graph, "reduce_max", {product}, {{"axes", Shape{0}}, {"keepdims", int64_t{1}}});
      product = Op(graph, "sub", {product, top});
    }
    next = Op(graph, "tanh", {Op(graph, "add", {product, row})});
    y = Op(graph, "exp", {all});
    using As = HandedOn::As;
    control.handed_on = {{.from = start, .to = state},
                         {.from = next, .to = state},
                         {.from = e, .to = row, .as = As::kRow, .count = s},
                         {.from = next, .to = all, .as = As::kRows}};
    control.whole = {s};
    graph.outputs = {y, b, s};
    graph.hidden_outputs = 2;
    graph.bounded_axes = {{.output = 0, .axis = 0, .extent = 2},
                          {.output = 0, .axis = 1, .extent = 1}};
  }
};

TEST(DemandedAxesTest, LoopsReadWhatTheirIterationsDo) {
  const Looped looped(/*mixes_rows=*/false);
  const auto demand = DemandedAxes(looped.graph, &looped.control);
  const DemandedParts rows = {Part(kB, 4), Part(SizeTerm(6), 6)};
  EXPECT_EQ(demand[looped.next], rows);
  EXPECT_EQ(demand[looped.state], rows);
  EXPECT_EQ(demand[looped.row], rows);
  const DemandedParts all = {Part(kS, 8), Part(kB, 4), Part(SizeTerm(6), 6)};
  EXPECT_EQ(demand[looped.e], all);
}

// The next iteration reads all rows of what the last one leaves, though outputs show some.
TEST(DemandedAxesTest, WhatTheNextIterationReadsIsRead) {
  const Looped looped(/*mixes_rows=*/true);
  const auto demand = DemandedAxes(looped.graph, &looped.control);
  EXPECT_TRUE(demand[looped.next].empty());
  EXPECT_TRUE(demand[looped.state].empty());
  EXPECT_TRUE(demand[looped.row].empty());
  const DemandedParts all = {Part(kS, 8), Part(SizeTerm(4), 4), Part(SizeTerm(6), 6)};
  EXPECT_EQ(demand[looped.e], all);
}

int64_t ValueOf(const SizeTerm& term, int64_t b, int64_t s) {
  int64_t sum = 0;
  for (const auto& [extents, factor] : term.products()) {
    int64_t product = factor;
    for (const ValueId extent : extents) product *= extent == 0 ? b : s;
    sum += product;
  }
  return sum;
}

// Two convolutions behind one another: what outputs show is a quotient of a quotient.
TEST(DemandedAxesTest, WindowsReadAsFarAsTheLastOneGoes) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {4, 3, 40}});
  const ValueId b = AddInput(graph, "b", {DType::kI64, {}});
  const ValueId s = AddInput(graph, "s", {DType::kI64, {}});
  graph.sizes = {{.name = "b", .least = 1, .greatest = 4},
                 {.name = "s", .least = 10, .greatest = 40}};
  const auto number = [&](int64_t value) {
    return AddConstant(graph, "n", {DType::kI64, {}}, FromInts(DType::kI64, {value}));
  };
  const ValueId e = Op(graph, "exp", {x});
  const ValueId one =
      Op(graph, "conv", {e, AddRandomConstant(graph, "u", {3, 3, 4}, 1)}, {{"strides", Shape{3}}});
  const ValueId two = Op(graph, "conv", {one, AddRandomConstant(graph, "v", {3, 3, 3}, 2)},
                         {{"strides", Shape{2}}, {"pads", Shape{1, 1}}});
  // (s - 4) / 3 + 1, and (that - 1) / 2 + 1.
  const ValueId first = Op(
      graph, "add", {Op(graph, "div", {Op(graph, "sub", {s, number(4)}), number(3)}), number(1)});
  const ValueId second =
      Op(graph, "add",
         {Op(graph, "div", {Op(graph, "sub", {first, number(1)}), number(2)}), number(1)});
  graph.outputs = {two, b, second};
  graph.hidden_outputs = 2;
  graph.bounded_axes = {{.output = 0, .axis = 0, .extent = 1},
                        {.output = 0, .axis = 2, .extent = 2}};
  const auto demand = DemandedAxes(graph);
  for (int64_t size = 10; size <= 40; ++size) {
    const int64_t firsts = (size - 4) / 3 + 1, seconds = (firsts - 1) / 2 + 1;
    const auto expect = [&](ValueId value, int64_t want, int64_t slack) {
      ASSERT_EQ(demand[value].size(), 3u);
      EXPECT_EQ(demand[value][0], Part(kB, 4));
      const AxisPart& part = demand[value][2][0];
      const int64_t got = ValueOf(part.holds, 2, size);
      EXPECT_GE(got, want * part.divisor) << value << " of " << size;
      EXPECT_LE(got, (want + slack) * part.divisor) << value << " of " << size;
    };
    expect(two, seconds, 1);
    expect(one, std::min(2 * seconds, firsts), 3);
    expect(e, 3 * (std::min(2 * seconds, firsts) - 1) + 4, 9);
  }
}

// Of a gather's data what its indices are cut at, and of them all none is negative.
TEST(DemandedAxesTest, IndicesReadAsFarAsTheyAreCut) {
  Sized sized;
  const ValueId e = Op(sized.graph, "exp", {sized.x});
  const auto number = [&](const char* name, int64_t value) {
    return AddConstant(sized.graph, name, {DType::kI64, {}}, FromInts(DType::kI64, {value}));
  };
  const ValueId positions = AddConstant(sized.graph, "positions", {DType::kI64, {6}},
                                        FromInts(DType::kI64, {0, 1, 2, 3, 4, 5}));
  const ValueId zero = number("zero", 0), one = number("one", 1), outside = number("outside", 8),
                seven = number("seven", 7);
  const auto demand = [&](const std::function<ValueId(Graph&)>& indices) {
    Sized copy = sized;
    const ValueId rows = Op(copy.graph, "gather", {e, indices(copy.graph)}, {{"axis", int64_t{1}}});
    return copy.Demand(Op(copy.graph, "reduce_sum", {rows}, {{"axes", Shape{1, 2}}}))[e];
  };
  const auto cut = [&](Graph& graph, ValueId x) {
    return Op(graph, "min", {x, Op(graph, "sub", {sized.s, one})});
  };
  const auto behind = [&](Graph& graph) { return Op(graph, "sub", {positions, sized.b}); };
  EXPECT_EQ(demand([&](Graph& graph) { return cut(graph, positions); })[1], Part(kS, 8));
  EXPECT_EQ(
      demand([&](Graph& graph) { return Op(graph, "max", {cut(graph, behind(graph)), zero}); })[1],
      Part(kS, 8));
  // Counted from the bound's end.
  EXPECT_EQ(demand([&](Graph& graph) { return cut(graph, behind(graph)); })[1],
            Part(SizeTerm(8), 8));
  // Cut at nothing.
  EXPECT_EQ(demand([&](Graph& graph) { return Op(graph, "max", {behind(graph), zero}); })[1],
            Part(SizeTerm(8), 8));
  // As an importer checks an index: what is outside is refused by the kernel.
  const auto checked = [&](Graph& graph, ValueId other) {
    const ValueId index = behind(graph);
    const ValueId is_inside = Op(graph, "less", {index, sized.s});
    const ValueId inside = Op(graph, "where", {is_inside, index, other});
    return Op(graph, "where", {Op(graph, "less", {inside, zero}), other, inside});
  };
  EXPECT_EQ(demand([&](Graph& graph) { return checked(graph, outside); })[1], Part(kS, 8));
  EXPECT_EQ(demand([&](Graph& graph) { return checked(graph, seven); })[1], Part(SizeTerm(8), 8));
}

}  // namespace
}  // namespace burnish
