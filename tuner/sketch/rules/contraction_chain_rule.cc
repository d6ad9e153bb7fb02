// A product, a chain over its rows, and a product that reads the rows: attention,
// softmax(Q K' + mask) V. A block of rows goes the whole way at once, so that the scores stay in
// the first or second cache; the vector operands of both products are packed once for each matrix
// of a batch, by the worker that reads them. Not the running softmax of longer rows: a row is whole
// before it is normalized. Source of the idea: Dao et al., "FlashAttention", NeurIPS 2022.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"
#include "tuner/sketch/rules/row_chain.h"

namespace burnish {
namespace {

constexpr int64_t kDepthUnroll = 4;

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

class ContractionChainSketch {
 public:
  ContractionChainSketch(const RuleContext& context, const Match& match, bool split_rows)
      : context_(context),
        program_(context.program),
        match_(match),
        chain_(context, match.chain),
        first_(program_.blocks[match.first.block]),
        second_(program_.blocks[match.second.block]),
        split_rows_(split_rows) {}

  // Nullopt: the rows between the products are no chain, or the other form deals out better.
  std::optional<Sketch> Build() {
    if (!chain_.IsChain()) return std::nullopt;
    sketch_.name = absl::StrCat("contraction_chain/", split_rows_ ? "rows" : "batch");
    for (size_t d = 0; d + 2 < second_.spatial.size(); ++d) {
      batch_count_ *= Extent(program_, second_.spatial[d]);
    }
    row_count_ = Extent(program_, second_.spatial[second_.spatial.size() - 2]);
    const bool enough_rows = context_.threads > 1 && row_count_ >= 2 * context_.threads;
    if (split_rows_ && !enough_rows) return std::nullopt;
    if (!split_rows_ && batch_count_ < context_.threads && enough_rows) return std::nullopt;
    parts_ = split_rows_ ? context_.threads : std::min<int64_t>(context_.threads, batch_count_);
    AddDecisions();
    chain_.SplitReductions(sketch_);
    ScheduleSecond();
    PlaceChain();
    PlaceFirst();
    Add(absl::StrCat("parallel@1 ", Loop(second_, "p")));
    return std::move(sketch_);
  }

 private:
  void Add(const std::string& text) { sketch_.steps.push_back({.text = text}); }
  static std::string Loop(const Block& block, absl::string_view what) {
    return absl::StrCat(block.name, "_", what);
  }
  std::string Axis(const Block& block, size_t d) const {
    return NameOf(program_, block.spatial[d]);
  }

  // The widest vectors that a product's columns fill.
  int64_t LanesOf(const Contraction& c) const {
    const int64_t columns = Extent(program_, c.vector_axis);
    return std::max<int64_t>(
        2, std::min<int64_t>(context_.isa.float_lanes(), FloorPowerOfTwo(columns)));
  }

  // Whether the columns are no whole vectors. The last panel then begins early, so that it has as
  // many as the others: what it shares with the one before is computed twice, which costs less than
  // a narrower vector for each power of two that is left, and no padding is ever read.
  bool IsShifted(const Contraction& c) const {
    const int64_t columns = Extent(program_, c.vector_axis), lanes = LanesOf(c);
    return columns % lanes != 0 && columns > lanes;
  }

  Decision Panels(const std::string& name, const Contraction& c) const {
    Decision panels{.name = name};
    const int64_t columns = Extent(program_, c.vector_axis), lanes = LanesOf(c);
    const int64_t vectors = (columns + lanes - 1) / lanes;
    // Of what is computed this much may be waste; more where narrow panels load more than they
    // compute.
    const int64_t waste_share = context_.isa.broadcast_operand ? 16 : 8;
    for (int64_t v = 1; v <= (context_.isa.vector_register_count > 16 ? 6 : 4); ++v) {
      const int64_t computed = (vectors + v - 1) / v * v;
      const bool shifted =
          IsShifted(c) && v * lanes <= columns && waste_share * (computed - vectors) <= vectors;
      if (v == 1 || shifted || columns % (v * lanes) == 0) panels.values.push_back(v * lanes);
    }
    return panels;
  }

