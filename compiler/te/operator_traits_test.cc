// Holds each operator's row to the operator's own definition. A row that promises too much makes
// passes wrong. A row that promises too little costs a transposition or a kernel in each model.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/expr.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/program.h"
#include "compiler/te/layout.h"
#include "compiler/te/operator.h"
#include "compiler/te/operator_cases.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Order = std::vector<int64_t>;

TensorValue Transposed(const TensorValue& value, const Order& order) {
  TensorValue result;
  result.dtype = value.dtype;
  std::vector<int64_t> strides(order.size(), 1);
  for (size_t d = order.size(); d-- > 1;) strides[d - 1] = strides[d] * value.shape[d];
  for (const int64_t d : order) result.shape.push_back(value.shape[d]);
  Order index(order.size(), 0);
  const int64_t count = ElementCount(value.shape);
  for (int64_t i = 0; i < count; ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < order.size(); ++d) from += index[d] * strides[order[d]];
    if (IsFloat(value.dtype)) {
      result.floats.push_back(value.floats[from]);
    } else {
      result.integers.push_back(value.integers[from]);
    }
    for (size_t d = order.size(); d-- > 0 && ++index[d] == result.shape[d];) index[d] = 0;
  }
  return result;
}

// With dimensions of one element in front, as broadcasting sees it.
TensorValue Widened(TensorValue value, size_t rank) {
  value.shape.insert(value.shape.begin(), rank - value.shape.size(), 1);
  return value;
}

// Terms of a sum come in another order: the bound is that of a few hundred of them in double.
bool Near(const TensorValue& got, const TensorValue& want) {
  if (got.dtype != want.dtype || got.shape != want.shape || got.integers != want.integers) {
    return false;
  }
  for (size_t i = 0; i < want.floats.size(); ++i) {
    const double g = got.floats[i], w = want.floats[i];
    const bool same = g == w || (std::isnan(g) && std::isnan(w)) ||
                      std::abs(g - w) <= 1e-12 + 1e-12 * std::abs(w);
    if (!same) return false;
  }
  return true;
}

// Every result as the operator gives it from the case's inputs in this order, with `attributes`.
// Empty where `infer` refuses that.
std::vector<TensorValue> ResultsInOrder(const OperatorCase& c, const Attributes& attributes,
                                        const Order& order, bool all_inputs) {
  std::vector<TensorValue> inputs = c.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0 && !all_inputs) continue;
    if (inputs[i].shape.size() > order.size()) return {};
    inputs[i] = Transposed(Widened(inputs[i], order.size()), order);
  }
  const auto types = c.op->infer(attributes, TypesOf(inputs));
  if (!types.ok()) return {};
  for (const TensorType& type : *types) {
    if (ElementCount(type.shape) == 0) return {};  // It has no definition.
  }
  auto results = Interpret(DefineOperator(*c.op, attributes, TypesOf(inputs)), inputs);
  return results.ok() ? *results : std::vector<TensorValue>{};
}

// What the results should then be; empty where they have not the dimensions of `order`.
std::vector<TensorValue> WantedInOrder(const OperatorCase& c, const Order& order) {
  auto results = Interpret(DefineOperator(*c.op, c.attributes, TypesOf(c.inputs)), c.inputs);
  EXPECT_THAT(results, IsOk()) << c.name;
  for (TensorValue& result : *results) {
    if (result.shape.size() != order.size()) return {};
    result = Transposed(result, order);
  }
  return *std::move(results);
}

bool AllNear(const std::vector<TensorValue>& got, const std::vector<TensorValue>& want) {
  return got.size() == want.size() && std::equal(got.begin(), got.end(), want.begin(), Near);
}

// Reversed, and turned by one: together they move each dimension of three or more.
std::vector<Order> OrdersOf(const OperatorCase& c) {
  size_t rank = 0;
  for (const TensorValue& input : c.inputs) rank = std::max(rank, input.shape.size());
  if (rank < 2) return {};
  Order reversed(rank), turned(rank);
  for (size_t d = 0; d < rank; ++d) {
    reversed[d] = static_cast<int64_t>(rank - 1 - d);
    turned[d] = static_cast<int64_t>((d + 1) % rank);
  }
  return {reversed, turned};
}

TEST(OperatorTraitsTest, TraitsFitTheKindOfFusion) {
  for (const OperatorDef* op : AllOperators()) {
    SCOPED_TRACE(op->name());
    if (op->fusion == FusionKind::kElementwise) {
      // Else an operator that works in any order costs two transpositions in each image model.
      EXPECT_TRUE(op->layout == LayoutRule::kAnyOrder || op->layout == LayoutRule::kByChannel);
    }
    if (op->traits.movement != Movement::kNone) EXPECT_EQ(op->fusion, FusionKind::kInjective);
    if (op->traits.reads_once) EXPECT_EQ(op->fusion, FusionKind::kReduction);
    if (op->layout != LayoutRule::kAnyOrder) EXPECT_TRUE(op->traits.dimension_attributes.empty());
    // Nothing may look into it.
    if (op->fusion == FusionKind::kHost) EXPECT_EQ(op->layout, LayoutRule::kFixed);
  }
}

