// Reductions along memory: sums, means and maxima over the trailing axes of the input, or over all
// of them. The axes that loads walk without a gap are one segment, of which a few vectors of
// partial results are kept in registers; what is left over is masked. The lanes of a row are
// combined while the row is at hand, not in a pass of their own. Where there are fewer rows than
// workers, each worker reduces a part of the segment (rfactor), and a short last reduction combines
// the parts.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"
#include "tuner/sketch/rules/segment.h"

namespace burnish {
namespace {

// Vectors of partial results: as many as hide an addition's latency of 4 cycles at two a cycle.
constexpr int64_t kVectorsMax = 8;
// Of so many steps a segment is written out, so that only its last step has a mask.
constexpr int64_t kUnrolledSteps = 16;
// Rows whose lanes are combined together, one after the other: their latencies overlap.
constexpr int64_t kRowsAtOnce = 8;
// Parts of a segment for each worker, so that one that is late leaves less to wait for.
constexpr int64_t kPartsOfWorker = 4;

// The trailing reduction axes that every load that moves with one of them walks as one.
Segment SegmentOf(const RuleContext& context, const Block& block) {
  const Program& program = context.program;
  Segment segment{.first = block.reduction.size(),
                  .lanes = LanesOf(context.device.core, program, block)};
  while (segment.first > 0) {
    const VarId axis = block.reduction[segment.first - 1];
    bool walks = Extent(program, axis) == 1;
    bool fits = true;
    for (const Expr& load : DistinctLoads(block)) {
      const bool moves = std::any_of(
          block.reduction.begin() + static_cast<int64_t>(segment.first) - 1, block.reduction.end(),
          [&](VarId each) { return DependsOn(program, *load, each); });
      if (!moves || Extent(program, axis) == 1) continue;
      walks = true;
      fits = fits && StepOf(program, *load, axis) == segment.extent;
    }
    if (!walks || !fits) break;
    segment.extent *= Extent(program, axis);
    --segment.first;
  }
  return segment;
}

class SegmentReduction {
 public:
  SegmentReduction(const RuleContext& context, BlockId id, const Segment& segment)
      : context_(context),
        block_(context.program.blocks[id]),
        segment_(segment),
        s_(context.program) {
    rows_ = ProductOfExtents(context.program, block_.spatial);
  }

  // A row, or a few, at a time.
  Draft Rows() {
    const LoopRef lane = SplitLanes(FuseSegment(), segment_.extent);
    partial_ = s_.Rfactor(s_.FindBlock(block_.name), Name("lanes"), lane);
    std::vector<LoopRef> rows = s_.LoopsOf(s_.FindBlock(block_.name));
    rows.pop_back();
    const LoopRef row = s_.Fuse(rows, Name("r"));
    LoopRef of_worker = row;
    const bool deal = rows_ * segment_.extent >= kParallelMin && rows_ >= context_.threads();
    if (deal) of_worker = DealToWorkers(s_, row, {Name("p"), Name("r1")}, context_.threads());
    Decision at_once{.name = "rows", .values = {1}};
    if (rows_ / context_.threads() >= kRowsAtOnce) at_once.values.push_back(kRowsAtOnce);
    const auto [tile, in_tile] =
        s_.SplitMax(of_worker, {Name("rb"), Name("r2")}, s_.Decide(std::move(at_once)));
    Combine(s_.FindBlock(block_.name), tile, in_tile);
    return {"segment_reduction/rows", std::move(s_)};
  }

  // A part of each row for each worker, or several.
  Draft Parts() {
    const int64_t parts = kPartsOfWorker * context_.threads();
    const int64_t step = kVectorsMax * segment_.lanes;
    const int64_t size = (segment_.extent + parts * step - 1) / (parts * step) * step;
    const auto [part, in_part] =
        s_.SplitSize(FuseSegment(), {Name("w"), Name("q1")}, Int(size),
                     segment_.extent % size == 0 ? Tail::kRagged : Tail::kGuard);
    const LoopRef lane = SplitLanes(in_part, size);
    const BlockRef of_part = s_.Rfactor(s_.FindBlock(block_.name), Name("parts"), part);
    partial_ = s_.Rfactor(of_part, Name("lanes"), lane);
    std::vector<LoopRef> loops = s_.LoopsOf(of_part);
    loops.pop_back();
    const LoopRef worker = s_.Fuse(loops, Name("p"));
    s_.Parallel(worker);
    Combine(of_part, worker, worker);
    return {"segment_reduction/parts", std::move(s_)};
  }

