// Tiles of dot products: sums of products whose two sides both lie along the reduction. Lanes run
// along the reduction, not along an output axis: for convolutions with a few output channels, whose
// output has no whole vector, and for products of two run-time matrices of which one would have to
// be transposed. A tile of rows by columns shares each side's vectors; the lanes of a block of
// tiles are added up while the block is in the first cache. Deep reductions go in blocks, so that
// both sides of a block of tiles stay in the second cache. Where a short output has a long
// reduction (Gram matrices), each worker may sum a part of it instead (rfactor): there are too few
// blocks of the output to go round, and each would read most of both sides.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"
#include "tuner/sketch/rules/segment.h"

namespace burnish {
namespace {

// Rows and columns of a block of tiles: their partial sums, of a vector each, take 64 KiB at most.
constexpr int64_t kBlock = 32;
// The same where workers share out the reduction: 256 KiB of partial sums at most, which leave the
// second cache room, so that a worker reads its part of both sides once.
constexpr int64_t kBlockOfPart = 64;
// Elements of a side of the tile at once: 32 rows and columns of them fill half of 256 KiB.
constexpr int64_t kDepth = 512;
// A run-time operand is laid out anew for as many rows: the copy, element by element, is then a
// small part of the work.
constexpr int64_t kRowsOfAPackedOperand = 64;
// A side of a tile. Six by four sums and the shorter side's vectors fit 32 registers.
constexpr int64_t kTileMax = 6;

bool IsConstant(const Program& program, const ExprNode& load) {
  return program.buffers[load.id].role == BufferRole::kConstant;
}

// Which sides are laid out in the order of use first.
struct Packs {
  bool columns = false, others = false;
};

class DotTiles {
 public:
  DotTiles(const RuleContext& context, const Contraction& c, const Segment& segment, Packs packs,
           bool has_parts)
      : context_(context),
        program_(context.program),
        c_(c),
        block_(program_.blocks[c.block]),
        segment_(segment),
        packs_(packs),
        has_parts_(has_parts),
        s_(program_) {
    for (VarId axis : c.rows) {
      if (Extent(program_, axis) > 1) row_axis_ = axis;
    }
  }

  Draft Build() {
    SplitLanes();
    DealOut();
    Tile();
    s_.Vectorize(lane_, segment_.lanes);
    if (has_parts_) AddUpParts();
    return {has_parts_ ? "dot_tile/parts" : "dot_tile", std::move(s_)};
  }

 private:
  std::string Name(absl::string_view what) const { return absl::StrCat(block_.name, "_", what); }

  Expr Side(const char* name, int64_t extent) {
    Decision side{.name = name};
    for (int64_t v = 1; v <= std::min(extent, kTileMax); ++v) {
      if (v != 5) side.values.push_back(v);
    }
    return s_.Decide(std::move(side));
  }

  void SplitLanes() {
    const std::vector<LoopRef> reduction = s_.AxisLoops(block_.reduction);
    heads_.assign(reduction.begin(), reduction.begin() + static_cast<int64_t>(segment_.first));
    LoopRef segment = s_.Fuse(absl::MakeConstSpan(reduction).subspan(segment_.first), Name("q"));
    LoopRef part;
    if (has_parts_) {
      // Whole vectors, so that only the last part has a mask.
      const int64_t steps = context_.threads() * segment_.lanes;
      depth_ = (segment_.extent + steps - 1) / steps * segment_.lanes;
      std::tie(part, segment) =
          s_.SplitSize(segment, {Name("w"), Name("q1")}, Int(depth_),
                       segment_.extent % depth_ == 0 ? Tail::kRagged : Tail::kGuard);
    }
    const bool even = depth_ % segment_.lanes == 0;
    std::tie(step_, lane_) = s_.SplitSize(segment, {Name("qo"), Name("qi")}, Int(segment_.lanes),
                                          even ? Tail::kRagged : Tail::kGuard);
    sums_ = s_.FindBlock(block_.name);
    if (has_parts_) sums_ = s_.Rfactor(sums_, Name("parts"), part);
    partial_ = s_.Rfactor(sums_, Name("lanes"), lane_);
    if (packs_.columns) Pack(*c_.vector_load, {s_.AxisLoop(c_.vector_axis)});
    if (packs_.others) Pack(*c_.broadcast_load, {});
  }

