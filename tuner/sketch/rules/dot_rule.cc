// Sums of products whose one side is used once: convolutions with one output channel, a matrix by a
// vector. Nothing is broadcast, so a register tile, which lays out the other side in the order of
// use, copies every element for one product. But both sides lie along the reduction: its trailing
// axes become one, whose inner part becomes lanes (rfactor), and a second, short reduction adds
// those up.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"
#include "tuner/sketch/rules/segment.h"

namespace burnish {
namespace {

bool HasExtent(const Program& program, const std::vector<VarId>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](VarId axis) { return Extent(program, axis) > 1; });
}

bool DependsOnRows(const Program& program, const Block& block, const ExprNode& load) {
  return std::any_of(block.spatial.begin(), block.spatial.end(), [&](VarId axis) {
    return Extent(program, axis) > 1 && DependsOn(program, load, axis);
  });
}

}  // namespace

std::vector<Draft> DotRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  const std::optional<Contraction> c = RecognizeContraction(program, id);
  if (!c.has_value() || HasExtent(program, c->rows)) return {};
  const ExprNode &data = *c->vector_load, &other = *c->broadcast_load;
  if (program.buffers[data.id].role == BufferRole::kConstant) return {};
  const size_t first = SegmentStart(program, block, data);
  const int64_t extent =
      ProductOfExtents(program, absl::MakeConstSpan(block.reduction).subspan(first));
  int64_t lanes = LanesOf(context.device.core, program, block);
  while (lanes > 1 && extent % lanes != 0) lanes /= 2;
  if (lanes < 4 || extent < 2 * lanes) return {};  // As for row_reduction.
  // Constants are laid out so when the model is built.
  const bool in_order = SegmentStart(program, block, other) <= first;
  if (!in_order && (program.buffers[other.id].role != BufferRole::kConstant ||
                    DependsOnRows(program, block, other))) {
    return {};
  }

  Schedule s(program);
  const auto name = [&](absl::string_view what) { return absl::StrCat(block.name, "_", what); };
  const int64_t row_count = ProductOfExtents(program, block.spatial);
  const LoopRef row = s.Fuse(s.AxisLoops(block.spatial), name("r"));
  const std::vector<LoopRef> reduction = s.AxisLoops(block.reduction);
  std::vector<LoopRef> order(reduction.begin(), reduction.begin() + static_cast<int64_t>(first));
  const LoopRef segment = s.Fuse(absl::MakeConstSpan(reduction).subspan(first), name("q"));
  const auto [step, lane] = s.SplitSize(segment, {name("qo"), name("qi")}, Int(lanes));
  order.push_back(step);
  order.push_back(lane);
  const BlockRef partial = s.Rfactor(s.FindBlock(block.name), name("lanes"), lane);
  s.Stage(partial, name("acc"), row, Scope::kRegister);
  if (!in_order) {
    s.Precompute(s.Relayout(s.FindBuffer(program.buffers[other.id].name), name("packed"), order));
  }
  if (row_count * extent >= kParallelMin && row_count >= context.threads()) {
    DealToWorkers(s, row, {name("p"), name("r1")}, context.threads());
  }
  s.Vectorize(lane, lanes);
  Draft draft{"dot", std::move(s)};
  if (!FirstPointApplies(draft, program)) return {};
  return {std::move(draft)};
}

}  // namespace burnish
