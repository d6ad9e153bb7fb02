#include "tuner/sketch/generator/nest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

// Rows that read an operand again from which on a copy may pay: two register tiles of eight.
constexpr int64_t kReadsMin = 16;

bool DependsOnAny(const Program& program, const ExprNode& load, const NestLoop& loop) {
  return std::any_of(loop.axes.begin(), loop.axes.end(),
                     [&](VarId axis) { return DependsOn(program, load, axis); });
}

// Whether `load` is the one place of the program that reads its buffer.
bool IsTheOnlyReader(const Program& program, const ExprNode& load) {
  int count = 0;
  for (const Block& block : program.blocks) {
    for (const Expr& each : DistinctLoads(block)) count += each->id == load.id;
  }
  return count == 1;
}

}  // namespace

std::string Nest::New(absl::string_view what) const { return absl::StrCat(block, "_", what); }

Nest StartNest(const RuleContext& context, BlockId id, Schedule schedule) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  Nest nest{.schedule = std::move(schedule), .definition = id, .block = block.name};
  const auto take = [&](const std::vector<VarId>& axes, std::vector<NestLoop>& loops,
                        std::vector<std::string>& trivial) {
    for (const VarId axis : axes) {
      const std::string& name = program.vars[axis].name;
      const int64_t extent = Extent(program, axis);
      if (extent == 1) {
        trivial.push_back(name);
      } else {
        loops.push_back({.name = name, .axes = {axis}, .extent = extent});
      }
    }
  };
  take(block.spatial, nest.spatial, nest.trivial_spatial);
  take(block.reduction, nest.reduction, nest.trivial_reduction);
  return nest;
}

void PutInOrder(Nest& nest) {
  std::vector<std::string> order = nest.trivial_spatial;
  for (const NestLoop& loop : nest.spatial) order.push_back(loop.name);
  order.insert(order.end(), nest.trivial_reduction.begin(), nest.trivial_reduction.end());
  for (const NestLoop& loop : nest.reduction) order.push_back(loop.name);
  nest.schedule.Reorder(Refs(nest.schedule, order));
}

std::vector<LoopRef> Refs(Schedule& schedule, const std::vector<std::string>& names) {
  std::vector<LoopRef> loops;
  for (const std::string& name : names) loops.push_back(schedule.Find(name));
  return loops;
}

Expr OutputAccess(const Program& program, const Block& block) {
  return Load(block.output, program.buffers[block.output].dtype, block.output_indices);
}

LoopWalk WalkOf(const Program& program, const Block& block, const NestLoop& loop) {
  LoopWalk walk;
  const VarId axis = loop.axes.back();
  const auto by_one = [&](const ExprNode& access) { return StepOf(program, access, axis) == 1; };
  for (const Expr& load : DistinctLoads(block)) {
    if (!DependsOn(program, *load, axis) || by_one(*load)) continue;
    ++walk.stride_count;
    walk.packable_count += program.buffers[load->id].role == BufferRole::kConstant;
  }
  walk.writes_in_order = by_one(*OutputAccess(program, block));
  for (const Expr& e : {block.init, block.step, block.finish}) {
    if (e == nullptr) continue;
    VisitExpr(e, [&](const ExprNode& node) {
      // A check is for all lanes together, or for none: the code generator has no mask for it.
      walk.diverges |= node.kind == ExprKind::kBoundsCheck;
      if (node.kind != ExprKind::kSelect || !MentionsVar(node.operands[0], axis)) return;
      for (const Expr& side : {node.operands[1], node.operands[2]}) {
        VisitExpr(side,
                  [&](const ExprNode& inner) { walk.diverges |= inner.kind == ExprKind::kLoad; });
      }
    });
  }
  return walk;
}

std::vector<Expr> LoadsToCopy(const Program& program, const Nest& nest, const NestLoop& vector) {
  if (nest.reduction.empty()) return {};
  const VarId axis = vector.axes.back();
  std::vector<Expr> loads;
  // What ends a sum is read once, whatever tiles there are.
  const Block steps{.step = program.blocks[nest.definition].step};
  for (const Expr& load : DistinctLoads(steps)) {
    if (program.buffers[load->id].role == BufferRole::kConstant) continue;
    const bool by_steps =
        DependsOn(program, *load, axis) && StepOf(program, *load, axis).value_or(1) != 1;
    if (!by_steps || !IsTheOnlyReader(program, *load)) continue;
    // What is computed inside of the nest is in a cache anyway.
    if (WriterOf(program, load->id) >= 0 && !nest.producers.empty()) continue;
    int64_t reads = 1;
    for (const NestLoop& loop : nest.spatial) {
      if (!DependsOnAny(program, *load, loop)) reads *= loop.extent;
    }
    if (reads >= kReadsMin) loads.push_back(load);
  }
  return loads;
}

std::vector<std::string> LayoutOf(const Program& program, const Nest& nest, const ExprNode& load) {
  std::vector<std::string> dims;
  const NestLoop& vector = nest.spatial.back();
  const auto take_whole = [&](const std::vector<NestLoop>& loops) {
    for (const NestLoop& loop : loops) {
      if (&loop != &vector && DependsOnAny(program, load, loop)) dims.push_back(loop.name);
    }
  };
  take_whole(nest.spatial);
  std::vector<std::string> pieces;
  for (const NestLevel& level : nest.levels) {
    for (const NestLoop& dim : level.dims) {
      if (dim.axes == vector.axes) pieces.push_back(dim.name);
    }
  }
  dims.insert(dims.end(), pieces.begin(), pieces.end() - 1);
  take_whole(nest.reduction);
  dims.push_back(pieces.back());
  return dims;
}

std::vector<int64_t> SpacedDivisors(int64_t n, int count) {
  std::vector<int64_t> all;
  for (int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  std::vector<int64_t> spaced;
  const auto last = static_cast<int64_t>(all.size()) - 1;
  for (int i = 0; i < count; ++i) {
    const int64_t value = all[static_cast<size_t>(last * i / (count - 1))];
    if (spaced.empty() || spaced.back() != value) spaced.push_back(value);
  }
  return spaced;
}

Expr ExtentOf(Schedule& schedule, const std::vector<std::string>& loops) {
  Expr product = Int(1);
  for (const std::string& name : loops) {
    const Expr extent = schedule.ExtentOf(schedule.Find(name));
    if (extent == nullptr) return nullptr;
    product = product * extent;
  }
  return product;
}

}  // namespace burnish