  void AddDecisions() {
    const IsaModel& isa = context_.isa;
    Decision mr{.name = "mr"}, rows{.name = "rows"};
    for (int64_t v = 1; v <= std::min<int64_t>(row_count_, std::max(isa.l1d.ways, 8)); ++v) {
      mr.values.push_back(v);
    }
    const int64_t parts = split_rows_ ? parts_ : 1;
    const int64_t share = (row_count_ + parts - 1) / parts;  // Of a worker.
    for (int64_t v = 8; v < share; v *= 2) rows.values.push_back(v);
    rows.values.push_back(share);
    const Decision nr = Panels("nr", match_.first), nd = Panels("nd", match_.second);
    sketch_.decisions = {mr, nr, nd, rows};
    const int64_t lanes[] = {LanesOf(match_.first), LanesOf(match_.second)};
    const int64_t widest[] = {nr.values.back(), nd.values.back()};
    const int64_t tallest = mr.values.back(), row_count = row_count_;
    const int64_t wanted = std::min<int64_t>(isa.accumulators_min(), 8);
    sketch_.valid = [=, lane_first = lanes[0], lane_second = lanes[1], wide_first = widest[0],
                     wide_second = widest[1]](const Point& p) {
      if (p[3] < p[0] || (row_count + p[3] - 1) / p[3] < parts) return false;
      const auto fits = [&](int64_t columns, int64_t lane_count, int64_t most) {
        const int64_t vectors = columns / lane_count;
        // Too few independent sums leave the FMA units waiting; small problems have no choice.
        const bool small = p[0] == tallest || columns == most;
        return TileFitsRegisters(isa, p[0], vectors) && (p[0] * vectors >= wanted || small);
      };
      return fits(p[1], lane_first, wide_first) && fits(p[2], lane_second, wide_second);
    };
  }

  // The loops of a register tile, from the one over panels inward, and its annotations. `row` and
  // `column` are loops; `around`: loops outside that take part in the order.
  void Tile(const Block& block, const Contraction& c, const std::string& row,
            const std::string& column, const std::string& width,
            const std::vector<std::string>& around) {
    const auto loop = [&](absl::string_view what) { return Loop(block, what); };
    const auto split = [&](const std::string& from, absl::string_view outer,
                           absl::string_view inner, const std::string& how) {
      Add(absl::StrCat("split@1 ", from, "->(", loop(outer), ",", loop(inner), ") ", how));
    };
    split(row, "mt", "mi", "max=$mr");
    split(column, "vp", "vi", absl::StrCat("size=$", width, IsShifted(c) ? " tail=shift" : ""));
    split(NameOf(program_, c.reduction[0]), "qo", "qi", absl::StrCat("size=", kDepthUnroll));
    std::vector<std::string> order = around;
    for (const char* what : {"vp", "mt", "qo", "qi", "mi", "vi"}) order.push_back(loop(what));
    Add(absl::StrCat("reorder@1 ", List(order)));
    Add(absl::StrCat("stage@1 ", block.name, "->", loop("acc"), " inside=", loop("mt"),
                     " scope=register"));
    Add(absl::StrCat("unroll@1 ", loop("qi")));
    Add(absl::StrCat("unroll@1 ", loop("mi")));
    Add(absl::StrCat("vectorize@1 ", loop("vi"), " lanes=", LanesOf(c)));
  }

  // The vector operand in the order of use, for the matrix that loop `matrix_` stands at.
  void Pack(const Block& block, const Contraction& c, const std::vector<std::string>& batch) {
    std::vector<std::string> dims = batch;
    for (const std::string& dim :
         {Loop(block, "vp"), NameOf(program_, c.reduction[0]), Loop(block, "vi")}) {
      dims.push_back(dim);
    }
    const std::string packed = Loop(block, "packed");
    Add(absl::StrCat("relayout@1 ", program_.buffers[c.vector_load->id].name, "->", packed,
                     " dims=", List(dims)));
    std::vector<std::string> loops;
    for (size_t d = 0; d < dims.size(); ++d) loops.push_back(absl::StrCat(packed, "_", d));
    Add(absl::StrCat("compute_at@1 ", packed, "->", List(loops), " inside=", matrix_));
    // Vectors of what may lie far apart: loads of single elements, but one store for all of them.
    Add(absl::StrCat("vectorize@1 ", loops.back(), " lanes=", LanesOf(c)));
  }

