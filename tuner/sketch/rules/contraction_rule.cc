// Sums of products with a register tile: matrix products, convolutions, batched and grouped ones.
//
// One operand (the vector operand) runs along the last output axis; the other is broadcast. Rows
// are the output axes that only the broadcast operand has, fused into one flat axis; panels are
// pieces of the vector axis. Accumulators stay in registers over the whole reduction, the vector
// operand is laid out in the order of use. Register tiles are all that the IsaModel allows. Source
// of the loop structure: Goto and van de Geijn, "Anatomy of high-performance matrix
// multiplication", TOMS 2008; of the flat reduction segments: Georganas et al., "High-performance
// deep learning via a single building block", 2019, arXiv 1906.06440.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"

namespace burnish {
namespace {

// Up to so many workers one dimension shares out well enough.
constexpr int kGridThreads = 4;

// Steps of the reduction that are two blocks of the least size.
constexpr int64_t kBlockedDepthMin = 256;

// Rows of a worker that keep a register tile busy.
constexpr int64_t kRowsOfOwn = 8;

// Of a thread's tile: more rows, or more vectors of lanes, than this take registers that other
// warps of the multiprocessor need to hide latency; 8 x 8 sums a thread is what CUTLASS takes for
// f32 ("CUTLASS: fast linear algebra in CUDA C++", 2017).
constexpr int64_t kThreadRowsMax = 8;
// What a thread needs beside its sums and operands: addresses and loop counters.
constexpr int64_t kThreadRegistersOfOwn = 24;

// Between 1 and the number itself, ascending.
std::vector<int64_t> DivisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t v = 2; v * 2 <= number; ++v) {
    if (number % v == 0) divisors.push_back(v);
  }
  return divisors;
}

// How the loops around a tile are built.
struct Form {
  bool split_rows = false;       // Workers share rows, not panels.
  bool block_reduction = false;  // The segment goes in blocks, partial sums are parked.
  bool chunk_rows = false;       // All panels for some rows, which stay in L2, then the next rows.
  bool panels_inside = false;    // All panels for each tile of rows; with split_rows only.
  bool grid = false;             // Workers share rows and vectors, in two dimensions.
  bool blocks = false;           // A tile for each thread of a block, a block for each outer tile.
  bool direct = false;           // The vector operand is read where it lies.
};

class ContractionSketch {
 public:
  // `start`: a schedule of the program before it came to this form, with the steps that led here.
  ContractionSketch(const RuleContext& context, const Contraction& c, const TileUnit& unit,
                    const Form& form, Schedule start)
      : context_(context),
        program_(context.program),
        c_(c),
        name_(program_.blocks[c.block].name),
        unit_(unit),
        form_(form),
        lanes_(unit.lanes),
        s_(std::move(start)) {}

  Draft Build() {
    Decide();
    Flatten();
    Tile();
    Pack();
    Annotate();
    const char* workers = form_.blocks       ? "blocks"
                          : form_.grid       ? "grid"
                          : form_.split_rows ? "rows"
                                             : "panels";
    return {absl::StrCat("contraction/", workers, form_.block_reduction ? "/blocked" : "",
                         form_.chunk_rows ? "/chunks" : "", form_.panels_inside ? "/tiles" : "",
                         form_.direct ? "/direct" : "", unit_.shifted ? "/shifted" : "",
                         IsNest() ? "/" : "", unit_.intrinsic),
            std::move(s_)};
  }

 private:
  std::string New(absl::string_view what) const { return absl::StrCat(name_, "_", what); }
  Schedule::Names New(absl::string_view outer, absl::string_view inner) const {
    return {New(outer), New(inner)};
  }

  int64_t Product(const std::vector<VarId>& axes) const { return ProductOfExtents(program_, axes); }

  // Whether an instruction computes the innermost loops as a nest of its own.
  bool IsNest() const { return !unit_.intrinsic.empty(); }
  // Elements along the vector axis, or along the segment, in steps of the loops that are split: the
  // instruction's own loops were taken off them before.
  Expr InVectors(const Expr& elements) const {
    return IsNest() ? FloorDiv(elements, lanes_) : elements;
  }
  Expr InSteps(const Expr& elements) const {
    return IsNest() ? FloorDiv(elements, unit_.depth) : elements;
  }

