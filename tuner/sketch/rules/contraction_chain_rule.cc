// A product, a chain over its rows, and a product that reads the rows: attention,
// softmax(Q K' + mask) V. A block of rows goes the whole way at once, so that the scores stay in
// the first or second cache; the vector operands of both products are packed once for each matrix
// of a batch, by the worker that reads them. Not the running softmax of longer rows: a row is whole
// before it is normalized. A few rows, such as the one query of a step of generation, use each
// element of both operands so few times that a copy costs more than it saves: then the scores are
// dot products of rows where they lie, and the second product reads its operand in place. Source of
// the idea: Dao et al., "FlashAttention", NeurIPS 2022.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"
#include "tuner/sketch/rules/row_chain.h"

namespace burnish {
namespace {

struct Match {
  Contraction first, second;
  std::vector<const Block*> chain;  // Between the two; the last writes what the second reads.
};

bool IsExternal(const Program& program, const Expr& load) {
  return WriterOf(program, load->id) < 0;
}

// One matrix product for each combination of the axes before the last two: rows and columns.
bool IsBatchOfProducts(const Program& program, const Contraction& c) {
  const Block& block = program.blocks[c.block];
  const size_t rank = block.spatial.size();
  if (rank < 3 || c.reduction.size() != 1 || c.vector_axis != block.spatial.back()) return false;
  for (size_t d = 0; d + 1 < rank; ++d) {
    const VarId axis = block.spatial[d];
    const bool is_row = std::find(c.rows.begin(), c.rows.end(), axis) != c.rows.end();
    if (Extent(program, axis) > 1 && is_row != (d + 2 == rank)) return false;
  }
  return true;
}

// Whether `load` is of element [axes.., k]: of a row, what the second product's step takes.
bool ReadsRows(const Block& block, const Expr& load) {
  std::vector<VarId> want(block.spatial.begin(), block.spatial.end() - 1);
  want.push_back(block.reduction[0]);
  return std::equal(load->operands.begin(), load->operands.end(), want.begin(), want.end(),
                    [](const Expr& index, VarId axis) {
                      return IsInt(index, 0) ||
                             (index->kind == ExprKind::kVar && index->id == axis);
                    });
}

std::optional<Match> Find(const Program& program) {
  if (program.blocks.size() < 3) return std::nullopt;
  const auto last = static_cast<BlockId>(program.blocks.size() - 1);
  const std::optional<Contraction> first = RecognizeContraction(program, 0);
  const std::optional<Contraction> second = RecognizeContraction(program, last);
  if (!first.has_value() || !second.has_value()) return std::nullopt;
  if (!IsBatchOfProducts(program, *first) || !IsBatchOfProducts(program, *second)) {
    return std::nullopt;
  }
  Match match{.first = *first, .second = *second};
  for (BlockId id = 1; id < last; ++id) match.chain.push_back(&program.blocks[id]);
  const Block &scores = program.blocks[0], &context = program.blocks[last];
  const Block& rows = *match.chain.back();
  if (program.buffers[context.output].role != BufferRole::kOutput ||
      program.buffers[scores.output].role != BufferRole::kTemp ||
      !WritesInAxisOrder(program, scores) || !WritesInAxisOrder(program, rows) ||
      rows.spatial.size() != scores.spatial.size() ||
      scores.spatial.size() != context.spatial.size()) {
    return std::nullopt;
  }
  for (size_t d = 0; d < rows.spatial.size(); ++d) {
    if (Extent(program, rows.spatial[d]) != Extent(program, scores.spatial[d])) return std::nullopt;
  }
  if (second->broadcast_load->id != rows.output || !ReadsRows(context, second->broadcast_load) ||
      !IsExternal(program, second->vector_load) || !IsExternal(program, first->vector_load) ||
      !IsExternal(program, first->broadcast_load)) {
    return std::nullopt;
  }
  return match;
}

// Rows that read operands in place at most: as many as share a vector of a dot product in registers
// beside the tile of six columns.
constexpr int64_t kDirectRows = 4;
constexpr int64_t kDotColumns = 6;
// Columns whose dot products are summed up together: their lanes, of four rows, take 8 KiB.
constexpr int64_t kDotBlock = 32;

enum class Form : uint8_t { kBatch, kRows, kDirect };

const char* FormName(Form form) {
  switch (form) {
    case Form::kBatch:
      return "batch";
    case Form::kRows:
      return "rows";
    case Form::kDirect:
      return "direct";
  }
  return "";
}

class ContractionChainSketch {
 public:
  ContractionChainSketch(const RuleContext& context, const Match& match, Form form)
      : context_(context),
        program_(context.program),
        match_(match),
        chain_(context, match.chain),
        first_(program_.blocks[match.first.block]),
        second_(program_.blocks[match.second.block]),
        form_(form),
        split_rows_(form == Form::kRows),
        s_(program_) {}