TEST(OperatorTraitsTest, ResultsOfAnyOrderFollowTheInputs) {
  std::set<std::string> seen;
  for (const OperatorCase& c : ReadOperatorCases()) {
    if (c.op->layout != LayoutRule::kAnyOrder) continue;
    for (const Order& order : OrdersOf(c)) {
      const std::vector<TensorValue> want = WantedInOrder(c, order);
      if (want.empty()) continue;
      seen.insert(c.op->name());
      const Attributes attributes = AttributesInOrder(*c.op, c.attributes, order);
      EXPECT_TRUE(AllNear(ResultsInOrder(c, attributes, order, /*all_inputs=*/true), want))
          << c.name;
    }
  }
  for (const OperatorDef* op : AllOperators()) {
    // Definitions of elementwise operators are looked at below, whatever their cases are.
    if (op->layout != LayoutRule::kAnyOrder || op->fusion == FusionKind::kElementwise) continue;
    EXPECT_EQ(seen.count(op->name()), 1u) << op->name() << " has no case of two dimensions";
  }
}

TEST(OperatorTraitsTest, ResultsByChannelFollowTheFirstInput) {
  std::set<std::string> seen;
  for (const OperatorCase& c : ReadOperatorCases()) {
    const bool by_channel =
        c.op->layout == LayoutRule::kByChannel || c.op->layout == LayoutRule::kChannelsLast;
    const auto rank = static_cast<int64_t>(c.inputs[0].shape.size());
    if (!by_channel || rank < 3 || c.attributes.Int("channels_last", 0) != 0) continue;
    seen.insert(c.op->name());
    const Order order = ChannelsLastOrder(rank);
    const Attributes attributes = AttributesInOrder(*c.op, c.attributes, order);
    EXPECT_TRUE(AllNear(ResultsInOrder(c, attributes, order, /*all_inputs=*/false),
                        WantedInOrder(c, order)))
        << c.name;
  }
  for (const OperatorDef* op : AllOperators()) {
    if (op->layout != LayoutRule::kByChannel && op->layout != LayoutRule::kChannelsLast) continue;
    EXPECT_EQ(seen.count(op->name()), 1u) << op->name() << " has no case of three dimensions";
  }
}

// An operator that could take any order as it is, and says kFixed, costs transpositions.
TEST(OperatorTraitsTest, OrderMattersWhereItIsFixed) {
  std::set<std::string> order_matters;
  for (const OperatorCase& c : ReadOperatorCases()) {
    if (c.op->fusion == FusionKind::kHost) continue;
    for (const Order& order : OrdersOf(c)) {
      const std::vector<TensorValue> want = WantedInOrder(c, order);
      const auto got = ResultsInOrder(c, c.attributes, order, /*all_inputs=*/true);
      if (want.empty() || !AllNear(got, want)) order_matters.insert(c.op->name());
    }
  }
  for (const OperatorDef* op : AllOperators()) {
    if (op->layout != LayoutRule::kFixed || op->fusion == FusionKind::kHost) continue;
    EXPECT_EQ(order_matters.count(op->name()), 1u) << op->name();
  }
}

// Whether the index is axis `d` itself, or 0 where the input is broadcast.
bool IsAxis(const Block& block, const Expr& index, size_t d) {
  if (index->kind == ExprKind::kIntImm) return index->int_value == 0;
  return index->kind == ExprKind::kVar && index->id == block.spatial[d];
}

TEST(OperatorTraitsTest, ElementwiseReadsTheElementThatItWrites) {
  for (const OperatorCase& c : ReadOperatorCases()) {
    if (c.op->fusion != FusionKind::kElementwise) continue;
    SCOPED_TRACE(c.name);
    const Program program = DefineOperator(*c.op, c.attributes, TypesOf(c.inputs));
    const BufferId x = FindBuffer(program, "X0");
    for (const Block& block : program.blocks) {
      EXPECT_TRUE(block.reduction.empty());
      VisitExpr(block.step, [&](const ExprNode& node) {
        // Beside the first input, an operator by channel reads values of channels.
        if (node.kind != ExprKind::kLoad) return;
        if (c.op->layout != LayoutRule::kAnyOrder && node.id != x) return;
        const size_t skipped = block.spatial.size() - node.operands.size();
        for (size_t d = 0; d < node.operands.size(); ++d) {
          EXPECT_TRUE(IsAxis(block, node.operands[d], skipped + d));
        }
      });
    }
  }
}

TEST(OperatorTraitsTest, MovementOnlyLoads) {
  for (const OperatorCase& c : ReadOperatorCases()) {
    const Movement movement = c.op->traits.movement;
    if (movement == Movement::kNone) continue;
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.op->flop_count(c.attributes, TypesOf(c.inputs)), 0);
    const Program program = DefineOperator(*c.op, c.attributes, TypesOf(c.inputs));
    for (const Block& block : program.blocks) {
      EXPECT_TRUE(block.reduction.empty());
      if (movement != Movement::kIndexed) continue;
      EXPECT_EQ(block.step->kind, ExprKind::kLoad);
    }
  }
}

// A definition that has as many points as the first input has elements reads each element once.
TEST(OperatorTraitsTest, ReductionsSayWhetherTheyReadOnce) {
  std::map<std::string, bool> once;  // By operator: in each of its cases.
  for (const OperatorCase& c : ReadOperatorCases()) {
    if (c.op->fusion != FusionKind::kReduction) continue;
    const Program program = DefineOperator(*c.op, c.attributes, TypesOf(c.inputs));
    int64_t points = 0;
    for (const Block& block : program.blocks) {
      int64_t volume = 1;
      for (const auto& axes : {block.spatial, block.reduction}) {
        for (const VarId axis : axes) volume *= program.vars[axis].extent->int_value;
      }
      points += volume;
    }
    const bool here = points == ElementCount(c.inputs[0].shape);
    once.emplace(c.op->name(), true).first->second &= here;
  }
  for (const auto& [name, reads_once] : once) {
    EXPECT_EQ(FindOperator(name)->traits.reads_once, reads_once) << name;
  }
}

}  // namespace
}  // namespace burnish
