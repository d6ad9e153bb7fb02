// Everything else: elementwise and injective blocks, pooling, depthwise convolution, reductions
// over outer axes. The fastest output axis runs in vectors where loads walk it element by element;
// the other axes are fused and dealt out; a small reduction is kept in registers.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/access.h"
#include "tuner/sketch/rule.h"

namespace burnish {
namespace {

// Reductions of so many steps are written out.
constexpr int64_t kUnrolledTaps = 4;

// What lanes along `axis` would do.
struct Lanes {
  bool stride = false;   // A load of theirs walks by steps.
  bool far = false;      // By steps that go lane by lane: for rules that transpose.
  bool gather = false;   // A load of theirs walks in no steps.
  bool diverge = false;  // A lane takes a way of its own, or is checked by itself.
  bool check = false;    // There are checks, if only of all lanes together.
};

Lanes LanesAlong(const RuleContext& context, const Block& block, VarId axis) {
  const Program& program = context.program;
  const int64_t count = std::min<int64_t>(LanesOf(context.device.core, program, block),
                                          FloorPowerOfTwo(Extent(program, axis)));
  Lanes lanes;
  for (const Expr& load : DistinctLoads(block)) {
    if (!DependsOn(program, *load, axis)) continue;
    const std::optional<int64_t> step = StepOf(program, *load, axis);
    lanes.gather = lanes.gather || !step.has_value();
    if (step.value_or(1) == 1) continue;
    lanes.stride = true;
    lanes.far = lanes.far || CountOfSteps(*step, count) == 0;
  }
  for (const Expr& e : {block.init, block.step, block.finish}) {
    VisitExpr(e, [&](const ExprNode& node) {
      if (node.kind == ExprKind::kSelect && MentionsVar(node.operands[0], axis)) {
        for (const Expr& side : {node.operands[1], node.operands[2]}) {
          VisitExpr(side, [&](const ExprNode& inner) {
            lanes.diverge = lanes.diverge || inner.kind == ExprKind::kLoad;
          });
        }
      }
      if (node.kind != ExprKind::kBoundsCheck) return;
      lanes.check = true;
      lanes.diverge = lanes.diverge || MentionsVar(node.operands[0], axis);
    });
  }
  return lanes;
}

int64_t WorkOf(const Program& program, const Block& block) {
  return ProductOfExtents(program, block.spatial) * ProductOfExtents(program, block.reduction);
}

// `is_vector`: lanes along the vector axis, which is the last output axis of more than one element.
Draft SpatialNest(const RuleContext& context, BlockId id, VarId vector_axis, bool is_vector,
                  const char* draft) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  Schedule s(program);
  const auto name = [&](absl::string_view what) { return absl::StrCat(block.name, "_", what); };

  const int64_t work = WorkOf(program, block);
  std::vector<LoopRef> rows;
  int64_t row_count = 1;
  for (VarId axis : block.spatial) {
    if (axis == vector_axis) continue;
    rows.push_back(s.AxisLoop(axis));
    row_count *= Extent(program, axis);
  }
  const LoopRef axis = s.AxisLoop(vector_axis);
  std::vector<LoopRef> order = rows;
  order.push_back(axis);
  s.Reorder(order);
  const LoopRef row = rows.empty() ? LoopRef{} : s.Fuse(rows, name("r"));
  const std::vector<LoopRef> reduction = s.AxisLoops(block.reduction);
  const int64_t lanes = std::min<int64_t>(LanesOf(context.device.core, program, block),
                                          FloorPowerOfTwo(Extent(program, vector_axis)));
  LoopRef innermost = axis, vector;
  if (is_vector) {
    Decision width{.name = "width"};
    for (int64_t v = 1; v <= 4; v *= 2) {
      if (v == 1 || v * lanes <= Extent(program, vector_axis)) width.values.push_back(v * lanes);
    }
    std::tie(innermost, vector) =
        s.SplitSize(axis, {name("vo"), name("vi")}, s.Decide(std::move(width)));
    std::vector<LoopRef> inner = {innermost};
    inner.insert(inner.end(), reduction.begin(), reduction.end());
    inner.push_back(vector);
    s.Reorder(inner);
    if (!reduction.empty()) {
      s.Stage(s.FindBlock(block.name), name("acc"), innermost, Scope::kRegister);
    }
  }
  if (work >= kParallelMin) {
    // Deal out what there is most of.
    if (row_count >= context.threads()) {
      DealToWorkers(s, row ? row : innermost, {name("p"), name("p1")}, context.threads());
    } else {
      if (row) s.Reorder({innermost, row});
      s.Parallel(innermost);
    }
  }
  if (is_vector) {
    s.Vectorize(vector, lanes);
    for (size_t i = 0; i < reduction.size(); ++i) {
      if (Extent(program, block.reduction[i]) <= kUnrolledTaps) s.Unroll(reduction[i]);
    }
  }
  return {draft, std::move(s)};
}

}  // namespace

std::vector<Draft> SpatialRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  VarId vector_axis = -1;
  for (VarId axis : block.spatial) {
    if (Extent(program, axis) > 1) vector_axis = axis;
  }
  const Lanes lanes = vector_axis < 0 ? Lanes{} : LanesAlong(context, block, vector_axis);
  const bool apart = lanes.stride || lanes.gather;
  const bool pays = vector_axis >= 0 && !apart && !lanes.diverge && !lanes.check;
  std::vector<Draft> drafts;
  if (vector_axis < 0 || (!pays && WorkOf(program, block) < kParallelMin)) {
    // Too little to schedule: the default nest.
    drafts.push_back({"plain", Schedule(program)});
  } else {
    drafts.push_back(SpatialNest(context, id, vector_axis, pays, "spatial"));
  }
  // Elements that lanes load one by one, such as those of an enlarged or mirrored image, are still
  // computed and stored together.
  if (vector_axis >= 0 && !pays && !lanes.stride && !lanes.diverge && block.reduction.empty()) {
    Draft draft = SpatialNest(context, id, vector_axis, true,
                              lanes.gather ? "spatial/gathers" : "spatial/checked");
    if (FirstPointApplies(draft, program)) drafts.push_back(std::move(draft));
  }
  // Every other element, or the other way round; and rows of which some lanes see the padding.
  const bool steps = (lanes.stride || lanes.diverge) && !lanes.far && !lanes.gather && !lanes.check;
  if (vector_axis >= 0 && steps && block.reduction.empty()) {
    drafts.push_back(SpatialNest(context, id, vector_axis, true, "spatial/steps"));
  }
  return drafts;
}

}  // namespace burnish