  void ScheduleSecond() {
    const auto loop = [&](absl::string_view what) { return Loop(second_, what); };
    const size_t rank = second_.spatial.size();
    std::vector<std::string> batch;
    for (size_t d = 0; d + 2 < rank; ++d) batch.push_back(Axis(second_, d));
    std::string matrix = batch[0];
    if (batch.size() > 1) {
      matrix = loop("g");
      Add(absl::StrCat("fuse@1 ", List(batch), "->", matrix));
    }
    Add(absl::StrCat("split@1 ", Axis(second_, rank - 2), "->(", loop("mb"), ",", loop("m1"),
                     ") max=$rows"));
    const std::string parts = absl::StrCat(") parts=", parts_);
    std::vector<std::string> around;
    if (split_rows_) {
      Add(absl::StrCat("split@1 ", loop("mb"), "->(", loop("p"), ",", loop("mb1"), parts));
      matrix_ = matrix;
      rows_ = loop("mb1");
      around = {loop("p"), matrix, rows_};
    } else {
      Add(absl::StrCat("split@1 ", matrix, "->(", loop("p"), ",", loop("g1"), parts));
      matrix_ = loop("g1");
      rows_ = loop("mb");
      around = {loop("p"), matrix_, rows_};
    }
    Tile(second_, match_.second, loop("m1"), Axis(second_, rank - 1), "nd", around);
    Pack(second_, match_.second, {matrix});
  }

  void PlaceChain() {
    const Block& rows = *match_.chain.back();
    const std::vector<std::string> loops = Place(rows);
    chain_.Vectorize(loops.back(), rows, sketch_);
    // Of one row each block waits for the one before; of several rows a core does many at once.
    chain_.PlaceOthers(rows_, sketch_);
  }

  void PlaceFirst() {
    const std::vector<std::string> loops = Place(first_);
    Tile(first_, match_.first, loops[loops.size() - 2], loops.back(), "nr", {});
    std::vector<std::string> batch;
    for (size_t d = 0; d + 2 < first_.spatial.size(); ++d) {
      if (Extent(program_, first_.spatial[d]) > 1) batch.push_back(Axis(first_, d));
    }
    Pack(first_, match_.first, batch);
  }

  // Computes `block` for a block of rows; its loops there.
  std::vector<std::string> Place(const Block& block) {
    std::vector<std::string> loops;
    for (size_t d = 0; d < block.spatial.size(); ++d) {
      loops.push_back(Loop(block, absl::StrCat("i", d)));
    }
    const std::string align = chain_.RowAlignment(*match_.chain.back());
    Add(absl::StrCat("compute_at@1 ", block.name, "->", List(loops), " inside=", rows_, align));
    return loops;
  }

  const RuleContext& context_;
  const Program& program_;
  const Match& match_;
  const RowChain chain_;
  const Block &first_, &second_;
  const bool split_rows_;
  Sketch sketch_;
  int64_t batch_count_ = 1, row_count_ = 1, parts_ = 1;
  std::string matrix_, rows_;  // Loops: of one matrix of the batch, of one block of its rows.
};

}  // namespace

std::vector<Sketch> ContractionChainRule(const RuleContext& context) {
  const std::optional<Match> match = Find(context.program);
  if (!match.has_value()) return {};
  std::vector<Sketch> sketches;
  for (const bool split_rows : {false, true}) {
    std::optional<Sketch> sketch = ContractionChainSketch(context, *match, split_rows).Build();
    if (!sketch.has_value()) continue;
    // Asking the primitives keeps their conditions in one place.
    const std::vector<Point> points = EnumeratePoints(*sketch, 1);
    if (points.empty()) continue;
    const absl::StatusOr<Trace> trace = Bind(*sketch, points[0]);
    if (!trace.ok() || !ApplyTrace(*trace, context.program).ok()) continue;
    sketches.push_back(*std::move(sketch));
  }
  return sketches;
}

}  // namespace burnish
