#include "tuner/sketch/rules/tiling.h"

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

void Append(std::vector<LoopRef>& loops, const std::vector<LoopRef>& more) {
  loops.insert(loops.end(), more.begin(), more.end());
}

class Tiling {
 public:
  Tiling(const Program& program, const Contraction& c, const Tile& tile, Schedule schedule)
      : program_(program),
        c_(c),
        name_(program_.blocks[c.block].name),
        tile_(tile),
        s_(std::move(schedule)) {}

  Schedule Build() {
    Flatten();
    OrderLoops();
    if (!tile_.form.direct) Pack();
    Annotate();
    return std::move(s_);
  }

 private:
  bool Is(Shared shared) const { return tile_.form.shared == shared; }
  bool Is(Order order) const { return tile_.form.order == order; }
  // Whether an instruction computes the innermost loops as a nest of its own.
  bool IsNest() const { return !tile_.intrinsic.empty(); }
  bool HasRows() const { return tile_.row_axis >= 0; }

  std::string New(absl::string_view what) const { return absl::StrCat(name_, "_", what); }
  Schedule::Names New(absl::string_view outer, absl::string_view inner) const {
    return {New(outer), New(inner)};
  }

  // Of axes as the context has them: after a split for groups they are its loops.
  LoopRef LoopOf(VarId axis) { return s_.Find(program_.vars[axis].name); }
  std::vector<LoopRef> LoopsOf(const std::vector<VarId>& axes) {
    std::vector<LoopRef> loops;
    for (VarId axis : axes) loops.push_back(LoopOf(axis));
    return loops;
  }

  // Rows, outer axes and the reduction segment become one loop each, less what an instruction
  // takes of them.
  void Flatten() {
    const std::vector<LoopRef> outer = LoopsOf(c_.outer), reduction = LoopsOf(c_.reduction);
    axis_ = LoopOf(c_.vector_axis);
    LoopRef row_lane;
    const std::vector<LoopRef> rows = HasRows() ? SplitRows(row_lane) : LoopsOf(c_.rows);
    std::vector<LoopRef> order = outer;
    Append(order, rows);
    order.push_back(axis_);
    Append(order, reduction);
    if (in_tile_) order.push_back(in_tile_);
    if (row_lane) order.push_back(row_lane);
    s_.Reorder(order);
    if (!rows.empty()) row_ = s_.Fuse(rows, New("m"));
    if (!outer.empty()) outer_ = s_.Fuse(outer, New("g"));
    taps_.assign(reduction.begin(), reduction.begin() + c_.fused_from);
    segment_ = s_.Fuse(absl::MakeConstSpan(reduction).subspan(c_.fused_from), New("q"));
    if (IsNest()) TakeInstruction(row_lane);
  }

  // The axis that an instruction takes rows of, and the others in front of it.
  std::vector<LoopRef> SplitRows(LoopRef& row_lane) {
    LoopRef tiles, line = LoopOf(tile_.row_axis);
    if (tile_.shifted_rows) {
      // Of a whole block, so that its tiles share no row.
      std::tie(tiles, line) =
          s_.SplitSize(line, New("mb", "mr"), tile_.rows * tile_.tile_rows, Tail::kShift);
      std::tie(in_tile_, row_lane) = s_.SplitSize(line, New("mi", "ml"), tile_.rows);
    } else {
      std::tie(tiles, row_lane) = s_.SplitSize(line, New("ms", "ml"), tile_.rows);
    }
    std::vector<LoopRef> rows;
    for (VarId other : c_.rows) {
      if (other != tile_.row_axis) rows.push_back(LoopOf(other));
    }
    rows.push_back(tiles);
    return rows;
  }

