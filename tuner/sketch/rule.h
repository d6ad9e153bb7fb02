// A sketch rule: how one block of a program may be scheduled. Rules are tried in order (rules.cc);
// the first that takes a block decides its alternatives.
#ifndef TUNER_SKETCH_RULE_H_
#define TUNER_SKETCH_RULE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"
#include "compiler/ir/simplify.h"
#include "proto/isa_model.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

struct RuleContext {
  const Program& program;
  const IsaModel& isa;
  int threads = 1;
  SketchOptions options;
};

struct SketchRule {
  const char* name;
  // The block's alternatives, most promising first; empty when the rule does not take the block.
  // Names of new loops and buffers start with the block's name, so that blocks do not collide.
  std::vector<Sketch> (*apply)(const RuleContext& context, BlockId block);
};

// In the order in which they are tried. The last takes every block.
const std::vector<SketchRule>& SketchRules();

// One line for each rule, in its own file under rules/.
std::vector<Sketch> BorderRule(const RuleContext& context, BlockId block);
std::vector<Sketch> ContractionRule(const RuleContext& context, BlockId block);
std::vector<Sketch> WindowRule(const RuleContext& context, BlockId block);
// Further algorithms of a block that another rule takes too.
std::vector<Sketch> WinogradRule(const RuleContext& context, BlockId block);
// Takes whole programs: its sketches are complete.
std::vector<Sketch> RowChainRule(const RuleContext& context);
std::vector<Sketch> ContractionChainRule(const RuleContext& context);
std::vector<Sketch> RowReductionRule(const RuleContext& context, BlockId block);
std::vector<Sketch> InterleaveRule(const RuleContext& context, BlockId block);
std::vector<Sketch> TransposeRule(const RuleContext& context, BlockId block);
std::vector<Sketch> SpatialRule(const RuleContext& context, BlockId block);

// ---- What rules share.

// Less work than this, in loads and operations, does not pay for waking the other workers.
inline constexpr int64_t kParallelMin = 16384;

// Name of a variable, and of several as a list for a step: "(a,b)".
std::string NameOf(const Program& program, VarId var);
std::string List(const std::vector<std::string>& names);
// Constant extent of an axis.
int64_t Extent(const Program& program, VarId axis);
// Of every variable of the program, which must outlive the result.
VarRanges AxisRanges(const Program& program);
// Row-major element address of a load, as a linear form over the block's axes.
LinearForm AddressOf(const Program& program, const ExprNode& load);
// Whether address or atoms of the load depend on `axis`.
bool DependsOn(const Program& program, const ExprNode& load, VarId axis);
// Loads in the block's expressions, without repetitions.
std::vector<Expr> DistinctLoads(const Block& block);
// Whether the block moves or maps floats, each element the same way, in the order of its axes.
bool IsUniformMap(const Program& program, const Block& block);
// The greatest power of two that is not over `value` (>= 1).
int64_t FloorPowerOfTwo(int64_t value);

}  // namespace burnish

#endif  // TUNER_SKETCH_RULE_H_
