// Reductions along the fastest axis of their input, where no output axis runs in vectors: softmax's
// maxima and sums, means of rows. The reduction axis is split, its inner part becomes lanes
// (rfactor), and a second, short reduction adds the lanes up.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"

namespace burnish {

std::vector<Draft> RowReductionRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  if (block.reduction.empty()) return {};
  const VarId axis = block.reduction.back();
  // Every load that moves with the axis must walk it element by element, and none may walk an
  // output axis that way: then that one would be the vector.
  bool walks = false;
  for (const Expr& load : DistinctLoads(block)) {
    if (!DependsOn(program, *load, axis)) continue;
    if (StepOf(program, *load, axis) != 1) return {};
    walks = true;
  }
  const int64_t extent = Extent(program, axis);
  int64_t lanes = LanesOf(context.device.core, program, block);
  while (lanes > 1 && extent % lanes != 0) lanes /= 2;
  // Fewer lanes than that gain nothing over the plain loop; one vector has nothing to reduce.
  if (!walks || lanes < 4 || extent < 2 * lanes) return {};

  Schedule s(program);
  const auto loop = [&](absl::string_view what) { return absl::StrCat(block.name, "_", what); };
  const std::vector<LoopRef> rows = s.AxisLoops(block.spatial);
  const int64_t row_count = ProductOfExtents(program, block.spatial);
  const LoopRef row = rows.empty() ? LoopRef{} : s.Fuse(rows, loop("r"));
  const auto [outer, lane] = s.SplitSize(s.AxisLoop(axis), {loop("ko"), loop("ki")}, Int(lanes));
  const BlockRef partial = s.Rfactor(s.FindBlock(block.name), loop("lanes"), lane);
  if (row) {
    s.Stage(partial, loop("acc"), row, Scope::kRegister);
    if (row_count * extent >= kParallelMin && row_count >= context.threads()) {
      DealToWorkers(s, row, {loop("p"), loop("r1")}, context.threads());
    }
  }
  s.Vectorize(lane, lanes);
  return {Draft{"row_reduction", std::move(s)}};
}

}  // namespace burnish
