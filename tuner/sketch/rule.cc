#include "tuner/sketch/rule.h"

#include <algorithm>

#include "base/check.h"
#include "base/extra_row.h"
#include "compiler/ir/access.h"
#include "tuner/sketch/generator/nest.h"

namespace burnish {
namespace {

std::vector<SketchRule> WithExtraRows(std::vector<SketchRule> rules) {
  for (const SketchRule* rule : ExtraRow<SketchRule>::All()) rules.push_back(*rule);
  return rules;
}

// A row of the generator: kind kNest, for workers of vectors.
SketchRule NestRow(const char* name, int precedence, bool shares, decltype(SketchRule::extend) rule,
                   const char* structure = "") {
  return {.name = name,
          .suits = WorkersOfVectors,
          .kind = RuleKind::kNest,
          .precedence = precedence,
          .shares = shares,
          .apply = nullptr,
          .spaces = kGenerator,
          .extend = rule,
          .structure = structure};
}

}  // namespace

const std::vector<SketchRule>& SketchRules() {
  using enum RuleKind;
  constexpr uint32_t kEverySpace = ~uint32_t{0};
  static const auto& rules = *new std::vector<SketchRule>(WithExtraRows({
      // Two products block by block have the product of their spaces, and pass the scores through
      // memory: the chain decides alone.
      {"contraction_chain", WorkersOfVectors, kProgram, 3, /*shares=*/false, ContractionChainRule},
      {"row_chain", WorkersOfVectors, kProgram, 2, /*shares=*/true, RowChainRule},
      {"column_chain", WorkersOfVectors, kProgram, 1, /*shares=*/true, ColumnChainRule},
      {"border", AnyDevice, kStructural, 1, /*shares=*/false, BorderRule, kEverySpace},
      // Beside the window's, which is asked last.
      {"outer_reduction", WorkersOfVectors, kBlock, 13, /*shares=*/true, OuterReductionRule},
      // Whose rate is several times that of vectors, where tiles are full.
      {"tile_product", WorkersOfVectors, kBlock, 12, /*shares=*/true, TileProductRule},
      // Where a tile would only copy: in front of it, and the model decides.
      {"dot_tile", WorkersOfVectors, kBlock, 11, /*shares=*/true, DotTileRule},
      {"dot", WorkersOfVectors, kBlock, 10, /*shares=*/true, DotRule},
      // In front of products, which copy what lanes walk by steps, and of the plain nest, which
      // goes element by element.
      {"stepped_window", WorkersOfVectors, kBlock, 9, /*shares=*/true, SteppedWindowRule},
      {"contraction", AnyDevice, kBlock, 8, /*shares=*/false, ContractionRule},
      {"window", WorkersOfVectors, kBlock, 7, /*shares=*/false, WindowRule},
      // In front of what takes such blocks else.
      {"segment_reduction", WorkersOfVectors, kBlock, 5, /*shares=*/true, SegmentReductionRule},
      {"row_reduction", WorkersOfVectors, kBlock, 4, /*shares=*/false, RowReductionRule},
      // Movement by vectors and shuffles, or by tiles of lines; the plain nest where that is not
      // faster. What is interleaved in few rows needs no tiles.
      {"interleave", WorkersOfVectors, kBlock, 3, /*shares=*/true, InterleaveRule},
      {"transpose", WorkersOfVectors, kBlock, 2, /*shares=*/true, TransposeRule},
      // Takes every block.
      {"spatial", WorkersOfVectors, kBlock, 1, /*shares=*/false, SpatialRule},
      {"winograd", WorkersOfVectors, kAlgorithm, 1, /*shares=*/true, WinogradRule},
      NestRow("merge", 90, false, MergeRule),
      NestRow("parts", 80, true, PartsRule),
      NestRow("lanes", 70, false, LanesRule),
      NestRow("flatten", 60, false, FlattenRule),
      // Each takes nests of its kind; those in front leave them to the others as well.
      NestRow("tile_map", 57, true, TilingRule, "SS"),
      NestRow("tile_map_cached", 56, false, TilingRule, "SSS"),
      NestRow("tile_sum", 55, true, TilingRule, "SRUS"),
      NestRow("tile_sum_cached", 54, true, TilingRule, "SSRUS"),
      NestRow("tile_sum_blocked", 53, false, TilingRule, "SSRSRUS"),
      NestRow("tile_chain", 52, true, TilingRule, "S|SS"),
      NestRow("tile_chain_cached", 51, false, TilingRule, "SS|SS"),
      NestRow("tile_sum_of_chain", 50, false, TilingRule, "S|SRUS"),
      // In front of what fuses the loops that a layout is by.
      NestRow("read_cache", 45, false, ReadCacheRule),
      NestRow("copy", 42, false, CopyRule),
      NestRow("deal", 40, false, DealRule),
      // Copies of tiles are made by the worker that reads them.
      NestRow("place_copies", 38, false, PlaceCopiesRule),
      NestRow("producers", 35, false, ProducersRule),
      NestRow("write_cache", 30, false, WriteCacheRule),
      NestRow("registers", 20, false, RegistersRule),
      NestRow("combine", 10, false, CombineRule),
  }));
  return rules;
}

bool AnyDevice(const DeviceModel&) { return true; }

bool WorkersOfVectors(const DeviceModel& device) {
  const ParallelAxis* const lanes = device.FindAxis(Axis::kLane);
  return device.FindAxis(Axis::kWorker) != nullptr && lanes != nullptr && lanes->extent_bytes > 0;
}

bool GridsOfThreads(const DeviceModel& device) {
  const ParallelAxis* const lanes = device.FindAxis(Axis::kLane);
  return device.FindAxis(Axis::kBlock) != nullptr && device.FindAxis(Axis::kWarp) != nullptr &&
         lanes != nullptr && lanes->extent > 0;
}

namespace {

// Bytes of the widest value of `e` that a lane holds. Arithmetic on axes alone is the loop's.
int64_t WidestBytes(const Expr& e) {
  if (e->kind == ExprKind::kLoad || e->kind == ExprKind::kSelf) return SizeBytes(e->dtype);
  int64_t widest = 0;
  for (const Expr& operand : e->operands) widest = std::max(widest, WidestBytes(operand));
  return widest == 0 ? 0 : std::max(widest, SizeBytes(e->dtype));
}

}  // namespace

int64_t LanesOf(const IsaModel& isa, const Program& program, const Block& block) {
  // The step's type is that of the sums, and may be wider than anything that is stored.
  int64_t widest =
      std::max(SizeBytes(program.buffers[block.output].dtype), SizeBytes(block.step->dtype));
  for (const Expr& e : {block.init, block.step, block.finish}) {
    if (e != nullptr) widest = std::max(widest, WidestBytes(e));
  }
  return isa.vector_bytes / widest;
}

int64_t Extent(const Program& program, VarId axis) { return MaxExtent(program, axis); }

int64_t ProductOfExtents(const Program& program, absl::Span<const VarId> axes) {
  int64_t product = 1;
  for (VarId axis : axes) product *= Extent(program, axis);
  return product;
}

VarRanges AxisRanges(const Program& program) {
  return [&program](VarId var) -> std::optional<Range> {
    return Range{0, MaxExtent(program, var) - 1};
  };
}

LinearForm AddressOf(const Program& program, const ExprNode& load) {
  return AddressOf(program.buffers[load.id].storage, load.operands, AxisRanges(program));
}

std::optional<int64_t> StepOf(const Program& program, const ExprNode& load, VarId axis) {
  return AddressOf(program, load).StepOf(axis);
}

bool WalksByOne(const Program& program, const Block& block, VarId axis) {
  const std::vector<Expr> loads = DistinctLoads(block);
  return std::all_of(loads.begin(), loads.end(), [&](const Expr& load) {
    return !DependsOn(program, *load, axis) || StepOf(program, *load, axis) == 1;
  });
}

bool WalkAsOne(const Program& program, const std::vector<Expr>& loads, VarId outer, VarId inner,
               int64_t extent) {
  return std::all_of(loads.begin(), loads.end(), [&](const Expr& load) {
    const LinearForm address = AddressOf(program, *load);
    const std::optional<int64_t> slow = address.StepOf(outer), fast = address.StepOf(inner);
    return slow.has_value() && fast.has_value() && *slow == *fast * extent;
  });
}

bool DependsOn(const Program& program, const ExprNode& load, VarId axis) {
  return std::any_of(load.operands.begin(), load.operands.end(),
                     [&](const Expr& index) { return MentionsVar(index, axis); });
}

std::vector<Expr> DistinctLoads(const Block& block) {
  std::vector<Expr> loads;
  for (const Expr& e : {block.init, block.step, block.finish}) {
    RewriteExpr(e, [&](const Expr& node) -> Expr {
      if (node->kind == ExprKind::kLoad &&
          std::none_of(loads.begin(), loads.end(),
                       [&](const Expr& seen) { return StructurallyEqual(seen, node); })) {
        loads.push_back(node);
      }
      return nullptr;
    });
  }
  return loads;
}

bool IsUniformMap(const Program& program, const Block& block) {
  if (!block.reduction.empty() || !WritesInAxisOrder(program, block)) {
    return false;
  }
  bool uniform = true;
  for (const Expr& e : {block.init, block.step, block.finish}) {
    if (e == nullptr) continue;
    VisitExpr(e, [&](const ExprNode& node) {
      uniform = uniform && node.kind != ExprKind::kSelect && node.kind != ExprKind::kBoundsCheck;
    });
  }
  return uniform;
}

int64_t FloorPowerOfTwo(int64_t value) {
  int64_t power = 1;
  while (power * 2 <= value) power *= 2;
  return power;
}

LoopRef DealToWorkers(Schedule& s, LoopRef loop, const Schedule::Names& names, int threads) {
  const auto [worker, of_worker] = s.SplitParts(loop, names, Int(threads));
  s.Parallel(worker);
  return of_worker;
}

bool StaysWithWorkers(const RuleContext& context, const Buffer& buffer, int count) {
  return count * StorageElementCount(buffer) * SizeBytes(buffer.dtype) <=
         context.threads() * context.device.core.l2.size_bytes;
}

Sketch SketchOf(const Draft& draft) {
  CHECK_OK(draft.schedule.status()) << draft.name;
  return {.name = draft.name,
          .steps = draft.schedule.steps(),
          .decisions = draft.schedule.decisions(),
          .constraints = draft.schedule.constraints()};
}

bool FirstPointApplies(const Draft& draft, const Program& program) {
  const Sketch sketch = SketchOf(draft);
  const std::vector<Point> points = EnumeratePoints(sketch, 1);
  return !points.empty() && ApplyTrace(StepsAt(sketch.steps, points[0]), program).ok();
}

}  // namespace burnish