  // `dims`: the output axes that the operand has, outermost first.
  void Pack(const ExprNode& load, std::vector<LoopRef> dims) {
    dims.insert(dims.end(), heads_.begin(), heads_.end());
    dims.insert(dims.end(), {step_, lane_});
    const Buffer& source = program_.buffers[load.id];
    const BlockRef packed = s_.Relayout(s_.FindBuffer(source.name), Name("packed"), dims);
    if (source.role == BufferRole::kConstant) s_.Precompute(packed);
  }

  // Blocks of rows and columns, or of them in parts, dealt to the workers.
  void DealOut() {
    const std::vector<LoopRef> loops = s_.LoopsOf(sums_);
    std::vector<LoopRef> blocks, inner;
    int64_t block_count = 1;
    const int64_t size = has_parts_ ? kBlockOfPart : kBlock;
    if (has_parts_) {
      blocks.push_back(loops[block_.spatial.size()]);
      block_count *= (segment_.extent + depth_ - 1) / depth_;
    }
    for (size_t d = 0; d < block_.spatial.size(); ++d) {
      const VarId axis = block_.spatial[d];
      if (axis != row_axis_ && axis != c_.vector_axis) {
        blocks.push_back(loops[d]);
        block_count *= Extent(program_, axis);
        continue;
      }
      const auto [outer, in_block] = s_.SplitMax(
          loops[d], {Name(absl::StrCat("b", d)), Name(absl::StrCat("t", d))}, Int(size));
      blocks.push_back(outer);
      block_count *= (Extent(program_, axis) + size - 1) / size;
      inner.push_back(in_block);
    }
    std::vector<LoopRef> order = blocks;
    order.insert(order.end(), inner.begin(), inner.end());
    s_.Reorder(order);
    inside_ = s_.Fuse(blocks, Name("r"));
    if (block_count >= context_.threads()) {
      inside_ = DealToWorkers(s_, inside_, {Name("p"), Name("r1")}, context_.threads());
    }
    s_.Stage(sums_, Name("sum"), inner.back(), Scope::kRegister);
    s_.Vectorize(s_.LoopsOf(sums_).back(), segment_.lanes);
  }

  // The partial sums of a block, tile by tile.
  void Tile() {
    const Expr rows = Side("mr", row_axis_ < 0 ? 1 : Extent(program_, row_axis_));
    const Expr columns = Side("nr", Extent(program_, c_.vector_axis));
    s_.Require(TileFitsRegisters(context_.device.core, false, rows, columns));
    std::vector<std::string> names;
    const size_t dims = block_.spatial.size() + (has_parts_ ? 2 : 1);
    for (size_t d = 0; d < dims; ++d) names.push_back(Name(absl::StrCat("l", d)));
    const std::vector<LoopRef> local = s_.ComputeAt(partial_, names, inside_);
    std::vector<LoopRef> order, tile;
    if (has_parts_) order.push_back(local[block_.spatial.size()]);
    for (size_t d = 0; d < block_.spatial.size(); ++d) {
      const VarId axis = block_.spatial[d];
      if (axis != row_axis_ && axis != c_.vector_axis) {
        order.push_back(local[d]);
        continue;
      }
      const auto [outer, in_tile] =
          s_.SplitMax(local[d], {Name(absl::StrCat("o", d)), Name(absl::StrCat("i", d))},
                      axis == row_axis_ ? rows : columns);
      order.push_back(outer);
      tile.push_back(in_tile);
    }
    const LoopRef around = order.back();
    if (depth_ >= 2 * kDepth) {
      const auto [depth, step] =
          s_.SplitSize(step_, {Name("kb"), Name("k1")}, Int(kDepth / segment_.lanes));
      order.insert(order.begin(), depth);
      step_ = step;
    }
    order.insert(order.end(), heads_.begin(), heads_.end());
    order.push_back(step_);
    order.insert(order.end(), tile.begin(), tile.end());
    order.push_back(local.back());
    s_.Reorder(order);
    s_.Stage(partial_, Name("acc"), around, Scope::kRegister);
    for (LoopRef loop : tile) s_.Unroll(loop);
    lane_ = local.back();
  }