  int64_t Depth() const { return SegmentDepth(program_, c_); }

  void Decide() {
    const IsaModel& isa = context_.device.core;
    vector_extent_ = Extent(program_, c_.vector_axis);
    row_count_ = Product(c_.rows);
    Decision rows{.name = "mr"}, columns{.name = "nr"}, unrolled{.name = "ku", .values = {1}};
    // Rows may lie a multiple of 4 KiB apart, in one set of the first cache: no more than its ways.
    const int64_t rows_max = form_.blocks ? kThreadRowsMax : std::max<int64_t>(isa.l1d.ways, 8);
    for (int64_t v = 1; v <= std::min(row_count_, rows_max); ++v) rows.values.push_back(v);
    for (int64_t v = 1; v <= (isa.vector_register_count > 16 ? 6 : 4); ++v) {
      // A panel that is wider than the axis is waste.
      if (v > 1 && (v - 1) * lanes_ >= vector_extent_) break;
      if (v * lanes_ > kVectorElementsMax) break;
      columns.values.push_back(v * lanes_);
    }
    for (int64_t v : {2, 4, 8}) {
      if (v * unit_.depth <= Depth()) unrolled.values.push_back(v);
    }
    most_columns_ = columns.values.back() / lanes_;
    mr_ = s_.Decide(std::move(rows));
    nr_ = s_.Decide(std::move(columns));
    ku_ = s_.Decide(std::move(unrolled));
    vectors_ = FloorDiv(nr_, lanes_);
    if (form_.blocks) {
      warps_ = s_.Decide({.name = "warps", .values = {1, 2, 4, 8}});
      return RequireOfThreads();
    }
    if (!form_.direct) {
      Decision prefetch{.name = "prefetch", .kind = DecisionKind::kChoice, .values = {0}};
      if (context_.options.prefetch) prefetch.values.push_back(1);
      prefetch_ = s_.Decide(std::move(prefetch));
    }
    if (form_.block_reduction) {
      Decision block{.name = "kb"};
      // Two blocks at least: one is the form without.
      for (int64_t v : {128, 256, 512, 1024}) {
        if (2 * v <= Depth()) block.values.push_back(v);
      }
      kb_ = s_.Decide(std::move(block));
    }
    if (form_.grid) {
      const std::vector<int64_t> divisors = DivisorsOf(context_.threads());
      row_parts_ = s_.Decide({.name = "row_parts", .values = divisors});
      column_parts_ = s_.Decide({.name = "column_parts", .values = divisors});
    }
    if (form_.chunk_rows) chunks_ = s_.Decide(ChunksDecision());
    Require();
  }

  // That a tile fits a thread's registers, and no lanes, warps or registers are waste.
  void RequireOfThreads() {
    const MemoryLevel* const registers = context_.device.FindLevel("registers");
    s_.Require(Le(mr_ * vectors_ + mr_ + vectors_,
                  Int(registers->size_bytes / registers->line_bytes - kThreadRegistersOfOwn)));
    s_.Require(Lt((vectors_ - 1) * lanes_, Int(vector_extent_)));
    s_.Require(Or(Le(warps_, Int(1)), Lt((warps_ - 1) * mr_, Int(row_count_))));
    s_.Require(Le(warps_, Int(context_.device.FindAxis(Axis::kWarp)->extent)));
  }

