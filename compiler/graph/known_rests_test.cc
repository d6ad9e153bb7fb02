#include "compiler/graph/known_rests.h"

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Shape = std::vector<int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const SizeTerm kPast = SizeTerm::OfExtent(0), kSeq = SizeTerm::OfExtent(1);

MATCHER_P3(RestIs, axis, value, holds, "") {
  return arg.axis == axis && arg.value == value && arg.holds.holds == holds &&
         arg.holds.divisor == 1;
}

// Scores [2, 3, 8] of keys that hold as far as `past` of 5 and `seq` of 3.
struct Sized {
  Graph graph;
  ValueId scores, past, seq;
  Sized() {
    scores = AddInput(graph, "scores", {DType::kF32, {2, 3, 8}});
    past = AddInput(graph, "past", {DType::kI64, {}});
    seq = AddInput(graph, "seq", {DType::kI64, {}});
    graph.sizes = {{.name = "past", .least = 1, .greatest = 5},
                   {.name = "seq", .least = 1, .greatest = 3}};
  }
  ValueId Number(double value) {
    return AddConstant(graph, "number", {DType::kF32, {}}, FromDoubles(DType::kF32, {value}));
  }
  // position < holds, in `shape`, of which one axis is long.
  ValueId Mask(ValueId holds, const Shape& shape) {
    std::vector<int64_t> numbers(static_cast<size_t>(ElementCount(shape)));
    std::iota(numbers.begin(), numbers.end(), 0);
    const ValueId positions =
        AddConstant(graph, "positions", {DType::kI64, shape}, MakeConstant(std::move(numbers)));
    return Op(graph, "less", {positions, holds});
  }
  auto Of(ValueId value) {
    graph.outputs = {value, past, seq};
    graph.hidden_outputs = 2;
    return KnownRests(graph)[value];
  }
};

TEST(KnownRestsTest, MaskedScoresAreNoWeightsBehindTheirExtent) {
  Sized sized;
  const ValueId total = Op(sized.graph, "add", {sized.past, sized.seq});
  const ValueId mask = sized.Mask(total, {1, 1, 8});
  const SizeTerm keys = *kPast.Plus(kSeq);
  EXPECT_THAT(sized.Of(mask), ElementsAre(RestIs(2, 0, keys)));
  const ValueId least = sized.Number(-kInfinity);
  const ValueId masked = Op(sized.graph, "where", {mask, sized.scores, least});
  EXPECT_THAT(sized.Of(masked), ElementsAre(RestIs(2, -kInfinity, keys)));
  const ValueId shares = Op(sized.graph, "softmax", {masked}, {{"axis", int64_t{-1}}});
  EXPECT_THAT(sized.Of(shares), ElementsAre(RestIs(2, 0, keys)));
  // As rows, and the other way round.
  const ValueId rows = Op(sized.graph, "reshape", {shares}, {{"shape", Shape{6, 8}}});
  EXPECT_THAT(sized.Of(rows), ElementsAre(RestIs(1, 0, keys)));
  const ValueId turned = Op(sized.graph, "transpose", {shares}, {{"perm", Shape{2, 0, 1}}});
  EXPECT_THAT(sized.Of(turned), ElementsAre(RestIs(0, 0, keys)));
  // Cut in two, the axis is none.
  const ValueId cut = Op(sized.graph, "reshape", {turned}, {{"shape", Shape{2, 4, 6}}});
  EXPECT_THAT(sized.Of(cut), IsEmpty());
  // What is summed over the axis has none, and what is no number that sums leave out is not said.
  const ValueId sum = Op(sized.graph, "reduce_sum", {shares}, {{"axes", Shape{2}}});
  EXPECT_THAT(sized.Of(sum), IsEmpty());
  const ValueId exp = Op(sized.graph, "exp", {shares});
  EXPECT_THAT(sized.Of(exp), IsEmpty());
}

TEST(KnownRestsTest, AJoinEndsWhereItsLastPartDoes) {
  Sized sized;
  const ValueId total = Op(sized.graph, "add", {sized.past, sized.seq});
  const ValueId of_second =
      Op(sized.graph, "where", {sized.Mask(total, {1, 1, 8}), sized.scores, sized.Number(0)});
  const ValueId joined =
      Op(sized.graph, "where", {sized.Mask(sized.past, {1, 1, 8}), sized.scores, of_second});
  EXPECT_THAT(sized.Of(joined), ElementsAre(RestIs(2, 0, *kPast.Plus(kSeq))));
}

TEST(KnownRestsTest, OtherNumbersAndPositionsSayNothing) {
  Sized sized;
  const ValueId mask = sized.Mask(sized.past, {1, 1, 8});
  const ValueId ones = Op(sized.graph, "where", {mask, sized.scores, sized.Number(1)});
  EXPECT_THAT(sized.Of(ones), IsEmpty());
  // An input is not known to be one of those.
  const ValueId other = AddInput(sized.graph, "other", {DType::kF32, {}});
  EXPECT_THAT(sized.Of(Op(sized.graph, "where", {mask, sized.scores, other})), IsEmpty());
  const ValueId odd = AddConstant(sized.graph, "odd", {DType::kI64, {1, 1, 8}},
                                  MakeConstant(std::vector<int64_t>{0, 2, 4, 6, 8, 10, 12, 14}));
  const ValueId odds = Op(sized.graph, "less", {odd, sized.past});
  EXPECT_THAT(sized.Of(odds), IsEmpty());
}

TEST(KnownRestsTest, NeutralNumbersAreConstantsOfOneElement) {
  Sized sized;
  const auto of = [&](ValueId value) { return NeutralNumber(sized.graph.value(value)); };
  EXPECT_EQ(of(sized.Number(0)), 0);
  EXPECT_EQ(of(sized.Number(-kInfinity)), -kInfinity);
  EXPECT_EQ(of(sized.Number(1)), std::nullopt);
  EXPECT_EQ(of(sized.scores), std::nullopt);
  EXPECT_EQ(
      of(AddConstant(sized.graph, "two", {DType::kF32, {2}}, FromDoubles(DType::kF32, {0, 0}))),
      std::nullopt);
}

}  // namespace
}  // namespace burnish
