#include "compiler/schedule/region.h"

#include <algorithm>
#include <optional>

#include "base/status_macros.h"
#include "compiler/ir/simplify.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {
namespace {

// Values start + [low, high], start over outer variables only.
struct Interval {
  LinearForm start;
  int64_t low = 0;
  int64_t high = 0;
};

void Accumulate(LinearForm& sum, const LinearForm& other, int64_t scale, const VarRanges& ranges) {
  sum = ToLinear(FromLinear(sum) + FromLinear(other) * scale, ranges);
}

class RegionAnalysis {
 public:
  RegionAnalysis(VarRanges ranges, std::vector<VarId> outer)
      : ranges_(std::move(ranges)), outer_(std::move(outer)) {}

  // nullopt where the index cannot be bounded by an outer start and a constant width.
  std::optional<Interval> Of(const Expr& e) const {
    if (IsOuter(e)) return Interval{.start = ToLinear(e, ranges_)};
    Interval result;
    const LinearForm form = ToLinear(e, ranges_);
    result.start.constant = form.constant;
    for (const auto& [atom, coefficient] : form.terms) {
      const std::optional<Interval> part = OfAtom(atom);
      if (!part.has_value()) return std::nullopt;
      Accumulate(result.start, part->start, coefficient, ranges_);
      result.low += coefficient * (coefficient > 0 ? part->low : part->high);
      result.high += coefficient * (coefficient > 0 ? part->high : part->low);
    }
    return result;
  }

 private:
  bool IsOuter(const Expr& e) const {
    const std::vector<VarId> free = FreeVars(e);
    return std::all_of(free.begin(), free.end(), [&](VarId var) {
      return std::find(outer_.begin(), outer_.end(), var) != outer_.end();
    });
  }

  bool IsInner(const Expr& e) const {
    const std::vector<VarId> free = FreeVars(e);
    return std::none_of(free.begin(), free.end(), [&](VarId var) {
      return std::find(outer_.begin(), outer_.end(), var) != outer_.end();
    });
  }

  std::optional<Interval> OfAtom(const Expr& atom) const {
    if (IsOuter(atom)) return Interval{.start = ToLinear(atom, ranges_)};
    // A quotient that mixes inner and outer loops, as a fused loop has: its range alone would be
    // the whole axis. The width is at most ceil((high - low) / c).
    if (atom->kind == ExprKind::kFloorDiv && IsConstInt(atom->operands[1]) && !IsInner(atom)) {
      // floor((start + [low, high]) / c) = floor((start + low) / c) + [0, ceil-ish width].
      const std::optional<Interval> x = Of(atom->operands[0]);
      if (!x.has_value()) return std::nullopt;
      const int64_t c = atom->operands[1]->int_value;
      const Expr begin = FloorDiv(FromLinear(x->start) + x->low, c);
      return Interval{
          .start = ToLinear(begin, ranges_), .low = 0, .high = (x->high - x->low + c - 1) / c};
    }
    // Anything else: all the values that it can have.
    const std::optional<Range> range = RangeOf(atom, ranges_);
    if (!range.has_value()) return std::nullopt;
    return Interval{.low = range->min, .high = range->max};
  }

  VarRanges ranges_;
  std::vector<VarId> outer_;
};

// Joins another access into a dimension; false where the two starts have no constant distance.
bool Join(Interval& sum, const Interval& other, const VarRanges& ranges) {
  const LinearForm distance = ToLinear(FromLinear(other.start) - FromLinear(sum.start), ranges);
  // Two accesses whose distance changes have no common box of constant size. The caller then takes
  // the whole dimension, which is never too small.
  if (!distance.terms.empty()) return false;
  sum.low = std::min(sum.low, other.low + distance.constant);
  sum.high = std::max(sum.high, other.high + distance.constant);
  return true;
}

RegionDim WholeDim(int64_t extent) { return {.start = Int(0), .size = extent}; }

}  // namespace

absl::StatusOr<Region> RegionUnder(const Program& program, BufferId buffer, NodeId loop) {
  std::vector<VarId> outer;
  for (NodeId id : LoopsAround(program, loop)) outer.push_back(program.nodes[id].var);
  const VarRanges ranges = RangesOf(program);
  const RegionAnalysis analysis(ranges, outer);
  const Buffer& b = program.buffers[buffer];

  std::vector<std::vector<Expr>> accesses;
  for (BlockId id : BlocksUnder(program, loop)) {
    const Block& block = program.blocks[id];
    for (const Expr& load : LoadsOf(block, buffer)) accesses.push_back(load->operands);
    if (block.output == buffer) accesses.push_back(block.output_indices);
  }
  if (accesses.empty()) return Refuse("nothing under the loop touches ", b.name);

  Region region;
  for (size_t d = 0; d < b.shape.size(); ++d) {
    std::optional<Interval> sum;
    bool bounded = true;
    for (const auto& indices : accesses) {
      const std::optional<Interval> one = analysis.Of(ExpandDefs(program, indices[d]));
      bounded = bounded && one.has_value();
      if (!bounded) break;
      if (!sum.has_value()) {
        sum = one;
      } else {
        bounded = Join(*sum, *one, ranges);
      }
    }
    const auto [below, above] = BorderOf(b, static_cast<int>(d));
    if (!bounded || (below == 0 && above == 0 && sum->high - sum->low + 1 >= b.shape[d])) {
      region.push_back(WholeDim(b.shape[d]));
      continue;
    }
    RegionDim dim{.start = Simplify(FromLinear(sum->start) + sum->low, ranges),
                  .size = sum->high - sum->low + 1};
    const std::optional<Range> range = RangeOf(dim.start, ranges);
    // The size is the greatest over all iterations, so that the box of the last one may reach past
    // the end.
    dim.may_overrun = !range.has_value() || range->max + dim.size > b.shape[d] + above;
    region.push_back(dim);
  }
  return region;
}

}  // namespace burnish