  void Require() {
    const IsaModel& isa = context_.device.core;
    const int64_t outer = Product(c_.outer);
    const int64_t threads = context_.threads();
    parts_ = form_.split_rows
                 ? threads
                 : std::min<int64_t>(threads, outer * ((vector_extent_ + lanes_ - 1) / lanes_));
    even_ = !form_.split_rows && !form_.grid && c_.outer.empty() &&
            vector_extent_ % (parts_ * lanes_) == 0;
    s_.Require(TileFitsRegisters(isa, BroadcastsFromMemory(isa, program_, c_), mr_, vectors_));
    // Every worker has a panel.
    if (!form_.split_rows && !form_.grid) {
      s_.Require(Le(Int(parts_), CeilDiv(Int(vector_extent_), nr_) * outer));
    }
    // A panel that is wider than a worker's share is waste.
    const int64_t share = even_ ? vector_extent_ / parts_ : vector_extent_;
    s_.Require(Or(Le(vectors_, Int(1)), Lt((vectors_ - 1) * lanes_, Int(share))));
    if (unit_.shifted) s_.Require(Le(nr_, Int(vector_extent_)));
    if (form_.grid) {
      s_.Require(Eq(row_parts_ * column_parts_, Int(threads)));
      s_.Require(Le(row_parts_, Int(row_count_)));
      s_.Require(Lt((vectors_ - 1) * lanes_ * column_parts_, Int(vector_extent_)));
    }
    if (form_.chunk_rows) {
      s_.Require(IsWorthAChunk(isa, program_, c_, chunks_ * threads));
    }
    // Too few independent sums leave the FMA units waiting; small problems have no choice.
    const int64_t wanted = std::min<int64_t>(isa.accumulators_min(), kSumsMax);
    s_.Require(Or(Le(Int(wanted), mr_ * vectors_),
                  Or(Le(Int(row_count_), mr_), Le(Int(most_columns_), vectors_))));
  }

  // Rows, outer axes and the reduction segment become one loop each.
  void Flatten() {
    const std::vector<LoopRef> outer = Loops(c_.outer), rows = Loops(c_.rows);
    const std::vector<LoopRef> reduction = Loops(c_.reduction);
    axis_ = Loops({c_.vector_axis})[0];
    std::vector<LoopRef> order = outer;
    order.insert(order.end(), rows.begin(), rows.end());
    order.push_back(axis_);
    order.insert(order.end(), reduction.begin(), reduction.end());
    s_.Reorder(order);
    if (!rows.empty()) row_ = s_.Fuse(rows, New("m"));
    if (!outer.empty()) outer_ = s_.Fuse(outer, New("g"));
    taps_.assign(reduction.begin(), reduction.begin() + c_.fused_from);
    segment_ = s_.Fuse(absl::MakeConstSpan(reduction).subspan(c_.fused_from), New("q"));
    if (!IsNest()) return;
    // First of all, where both divide evenly: the instruction takes whole loops only.
    if (!unit_.shifted) std::tie(axis_, lane_) = s_.SplitSize(axis_, New("vs", "vl"), Int(lanes_));
    std::tie(segment_, product_) = s_.SplitSize(segment_, New("qs", "ql"), Int(unit_.depth));
  }

  // Of axes as this form has them: after a split for groups they are its loops.
  std::vector<LoopRef> Loops(const std::vector<VarId>& axes) {
    std::vector<LoopRef> loops;
    for (VarId axis : axes) loops.push_back(s_.Find(program_.vars[axis].name));
    return loops;
  }

  // The loops around a tile, outermost first, ending with the one that moves from tile to tile.
  void Tile() {
    std::vector<LoopRef> loops = DealOut();
    LoopRef row = row_of_worker_, segment = segment_, block;
    if (form_.block_reduction) {
      std::tie(block, segment) = s_.SplitSize(segment_, New("kb", "q1"), InSteps(kb_));
    }
    const auto [step, unrolled] = s_.SplitSize(segment, New("qo", "qi"), ku_);
    step_ = step, unrolled_ = unrolled;
    std::vector<LoopRef> inner = taps_;
    if (form_.block_reduction) {
      // Taps and blocks go outside the rows: partial sums are parked in the output between them.
      loops.insert(loops.end(), inner.begin(), inner.end());
      loops.push_back(block);
      inner.clear();
    }
    if (form_.blocks) {
      in_tile_ = row;
    } else if (row) {
      const auto [tile, in_tile] = s_.SplitMax(row, New("mt", "mi"), mr_);
      in_tile_ = in_tile;
      loops.insert(form_.panels_inside ? loops.begin() + 1 : loops.end(), tile);
    }
    tile_ = loops.back();
    inner.push_back(step_);
    inner.push_back(unrolled_);
    if (row) inner.push_back(in_tile_);
    inner.push_back(vector_);
    if (IsNest()) inner.insert(inner.end(), {lane_, product_});
    loops.insert(loops.end(), inner.begin(), inner.end());
    s_.Reorder(loops);
    // Few rows: they are broadcast once and the panel streams; else the other way round.
    if (row) s_.If(Lt(mr_, vectors_), [&] { s_.Reorder({vector_, in_tile_}); });
    s_.Stage(s_.FindBlock(name_), New("acc"), tile_, Scope::kRegister);
  }