  bool HasParts() const {
    return rows_ < context_.threads() ||
           (rows_ == 1 && segment_.extent >= kPartsOfWorker * kVectorsMax * segment_.lanes);
  }
  bool HasRows() const { return !block_.spatial.empty(); }

 private:
  std::string Name(absl::string_view what) const { return absl::StrCat(block_.name, "_", what); }

  LoopRef FuseSegment() {
    // An axis of one element behind others would stay an axis of the partial results, fused and so
    // not to be moved: it goes in front.
    std::vector<LoopRef> alone, fused;
    for (size_t i = segment_.first; i < block_.reduction.size(); ++i) {
      const bool behind = !fused.empty() && Extent(context_.program, block_.reduction[i]) == 1;
      (behind ? alone : fused).push_back(s_.AxisLoop(block_.reduction[i]));
    }
    if (!alone.empty()) {
      alone.insert(alone.end(), fused.begin(), fused.end());
      s_.Reorder(alone);
    }
    return s_.Fuse(fused, Name("q"));
  }

  // Splits off the partial results of a loop of `extent` steps.
  LoopRef SplitLanes(LoopRef loop, int64_t extent) {
    const bool even = extent % segment_.lanes == 0;
    Decision sums{.name = "sums"};
    for (int64_t v = 1; v <= kVectorsMax; v *= 2) {
      const int64_t size = v * segment_.lanes;
      if (size <= kVectorElementsMax && (v == 1 || 2 * size <= extent) &&
          (!even || extent % size == 0)) {
        sums.values.push_back(size);
      }
    }
    is_short_ = !even && extent <= kUnrolledSteps * segment_.lanes;
    const auto [step, lane] =
        s_.SplitSize(loop, {Name("ko"), Name("ki")}, s_.Decide(std::move(sums)),
                     even ? Tail::kRagged : Tail::kGuard);
    step_ = step;
    return lane;
  }

  // Puts the partial results of `whole`'s rows into loop `inside`, before the rows themselves,
  // which loop `row` walks.
  void Combine(BlockRef whole, LoopRef inside, LoopRef row) {
    s_.Stage(whole, Name("sum"), row, Scope::kRegister);
    s_.Vectorize(s_.LoopsOf(whole).back(), segment_.lanes);
    std::vector<std::string> names;
    const size_t spatial = s_.structure().blocks[partial_.id].spatial.size();
    for (size_t d = 0; d < spatial; ++d) names.push_back(Name(absl::StrCat("l", d)));
    const std::vector<LoopRef> local = s_.ComputeAt(partial_, names, inside);
    s_.Stage(partial_, Name("acc"), local[local.size() - 2], Scope::kRegister);
    // Lanes innermost, below all reduction loops.
    std::vector<LoopRef> order =
        s_.AxisLoops(absl::MakeConstSpan(block_.reduction).subspan(0, segment_.first));
    order.insert(order.end(), {step_, local.back()});
    s_.Reorder(order);
    if (is_short_) s_.Unroll(step_);
    s_.Vectorize(local.back(), segment_.lanes);
  }

  const RuleContext& context_;
  const Block& block_;
  const Segment segment_;
  int64_t rows_ = 1;
  Schedule s_;
  BlockRef partial_;
  LoopRef step_;
  bool is_short_ = false;  // So short that it is written out.
};

}  // namespace

std::vector<Draft> SegmentReductionRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  if (block.reduction.empty() || !WritesInAxisOrder(program, block)) return {};
  // A task has the product of its blocks' spaces, and that of a product is large by itself.
  for (BlockId other = 0; other < static_cast<BlockId>(program.blocks.size()); ++other) {
    if (RecognizeContraction(program, other).has_value()) return {};
  }
  const Segment segment = SegmentOf(context, block);
  // As for row_reduction: fewer lanes gain nothing, one vector has nothing to reduce.
  if (segment.lanes < 4 || segment.extent < 2 * segment.lanes) return {};
  std::vector<Draft> drafts;
  SegmentReduction rows(context, id, segment);
  if (rows.HasRows()) drafts.push_back(rows.Rows());
  SegmentReduction parts(context, id, segment);
  if (parts.HasParts()) drafts.push_back(parts.Parts());
  std::erase_if(drafts, [&](const Draft& draft) { return !FirstPointApplies(draft, program); });
  return drafts;
}

}  // namespace burnish
