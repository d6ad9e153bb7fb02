// Blocks that turn rows into columns: what they read element by element walks another output axis
// than the last. A tile of a vector of the last axes by some cache lines of that one is read line
// by line and written vector by vector, where the plain nest would read a line for every element.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rules/interleave.h"

namespace burnish {
namespace {

// Rows of the output that a tile writes: each may lie in a page of its own.
constexpr int64_t kBlockRowsMax = 128;

struct Transposition {
  VarId across = -1;          // Walks what is read element by element.
  std::vector<VarId> along;   // The output's last axes, which loads walk as if they were one.
  std::vector<VarId> others;  // In order.
};

// Whether every load goes on where axis `inner` ends when `outer` takes a step.
bool WalkedAsOne(const Program& program, const std::vector<Expr>& loads, VarId outer, VarId inner) {
  return std::all_of(loads.begin(), loads.end(), [&](const Expr& load) {
    const LinearForm address = AddressOf(program, *load);
    return !address.HidesVar(outer) && !address.HidesVar(inner) &&
           address.CoefficientOf(outer) == address.CoefficientOf(inner) * Extent(program, inner);
  });
}

std::optional<Transposition> Recognize(const Program& program, const Block& block) {
  if (!IsUniformMap(program, block)) return std::nullopt;
  std::vector<VarId> axes = block.spatial;
  while (!axes.empty() && Extent(program, axes.back()) == 1) axes.pop_back();
  if (axes.empty()) return std::nullopt;
  const std::vector<Expr> loads = DistinctLoads(block);
  Transposition found;
  for (const Expr& load : loads) {
    const LinearForm address = AddressOf(program, *load);
    if (address.HidesVar(axes.back()) || address.CoefficientOf(axes.back()) <= 1) continue;
    for (VarId axis : axes) {
      if (Extent(program, axis) > 1 && !address.HidesVar(axis) &&
          address.CoefficientOf(axis) == 1) {
        found.across = axis;
      }
    }
  }
  if (found.across < 0) return std::nullopt;
  found.along = {axes.back()};
  axes.pop_back();
  while (!axes.empty() && axes.back() != found.across &&
         WalkedAsOne(program, loads, axes.back(), found.along.front())) {
    found.along.insert(found.along.begin(), axes.back());
    axes.pop_back();
  }
  for (VarId axis : axes) {
    if (axis != found.across) found.others.push_back(axis);
  }
  return found;
}

}  // namespace

std::vector<Draft> TransposeRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  // Few rows need no tiles: vectors of them are put together from whole loads.
  if (FindInterleaving(context, id).has_value()) return {};
  const std::optional<Transposition> found = Recognize(program, block);
  if (!found.has_value()) return {};
  int64_t along_extent = 1, other_count = 1;
  for (VarId axis : found->along) along_extent *= Extent(program, axis);
  for (VarId axis : found->others) other_count *= Extent(program, axis);
  const int64_t across_extent = Extent(program, found->across);
  if (along_extent < 2) return {};
  const int64_t lanes = std::min<int64_t>(LanesOf(context.device.core, program, block),
                                          FloorPowerOfTwo(along_extent));

  Schedule s(program);
  const auto name = [&](absl::string_view what) { return absl::StrCat(block.name, "_", what); };
  // Elements of a line, and several lines.
  const int64_t line_elements =
      context.device.core.line_bytes / SizeBytes(program.buffers[block.output].dtype);
  Decision columns{.name = "columns"};
  for (int64_t v = line_elements; v < 4 * across_extent && v <= kBlockRowsMax; v *= 2) {
    columns.values.push_back(v);
  }
  if (columns.values.empty()) columns.values.push_back(line_elements);

  const std::vector<LoopRef> others = s.AxisLoops(found->others);
  const std::vector<LoopRef> along = s.AxisLoops(found->along);
  const LoopRef across = s.AxisLoop(found->across);
  std::vector<LoopRef> order = others;
  order.push_back(across);
  order.insert(order.end(), along.begin(), along.end());
  s.Reorder(order);
  LoopRef dealt = others.empty() ? LoopRef{} : s.Fuse(others, name("r"));
  const auto [vectors, vector] =
      s.SplitSize(s.Fuse(along, name("v")), {name("vo"), name("vi")}, Int(lanes));
  const auto [tile, line] =
      s.SplitSize(across, {name("co"), name("ci")}, s.Decide(std::move(columns)));
  std::vector<LoopRef> nest = {vectors, tile, line, vector};
  if (dealt) nest.insert(nest.begin(), dealt);
  s.Reorder(nest);
  if (along_extent * across_extent * other_count >= kParallelMin && context.threads() > 1) {
    if (!dealt || other_count < context.threads()) {
      if (dealt) s.Reorder({vectors, dealt});
      dealt = vectors;
    }
    DealToWorkers(s, dealt, {name("p"), name("p1")}, context.threads());
  }
  s.Vectorize(vector, lanes);
  return {Draft{"transpose", std::move(s)}};
}

}  // namespace burnish