  // A block of threads for each tile of rows and columns: its lanes lie side by side along the
  // columns, its warps have rows each. What does not divide is guarded: a thread has its tile or
  // none of it.
  std::vector<LoopRef> DealToBlocks() {
    const auto [panels, in_panel] = s_.SplitSize(axis_, New("vp", "vi"), nr_, Tail::kGuard);
    std::tie(vector_, lane_) = s_.SplitSize(in_panel, New("vv", "vl"), Int(lanes_));
    panel_dims_ = {panels};
    std::vector<LoopRef> grid, threads = {lane_};
    if (outer_) {
      grid.push_back(outer_);
      panel_dims_.insert(panel_dims_.begin(), outer_);
    }
    if (row_) {
      const auto [tiles, in_block] =
          s_.SplitSize(row_, New("mt", "mb"), mr_ * warps_, Tail::kGuard);
      std::tie(warp_, row_of_worker_) = s_.SplitSize(in_block, New("mw", "mi"), mr_);
      grid.push_back(tiles);
      threads.insert(threads.begin(), warp_);
    }
    grid.push_back(panels);
    std::vector<LoopRef> order = grid;
    order.insert(order.end(), threads.begin(), threads.end());
    s_.Reorder(order);
    worker_ = s_.Fuse(grid, New("p"));
    threads.insert(threads.begin(), worker_);
    return threads;
  }

  // What each worker does, and in which order it goes over panels: loops, outermost first. Leaves a
  // worker's rows in row_of_worker_.
  std::vector<LoopRef> DealOut() {
    LoopRef axis = axis_;
    row_of_worker_ = row_;
    if (form_.blocks) return DealToBlocks();
    LoopRef column_part;
    if (form_.grid) {
      std::tie(column_part, axis) = s_.SplitParts(axis, New("pc", "v1"), column_parts_);
    } else if (even_) {
      // Whole panels may not share out evenly, vectors do: each worker has a narrow last panel.
      std::tie(worker_, axis) = s_.SplitParts(axis, New("p", "v1"), Int(parts_));
    }
    // Vectors of one panel share no column.
    const auto [panels, in_panel] = unit_.shifted
                                        ? s_.SplitSize(axis, New("vp", "vi"), nr_, Tail::kShift)
                                        : s_.SplitSize(axis, New("vp", "vi"), InVectors(nr_));
    vector_ = in_panel;
    if (unit_.shifted) {
      std::tie(vector_, lane_) = s_.SplitSize(in_panel, New("vv", "vl"), Int(lanes_));
    }
    std::vector<LoopRef> loops;
    if (form_.grid) {
      const auto [row_part, row] = s_.SplitParts(row_, New("pr", "m1"), row_parts_);
      row_of_worker_ = row;
      s_.Reorder({row_part, column_part, panels, row});
      worker_ = s_.Fuse({row_part, column_part}, New("p"));
      loops = {worker_, panels};
      panel_dims_ = {column_part, panels};
    } else if (form_.split_rows) {
      std::tie(worker_, row_of_worker_) = s_.SplitParts(row_, New("p", "m1"), Int(parts_));
      loops = {worker_};
      if (form_.chunk_rows) {
        LoopRef chunk;
        std::tie(chunk, row_of_worker_) = s_.SplitParts(row_of_worker_, New("mc", "m2"), chunks_);
        loops.push_back(chunk);
      }
      if (outer_) {
        loops.push_back(outer_);
        panel_dims_.push_back(outer_);
      }
      loops.push_back(panels);
      panel_dims_.push_back(panels);
    } else if (even_) {
      loops = {worker_, panels};
      panel_dims_ = loops;
    } else {
      LoopRef panel = panels, of_worker;
      if (outer_) {
        if (row_) s_.Reorder({outer_, panels, row_});
        panel = s_.Fuse({outer_, panels}, New("gp"));
      }
      std::tie(worker_, of_worker) = s_.SplitParts(panel, New("p", "pq"), Int(parts_));
      loops = {worker_, of_worker};
      panel_dims_ = {panel};
    }
    next_ = loops.back();
    return loops;
  }