  // First of all, where columns divide evenly: an instruction takes whole loops only.
  void TakeInstruction(LoopRef row_lane) {
    LoopRef products;
    if (Is(Shared::kOuter)) {
      // Of a whole panel, so that its tiles share no column.
      LoopRef in_panel;
      std::tie(axis_, in_panel) = s_.SplitSize(axis_, New("vp", "vr"), tile_.width, Tail::kShift);
      std::tie(vector_, lane_) = s_.SplitSize(in_panel, New("vi", "vl"), tile_.columns);
    } else if (!tile_.shifted) {
      std::tie(axis_, lane_) = s_.SplitSize(axis_, New("vs", "vl"), tile_.columns);
    }
    std::tie(segment_, products) = s_.SplitSize(segment_, New("qs", "ql"), Int(tile_.depth));
    if (row_lane) nest_.push_back(row_lane);
    if (tile_.packed == 0) {
      products_ = {products};
      return;
    }
    const auto [group, product] = s_.SplitSize(products, New("qg", "qv"), Int(tile_.packed));
    products_ = {group, product};
  }

  // The loops around a tile, outermost first, ending with the one that moves from tile to tile.
  void OrderLoops() {
    std::vector<LoopRef> loops = DealOut();
    LoopRef block;
    step_ = segment_;
    if (Is(Order::kBlocked)) {
      const Expr steps = IsNest() ? FloorDiv(tile_.block, tile_.depth) : tile_.block;
      std::tie(block, step_) = s_.SplitSize(segment_, New("kb", "q1"), steps);
    }
    if (tile_.unrolled != nullptr) {
      std::tie(step_, unrolled_) = s_.SplitSize(step_, New("qo", "qi"), tile_.unrolled);
    }
    std::vector<LoopRef> inner = taps_;
    if (Is(Order::kBlocked)) {
      // Taps and blocks go outside the rows: partial sums are parked in the output between them.
      Append(loops, inner);
      loops.push_back(block);
      inner.clear();
    }
    if (Is(Shared::kBlocks)) {
      in_tile_ = row_of_worker_;
    } else if (row_of_worker_) {
      LoopRef tile = row_of_worker_;
      if (!in_tile_) {
        std::tie(tile, in_tile_) = s_.SplitMax(row_of_worker_, New("mt", "mi"), tile_.tile_rows);
      }
      loops.insert(Is(Order::kTiles) ? loops.begin() + 1 : loops.end(), tile);
    }
    around_ = loops.back();
    inner.push_back(step_);
    if (unrolled_) inner.push_back(unrolled_);
    if (in_tile_) inner.push_back(in_tile_);
    inner.push_back(vector_);
    if (IsNest()) {
      nest_.push_back(lane_);
      Append(nest_, products_);
      Append(inner, nest_);
    }
    Append(loops, inner);
    s_.Reorder(loops);
    // Few rows: they are broadcast once and the panel streams; else the other way round.
    if (in_tile_ && tile_.panel_streams != nullptr) {
      s_.If(tile_.panel_streams, [&] { s_.Reorder({vector_, in_tile_}); });
    }
    s_.Stage(s_.FindBlock(name_), New("acc"), around_, tile_.sums);
  }

  // What each worker does, and in which order it goes over panels: loops, outermost first. Leaves a
  // worker's rows in row_of_worker_.
  std::vector<LoopRef> DealOut() {
    row_of_worker_ = row_;
    if (Is(Shared::kBlocks)) return DealToBlocks();
    const std::vector<LoopRef> loops = Is(Shared::kOuter)  ? DealOuter()
                                       : Is(Shared::kGrid) ? DealGrid()
                                       : Is(Shared::kRows) ? DealRows()
                                                           : DealPanels();
    next_ = loops.back();
    return loops;
  }