  // Nullopt: the rows between the products are no chain, or the other form deals out better.
  std::optional<Draft> Build() {
    if (!chain_.IsChain()) return std::nullopt;
    for (size_t d = 0; d + 2 < second_.spatial.size(); ++d) {
      batch_count_ *= Extent(program_, second_.spatial[d]);
    }
    row_count_ = Extent(program_, second_.spatial[second_.spatial.size() - 2]);
    const bool enough_rows = context_.threads() > 1 && row_count_ >= 2 * context_.threads();
    if (split_rows_ && !enough_rows) return std::nullopt;
    if (!split_rows_ && batch_count_ < context_.threads() && enough_rows) return std::nullopt;
    if (form_ == Form::kDirect && !MayBeDirect()) return std::nullopt;
    parts_ = split_rows_ ? context_.threads() : std::min<int64_t>(context_.threads(), batch_count_);
    Decide();
    chain_.SplitReductions(s_);
    ScheduleSecond();
    PlaceChain();
    if (form_ == Form::kDirect) {
      PlaceDots();
    } else {
      PlaceFirst();
    }
    s_.Parallel(worker_);
    return Draft{absl::StrCat("contraction_chain/", FormName(form_)), std::move(s_)};
  }

 private:
  static std::string Name(const Block& block, absl::string_view what) {
    return absl::StrCat(block.name, "_", what);
  }
  static Schedule::Names Name(const Block& block, absl::string_view outer,
                              absl::string_view inner) {
    return {Name(block, outer), Name(block, inner)};
  }
  LoopRef Axis(const Block& block, size_t d) { return s_.AxisLoop(block.spatial[d]); }

  // Whether both sides of the scores lie along their reduction in whole vectors, and the second
  // product's operand along its columns.
  bool MayBeDirect() const {
    if (row_count_ > kDirectRows || Extent(program_, match_.first.reduction[0]) % DotLanes() != 0) {
      return false;
    }
    const VarId along = match_.first.reduction[0];
    return StepOf(program_, *match_.first.vector_load, along) == 1 &&
           StepOf(program_, *match_.first.broadcast_load, along) == 1 &&
           StepOf(program_, *match_.second.vector_load, match_.second.vector_axis) == 1;
  }
  int64_t DotLanes() const { return LanesOf(context_.device.core, program_, first_); }

  // The widest vectors that a product's columns fill.
  int64_t ColumnLanes(const Contraction& c) const {
    const int64_t columns = Extent(program_, c.vector_axis);
    return std::max<int64_t>(
        2, std::min<int64_t>(LanesOf(context_.device.core, program_, program_.blocks[c.block]),
                             FloorPowerOfTwo(columns)));
  }

  // Whether the columns are no whole vectors. The last panel then begins early, so that it has as
  // many as the others: what it shares with the one before is computed twice, which costs less than
  // a narrower vector for each power of two that is left, and no padding is ever read.
  bool IsShifted(const Contraction& c) const {
    const int64_t columns = Extent(program_, c.vector_axis), lanes = ColumnLanes(c);
    return columns % lanes != 0 && columns > lanes;
  }

  Decision Panels(const std::string& name, const Contraction& c) const {
    Decision panels{.name = name};
    const int64_t columns = Extent(program_, c.vector_axis), lanes = ColumnLanes(c);
    const int64_t vectors = (columns + lanes - 1) / lanes;
    // Of what is computed this much may be waste; more where narrow panels load more than they
    // compute.
    const int64_t waste_share = BroadcastsFromMemory(context_.device.core, program_, c) ? 16 : 8;
    for (int64_t v = 1; v <= (context_.device.core.vector_register_count > 16 ? 6 : 4); ++v) {
      if (v * lanes > kVectorElementsMax) break;
      const int64_t computed = (vectors + v - 1) / v * v;
      const bool shifted =
          IsShifted(c) && v * lanes <= columns && waste_share * (computed - vectors) <= vectors;
      if (v == 1 || shifted || columns % (v * lanes) == 0) panels.values.push_back(v * lanes);
    }
    return panels;
  }

  Decision Dots() const {
    Decision dots{.name = "nr"};
    for (int64_t v = 1; v <= std::min(Extent(program_, match_.first.vector_axis), kDotColumns);
         ++v) {
      dots.values.push_back(v);
    }
    return dots;
  }

