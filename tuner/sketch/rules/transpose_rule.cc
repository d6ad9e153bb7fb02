// Blocks that turn rows into columns: what they read element by element walks another output axis
// than the last. A tile of a vector of the last axes by some cache lines of that one is read line
// by line and written vector by vector, where the plain nest would read a line for every element.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/access.h"
#include "tuner/sketch/rules/interleave.h"

namespace burnish {
namespace {

// Rows of the output that a tile writes: each may lie in a page of its own.
constexpr int64_t kBlockRowsMax = 128;

struct Transposition {
  VarId across = -1;  // Walks what is read element by element.
  // With the axes around it that go on where it ends, in what is read and in the output.
  std::vector<VarId> all_across;
  std::vector<VarId> along;   // The output's last axes, which loads walk as if they were one.
  std::vector<VarId> others;  // In order.
};

// Whether the output goes on where axis `inner` ends when `outer` takes a step.
bool IsWrittenAsOne(const Program& program, const Block& block, VarId outer, VarId inner) {
  const auto stride = [&](VarId axis) {
    const auto at = std::find(block.spatial.begin(), block.spatial.end(), axis);
    return program.buffers[block.output].storage.strides[at - block.spatial.begin()];
  };
  return stride(outer) == stride(inner) * Extent(program, inner);
}

std::optional<Transposition> Recognize(const Program& program, const Block& block) {
  if (!IsUniformMap(program, block)) return std::nullopt;
  std::vector<VarId> axes = block.spatial;
  while (!axes.empty() && Extent(program, axes.back()) == 1) axes.pop_back();
  if (axes.empty()) return std::nullopt;
  const std::vector<Expr> loads = DistinctLoads(block);
  Transposition found;
  for (const Expr& load : loads) {
    const LinearForm address = AddressOf(program, *load);
    if (address.StepOf(axes.back()).value_or(0) <= 1) continue;
    for (VarId axis : axes) {
      if (Extent(program, axis) > 1 && address.StepOf(axis) == 1) found.across = axis;
    }
  }
  if (found.across < 0) return std::nullopt;
  found.along = {axes.back()};
  axes.pop_back();
  while (!axes.empty() && axes.back() != found.across &&
         WalkAsOne(program, loads, axes.back(), found.along.front(),
                   Extent(program, found.along.front()))) {
    found.along.insert(found.along.begin(), axes.back());
    axes.pop_back();
  }
  for (VarId axis : axes) {
    if (axis != found.across) found.others.push_back(axis);
  }
  found.all_across = {found.across};
  for (auto axis = std::find(axes.rbegin(), axes.rend(), found.across);
       axis + 1 < axes.rend() &&
       WalkAsOne(program, loads, *(axis + 1), *axis, Extent(program, *axis)) &&
       IsWrittenAsOne(program, block, *(axis + 1), *axis);
       ++axis) {
    found.all_across.insert(found.all_across.begin(), *(axis + 1));
  }
  return found;
}

// The widest square that loads of vectors and shuffles turn: 16 lanes at most, so that vectors of
// small elements are not whole registers. 0: none fits the output.
int64_t SquareOf(const RuleContext& context, const Block& block, const Transposition& found,
                 int64_t along_extent) {
  const int64_t bytes = SizeBytes(context.program.buffers[block.output].dtype);
  const std::vector<Expr> loads = DistinctLoads(block);
  const bool same = std::all_of(loads.begin(), loads.end(),
                                [&](const Expr& load) { return SizeBytes(load->dtype) == bytes; });
  const int64_t lanes = LanesOf(context.device.core, context.program, block);
  for (const int64_t square : {16, 8, 4}) {
    if (same && square <= lanes && square <= along_extent && IsSquareOfLanes(square, bytes) &&
        square <= ProductOfExtents(context.program, found.all_across)) {
      return square;
    }
  }
  return 0;
}

// `square`: rows of the output that are written out, whose loads are shared by them; 0: none.
// `whole_rows`: a tile's rows are written as far as a worker has them before the next tile's; else
// all rows are in the columns of a vector before the next ones.
Schedule Tiled(const RuleContext& context, const Block& block, const Transposition& found,
               int64_t square, bool whole_rows) {
  const Program& program = context.program;
  const std::vector<VarId> across_axes =
      square > 0 ? found.all_across : std::vector<VarId>{found.across};
  std::vector<VarId> other_axes = found.others;
  std::erase_if(other_axes, [&](VarId axis) {
    return std::find(across_axes.begin(), across_axes.end(), axis) != across_axes.end();
  });
  const int64_t along_extent = ProductOfExtents(program, found.along);
  const int64_t across_extent = ProductOfExtents(program, across_axes);
  const int64_t other_count = ProductOfExtents(program, other_axes);
  const int64_t lanes = square > 0 ? square
                                   : std::min<int64_t>(LanesOf(context.device.core, program, block),
                                                       FloorPowerOfTwo(along_extent));

  Schedule s(program);
  const auto name = [&](absl::string_view what) { return absl::StrCat(block.name, "_", what); };
  // Elements of a line, and several lines; of squares, how many.
  const int64_t line_elements =
      context.device.core.line_bytes / SizeBytes(program.buffers[block.output].dtype);
  const int64_t unit = std::max<int64_t>(square, 1);
  Decision columns{.name = square > 0 ? "squares" : "columns"};
  for (int64_t v = std::max(line_elements, unit); v < 4 * across_extent && v <= kBlockRowsMax;
       v *= 2) {
    columns.values.push_back(v / unit);
  }
  if (columns.values.empty()) columns.values.push_back(std::max(line_elements, unit) / unit);

  const std::vector<LoopRef> others = s.AxisLoops(other_axes);
  const std::vector<LoopRef> along = s.AxisLoops(found.along);
  const std::vector<LoopRef> rows = s.AxisLoops(across_axes);
  std::vector<LoopRef> order = others;
  order.insert(order.end(), rows.begin(), rows.end());
  order.insert(order.end(), along.begin(), along.end());
  s.Reorder(order);
  LoopRef dealt = others.empty() ? LoopRef{} : s.Fuse(others, name("r"));
  const auto [vectors, vector] =
      s.SplitSize(s.Fuse(along, name("v")), {name("vo"), name("vi")}, Int(lanes));
  LoopRef across = rows.size() > 1 ? s.Fuse(rows, name("c")) : rows.front(), row;
  if (square > 0) {
    std::tie(across, row) = s.SplitSize(across, {name("cs"), name("cr")}, Int(square));
  }
  const auto [tile, line] =
      s.SplitSize(across, {name("co"), name("ci")}, s.Decide(std::move(columns)));
  const LoopRef outer = whole_rows ? tile : vectors, inner = whole_rows ? vectors : tile;
  std::vector<LoopRef> nest = {outer, inner, line};
  if (dealt) nest.insert(nest.begin(), dealt);
  if (square > 0) nest.push_back(row);
  nest.push_back(vector);
  s.Reorder(nest);
  if (along_extent * across_extent * other_count >= kParallelMin && context.threads() > 1) {
    // The longer side, pixels rather than channels, as the neighbours do: what one of them reads it
    // finds in its own cache, if that can hold what is read and what is written.
    const bool stays = StaysWithWorkers(context, program.buffers[block.output], 2);
    LoopRef shared = dealt;
    if (!dealt || other_count < context.threads()) {
      shared = !stays ? outer : across_extent > along_extent ? tile : vectors;
    }
    const auto [worker, of_worker] =
        s.SplitParts(shared, {name("p"), name("p1")}, Int(context.threads()));
    if (nest.front().id != shared.id) {
      for (LoopRef& loop : nest) loop = loop.id == shared.id ? of_worker : loop;
      nest.insert(nest.begin(), worker);
      s.Reorder(nest);
    }
    s.Parallel(worker);
  }
  if (square > 0) s.Unroll(row);
  s.Vectorize(vector, lanes);
  return s;
}

}  // namespace

std::vector<Draft> TransposeRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  // Few rows need no tiles: vectors of them are put together from whole loads.
  if (FindInterleaving(context, id).has_value()) return {};
  const std::optional<Transposition> found = Recognize(program, block);
  if (!found.has_value()) return {};
  const int64_t along_extent = ProductOfExtents(program, found->along);
  if (along_extent < 2) return {};
  std::vector<Draft> drafts;
  drafts.push_back({"transpose", Tiled(context, block, *found, 0, false)});
  if (const int64_t square = SquareOf(context, block, *found, along_extent); square > 0) {
    drafts.push_back({"transpose/squares", Tiled(context, block, *found, square, false)});
    if (along_extent > square) {
      drafts.push_back({"transpose/squares/rows", Tiled(context, block, *found, square, true)});
    }
  }
  return drafts;
}

}  // namespace burnish
