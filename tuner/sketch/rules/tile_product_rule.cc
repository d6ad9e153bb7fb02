// Sums of products on units whose sums are tiles of rows by columns in registers of their own.
//
// The loops are those of the contraction rule, with a tile where that has a vector: a block of
// tiles stays in registers over the reduction, each row of it shares its left operand and each
// column its right one. What such a unit can do, its row of the device says: types, rows, columns,
// depth, packing, registers. All tiles have one shape, whose columns and depth divide what there
// is, and whose rows do as well (or the last tiles begin early): rows lie one stride apart, so that
// a tile ends where they stop to, at the end of an image's line.
#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/number_type.h"
#include "compiler/target/instruction.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"

namespace burnish {
namespace {

// Of a block of tiles, in each direction: registers for the tiles and for the operands that they
// share allow no more of any unit that there is.
constexpr int64_t kBlockMax = 3;

// Of a level of cache, what a panel of the right operand may take: rows of the left one pass by.
constexpr int64_t kPanelShare = 2;

bool HoldsTiles(const ComputeUnit& unit) {
  return unit.sums_in == Residence::kTileRegister && unit.m > 1 && FindNest(unit.name) != nullptr;
}

// The axis that a tile's rows are taken from: the last one that is longer than an element. Its rows
// lie one stride apart however the tensor is stored; those of several axes do only without pads.
VarId TileAxis(const Program& program, const Contraction& c) {
  for (size_t i = c.rows.size(); i-- > 0;) {
    if (Extent(program, c.rows[i]) > 1) return c.rows[i];
  }
  return c.rows.back();
}

// Numbers of rows of a tile: those that leave no rest and save time by being fewer; where there are
// none, the greatest.
std::vector<int64_t> TileRows(const ComputeUnit& unit, int64_t extent) {
  std::vector<int64_t> rows;
  for (int64_t v = std::min<int64_t>(unit.m, extent); v >= 1; --v) {
    if (extent % v == 0 && (v >= unit.rows_min || rows.empty())) rows.push_back(v);
  }
  std::reverse(rows.begin(), rows.end());
  return rows;
}

// Of the unit's depth, what a product must use: less takes as long, and vectors do it sooner.
constexpr int64_t kDepthShare = 8;

// The greatest depth of a product that leaves no rest: a shallow one takes as long as a deep one.
// 0: none that is worth it.
int64_t DepthOf(const ComputeUnit& unit, int64_t reduced) {
  for (int64_t v = unit.k; kDepthShare * v >= unit.k; v -= unit.packed_k) {
    if (reduced % v == 0) return v;
    if (!unit.has_partial_tiles) break;
  }
  return 0;
}

// Numbers of columns of a tile: all of the unit's, or where these leave a rest those that do not;
// of fewer than half, two tiles in place of one cost more than vectors.
std::vector<int64_t> TileColumns(const ComputeUnit& unit, int64_t columns) {
  std::vector<int64_t> found;
  for (int64_t v = unit.n; 2 * v >= unit.n; --v) {
    if (columns % v == 0) found.push_back(v);
    if (!unit.has_partial_tiles || (v == unit.n && !found.empty())) break;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

// Whether no number of rows that is worth a tile leaves no rest.
bool HasOddRows(const ComputeUnit& unit, int64_t extent) {
  return extent > unit.rows_min && TileRows(unit, extent).back() < unit.rows_min;
}

struct Form {
  bool split_rows = false;       // Workers share rows, not panels.
  bool shifted = false;          // The last block of tiles begins early, among the rows before it.
  bool shifted_columns = false;  // So does the last panel; workers share the outer axes.
  bool block_reduction = false;  // The segment goes in blocks, partial sums are parked.
  bool chunk_rows = false;       // All panels for some rows, which stay in L2, then the next rows.
};

class TileSketch {
 public:
  TileSketch(const RuleContext& context, const Contraction& c, const ComputeUnit& unit,
             const Form& form, Schedule start)
      : context_(context),
        program_(context.program),
        c_(c),
        name_(program_.blocks[c.block].name),
        unit_(unit),
        form_(form),
        tile_axis_(TileAxis(program_, c)),
        depth_(DepthOf(unit, SegmentDepth(program_, c))),
        s_(std::move(start)) {}

  Draft Build() {
    Decide();
    Flatten();
    Tile();
    Pack();
    s_.Parallel(worker_);
    s_.Unroll(in_rows_);
    s_.Unroll(in_columns_);
    s_.Tensorize(row_lane_, unit_.name);
    s_.If(prefetch_, [&] { s_.PrefetchNext(s_.OutputOf(packed_), next_, step_, 2); });
    return {absl::StrCat("tile_product/", form_.split_rows ? "rows" : "panels",
                         form_.block_reduction ? "/blocked" : "", form_.chunk_rows ? "/chunks" : "",
                         form_.shifted ? "/shifted" : "",
                         form_.shifted_columns ? "/shifted_columns" : "", "/", unit_.name),
            std::move(s_)};
  }

 private:
  std::string New(absl::string_view what) const { return absl::StrCat(name_, "_", what); }
  Schedule::Names New(absl::string_view outer, absl::string_view inner) const {
    return {New(outer), New(inner)};
  }

  void Decide() {
    const int64_t row_count = ProductOfExtents(program_, c_.rows);
    const int64_t columns = Extent(program_, c_.vector_axis);
    const int64_t line = Extent(program_, tile_axis_);
    Decision rows{.name = "rows"};
    if (form_.shifted) {
      for (int64_t v = unit_.rows_min; v <= unit_.m; ++v) rows.values.push_back(v);
    } else {
      rows.values = TileRows(unit_, line);
    }
    rows_ = s_.Decide(std::move(rows));
    const std::vector<int64_t> widths =
        form_.shifted_columns ? std::vector<int64_t>{unit_.n} : TileColumns(unit_, columns);
    columns_ =
        widths.size() == 1 ? Int(widths[0]) : s_.Decide({.name = "columns", .values = widths});
    Decision tile_rows{.name = "tr"}, tile_columns{.name = "tc"};
    for (int64_t v = 1; v <= kBlockMax; ++v) {
      tile_rows.values.push_back(v);
      // A panel that is wider than the axis is waste.
      if ((v - 1) * widths[0] < columns) tile_columns.values.push_back(v);
    }
    tile_rows_ = s_.Decide(std::move(tile_rows));
    tile_columns_ = s_.Decide(std::move(tile_columns));
    Decision prefetch{.name = "prefetch", .kind = DecisionKind::kChoice, .values = {0}};
    if (context_.options.prefetch) prefetch.values.push_back(1);
    prefetch_ = s_.Decide(std::move(prefetch));
    if (form_.block_reduction) {
      Decision block{.name = "kb"};
      // Two blocks at least: one is the form without.
      const int64_t reduced = SegmentDepth(program_, c_);
      for (int64_t v = 4; 2 * v * depth_ <= reduced; v *= 2) block.values.push_back(v * depth_);
      kb_ = s_.Decide(std::move(block));
      // Of the panel, what a block reads stays in the first cache while the rows go by.
      s_.Require(Le(tile_columns_ * kb_ * (columns_ * NumberBytes(unit_.right)),
                    Int(context_.device.core.l1d.size_bytes / kPanelShare)));
    }
    // The sums, and operands of one step of the reduction, which each is loaded for once.
    const MemoryLevel* const tiles = context_.device.FindLevel("tiles");
    s_.Require(Le(tile_rows_ * tile_columns_ + tile_rows_ + tile_columns_,
                  Int(tiles->size_bytes / tiles->line_bytes)));
    s_.Require(Lt((tile_rows_ - 1) * rows_, Int(row_count)));
    if (form_.shifted) {
      s_.Require(Le(rows_ * tile_rows_, Int(line)));
      // With fewer rows in each tile there would be one more of them.
      s_.Require(Lt((rows_ - 1) * tile_rows_ * CeilDiv(Int(line), rows_ * tile_rows_), Int(line)));
    }
    const int64_t threads = context_.threads();
    if (form_.split_rows) {
      // Every worker has a tile.
      s_.Require(Le(rows_ * threads, Int(row_count)));
      if (form_.chunk_rows) {
        chunks_ = s_.Decide(ChunksDecision());
        s_.Require(IsWorthAChunk(context_.device.core, program_, c_, chunks_ * threads));
      }
    } else if (form_.shifted_columns) {
      s_.Require(Le(columns_ * tile_columns_, Int(columns)));
    } else {
      const int64_t outer = ProductOfExtents(program_, c_.outer);
      // Every worker has a panel, if there are as many.
      parts_ = std::min(threads, outer * columns / widths.back());
      s_.Require(Le(Int(parts_), CeilDiv(FloorDiv(Int(columns), columns_), tile_columns_) * outer));
      if (widths.size() > 1) {
        // A panel that is wider than the axis is waste.
        s_.Require(Lt((tile_columns_ - 1) * columns_, Int(columns)));
      }
    }
  }

  // Rows, outer axes and the reduction segment become one loop each, less what a unit takes of
  // them.
  void Flatten() {
    const std::vector<LoopRef> outer = s_.AxisLoops(c_.outer);
    const std::vector<LoopRef> reduction = s_.AxisLoops(c_.reduction);
    const LoopRef axis = s_.AxisLoop(c_.vector_axis);
    LoopRef tile_rows, line = s_.AxisLoop(tile_axis_);
    if (form_.shifted) {
      // Of a whole block, so that its tiles share no row.
      std::tie(tile_rows, line) =
          s_.SplitSize(line, New("mb", "mr"), rows_ * tile_rows_, Tail::kShift);
      std::tie(in_rows_, row_lane_) = s_.SplitSize(line, New("mi", "ml"), rows_);
    } else {
      std::tie(tile_rows, row_lane_) = s_.SplitSize(line, New("ms", "ml"), rows_);
    }
    std::vector<LoopRef> rows;
    for (VarId other : c_.rows) {
      if (other != tile_axis_) rows.push_back(s_.AxisLoop(other));
    }
    rows.push_back(tile_rows);
    std::vector<LoopRef> order = outer;
    order.insert(order.end(), rows.begin(), rows.end());
    order.push_back(axis);
    order.insert(order.end(), reduction.begin(), reduction.end());
    if (form_.shifted) order.push_back(in_rows_);
    order.push_back(row_lane_);
    s_.Reorder(order);
    row_ = s_.Fuse(rows, New("m"));
    if (!outer.empty()) outer_ = s_.Fuse(outer, New("g"));
    taps_.assign(reduction.begin(), reduction.begin() + c_.fused_from);
    const LoopRef segment =
        s_.Fuse(absl::MakeConstSpan(reduction).subspan(c_.fused_from), New("q"));
    if (form_.shifted_columns) {
      // Of a whole panel, so that its tiles share no column.
      LoopRef in_panel;
      std::tie(axis_, in_panel) =
          s_.SplitSize(axis, New("vp", "vr"), columns_ * tile_columns_, Tail::kShift);
      std::tie(in_columns_, column_lane_) = s_.SplitSize(in_panel, New("vi", "vl"), columns_);
    } else {
      std::tie(axis_, column_lane_) = s_.SplitSize(axis, New("vs", "vl"), columns_);
    }
    LoopRef products;
    std::tie(segment_, products) = s_.SplitSize(segment, New("qs", "ql"), Int(depth_));
    std::tie(group_, product_) = s_.SplitSize(products, New("qg", "qv"), Int(unit_.packed_k));
  }

  // The loops around a block of tiles, outermost first.
  std::vector<LoopRef> DealOut() {
    std::vector<LoopRef> loops;
    if (form_.shifted_columns) {
      LoopRef of_worker;
      std::tie(worker_, of_worker) = s_.SplitParts(outer_, New("p", "g1"), Int(context_.threads()));
      next_ = axis_;
      panel_dims_ = {outer_, axis_};
      return {worker_, of_worker, axis_};
    }
    const auto [panels, in_panel] = s_.SplitSize(axis_, New("vp", "vi"), tile_columns_);
    in_columns_ = in_panel;
    if (form_.split_rows) {
      std::tie(worker_, row_) = s_.SplitParts(row_, New("p", "m1"), Int(context_.threads()));
      loops = {worker_};
      if (form_.chunk_rows) {
        LoopRef chunk;
        std::tie(chunk, row_) = s_.SplitParts(row_, New("mc", "m2"), chunks_);
        loops.push_back(chunk);
      }
      if (outer_) panel_dims_.push_back(outer_);
      panel_dims_.push_back(panels);
      loops.insert(loops.end(), panel_dims_.begin(), panel_dims_.end());
    } else {
      LoopRef panel = panels, of_worker;
      if (outer_) {
        s_.Reorder({outer_, panels, row_});
        panel = s_.Fuse({outer_, panels}, New("gp"));
      }
      std::tie(worker_, of_worker) = s_.SplitParts(panel, New("p", "pq"), Int(parts_));
      loops = {worker_, of_worker};
      panel_dims_ = {panel};
    }
    next_ = loops.back();
    return loops;
  }

  void Tile() {
    std::vector<LoopRef> loops = DealOut(), inner = taps_;
    LoopRef segment = segment_, block;
    if (form_.block_reduction) {
      std::tie(block, segment) = s_.SplitSize(segment_, New("kb", "q1"), FloorDiv(kb_, depth_));
      loops.insert(loops.end(), taps_.begin(), taps_.end());
      loops.push_back(block);
      inner.clear();
    }
    step_ = segment;
    LoopRef tile = row_;
    if (!form_.shifted) {
      std::tie(tile, in_rows_) = s_.SplitMax(row_, New("mt", "mi"), tile_rows_);
    }
    loops.push_back(tile);
    inner.insert(inner.end(),
                 {segment, in_rows_, in_columns_, row_lane_, column_lane_, group_, product_});
    loops.insert(loops.end(), inner.begin(), inner.end());
    s_.Reorder(loops);
    s_.Stage(s_.FindBlock(name_), New("acc"), tile, Scope::kTile);
  }

  // The right operand in the order of use; for constants once, when the model is built.
  void Pack() {
    const Buffer& source = program_.buffers[c_.vector_load->id];
    std::vector<LoopRef> dims = panel_dims_;
    dims.insert(dims.end(), taps_.begin(), taps_.end());
    dims.insert(dims.end(), {segment_, in_columns_, group_, column_lane_, product_});
    packed_ = s_.Relayout(s_.FindBuffer(source.name), New("packed"), dims);
    if (source.role == BufferRole::kConstant) {
      s_.Precompute(packed_);
      return;
    }
    const std::vector<LoopRef> copied = s_.LoopsOf(packed_);
    s_.Vectorize(copied.back(), unit_.packed_k);
    s_.Parallel(copied[0]);
  }

  const RuleContext& context_;
  const Program& program_;
  const Contraction& c_;
  const std::string name_;
  const ComputeUnit& unit_;
  const Form form_;
  const VarId tile_axis_;
  const int64_t depth_;  // Of one product.
  Schedule s_;
  int64_t parts_ = 1;
  Expr rows_, columns_, tile_rows_, tile_columns_, prefetch_, kb_, chunks_;
  LoopRef row_, outer_, axis_, segment_;              // In tiles; null where there is none.
  LoopRef row_lane_, column_lane_, group_, product_;  // Of one instruction.
  LoopRef worker_, next_, in_rows_, in_columns_, step_;
  std::vector<LoopRef> taps_, panel_dims_;
  BlockRef packed_;
};

}  // namespace

std::vector<Draft> TileProductRule(const RuleContext& context, BlockId id) {
  const std::optional<Contraction> c = RecognizeContraction(context.program, id);
  if (!c.has_value() || c->rows.empty()) return {};
  const Block& block = context.program.blocks[id];
  const int64_t reduced = SegmentDepth(context.program, *c);
  const int64_t threads = context.threads();
  std::vector<Draft> drafts;
  for (const ComputeUnit& unit : context.device.units) {
    if (!HoldsTiles(unit) || !IsOf(unit.left, c->broadcast_load->dtype) ||
        !IsOf(unit.right, c->vector_load->dtype) || !IsOf(unit.sum, block.step->dtype) ||
        DepthOf(unit, reduced) == 0) {
      continue;
    }
    const int64_t columns = Extent(context.program, c->vector_axis);
    const int64_t rows = ProductOfExtents(context.program, c->rows);
    const int64_t outer = ProductOfExtents(context.program, c->outer);
    // Rows that are computed twice belong to one worker, and begin anew with their sums.
    const bool odd = HasOddRows(unit, Extent(context.program, TileAxis(context.program, *c)));
    std::vector<Form> forms;
    if (!TileColumns(unit, columns).empty()) {
      const bool is_deep = !odd && reduced >= 8 * DepthOf(unit, reduced);
      const bool has_rows = !odd && rows >= threads;
      forms.push_back({.shifted = odd});
      if (has_rows) forms.push_back({.split_rows = true});
      if (is_deep) forms.push_back({.block_reduction = true});
      if (is_deep && has_rows) forms.push_back({.split_rows = true, .block_reduction = true});
      // Where a worker's part of the input is more than L2 holds beside a panel.
      if (has_rows && c->outer.empty() &&
          OperandBytes(context.program, c->broadcast_load) / threads >
              context.device.core.l2.size_bytes / 2) {
        forms.push_back({.split_rows = true, .chunk_rows = true});
      }
    } else if (columns > unit.n && outer >= threads && !c->outer.empty()) {
      // So do columns, as the scores of 197 keys have them.
      forms.push_back({.shifted = odd, .shifted_columns = true});
    }
    for (const Form& form : forms) {
      Draft draft = TileSketch(context, *c, unit, form, Schedule(context.program)).Build();
      // Whether this nest is the instruction's, the primitive knows.
      if (FirstPointApplies(draft, context.program)) drafts.push_back(std::move(draft));
    }
  }
  return drafts;
}

}  // namespace burnish