  void Decide() {
    const IsaModel& isa = context_.device.core;
    Decision tile_rows{.name = "mr"}, block_rows{.name = "rows"};
    for (int64_t v = 1; v <= std::min<int64_t>(row_count_, std::max(isa.l1d.ways, 8)); ++v) {
      tile_rows.values.push_back(v);
    }
    const int64_t parts = split_rows_ ? parts_ : 1;
    const int64_t share = (row_count_ + parts - 1) / parts;  // Of a worker.
    for (int64_t v = 8; v < share; v *= 2) block_rows.values.push_back(v);
    block_rows.values.push_back(share);
    const int64_t tallest = tile_rows.values.back();
    const Decision first = form_ == Form::kDirect ? Dots() : Panels("nr", match_.first);
    const Decision second = Panels("nd", match_.second);
    mr_ = s_.Decide(std::move(tile_rows));
    nr_ = s_.Decide(first);
    nd_ = s_.Decide(second);
    rows_ = s_.Decide(std::move(block_rows));
    s_.Require(Le(mr_, rows_));
    s_.Require(Le(Int(parts), CeilDiv(Int(row_count_), rows_)));
    if (form_ == Form::kDirect) {
      s_.Require(TileFitsRegisters(context_.device.core, false, mr_, nr_));
    } else {
      RequireTile(match_.first, nr_, first.values.back(), tallest);
    }
    RequireTile(match_.second, nd_, second.values.back(), tallest);
  }

  void RequireTile(const Contraction& c, const Expr& columns, int64_t widest, int64_t tallest) {
    const IsaModel& isa = context_.device.core;
    const Expr vectors = FloorDiv(columns, ColumnLanes(c));
    const int64_t wanted = std::min<int64_t>(isa.accumulators_min(), kSumsMax);
    s_.Require(TileFitsRegisters(isa, BroadcastsFromMemory(isa, program_, c), mr_, vectors));
    // Too few independent sums leave the FMA units waiting; small problems have no choice.
    s_.Require(
        Or(Le(Int(wanted), mr_ * vectors), Or(Eq(mr_, Int(tallest)), Eq(columns, Int(widest)))));
  }

  // The loops of a register tile, from the one over panels inward, and its annotations. `around`:
  // loops outside that take part in the order. The loop over panels, and the vector's.
  std::pair<LoopRef, LoopRef> Tile(const Block& block, const Contraction& c, LoopRef rows,
                                   LoopRef columns, const Expr& width,
                                   const std::vector<LoopRef>& around) {
    const auto [tile, row] = s_.SplitMax(rows, Name(block, "mt", "mi"), mr_);
    const auto [panels, vector] = s_.SplitSize(columns, Name(block, "vp", "vi"), width,
                                               IsShifted(c) ? Tail::kShift : Tail::kRagged);
    const auto [step, unrolled] =
        s_.SplitSize(s_.AxisLoop(c.reduction[0]), Name(block, "qo", "qi"), Int(kDepthUnroll));
    std::vector<LoopRef> order = around;
    order.insert(order.end(), {panels, tile, step, unrolled, row, vector});
    s_.Reorder(order);
    s_.Stage(s_.FindBlock(block.name), Name(block, "acc"), tile, Scope::kRegister);
    s_.Unroll(unrolled);
    s_.Unroll(row);
    s_.Vectorize(vector, ColumnLanes(c));
    return {panels, vector};
  }

  // The vector operand in the order of use, for the matrix that loop `matrix_` stands at.
  void Pack(const Block& block, const Contraction& c, std::vector<LoopRef> dims,
            const std::pair<LoopRef, LoopRef>& panels_and_vector) {
    dims.insert(dims.end(),
                {panels_and_vector.first, s_.AxisLoop(c.reduction[0]), panels_and_vector.second});
    const std::string packed = Name(block, "packed");
    const BlockRef copy =
        s_.Relayout(s_.FindBuffer(program_.buffers[c.vector_load->id].name), packed, dims);
    std::vector<std::string> names;
    for (size_t d = 0; d < dims.size(); ++d) names.push_back(absl::StrCat(packed, "_", d));
    const std::vector<LoopRef> loops = s_.ComputeAt(copy, names, matrix_);
    // Vectors of what may lie far apart: loads of single elements, but one store for all of them.
    s_.Vectorize(loops.back(), ColumnLanes(c));
  }

  void ScheduleSecond() {
    const size_t rank = second_.spatial.size();
    std::vector<LoopRef> batch;
    for (size_t d = 0; d + 2 < rank; ++d) batch.push_back(Axis(second_, d));
    const LoopRef matrix = s_.Fuse(batch, Name(second_, "g"));
    const auto [blocks, row] =
        s_.SplitMax(Axis(second_, rank - 2), Name(second_, "mb", "m1"), rows_);
    std::vector<LoopRef> around;
    if (split_rows_) {
      std::tie(worker_, row_block_) = s_.SplitParts(blocks, Name(second_, "p", "mb1"), Int(parts_));
      matrix_ = matrix;
      around = {worker_, matrix_, row_block_};
    } else {
      std::tie(worker_, matrix_) = s_.SplitParts(matrix, Name(second_, "p", "g1"), Int(parts_));
      row_block_ = blocks;
      around = {worker_, matrix_, row_block_};
    }
    const auto panels = Tile(second_, match_.second, row, Axis(second_, rank - 1), nd_, around);
    if (form_ != Form::kDirect) Pack(second_, match_.second, {matrix}, panels);
  }