  void AddUpParts() {
    const BlockRef whole = s_.FindBlock(block_.name);
    std::vector<LoopRef> loops = s_.LoopsOf(whole);
    const LoopRef part = loops.back();
    loops.pop_back();
    const LoopRef element = s_.Fuse(loops, Name("c"));
    const auto [vectors, vector] =
        s_.SplitSize(element, {Name("cv"), Name("ci")}, Int(segment_.lanes));
    s_.Reorder({vectors, part, vector});
    s_.Stage(whole, Name("total"), vectors, Scope::kRegister);
    s_.Vectorize(vector, segment_.lanes);
  }

  const RuleContext& context_;
  const Program& program_;
  const Contraction& c_;
  const Block& block_;
  const Segment segment_;
  const Packs packs_;
  const bool has_parts_;  // Each worker sums a part of the reduction.
  Schedule s_;
  VarId row_axis_ = -1;
  std::vector<LoopRef> heads_;
  int64_t depth_ = segment_.extent;  // Of the segment, for one worker.
  LoopRef step_, lane_, inside_;
  BlockRef sums_, partial_;  // What workers sum, and its lanes.
};

}  // namespace

std::vector<Draft> DotTileRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const std::optional<Contraction> c = RecognizeContraction(program, id);
  if (!c.has_value() || !WritesInAxisOrder(program, program.blocks[id])) return {};
  const Block& block = program.blocks[id];
  const bool is_constant = IsConstant(program, *c->vector_load);
  const int64_t lanes = LanesOf(context.device.core, program, block);
  // Columns in whole vectors are the register tile's, which adds up no lanes, unless an operand of
  // the run would have to be transposed for that.
  const bool is_narrow = Extent(program, c->vector_axis) < lanes;
  if (is_constant && !is_narrow) return {};
  const ExprNode &columns = *c->vector_load, &others = *c->broadcast_load;
  // Constants are laid out as is needed; where both sides are made at run time, both lie so.
  Segment segment{.lanes = lanes};
  const size_t of_columns = SegmentStart(program, block, columns);
  const size_t of_others = SegmentStart(program, block, others);
  segment.first = IsConstant(program, others) ? of_columns : of_others;
  // An axis of one element, fused, would stay an axis of the partial results.
  while (segment.first < block.reduction.size() &&
         Extent(program, block.reduction[segment.first]) == 1) {
    ++segment.first;
  }
  segment.extent =
      ProductOfExtents(program, absl::MakeConstSpan(block.reduction).subspan(segment.first));
  if (lanes < 4 || segment.extent < 2 * lanes) return {};
  const int64_t rows = ProductOfExtents(program, c->rows);
  const bool packs_columns = of_columns > segment.first, packs_others = of_others > segment.first;
  if (packs_columns &&
      (!c->outer.empty() || (!is_constant && (!is_narrow || rows < kRowsOfAPackedOperand)))) {
    return {};
  }
  if (packs_others && (!IsConstant(program, others) || rows > 1)) return {};
  const Packs packs{packs_columns, packs_others};
  std::vector<Draft> drafts;
  drafts.push_back(DotTiles(context, *c, segment, packs, /*has_parts=*/false).Build());
  if (!FirstPointApplies(drafts.front(), program)) return {};
  const int64_t elements = ProductOfExtents(program, block.spatial);
  const bool is_long = segment.extent >= 2 * kDepth * context.threads();
  if (context.threads() > 1 && is_long && elements <= kBlockOfPart * kBlockOfPart &&
      !packs_columns && !packs_others) {
    Draft parts = DotTiles(context, *c, segment, packs, /*has_parts=*/true).Build();
    if (FirstPointApplies(parts, program)) drafts.push_back(std::move(parts));
  }
  return drafts;
}

}  // namespace burnish
