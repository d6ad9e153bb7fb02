// Blocks that interleave a few rows of what they read: a transpose to channels last, a shuffle of
// channels. The last two output axes become one loop of vectors, whose lanes come from each of the
// rows in turn: a load a row and shuffles, instead of one element after the other.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rules/interleave.h"

namespace burnish {
namespace {

// Vectors that are written out before they are a loop, in which lanes have no known places.
constexpr int64_t kVectorsMax = 8;

}  // namespace

std::optional<Interleaving> FindInterleaving(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
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
    const std::optional<int64_t> along = address.StepOf(found.along);
    const std::optional<int64_t> across = address.StepOf(found.across);
    if (!along.has_value() || !across.has_value()) return std::nullopt;
    const bool neighbours = across == 1 && along == Extent(program, found.across);
    const bool rows = along == 1 && across > 1;
    if (!neighbours && !rows && (along > 1 || across > 1)) return std::nullopt;
    interleaves = interleaves || rows;
  }
  if (!interleaves) return std::nullopt;
  const int64_t rows = Extent(program, found.across);
  found.total = rows * Extent(program, found.along);
  found.lanes = std::min<int64_t>(LanesOf(context.device.core, program, block),
                                  FloorPowerOfTwo(Extent(program, found.along)));
  found.period = std::lcm(found.lanes, rows);
  // Over one run of neighbours for two lanes, loads would be as many as the elements.
  if (2 * rows > found.lanes || found.period / found.lanes > kVectorsMax ||
      found.period > std::min(found.total, kVectorElementsMax)) {
    return std::nullopt;
  }
  return found;
}

std::vector<Draft> InterleaveRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  const std::optional<Interleaving> found = FindInterleaving(context, id);
  if (!found.has_value()) return {};
  const int64_t total = found->total, lanes = found->lanes, period = found->period;
  Schedule s(program);
  const auto name = [&](absl::string_view what) { return absl::StrCat(block.name, "_", what); };
  Decision width{.name = "width"};
  const int64_t longest = std::min({total, kVectorsMax * lanes, kVectorElementsMax});
  for (int64_t v = 1; v * period <= longest; v *= 2) {
    width.values.push_back(v * period);
  }
  const int64_t other_count = ProductOfExtents(program, found->others);
  const std::vector<LoopRef> others = s.AxisLoops(found->others);
  const LoopRef along = s.AxisLoop(found->along), across = s.AxisLoop(found->across);
  std::vector<LoopRef> order = others;
  order.insert(order.end(), {along, across});
  s.Reorder(order);
  const LoopRef elements = s.Fuse({along, across}, name("v"));
  const auto [group, vector] =
      s.SplitSize(elements, {name("vo"), name("vi")}, s.Decide(std::move(width)));
  const LoopRef outer = others.empty() ? group : s.Fuse(others, name("r"));
  const bool deals_others = !others.empty() && other_count >= context.threads();
  if (total * other_count >= kParallelMin && deals_others) {
    DealToWorkers(s, outer, {name("p"), name("p1")}, context.threads());
  } else if (total * other_count >= kParallelMin) {
    if (!others.empty()) s.Reorder({group, outer});
    s.Parallel(group);
  }
  s.Vectorize(vector, lanes);
  return {Draft{"interleave", std::move(s)}};
}

}  // namespace burnish