  // The vector operand in the order of use; for constants once, when the model is built.
  void Pack() {
    if (form_.direct) return;
    const Buffer& source = program_.buffers[c_.vector_load->id];
    // A copy for one call is another kernel on a grid of threads, and lanes may load apart.
    if (form_.blocks && source.role != BufferRole::kConstant) return;
    std::vector<LoopRef> dims = panel_dims_;
    dims.insert(dims.end(), taps_.begin(), taps_.end());
    dims.push_back(segment_);
    dims.push_back(vector_);
    if (lane_) dims.push_back(lane_);
    if (IsNest()) dims.push_back(product_);
    packed_ = s_.Relayout(s_.FindBuffer(source.name), New("packed"), dims);
    if (source.role == BufferRole::kConstant) {
      s_.Precompute(packed_);
      return;
    }
    // Vectors of what may lie far apart: loads of single elements, but one store for all of them.
    const std::vector<LoopRef> copied = s_.LoopsOf(packed_);
    s_.Vectorize(copied.back(), IsNest() ? unit_.depth : lanes_);
    s_.Parallel(copied[0]);
  }

  void AnnotateThreads() {
    s_.Bind(worker_, "block.x");
    if (row_) s_.Bind(warp_, "thread.y");
    s_.Bind(lane_, "thread.x");
    s_.Unroll(unrolled_);
    if (row_) s_.Unroll(in_tile_);
    s_.Unroll(vector_);
  }

  void Annotate() {
    if (form_.blocks) return AnnotateThreads();
    s_.Parallel(worker_);
    s_.Unroll(unrolled_);
    if (row_) s_.Unroll(in_tile_);
    if (IsNest()) {
      s_.Unroll(vector_);
      s_.Tensorize(lane_, unit_.intrinsic);
    } else {
      s_.Vectorize(vector_, lanes_);
    }
    if (form_.direct) return;
    s_.If(prefetch_, [&] { s_.PrefetchNext(s_.OutputOf(packed_), next_, step_, 2); });
    // What the epilogue reads at the output's own elements: a residual.
    const Block& block = program_.blocks[c_.block];
    if (block.finish == nullptr || !row_) return;
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.role != BufferRole::kInput ||
          buffer.shape != program_.buffers[block.output].shape) {
        continue;
      }
      bool read = false;
      VisitExpr(block.finish, [&](const ExprNode& node) {
        read = read || (node.kind == ExprKind::kLoad && &program_.buffers[node.id] == &buffer);
      });
      if (!read) continue;
      s_.If(prefetch_, [&] { s_.PrefetchThis(s_.FindBuffer(buffer.name), tile_, 1); });
    }
  }

  const RuleContext& context_;
  const Program& program_;
  const Contraction& c_;
  const std::string name_;
  const TileUnit unit_;
  const Form form_;
  const int64_t lanes_;
  Schedule s_;
  int64_t vector_extent_ = 0, row_count_ = 1, most_columns_ = 1, parts_ = 1;
  bool even_ = false;  // Panels are split by vectors, and then into panels.
  Expr mr_, nr_, ku_, prefetch_, kb_, row_parts_, column_parts_, chunks_, warps_;
  Expr vectors_;                                  // Of a panel.
  LoopRef axis_, row_, outer_, segment_;          // Flat loops; null where there is none.
  LoopRef worker_, row_of_worker_, next_, tile_;  // Around a tile; `next_`: from panel to panel.
  LoopRef warp_;                                  // Of a block of threads.
  LoopRef step_, unrolled_, in_tile_, vector_;    // In a tile.
  LoopRef lane_, product_;  // The instruction's own; of a block of threads, lanes alone.
  std::vector<LoopRef> taps_, panel_dims_;
  BlockRef packed_;
};

}  // namespace

