// Sums of products with a register tile: matrix products, convolutions, batched and grouped ones.
//
// One operand (the vector operand) runs along the last output axis; the other is broadcast.
// Register tiles are all that the IsaModel allows. The loops are tiling.h's.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"
#include "tuner/sketch/rules/tiling.h"

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

// Sizes of a register tile, of vectors or of an instruction on them.
class VectorTile {
 public:
  // `start`: a schedule of the program before it came to this form, with the steps that led here.
  VectorTile(const RuleContext& context, const Contraction& c, const TileUnit& unit,
             const Form& form, Schedule start)
      : context_(context),
        program_(context.program),
        c_(c),
        unit_(unit),
        tile_{.form = form,
              .intrinsic = unit.intrinsic,
              .columns = Int(unit.lanes),
              .lanes = unit.lanes,
              .depth = unit.depth,
              .shifted = unit.shifted},
        lanes_(unit.lanes),
        row_count_(ProductOfExtents(program_, c.rows)),
        vector_extent_(Extent(program_, c.vector_axis)),
        s_(std::move(start)) {}

  Draft Build() {
    Decide();
    return {absl::StrCat("contraction/", NameOf(tile_.form), unit_.shifted ? "/shifted" : "",
                         unit_.intrinsic.empty() ? "" : "/", unit_.intrinsic),
            Tiled(program_, c_, tile_, std::move(s_))};
  }

 private:
  bool Is(Shared shared) const { return tile_.form.shared == shared; }
  bool Is(Order order) const { return tile_.form.order == order; }

  void Decide() {
    const IsaModel& isa = context_.device.core;
    const int64_t depth = SegmentDepth(program_, c_);
    Decision rows{.name = "mr"}, columns{.name = "nr"}, unrolled{.name = "ku", .values = {1}};
    // Rows may lie a multiple of 4 KiB apart, in one set of the first cache: no more than its ways.
    const int64_t rows_max =
        Is(Shared::kBlocks) ? kThreadRowsMax : std::max<int64_t>(isa.l1d.ways, 8);
    for (int64_t v = 1; v <= std::min(row_count_, rows_max); ++v) rows.values.push_back(v);
    for (int64_t v = 1; v <= (isa.vector_register_count > 16 ? 6 : 4); ++v) {
      // A panel that is wider than the axis is waste.
      if (v > 1 && (v - 1) * lanes_ >= vector_extent_) break;
      if (v * lanes_ > kVectorElementsMax) break;
      columns.values.push_back(v * lanes_);
    }
    for (int64_t v : {2, 4, 8}) {
      if (v * unit_.depth <= depth) unrolled.values.push_back(v);
    }
    const int64_t most_columns = columns.values.back() / lanes_;
    mr_ = tile_.tile_rows = s_.Decide(std::move(rows));
    nr_ = s_.Decide(std::move(columns));
    tile_.unrolled = s_.Decide(std::move(unrolled));
    vectors_ = FloorDiv(nr_, lanes_);
    tile_.width = unit_.intrinsic.empty() || unit_.shifted ? nr_ : vectors_;
    tile_.panel_streams = Lt(mr_, vectors_);
    if (Is(Shared::kBlocks)) {
      tile_.warps = s_.Decide({.name = "warps", .values = {1, 2, 4, 8}});
      return RequireOfThreads();
    }
    if (!tile_.form.direct) tile_.prefetch = s_.Decide(PrefetchDecision(context_.options));
    if (Is(Order::kBlocked)) {
      Decision block{.name = "kb"};
      // Two blocks at least: one is the form without.
      for (int64_t v : {128, 256, 512, 1024}) {
        if (2 * v <= depth) block.values.push_back(v);
      }
      tile_.block = s_.Decide(std::move(block));
    }
    if (Is(Shared::kGrid)) {
      const std::vector<int64_t> divisors = DivisorsOf(context_.threads());
      tile_.row_parts = s_.Decide({.name = "row_parts", .values = divisors});
      tile_.column_parts = s_.Decide({.name = "column_parts", .values = divisors});
    }
    if (Is(Order::kChunks)) tile_.chunks = s_.Decide(ChunksDecision());
    Require(most_columns);
  }

  // That a tile fits a thread's registers, and no lanes, warps or registers are waste.
  void RequireOfThreads() {
    const MemoryLevel* const registers = context_.device.FindLevel("registers");
    s_.Require(Le(mr_ * vectors_ + mr_ + vectors_,
                  Int(registers->size_bytes / registers->line_bytes - kThreadRegistersOfOwn)));
    s_.Require(Lt((vectors_ - 1) * lanes_, Int(vector_extent_)));
    s_.Require(Or(Le(tile_.warps, Int(1)), Lt((tile_.warps - 1) * mr_, Int(row_count_))));
    s_.Require(Le(tile_.warps, Int(context_.device.FindAxis(Axis::kWarp)->extent)));
  }

