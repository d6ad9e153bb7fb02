// Reductions of a window at each output element, lanes along the fastest output axis: depthwise
// convolution, pooling, means over outer axes. A tile of neighbouring pixels by a few vectors stays
// in registers; constants that lanes would gather are laid out for them first.
//
// Two rows of the table, since what the first one takes nobody else is asked about: windows that
// lanes walk element by element, and windows that they walk by steps (pooling by 2) or of which
// some see the padding at a row's ends. Code generation loads such lanes from whole vectors and
// cuts loops where the padding ends (compiler/ir/access.h, compiler/codegen/llvm/loop_cuts.h).
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/access.h"
#include "tuner/sketch/rule.h"

namespace burnish {
namespace {

// Taps along one axis that are written out, and taps of a window beyond which only one axis is: the
// body stays within what the decoder's cache holds.
constexpr int64_t kUnrolledTaps = 8;
constexpr int64_t kUnrolledWindow = 16;

struct Window {
  VarId vector_axis = -1;
  std::vector<VarId> rows;              // The other output axes, in order.
  std::vector<const Buffer*> repacked;  // Constants that the vector axis walks with a stride.
  bool stepped = false;
};

// A load whose index uses the vector axis and reduction axes only can be laid out anew.
bool CanRepack(const Program& program, const Block& block, const ExprNode& load) {
  if (program.buffers[load.id].role != BufferRole::kConstant) return false;
  return std::none_of(block.spatial.begin(), block.spatial.end() - 1,
                      [&](VarId axis) { return DependsOn(program, load, axis); });
}

bool Checks(const Block& block) {
  bool checks = false;
  for (const Expr& e : {block.init, block.step, block.finish}) {
    VisitExpr(
        e, [&](const ExprNode& node) { checks = checks || node.kind == ExprKind::kBoundsCheck; });
  }
  return checks;
}

bool LanesDiverge(const Block& block, VarId axis) {
  bool diverge = false;
  for (const Expr& e : {block.init, block.step, block.finish}) {
    VisitExpr(e, [&](const ExprNode& node) {
      diverge = diverge || (node.kind == ExprKind::kSelect && MentionsVar(node.operands[0], axis));
    });
  }
  return diverge;
}

// `lanes`: of a vector. Windows by steps, or with lanes that see padding, are `stepped`.
std::optional<Window> Recognize(const Program& program, const Block& block, int64_t lanes) {
  Window window;
  if (block.reduction.empty() || block.spatial.empty() || !WritesInAxisOrder(program, block)) {
    return std::nullopt;
  }
  window.vector_axis = block.spatial.back();
  window.rows.assign(block.spatial.begin(), block.spatial.end() - 1);
  if (Extent(program, window.vector_axis) < 2 || Checks(block)) return std::nullopt;
  window.stepped = LanesDiverge(block, window.vector_axis);
  for (const Expr& load : DistinctLoads(block)) {
    if (!DependsOn(program, *load, window.vector_axis)) continue;
    const std::optional<int64_t> step = StepOf(program, *load, window.vector_axis);
    if (step == 1) continue;
    if (CanRepack(program, block, *load)) {
      window.repacked.push_back(&program.buffers[load->id]);
    } else if (step.has_value() && CountOfSteps(*step, lanes) > 0) {
      window.stepped = true;
    } else {
      return std::nullopt;
    }
  }
  return window;
}

std::vector<Draft> Write(const RuleContext& context, BlockId id, bool stepped) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  if (block.spatial.empty()) return {};
  const int64_t lanes = std::min<int64_t>(LanesOf(context.device.core, program, block),
                                          FloorPowerOfTwo(Extent(program, block.spatial.back())));
  const std::optional<Window> found = Recognize(program, block, lanes);
  if (!found.has_value() || found->stepped != stepped) return {};
  const Window& window = *found;
  Schedule s(program);
  const auto name = [&](absl::string_view what) { return absl::StrCat(block.name, "_", what); };

