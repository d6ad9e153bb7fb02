// Blocks that turn rows into columns: what they read element by element walks another output axis
// than the last. A tile of a vector of the last axes by some cache lines of that one is read line
// by line and written vector by vector, where the plain nest would read a line for every element.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"

namespace burnish {
namespace {

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

std::vector<Sketch> TransposeRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  const std::optional<Transposition> found = Recognize(program, block);
  if (!found.has_value()) return {};
  int64_t along_extent = 1, other_count = 1;
  for (VarId axis : found->along) along_extent *= Extent(program, axis);
  for (VarId axis : found->others) other_count *= Extent(program, axis);
  const int64_t across_extent = Extent(program, found->across);
  if (along_extent < 2) return {};
  const int64_t lanes = std::min<int64_t>(context.isa.float_lanes(), FloorPowerOfTwo(along_extent));

  Sketch sketch{.name = "transpose"};
  const auto add = [&](const std::string& text) { sketch.steps.push_back({.text = text}); };
  const auto loop = [&](absl::string_view what) { return absl::StrCat(block.name, "_", what); };
  const auto names = [&](const std::vector<VarId>& axes) {
    std::vector<std::string> result;
    for (VarId axis : axes) result.push_back(NameOf(program, axis));
    return result;
  };
  const auto fuse = [&](const std::vector<std::string>& axes, absl::string_view into) {
    if (axes.size() < 2) return axes.empty() ? "" : axes[0];
    add(absl::StrCat("fuse@1 ", List(axes), "->", loop(into)));
    return loop(into);
  };
  // Elements of a line, and several lines.
  Decision columns{.name = "columns"};
  for (int64_t v = 16; v < 4 * across_extent && v <= 128; v *= 2) columns.values.push_back(v);
  if (columns.values.empty()) columns.values.push_back(16);
  sketch.decisions.push_back(columns);

  std::vector<std::string> order = names(found->others);
  const std::string across = NameOf(program, found->across);
  order.push_back(across);
  for (const std::string& axis : names(found->along)) order.push_back(axis);
  add(absl::StrCat("reorder@1 ", List(order)));
  std::string dealt = fuse(names(found->others), "r");
  const std::string vectors = fuse(names(found->along), "v");
  add(absl::StrCat("split@1 ", vectors, "->(", loop("vo"), ",", loop("vi"), ") size=", lanes));
  add(absl::StrCat("split@1 ", across, "->(", loop("co"), ",", loop("ci"), ") size=$columns"));
  std::vector<std::string> nest = {loop("vo"), loop("co"), loop("ci"), loop("vi")};
  if (!dealt.empty()) nest.insert(nest.begin(), dealt);
  add(absl::StrCat("reorder@1 ", List(nest)));
  if (along_extent * across_extent * other_count >= kParallelMin && context.threads > 1) {
    if (dealt.empty() || other_count < context.threads) {
      if (!dealt.empty()) add(absl::StrCat("reorder@1 ", List({loop("vo"), dealt})));
      dealt = loop("vo");
    }
    add(absl::StrCat("split@1 ", dealt, "->(", loop("p"), ",", loop("p1"),
                     ") parts=", context.threads));
    add(absl::StrCat("parallel@1 ", loop("p")));
  }
  add(absl::StrCat("vectorize@1 ", loop("vi"), " lanes=", lanes));
  std::vector<Sketch> sketches = SpatialRule(context, id);
  sketches.insert(sketches.begin(), std::move(sketch));
  return sketches;
}

}  // namespace burnish