// Whether the vector operand is made at run time and lies as vectors load it: then a copy of it may
// cost more than it saves.
bool MayStay(const Program& program, const Contraction& c) {
  return program.buffers[c.vector_load->id].role != BufferRole::kConstant &&
         StepOf(program, *c.vector_load, c.vector_axis) == 1;
}

std::vector<Draft> ContractionRule(const RuleContext& original, BlockId id) {
  const std::optional<GroupedProgram> grouped = SplitGroups(original.program, id);
  const RuleContext context{.program = grouped.has_value() ? grouped->program : original.program,
                            .device = original.device,
                            .options = original.options};
  const std::optional<Contraction> c = RecognizeContraction(context.program, id);
  if (!c.has_value()) return {};
  const int64_t rows = ProductOfExtents(context.program, c->rows);
  const int64_t depth = SegmentDepth(context.program, *c);
  const bool shares_rows = !c->rows.empty() && rows >= context.threads();
  const int64_t l2_share = context.device.core.l2.size_bytes / 2;
  std::vector<Draft> drafts;
  const std::vector<TileUnit> units = TileUnitsOf(context.device, context.program, *c);
  const auto add = [&](const Form& form) {
    for (const TileUnit& unit : units) {
      // An instruction's operands lie in its own order.
      if (form.direct && !unit.intrinsic.empty()) continue;
      // Columns that are computed twice belong to one worker, and begin anew with their sums.
      if (unit.shifted && (!form.split_rows || form.block_reduction)) continue;
      Draft draft =
          ContractionSketch(context, *c, unit, form,
                            grouped.has_value() ? grouped->schedule : Schedule(original.program))
              .Build();
      // Whether this nest is the instruction's, the primitive knows.
      if (!unit.intrinsic.empty() && !FirstPointApplies(draft, original.program)) continue;
      drafts.push_back(std::move(draft));
    }
  };
  if (GridsOfThreads(context.device)) {
    add({.blocks = true});
    return drafts;
  }
  for (const bool blocked : {false, true}) {
    if (blocked && depth < kBlockedDepthMin) continue;
    // Groups dealt out would each read channels of pixels that all workers wrote; rows stay where
    // the task before left them.
    if (!grouped.has_value() || rows < kRowsOfOwn * context.threads()) {
      add({.block_reduction = blocked});
    }
    if (shares_rows) {
      // A group's panels are few and its rows' channels a part of a line: all groups at once, as
      // long as their weights stay in L2.
      add({.split_rows = true,
           .block_reduction = blocked,
           .panels_inside = grouped.has_value() && !blocked &&
                            OperandBytes(context.program, c->vector_load) <= l2_share});
    }
  }
  // Where a worker's part of the input is more than L2, and there is more than a panel to read it.
  if (shares_rows && c->outer.empty() &&
      OperandBytes(context.program, c->broadcast_load) / context.threads() > l2_share) {
    add({.split_rows = true, .chunk_rows = true});
  }
  if (!grouped.has_value() && MayStay(context.program, *c)) {
    add({.direct = true});
    if (shares_rows) add({.split_rows = true, .direct = true});
    // Read again for each tile of rows: a block of it at a time, from a near cache.
    if (depth >= kBlockedDepthMin && rows > context.device.core.l1d.ways) {
      add({.block_reduction = true, .direct = true});
    }
  }
  // A prime number of workers shares one dimension alone.
  if (context.threads() > kGridThreads && !DivisorsOf(context.threads()).empty() &&
      c->outer.empty() && !c->rows.empty()) {
    add({.grid = true});
  }
  return drafts;
}

}  // namespace burnish