  void PlaceChain() {
    const Block& rows = *match_.chain.back();
    chain_.Vectorize(Place(rows).back(), rows, s_);
    // Of one row each block waits for the one before; of several rows a core does many at once.
    chain_.PlaceOthers(row_block_, s_);
  }

  void PlaceFirst() {
    const std::vector<LoopRef> loops = Place(first_);
    const auto panels = Tile(first_, match_.first, loops[loops.size() - 2], loops.back(), nr_, {});
    std::vector<LoopRef> batch;
    for (size_t d = 0; d + 2 < first_.spatial.size(); ++d) {
      if (Extent(program_, first_.spatial[d]) > 1) batch.push_back(Axis(first_, d));
    }
    Pack(first_, match_.first, batch, panels);
  }

  // Lanes of the scores' dot products, tile by tile, and their sums.
  void PlaceDots() {
    const auto [step, lane] = s_.SplitSize(s_.AxisLoop(match_.first.reduction[0]),
                                           Name(first_, "qo", "qi"), Int(DotLanes()));
    const BlockRef partial = s_.Rfactor(s_.FindBlock(first_.name), Name(first_, "lanes"), lane);
    const std::vector<LoopRef> loops = Place(first_);
    const BlockRef whole = s_.FindBlock(first_.name);
    const LoopRef row = loops[loops.size() - 2];
    const auto [block, column] =
        s_.SplitMax(loops.back(), Name(first_, "cb", "c1"), Int(kDotBlock));
    s_.Reorder({block, row, column});
    s_.Stage(whole, Name(first_, "sum"), column, Scope::kRegister);
    s_.Vectorize(s_.LoopsOf(whole).back(), DotLanes());
    std::vector<std::string> names;
    for (size_t d = 0; d <= first_.spatial.size(); ++d) {
      names.push_back(Name(first_, absl::StrCat("l", d)));
    }
    const std::vector<LoopRef> local = s_.ComputeAt(partial, names, block);
    const size_t rank = first_.spatial.size();
    const auto [row_tile, row_in_tile] =
        s_.SplitMax(local[rank - 2], Name(first_, "mt", "mi"), mr_);
    const auto [tile, in_tile] = s_.SplitMax(local[rank - 1], Name(first_, "vt", "vi"), nr_);
    s_.Reorder({row_tile, tile, step, row_in_tile, in_tile, local[rank]});
    s_.Stage(partial, Name(first_, "acc"), tile, Scope::kRegister);
    s_.Unroll(row_in_tile);
    s_.Unroll(in_tile);
    s_.Vectorize(local[rank], DotLanes());
  }

  // Computes `block` for a block of rows; its loops there.
  std::vector<LoopRef> Place(const Block& block) {
    std::vector<std::string> names;
    for (size_t d = 0; d < block.spatial.size(); ++d) {
      names.push_back(Name(block, absl::StrCat("i", d)));
    }
    return s_.ComputeAt(s_.FindBlock(block.name), names, row_block_,
                        chain_.RowAlignment(*match_.chain.back()));
  }

  const RuleContext& context_;
  const Program& program_;
  const Match& match_;
  RowChain chain_;
  const Block &first_, &second_;
  const Form form_;
  const bool split_rows_;
  Schedule s_;
  int64_t batch_count_ = 1, row_count_ = 1, parts_ = 1;
  Expr mr_, nr_, nd_, rows_;
  // Loops: of one matrix of the batch, of one block of its rows.
  LoopRef worker_, matrix_, row_block_;
};

}  // namespace

std::vector<Draft> ContractionChainRule(const RuleContext& context, BlockId block) {
  const std::optional<Match> match = Find(context.program);
  if (!match.has_value()) return {};
  std::vector<Draft> drafts;
  for (const Form form : {Form::kBatch, Form::kRows, Form::kDirect}) {
    std::optional<Draft> draft = ContractionChainSketch(context, *match, form).Build();
    // Asking the primitives keeps their conditions in one place.
    if (!draft.has_value() || !FirstPointApplies(*draft, context.program)) continue;
    drafts.push_back(*std::move(draft));
  }
  return drafts;
}

}  // namespace burnish
