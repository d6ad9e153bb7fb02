// Reductions of a window at each output element, lanes along the fastest output axis: depthwise
// convolution, pooling, means over outer axes. A tile of neighbouring pixels by a few vectors stays
// in registers; constants that lanes would gather are laid out for them first.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"

namespace burnish {
namespace {

struct Window {
  VarId vector_axis = -1;
  std::vector<VarId> rows;              // The other output axes, in order.
  std::vector<const Buffer*> repacked;  // Constants that the vector axis walks with a stride.
};

// A load whose index uses the vector axis and reduction axes only can be laid out anew.
bool CanRepack(const Program& program, const Block& block, const ExprNode& load) {
  if (program.buffers[load.id].role != BufferRole::kConstant) return false;
  return std::none_of(block.spatial.begin(), block.spatial.end() - 1,
                      [&](VarId axis) { return DependsOn(program, load, axis); });
}

bool LanesDiverge(const Block& block, VarId axis) {
  bool diverge = false;
  for (const Expr& e : {block.init, block.step, block.finish}) {
    VisitExpr(e, [&](const ExprNode& node) {
      diverge = diverge || node.kind == ExprKind::kBoundsCheck ||
                (node.kind == ExprKind::kSelect && MentionsVar(node.operands[0], axis));
    });
  }
  return diverge;
}

bool Recognize(const Program& program, const Block& block, Window& window) {
  if (block.reduction.empty() || block.spatial.empty() ||
      program.buffers[block.output].dtype != DType::kF32 || !WritesInAxisOrder(program, block)) {
    return false;
  }
  window.vector_axis = block.spatial.back();
  window.rows.assign(block.spatial.begin(), block.spatial.end() - 1);
  if (Extent(program, window.vector_axis) < 2 || LanesDiverge(block, window.vector_axis)) {
    return false;
  }
  for (const Expr& load : DistinctLoads(block)) {
    if (!DependsOn(program, *load, window.vector_axis)) continue;
    const LinearForm address = AddressOf(program, *load);
    if (!address.HidesVar(window.vector_axis) && address.CoefficientOf(window.vector_axis) == 1) {
      continue;
    }
    if (!CanRepack(program, block, *load)) return false;
    window.repacked.push_back(&program.buffers[load->id]);
  }
  return true;
}

}  // namespace

std::vector<Sketch> WindowRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  Window window;
  if (!Recognize(program, block, window)) return {};
  const std::string name = block.name;
  Sketch sketch{.name = "window"};
  const auto add = [&](const std::string& text) { sketch.steps.push_back({.text = text}); };
  const auto loop = [&](absl::string_view what) { return absl::StrCat(name, "_", what); };

  const int64_t vector_extent = Extent(program, window.vector_axis);
  const int64_t lanes =
      std::min<int64_t>(context.isa.float_lanes(), FloorPowerOfTwo(vector_extent));
  Decision width{.name = "width"}, pixels{.name = "pixels"};
  for (int64_t v = 1; v <= 4; v *= 2) {
    if (v == 1 || v * lanes <= vector_extent) width.values.push_back(v * lanes);
  }
  int64_t work = vector_extent, row_count = 1, taps = 1;
  for (VarId axis : window.rows) row_count *= Extent(program, axis);
  for (VarId axis : block.reduction) taps *= Extent(program, axis);
  work *= row_count * taps;
  // The row axis that windows overlap along, or any other: the last one.
  const int64_t last_row = window.rows.empty() ? 1 : Extent(program, window.rows.back());
  for (int64_t v = 1; v <= std::min<int64_t>(last_row, 8); v *= 2) pixels.values.push_back(v);
  sketch.decisions = {width, pixels};
  const int64_t registers = context.isa.vector_register_count;
  sketch.valid = [lanes, registers](const Point& p) {
    // Accumulators, one window value, and a tap for each vector.
    return p[0] / lanes * (p[1] + 1) + 2 <= registers;
  };

  // Outer rows fused, then tiles of pixels, then vectors.
  std::vector<std::string> outer;
  for (size_t i = 0; i + 1 < window.rows.size(); ++i) {
    outer.push_back(NameOf(program, window.rows[i]));
  }
  std::string rows = outer.empty() ? "" : outer[0];
  if (outer.size() > 1) {
    add(absl::StrCat("fuse@1 ", List(outer), "->", loop("r")));
    rows = loop("r");
  }
  int64_t outer_count = last_row == 0 ? 0 : row_count / last_row;
  std::vector<std::string> order;
  if (!window.rows.empty()) {
    add(absl::StrCat("split@1 ", NameOf(program, window.rows.back()), "->(", loop("xo"), ",",
                     loop("xi"), ") max=$pixels"));
  }
  const bool deal = work >= kParallelMin && context.threads > 1;
  const bool deal_rows = deal && outer_count >= context.threads;
  if (deal_rows) {
    add(absl::StrCat("split@1 ", rows, "->(", loop("p"), ",", loop("p1"),
                     ") parts=", context.threads));
    order = {loop("p"), loop("p1")};
  } else if (!rows.empty()) {
    order = {rows};
  }
  add(absl::StrCat("split@1 ", NameOf(program, window.vector_axis), "->(", loop("vo"), ",",
                   loop("vi"), ") size=$width"));
  if (!window.rows.empty()) order.push_back(loop("xo"));
  // Without rows to deal out, pieces of the vector axis are.
  if (deal && !deal_rows) {
    order.insert(order.begin(), loop("vo"));
  } else {
    order.push_back(loop("vo"));
  }
  const std::string tile = order.back();
  std::vector<std::string> taps_order;
  for (VarId axis : block.reduction) taps_order.push_back(NameOf(program, axis));
  order.insert(order.end(), taps_order.begin(), taps_order.end());
  if (!window.rows.empty()) order.push_back(loop("xi"));
  order.push_back(loop("vi"));
  add(absl::StrCat("reorder@1 ", List(order)));
  add(absl::StrCat("stage@1 ", name, "->", loop("acc"), " inside=", tile, " scope=register"));
  for (size_t i = 0; i < window.repacked.size(); ++i) {
    const std::string packed = absl::StrCat(loop("packed"), i);
    std::vector<std::string> dims = {loop("vo")};
    dims.insert(dims.end(), taps_order.begin(), taps_order.end());
    dims.push_back(loop("vi"));
    add(absl::StrCat("relayout@1 ", window.repacked[i]->name, "->", packed, " dims=", List(dims)));
    add(absl::StrCat("precompute@1 ", packed));
  }
  if (deal_rows) add(absl::StrCat("parallel@1 ", loop("p")));
  if (deal && !deal_rows) add(absl::StrCat("parallel@1 ", loop("vo")));
  for (auto axis = block.reduction.rbegin(); axis != block.reduction.rend(); ++axis) {
    if (Extent(program, *axis) > 8) break;
    add(absl::StrCat("unroll@1 ", NameOf(program, *axis)));
    if (taps > 16) break;
  }
  if (!window.rows.empty()) add(absl::StrCat("unroll@1 ", loop("xi")));
  add(absl::StrCat("vectorize@1 ", loop("vi"), " lanes=", lanes));
  return {sketch};
}

}  // namespace burnish