  // A block of threads for each tile of rows and columns: its lanes lie side by side along the
  // columns, its warps have rows each. What does not divide is guarded: a thread has its tile or
  // none of it.
  std::vector<LoopRef> DealToBlocks() {
    const auto [panels, in_panel] = s_.SplitSize(axis_, New("vp", "vi"), tile_.width, Tail::kGuard);
    std::tie(vector_, lane_) = s_.SplitSize(in_panel, New("vv", "vl"), tile_.columns);
    panel_dims_ = {panels};
    std::vector<LoopRef> grid, threads = {lane_};
    if (outer_) {
      grid.push_back(outer_);
      panel_dims_.insert(panel_dims_.begin(), outer_);
    }
    if (row_) {
      const auto [tiles, in_block] =
          s_.SplitSize(row_, New("mt", "mb"), tile_.tile_rows * tile_.warps, Tail::kGuard);
      std::tie(warp_, row_of_worker_) = s_.SplitSize(in_block, New("mw", "mi"), tile_.tile_rows);
      grid.push_back(tiles);
      threads.insert(threads.begin(), warp_);
    }
    grid.push_back(panels);
    std::vector<LoopRef> order = grid;
    Append(order, threads);
    s_.Reorder(order);
    worker_ = s_.Fuse(grid, New("p"));
    threads.insert(threads.begin(), worker_);
    return threads;
  }

  std::vector<LoopRef> DealOuter() {
    LoopRef of_worker;
    std::tie(worker_, of_worker) = s_.SplitParts(outer_, New("p", "g1"), Int(tile_.parts));
    panel_dims_ = {outer_, axis_};
    return {worker_, of_worker, axis_};
  }

  std::vector<LoopRef> DealGrid() {
    const auto [column_part, axis] = s_.SplitParts(axis_, New("pc", "v1"), tile_.column_parts);
    const LoopRef panels = SplitPanels(axis);
    LoopRef row_part;
    std::tie(row_part, row_of_worker_) = s_.SplitParts(row_, New("pr", "m1"), tile_.row_parts);
    s_.Reorder({row_part, column_part, panels, row_of_worker_});
    worker_ = s_.Fuse({row_part, column_part}, New("p"));
    panel_dims_ = {column_part, panels};
    return {worker_, panels};
  }

  std::vector<LoopRef> DealRows() {
    const LoopRef panels = SplitPanels(axis_);
    std::tie(worker_, row_of_worker_) = s_.SplitParts(row_, New("p", "m1"), Int(tile_.parts));
    std::vector<LoopRef> loops = {worker_};
    if (Is(Order::kChunks)) {
      LoopRef chunk;
      std::tie(chunk, row_of_worker_) =
          s_.SplitParts(row_of_worker_, New("mc", "m2"), tile_.chunks);
      loops.push_back(chunk);
    }
    if (outer_) panel_dims_.push_back(outer_);
    panel_dims_.push_back(panels);
    Append(loops, panel_dims_);
    return loops;
  }

  std::vector<LoopRef> DealPanels() {
    LoopRef of_worker;
    if (tile_.even) {
      // Whole panels may not share out evenly, vectors do: each worker has a narrow last panel.
      std::tie(worker_, of_worker) = s_.SplitParts(axis_, New("p", "v1"), Int(tile_.parts));
      panel_dims_ = {worker_, SplitPanels(of_worker)};
      return panel_dims_;
    }
    const LoopRef panels = SplitPanels(axis_);
    LoopRef panel = panels;
    if (outer_) {
      if (row_) s_.Reorder({outer_, panels, row_});
      panel = s_.Fuse({outer_, panels}, New("gp"));
    }
    std::tie(worker_, of_worker) = s_.SplitParts(panel, New("p", "pq"), Int(tile_.parts));
    panel_dims_ = {panel};
    return {worker_, of_worker};
  }

  // The loop over panels. Vectors of one panel share no column.
  LoopRef SplitPanels(LoopRef axis) {
    const auto [panels, in_panel] = s_.SplitSize(axis, New("vp", "vi"), tile_.width,
                                                 tile_.shifted ? Tail::kShift : Tail::kRagged);
    vector_ = in_panel;
    if (tile_.shifted) {
      std::tie(vector_, lane_) = s_.SplitSize(in_panel, New("vv", "vl"), tile_.columns);
    }
    return panels;
  }