  const int64_t vector_extent = Extent(program, window.vector_axis);
  Decision widths{.name = "width"}, tiles{.name = "pixels"};
  for (int64_t v = 1; v <= 4; v *= 2) {
    if (v == 1 || v * lanes <= vector_extent) widths.values.push_back(v * lanes);
  }
  int64_t work = vector_extent, row_count = 1, taps = 1;
  for (VarId axis : window.rows) row_count *= Extent(program, axis);
  for (VarId axis : block.reduction) taps *= Extent(program, axis);
  work *= row_count * taps;
  // The row axis that windows overlap along, or any other: the last one.
  const int64_t last_row = window.rows.empty() ? 1 : Extent(program, window.rows.back());
  for (int64_t v = 1; v <= std::min<int64_t>(last_row, 8); v *= 2) tiles.values.push_back(v);
  const Expr width = s.Decide(std::move(widths)), pixels = s.Decide(std::move(tiles));
  // Accumulators, one window value, and a tap for each vector.
  s.Require(Le(FloorDiv(width, lanes) * (pixels + 1) + 2,
               Int(context.device.core.vector_register_count)));

  // Outer rows fused, then tiles of pixels, then vectors.
  std::vector<LoopRef> outer = s.AxisLoops(window.rows), order;
  LoopRef last, tile_of_row, pixel;
  if (!outer.empty()) {
    last = outer.back();
    outer.pop_back();
  }
  const LoopRef rows = outer.empty() ? LoopRef{} : s.Fuse(outer, name("r"));
  const int64_t outer_count = last_row == 0 ? 0 : row_count / last_row;
  if (last) std::tie(tile_of_row, pixel) = s.SplitMax(last, {name("xo"), name("xi")}, pixels);
  const bool deal = work >= kParallelMin && context.threads() > 1;
  const bool deal_rows = deal && outer_count >= context.threads();
  LoopRef worker;
  if (deal_rows) {
    LoopRef of_worker;
    std::tie(worker, of_worker) =
        s.SplitParts(rows, {name("p"), name("p1")}, Int(context.threads()));
    order = {worker, of_worker};
  } else if (rows) {
    order = {rows};
  }
  const auto [vectors, vector] =
      s.SplitSize(s.AxisLoop(window.vector_axis), {name("vo"), name("vi")}, width);
  if (last) order.push_back(tile_of_row);
  // Without rows to deal out, pieces of the vector axis are.
  if (deal && !deal_rows) {
    order.insert(order.begin(), vectors);
    worker = vectors;
  } else {
    order.push_back(vectors);
  }
  const LoopRef tile = order.back();
  const std::vector<LoopRef> tap_loops = s.AxisLoops(block.reduction);
  order.insert(order.end(), tap_loops.begin(), tap_loops.end());
  if (last) order.push_back(pixel);
  order.push_back(vector);
  s.Reorder(order);
  s.Stage(s.FindBlock(block.name), name("acc"), tile, Scope::kRegister);
  for (size_t i = 0; i < window.repacked.size(); ++i) {
    std::vector<LoopRef> dims = {vectors};
    dims.insert(dims.end(), tap_loops.begin(), tap_loops.end());
    dims.push_back(vector);
    s.Precompute(
        s.Relayout(s.FindBuffer(window.repacked[i]->name), absl::StrCat(name("packed"), i), dims));
  }
  if (deal) s.Parallel(worker);
  for (size_t i = block.reduction.size(); i-- > 0;) {
    if (Extent(program, block.reduction[i]) > kUnrolledTaps) break;
    s.Unroll(tap_loops[i]);
    if (taps > kUnrolledWindow) break;
  }
  if (last) s.Unroll(pixel);
  s.Vectorize(vector, lanes);
  return {Draft{stepped ? "stepped_window" : "window", std::move(s)}};
}

}  // namespace

std::vector<Draft> WindowRule(const RuleContext& context, BlockId block) {
  return Write(context, block, /*stepped=*/false);
}

std::vector<Draft> SteppedWindowRule(const RuleContext& context, BlockId block) {
  return Write(context, block, /*stepped=*/true);
}

}  // namespace burnish
