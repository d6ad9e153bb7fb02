// Blocks that interleave a few rows of what they read: a transpose to channels last, a shuffle of
// channels. The last two output axes become one loop of vectors, whose lanes come from each of the
// rows in turn: a load a row and shuffles, instead of one element after the other.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"

namespace burnish {
namespace {

// Vectors that are written out before they are a loop, in which lanes have no known places.
constexpr int64_t kVectorsMax = 8;

struct Interleaving {
  VarId along = -1;   // Walks each row element by element.
  VarId across = -1;  // The last output axis: from row to row.
  std::vector<VarId> others;
};

std::optional<Interleaving> Recognize(const Program& program, const Block& block) {
  if (!IsUniformMap(program, block)) return std::nullopt;
  Interleaving found;
  for (VarId axis : block.spatial) {
    if (Extent(program, axis) == 1) {
      found.others.push_back(axis);
      continue;
    }
    if (found.along >= 0) found.others.push_back(found.along);
    found.along = found.across;
    found.across = axis;
  }
  if (found.along < 0) return std::nullopt;
  bool interleaves = false;
  for (const Expr& load : DistinctLoads(block)) {
    const LinearForm address = AddressOf(program, *load);
    if (address.HidesVar(found.along) || address.HidesVar(found.across)) return std::nullopt;
    const int64_t along = address.CoefficientOf(found.along);
    const int64_t across = address.CoefficientOf(found.across);
    const bool neighbours = across == 1 && along == Extent(program, found.across);
    const bool rows = along == 1 && across > 1;
    if (!neighbours && !rows && (along > 1 || across > 1)) return std::nullopt;
    interleaves = interleaves || rows;
  }
  if (!interleaves) return std::nullopt;
  return found;
}

}  // namespace

std::vector<Sketch> InterleaveRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  const std::optional<Interleaving> found = Recognize(program, block);
  if (!found.has_value()) return {};
  const int64_t rows = Extent(program, found->across);
  const int64_t total = rows * Extent(program, found->along);
  const int64_t lanes =
      std::min<int64_t>(context.isa.float_lanes(), FloorPowerOfTwo(Extent(program, found->along)));
  // Each vector starts at the same row again after so many elements.
  const int64_t period = std::lcm(lanes, rows);
  // Over one run of neighbours for two lanes, loads would be as many as the elements.
  if (2 * rows > lanes || period / lanes > kVectorsMax || period > total) return {};

  Sketch sketch{.name = "interleave"};
  const auto add = [&](const std::string& text) { sketch.steps.push_back({.text = text}); };
  const auto loop = [&](absl::string_view what) { return absl::StrCat(block.name, "_", what); };
  Decision width{.name = "width"};
  for (int64_t v = 1; v * period <= total && v * period / lanes <= kVectorsMax; v *= 2) {
    width.values.push_back(v * period);
  }
  sketch.decisions.push_back(width);
  std::vector<std::string> others;
  int64_t other_count = 1;
  for (VarId axis : found->others) {
    others.push_back(NameOf(program, axis));
    other_count *= Extent(program, axis);
  }
  const std::string along = NameOf(program, found->along), across = NameOf(program, found->across);
  std::vector<std::string> order = others;
  order.insert(order.end(), {along, across});
  add(absl::StrCat("reorder@1 ", List(order)));
  add(absl::StrCat("fuse@1 ", List({along, across}), "->", loop("v")));
  add(absl::StrCat("split@1 ", loop("v"), "->(", loop("vo"), ",", loop("vi"), ") size=$width"));
  std::string outer = others.empty() ? loop("vo") : others[0];
  if (others.size() > 1) {
    add(absl::StrCat("fuse@1 ", List(others), "->", loop("r")));
    outer = loop("r");
  }
  const bool deals_others = !others.empty() && other_count >= context.threads;
  if (total * other_count >= kParallelMin && deals_others) {
    add(absl::StrCat("split@1 ", outer, "->(", loop("p"), ",", loop("p1"),
                     ") parts=", context.threads));
    add(absl::StrCat("parallel@1 ", loop("p")));
  } else if (total * other_count >= kParallelMin) {
    if (!others.empty()) add(absl::StrCat("reorder@1 ", List({loop("vo"), outer})));
    add(absl::StrCat("parallel@1 ", loop("vo")));
  }
  add(absl::StrCat("vectorize@1 ", loop("vi"), " lanes=", lanes));
  std::vector<Sketch> sketches = SpatialRule(context, id);
  sketches.insert(sketches.begin(), std::move(sketch));
  return sketches;
}

}  // namespace burnish
