// Reductions over outer axes: sums, means and maxima of rows, and sums of rows times a number each
// (a vector by a matrix of the run), lanes along the row. Rows come whole, a block of them at a
// time, and partial results of the whole row wait in the output meanwhile: so memory is read from
// one end to the other, where the tiles of the window and of products read a few lines of each row
// and leave the rest of the page.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"

namespace burnish {
namespace {

// Rows that are read side by side. Of 300 rows of 1500 floats, 32 times, on two threads of a Zen 4
// beside other builds, blocks of 4, 8, 16 and 32 rows take 1.5, 1.4, 1.2 and 2.0 ms (medians of
// four widths), and the window's tiles 2.1: hardware does not ask ahead for 32 rows, and fewer than
// 8 read and write the partial results too often.
constexpr int64_t kRowsMin = 8, kRowsMax = 16;
// Vectors of a register tile.
constexpr int64_t kVectorsMax = 8;

// The load that walks the rows, beside which a product has what is the same for a whole row; null:
// the block is no such reduction.
const ExprNode* LoadOfRows(const Program& program, const Block& block,
                           const std::vector<Expr>& loads) {
  if (loads.size() == 1) return loads[0].get();
  if (loads.size() != 2 || block.combiner != Combiner::kSum || block.step->kind != ExprKind::kMul) {
    return nullptr;
  }
  const VarId column = block.spatial.back();
  const bool first = DependsOn(program, *loads[0], column);
  if (first == DependsOn(program, *loads[1], column)) return nullptr;
  const ExprNode* const rows = loads[first ? 0 : 1].get();
  // Constants are laid out in the order of use.
  return program.buffers[rows->id].role == BufferRole::kConstant ? nullptr : rows;
}

// The axis whose steps are rows; nullopt: the block is no such reduction.
std::optional<VarId> RowsOf(const Program& program, const Block& block) {
  if (block.reduction.empty() || block.spatial.empty() || !WritesInAxisOrder(program, block)) {
    return std::nullopt;
  }
  // Partial results wait in the output, in its type.
  if (SizeBytes(program.buffers[block.output].dtype) < SizeBytes(block.step->dtype)) {
    return std::nullopt;
  }
  const std::vector<Expr> loads = DistinctLoads(block);
  const ExprNode* const load = LoadOfRows(program, block, loads);
  if (load == nullptr) return std::nullopt;
  const LinearForm address = AddressOf(program, *load);
  const VarId column = block.spatial.back();
  if (address.StepOf(column) != 1) return std::nullopt;
  for (const auto* axes : {&block.spatial, &block.reduction}) {
    for (const VarId axis : *axes) {
      if (Extent(program, axis) > 1 && address.StepOf(axis).value_or(0) == 0) return std::nullopt;
    }
  }
  // Windows overlap; of other sums each element is a term of one.
  const int64_t terms =
      ProductOfExtents(program, block.spatial) * ProductOfExtents(program, block.reduction);
  if (terms > ElementCount(program.buffers[load->id].shape)) return std::nullopt;
  const VarId rows = block.reduction.back();
  if (Extent(program, rows) < 2 * kRowsMin) return std::nullopt;
  return rows;
}

}  // namespace

std::vector<Draft> OuterReductionRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  const std::optional<VarId> rows = RowsOf(program, block);
  if (!rows.has_value()) return {};
  const VarId column = block.spatial.back();
  const int64_t columns = Extent(program, column);
  const int64_t lanes = LanesOf(context.device.core, program, block);
  if (columns < 2 * lanes) return {};
  std::vector<VarId> outer_axes(block.spatial.begin(), block.spatial.end() - 1);
  const int64_t outer_count = ProductOfExtents(program, outer_axes);
  const bool deal =
      outer_count * columns * ProductOfExtents(program, block.reduction) >= kParallelMin &&
      context.threads() > 1;
  // Else workers share columns, as the window's do.
  if (deal && outer_count < context.threads()) return {};

  Schedule s(program);
  const auto name = [&](absl::string_view what) { return absl::StrCat(block.name, "_", what); };
  Decision width{.name = "width"}, block_rows{.name = "rows"};
  for (int64_t v = 1; v <= kVectorsMax && v * lanes <= columns; v *= 2) {
    width.values.push_back(v * lanes);
  }
  for (int64_t v = kRowsMin; v <= kRowsMax && v < Extent(program, *rows); v *= 2) {
    block_rows.values.push_back(v);
  }
  const auto [vectors, vector] =
      s.SplitSize(s.AxisLoop(column), {name("vo"), name("vi")}, s.Decide(std::move(width)));
  const auto [blocks, row] =
      s.SplitSize(s.AxisLoop(*rows), {name("ko"), name("ki")}, s.Decide(std::move(block_rows)));
  std::vector<LoopRef> order;
  if (!outer_axes.empty()) order.push_back(s.Fuse(s.AxisLoops(outer_axes), name("r")));
  const std::vector<VarId> around(block.reduction.begin(), block.reduction.end() - 1);
  for (const LoopRef loop : s.AxisLoops(around)) order.push_back(loop);
  order.insert(order.end(), {blocks, vectors, row, vector});
  s.Reorder(order);
  s.Stage(s.FindBlock(block.name), name("acc"), vectors, Scope::kRegister);
  if (deal) DealToWorkers(s, order.front(), {name("p"), name("p1")}, context.threads());
  s.Vectorize(vector, lanes);
  return {Draft{"outer_reduction", std::move(s)}};
}

}  // namespace burnish
