// Sums of products on units whose sums are tiles of rows by columns in registers of their own.
//
// The loops are tiling.h's, with a tile where the contraction rule has a vector: a block of tiles
// stays in registers over the reduction, each row of it shares its left operand and each
// column its right one. What such a unit can do, its row of the device says: types, rows, columns,
// depth, packing, registers. All tiles have one shape, whose columns and depth divide what there
// is, and whose rows do as well (or the last tiles begin early): rows lie one stride apart, so that
// a tile ends where they stop to, at the end of an image's line.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/number_type.h"
#include "compiler/target/instruction.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"
#include "tuner/sketch/rules/tiling.h"

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

// Sizes of a block of tiles, each of which is one instruction.
class BlockOfTiles {
 public:
  // `shifted`: the last block of tiles begins early, among the rows before it.
  BlockOfTiles(const RuleContext& context, const Contraction& c, const ComputeUnit& unit,
               const Form& form, bool shifted)
      : context_(context),
        program_(context.program),
        c_(c),
        unit_(unit),
        tile_{.form = form,
              .intrinsic = unit.name,
              .sums = Scope::kTile,
              .depth = DepthOf(unit, SegmentDepth(program_, c)),
              .packed = unit.packed_k,
              .row_axis = TileAxis(program_, c),
              .shifted_rows = shifted},
        row_count_(ProductOfExtents(program_, c.rows)),
        column_count_(Extent(program_, c.vector_axis)),
        line_(Extent(program_, tile_.row_axis)),
        s_(program_) {}

  Draft Build() {
    Decide();
    Require();
    return {absl::StrCat("tile_product/", NameOf(tile_.form), tile_.shifted_rows ? "/shifted" : "",
                         Is(Shared::kOuter) ? "/shifted_columns" : "", "/", unit_.name),
            Tiled(program_, c_, tile_, std::move(s_))};
  }

 private:
  bool Is(Shared shared) const { return tile_.form.shared == shared; }

  void Decide() {
    Decision rows{.name = "rows"};
    if (tile_.shifted_rows) {
      for (int64_t v = unit_.rows_min; v <= unit_.m; ++v) rows.values.push_back(v);
    } else {
      rows.values = TileRows(unit_, line_);
    }
    tile_.rows = s_.Decide(std::move(rows));
    widths_ =
        Is(Shared::kOuter) ? std::vector<int64_t>{unit_.n} : TileColumns(unit_, column_count_);
    tile_.columns =
        widths_.size() == 1 ? Int(widths_[0]) : s_.Decide({.name = "columns", .values = widths_});
    Decision tile_rows{.name = "tr"}, tile_columns{.name = "tc"};
    for (int64_t v = 1; v <= kBlockMax; ++v) {
      tile_rows.values.push_back(v);
      // A panel that is wider than the axis is waste.
      if ((v - 1) * widths_[0] < column_count_) tile_columns.values.push_back(v);
    }
    tile_.tile_rows = s_.Decide(std::move(tile_rows));
    tile_columns_ = s_.Decide(std::move(tile_columns));
    tile_.width = Is(Shared::kOuter) ? tile_.columns * tile_columns_ : tile_columns_;
    tile_.prefetch = s_.Decide(PrefetchDecision(context_.options));
    if (tile_.form.order != Order::kBlocked) return;
    Decision block{.name = "kb"};
    // Two blocks at least: one is the form without.
    const int64_t reduced = SegmentDepth(program_, c_);
    for (int64_t v = 4; 2 * v * tile_.depth <= reduced; v *= 2) {
      block.values.push_back(v * tile_.depth);
    }
    tile_.block = s_.Decide(std::move(block));
    // Of the panel, what a block reads stays in the first cache while the rows go by.
    s_.Require(Le(tile_columns_ * tile_.block * (tile_.columns * NumberBytes(unit_.right)),
                  Int(context_.device.core.l1d.size_bytes / kPanelShare)));
  }

  void Require() {
    // The sums, and operands of one step of the reduction, which each is loaded for once.
    const MemoryLevel* const tiles = context_.device.FindLevel("tiles");
    s_.Require(Le(tile_.tile_rows * tile_columns_ + tile_.tile_rows + tile_columns_,
                  Int(tiles->size_bytes / tiles->line_bytes)));
    s_.Require(Lt((tile_.tile_rows - 1) * tile_.rows, Int(row_count_)));
    if (tile_.shifted_rows) {
      const Expr block = tile_.rows * tile_.tile_rows;
      s_.Require(Le(block, Int(line_)));
      // With fewer rows in each tile there would be one more of them.
      s_.Require(Lt((tile_.rows - 1) * tile_.tile_rows * CeilDiv(Int(line_), block), Int(line_)));
    }
    const int64_t threads = context_.threads();
    tile_.parts = threads;
    if (Is(Shared::kRows)) {
      // Every worker has a tile.
      s_.Require(Le(tile_.rows * threads, Int(row_count_)));
      if (tile_.form.order != Order::kChunks) return;
      tile_.chunks = s_.Decide(ChunksDecision());
      s_.Require(IsWorthAChunk(context_.device.core, program_, c_, tile_.chunks * threads));
    } else if (Is(Shared::kOuter)) {
      s_.Require(Le(tile_.width, Int(column_count_)));
    } else {
      const int64_t outer = ProductOfExtents(program_, c_.outer);
      // Every worker has a panel, if there are as many.
      tile_.parts = std::min(threads, outer * column_count_ / widths_.back());
      s_.Require(Le(Int(tile_.parts),
                    CeilDiv(FloorDiv(Int(column_count_), tile_.columns), tile_columns_) * outer));
      if (widths_.size() > 1) {
        // A panel that is wider than the axis is waste.
        s_.Require(Lt((tile_columns_ - 1) * tile_.columns, Int(column_count_)));
      }
    }
  }

  const RuleContext& context_;
  const Program& program_;
  const Contraction& c_;
  const ComputeUnit& unit_;
  Tile tile_;
  const int64_t row_count_, column_count_, line_;  // `line_`: of the axis that rows are taken from.
  Schedule s_;
  std::vector<int64_t> widths_;  // What the columns of an instruction may be.
  Expr tile_columns_;
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
      forms.push_back({});
      if (has_rows) forms.push_back({.shared = Shared::kRows});
      if (is_deep) forms.push_back({.order = Order::kBlocked});
      if (is_deep && has_rows) {
        forms.push_back({.shared = Shared::kRows, .order = Order::kBlocked});
      }
      // Where a worker's part of the input is more than L2 holds beside a panel.
      if (has_rows && c->outer.empty() &&
          OperandBytes(context.program, c->broadcast_load) / threads >
              context.device.core.l2.size_bytes / 2) {
        forms.push_back({.shared = Shared::kRows, .order = Order::kChunks});
      }
    } else if (columns > unit.n && outer >= threads && !c->outer.empty()) {
      // So do columns, as the scores of 197 keys have them.
      forms.push_back({.shared = Shared::kOuter});
    }
    for (const Form& form : forms) {
      Draft draft = BlockOfTiles(context, *c, unit, form, odd).Build();
      // Whether this nest is the instruction's, the primitive knows.
      if (FirstPointApplies(draft, context.program)) drafts.push_back(std::move(draft));
    }
  }
  return drafts;
}

}  // namespace burnish