  // The vector operand in the order of use; for constants once, when the model is built.
  void Pack() {
    const Buffer& source = program_.buffers[c_.vector_load->id];
    // A copy for one call is another kernel on a grid of threads, and lanes may load apart.
    if (Is(Shared::kBlocks) && source.role != BufferRole::kConstant) return;
    std::vector<LoopRef> dims = panel_dims_;
    Append(dims, taps_);
    dims.insert(dims.end(), {segment_, vector_});
    // A group of products lies outside of the columns.
    if (products_.size() > 1) dims.push_back(products_.front());
    if (lane_) dims.push_back(lane_);
    if (!products_.empty()) dims.push_back(products_.back());
    packed_ = s_.Relayout(s_.FindBuffer(source.name), New("packed"), dims);
    if (source.role == BufferRole::kConstant) {
      s_.Precompute(packed_);
      return;
    }
    // Vectors of what may lie far apart: loads of single elements, but one store for all of them.
    const std::vector<LoopRef> copied = s_.LoopsOf(packed_);
    s_.Vectorize(copied.back(), tile_.packed > 0 ? tile_.packed
                                : IsNest()       ? tile_.depth
                                                 : tile_.lanes);
    s_.Parallel(copied[0]);
  }

  void Annotate() {
    const bool is_grid = Is(Shared::kBlocks);
    if (is_grid) {
      s_.Bind(worker_, "block.x");
      if (row_) s_.Bind(warp_, "thread.y");
      s_.Bind(lane_, "thread.x");
    } else {
      s_.Parallel(worker_);
    }
    if (unrolled_) s_.Unroll(unrolled_);
    if (in_tile_) s_.Unroll(in_tile_);
    if (is_grid || IsNest()) {
      s_.Unroll(vector_);
    } else {
      s_.Vectorize(vector_, tile_.lanes);
    }
    if (IsNest()) s_.Tensorize(nest_.front(), tile_.intrinsic);
    if (tile_.prefetch == nullptr) return;
    s_.If(tile_.prefetch, [&] { s_.PrefetchNext(s_.OutputOf(packed_), next_, step_, 2); });
    // A tile's own points were frozen without it.
    if (!HasRows()) PrefetchResiduals();
  }

  // What the epilogue reads at the output's own elements.
  void PrefetchResiduals() {
    const Block& block = program_.blocks[c_.block];
    if (block.finish == nullptr || !row_) return;
    std::set<BufferId> read;
    VisitExpr(block.finish, [&](const ExprNode& node) {
      if (node.kind == ExprKind::kLoad) read.insert(node.id);
    });
    for (const BufferId id : read) {
      const Buffer& buffer = program_.buffers[id];
      if (buffer.role != BufferRole::kInput ||
          buffer.shape != program_.buffers[block.output].shape) {
        continue;
      }
      s_.If(tile_.prefetch, [&] { s_.PrefetchThis(s_.FindBuffer(buffer.name), around_, 1); });
    }
  }

  const Program& program_;
  const Contraction& c_;
  const std::string name_;
  const Tile& tile_;
  Schedule s_;
  LoopRef axis_, row_, outer_, segment_;            // Flat loops; null where there is none.
  LoopRef worker_, row_of_worker_, next_, around_;  // Around a tile; `next_`: from panel to panel.
  LoopRef warp_;                                    // Of a block of threads.
  LoopRef step_, unrolled_, in_tile_, vector_;      // In a tile.
  LoopRef lane_;                                    // A vector's or an instruction's columns.
  std::vector<LoopRef> products_;                   // An instruction's, of one sum.
  std::vector<LoopRef> nest_;                       // An instruction's own, outermost first.
  std::vector<LoopRef> taps_, panel_dims_;
  BlockRef packed_;
};

}  // namespace

std::string NameOf(const Form& form) {
  static constexpr const char* kShared[] = {"panels", "rows", "grid", "panels", "blocks"};
  static constexpr const char* kOrder[] = {"", "/blocked", "/chunks", "/tiles"};
  return absl::StrCat(kShared[static_cast<int>(form.shared)], kOrder[static_cast<int>(form.order)],
                      form.direct ? "/direct" : "");
}

Schedule Tiled(const Program& program, const Contraction& c, const Tile& tile, Schedule schedule) {
  return Tiling(program, c, tile, std::move(schedule)).Build();
}

}  // namespace burnish