  void Require(int64_t most_columns) {
    const IsaModel& isa = context_.device.core;
    const int64_t outer = ProductOfExtents(program_, c_.outer);
    const int64_t threads = context_.threads();
    const bool has_panels = Is(Shared::kPanels);
    const int64_t parts =
        Is(Shared::kRows)
            ? threads
            : std::min<int64_t>(threads, outer * ((vector_extent_ + lanes_ - 1) / lanes_));
    tile_.parts = parts;
    tile_.even = has_panels && c_.outer.empty() && vector_extent_ % (parts * lanes_) == 0;
    s_.Require(TileFitsRegisters(isa, BroadcastsFromMemory(isa, program_, c_), mr_, vectors_));
    // Every worker has a panel.
    if (has_panels) s_.Require(Le(Int(parts), CeilDiv(Int(vector_extent_), nr_) * outer));
    // A panel that is wider than a worker's share is waste.
    const int64_t share = tile_.even ? vector_extent_ / parts : vector_extent_;
    s_.Require(Or(Le(vectors_, Int(1)), Lt((vectors_ - 1) * lanes_, Int(share))));
    if (unit_.shifted) s_.Require(Le(nr_, Int(vector_extent_)));
    if (Is(Shared::kGrid)) {
      s_.Require(Eq(tile_.row_parts * tile_.column_parts, Int(threads)));
      s_.Require(Le(tile_.row_parts, Int(row_count_)));
      s_.Require(Lt((vectors_ - 1) * lanes_ * tile_.column_parts, Int(vector_extent_)));
    }
    if (Is(Order::kChunks)) s_.Require(IsWorthAChunk(isa, program_, c_, tile_.chunks * threads));
    // Too few independent sums leave the FMA units waiting; small problems have no choice.
    const int64_t wanted = std::min<int64_t>(isa.accumulators_min(), kSumsMax);
    s_.Require(Or(Le(Int(wanted), mr_ * vectors_),
                  Or(Le(Int(row_count_), mr_), Le(Int(most_columns), vectors_))));
  }

  const RuleContext& context_;
  const Program& program_;
  const Contraction& c_;
  const TileUnit& unit_;
  Tile tile_;
  const int64_t lanes_, row_count_, vector_extent_;
  Schedule s_;
  Expr mr_, nr_, vectors_;  // `vectors_`: of a panel.
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
      if (unit.shifted && (form.shared != Shared::kRows || form.order == Order::kBlocked)) continue;
      Draft draft = VectorTile(context, *c, unit, form,
                               grouped.has_value() ? grouped->schedule : Schedule(original.program))
                        .Build();
      // Whether this nest is the instruction's, the primitive knows.
      if (!unit.intrinsic.empty() && !FirstPointApplies(draft, original.program)) continue;
      drafts.push_back(std::move(draft));
    }
  };
  if (GridsOfThreads(context.device)) {
    add({.shared = Shared::kBlocks});
    return drafts;
  }
  for (const Order order : {Order::kPlain, Order::kBlocked}) {
    if (order == Order::kBlocked && depth < kBlockedDepthMin) continue;
    // Groups dealt out would each read channels of pixels that all workers wrote; rows stay where
    // the task before left them.
    if (!grouped.has_value() || rows < kRowsOfOwn * context.threads()) add({.order = order});
    if (!shares_rows) continue;
    // A group's panels are few and its rows' channels a part of a line: all groups at once, as
    // long as their weights stay in L2.
    const bool all_at_once = grouped.has_value() && order == Order::kPlain &&
                             OperandBytes(context.program, c->vector_load) <= l2_share;
    add({.shared = Shared::kRows, .order = all_at_once ? Order::kTiles : order});
  }
  // Where a worker's part of the input is more than L2, and there is more than a panel to read it.
  if (shares_rows && c->outer.empty() &&
      OperandBytes(context.program, c->broadcast_load) / context.threads() > l2_share) {
    add({.shared = Shared::kRows, .order = Order::kChunks});
  }
  if (!grouped.has_value() && MayStay(context.program, *c)) {
    add({.direct = true});
    if (shares_rows) add({.shared = Shared::kRows, .direct = true});
    // Read again for each tile of rows: a block of it at a time, from a near cache.
    if (depth >= kBlockedDepthMin && rows > context.device.core.l1d.ways) {
      add({.order = Order::kBlocked, .direct = true});
    }
  }
  // A prime number of workers shares one dimension alone.
  if (context.threads() > kGridThreads && !DivisorsOf(context.threads()).empty() &&
      c->outer.empty() && !c->rows.empty()) {
    add({.shared = Shared::kGrid});
  }
  return drafts;
}

}  // namespace burnish
