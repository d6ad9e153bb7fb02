// Holds each operator's row to the operator's own definition. A row that promises too much makes
// passes wrong. A row that promises too little costs a transposition or a kernel in each model.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/expr.h"
#include "compiler/ir/program.h"
#include "compiler/te/operator.h"
#include "compiler/te/operator_cases.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(OperatorTraitsTest, TraitsFitTheKindOfFusion) {
  for (const OperatorDef* op : AllOperators()) {
    SCOPED_TRACE(op->name);
    if (op->fusion == FusionKind::kElementwise) {
      // Else an operator that works in any order costs two transpositions in each image model.
      EXPECT_TRUE(op->layout == LayoutRule::kAnyOrder || op->layout == LayoutRule::kByChannel);
    }
    if (op->traits.movement != Movement::kNone) EXPECT_EQ(op->fusion, FusionKind::kInjective);
    if (op->traits.reads_once) EXPECT_EQ(op->fusion, FusionKind::kReduction);
    if (op->layout != LayoutRule::kAnyOrder) EXPECT_TRUE(op->traits.dimension_attributes.empty());
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
    once.emplace(c.op->name, true).first->second &= here;
  }
  for (const auto& [name, reads_once] : once) {
    EXPECT_EQ(FindOperator(name)->traits.reads_once, reads_once) << name;
  }
}

}  // namespace
}  // namespace burnish
