#include "compiler/driver/trim_step.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "compiler/graph/constant.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

// Of ranges of one index in one iteration: a microsecond each, and each step has some.
constexpr int64_t kRangesMax = 100'000;

// The only parallel loop, if there is nothing beside it.
NodeId OnlyPhase(const Program& program) {
  const std::vector<NodeId>& phases = program.nodes[program.root].children;
  if (phases.size() != 1) return -1;
  const Node& loop = program.nodes[phases[0]];
  const bool is_parallel = loop.kind == NodeKind::kLoop && loop.loop_kind == LoopKind::kParallel;
  return is_parallel && IsConstInt(program.vars[loop.var].extent) ? phases[0] : -1;
}

// The only output; -1 where there are more.
BufferId OnlyOutput(const Program& program) {
  BufferId output = -1;
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b].role != BufferRole::kOutput) continue;
    if (output >= 0) return -1;
    output = static_cast<BufferId>(b);
  }
  return output;
}

// Different indices by which the output is stored along `axis`.
std::vector<Expr> StoredIndices(const Program& program, NodeId loop, BufferId output, size_t axis) {
  std::vector<Expr> indices;
  for (const NodeId id : Subtree(program, loop)) {
    const Node& node = program.nodes[id];
    if (node.kind != NodeKind::kStore || node.buffer != output) continue;
    const Expr& index = node.indices[axis];
    const bool is_known = std::any_of(indices.begin(), indices.end(), [&](const Expr& known) {
      return StructurallyEqual(known, index);
    });
    if (!is_known) indices.push_back(index);
  }
  return indices;
}

// Into so many parts at most is a parallel loop cut that a run may leave parts of: each is known by
// what it writes, and one that is wanted alone is a call of its own.
constexpr int64_t kPartsMax = 1024;

// Parts of a parallel loop, by the first iteration of each, and the end: as kernels share out so
// many workers (kernel_abi.h). Twice the parts have the ends of the parts among theirs, so a run
// may do two as one.
std::vector<int64_t> PartsOf(int64_t count) {
  const int64_t parts = std::min(count, kPartsMax);
  std::vector<int64_t> starts;
  for (int64_t part = 0; part <= parts; ++part) starts.push_back(part * count / parts);
  return starts;
}

// What each part of the loop writes of an axis; empty where that is not known.
std::vector<Range> WrittenRanges(const Program& program, NodeId loop, BufferId output, size_t axis,
                                 const std::vector<int64_t>& starts) {
  const VarId parallel = program.nodes[loop].var;
  const std::vector<Expr> indices = StoredIndices(program, loop, output, axis);
  const auto count = static_cast<int64_t>(starts.size()) - 1;
  if (indices.empty() || count * static_cast<int64_t>(indices.size()) > kRangesMax) return {};
  std::vector<Range> written;
  for (int64_t part = 0; part < count; ++part) {
    const VarRanges ranges = [&](VarId var) -> std::optional<Range> {
      if (var == parallel) return Range{starts[part], starts[part + 1] - 1};
      return Range{0, MaxExtent(program, var) - 1};
    };
    std::optional<Range> all;
    for (const Expr& index : indices) {
      const std::optional<Range> range = RangeOf(index, ranges);
      if (!range.has_value()) return {};
      if (!all.has_value()) all = range;
      all = Range{std::min(all->min, range->min), std::max(all->max, range->max)};
    }
    written.push_back(*all);
  }
  return written;
}

// As starts that repeat, each for some iterations in a row; nullopt: they do not, or there is one.
std::optional<TrimAxis> AxisOf(const std::vector<Range>& written) {
  TrimAxis axis{.parts = {}, .inner = 0, .span = 1, .starts = {}};
  const auto count = static_cast<uint32_t>(written.size());
  while (axis.inner < count && written[axis.inner].min == written[0].min) ++axis.inner;
  if (count == 0 || axis.inner == count || count % axis.inner != 0) return std::nullopt;
  axis.starts.push_back(written[0].min);
  for (uint32_t p = axis.inner; p < count && written[p].min != written[0].min; p += axis.inner) {
    axis.starts.push_back(written[p].min);
  }
  for (uint32_t p = 0; p < count; ++p) {
    if (written[p].min != axis.starts[p / axis.inner % axis.starts.size()]) return std::nullopt;
    axis.span = std::max(axis.span, written[p].max - written[p].min + 1);
  }
  return axis;
}

TrimPart PartOf(const AxisPart& part) {
  TrimPart made{.holds = {}, .bound = part.bound * part.divisor};
  for (const auto& [sizes, factor] : part.holds.products()) {
    made.holds.push_back({.factor = factor, .sizes = {sizes.begin(), sizes.end()}});
  }
  return made;
}

// The same axis, where an element of a part that holds a fraction of something is as many as its
// divisor.
int64_t Finer(const AxisParts& parts, int64_t index) {
  int64_t finer = 0, pitch = 1;
  for (size_t p = parts.size(); p-- > 0;) {
    finer += index % parts[p].bound * parts[p].divisor * pitch;
    index /= parts[p].bound;
    pitch *= parts[p].bound * parts[p].divisor;
  }
  // Behind the end where there was more.
  return finer + index * pitch;
}

void SetParts(const AxisParts& parts, TrimAxis& axis) {
  int64_t span = 1;
  for (int64_t& start : axis.starts) {
    const int64_t last = Finer(parts, start + axis.span - 1);
    start = Finer(parts, start);
    span = std::max(span, last - start + 1);
  }
  axis.span = span;
  for (const AxisPart& part : parts) axis.parts.push_back(PartOf(part));
}

bool IsWhole(const AxisParts& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [](const AxisPart& part) { return part.IsFull(); });
}

// By starts that repeat, or else by all of them.
TrimAxis AxisAsWritten(const std::vector<Range>& written) {
  if (std::optional<TrimAxis> repeats = AxisOf(written); repeats.has_value()) {
    return *std::move(repeats);
  }
  TrimAxis axis{.parts = {}, .inner = 1, .span = 1, .starts = {}};
  for (const Range& range : written) {
    axis.starts.push_back(range.min);
    axis.span = std::max(axis.span, range.max - range.min + 1);
  }
  return axis;
}

// Whether some iterations begin elsewhere than others.
bool Differs(const std::vector<Range>& written) {
  return std::any_of(written.begin(), written.end(),
                     [&](const Range& range) { return range.min != written[0].min; });
}

bool HasReductions(const Program& program) {
  return std::any_of(program.blocks.begin(), program.blocks.end(),
                     [](const Block& block) { return !block.reduction.empty(); });
}

// What reductions may leave out. Other programs have no use for it, and would be others with it.
void AddRests(const Graph& graph, const TaskCall& call, const Program& program,
              const std::vector<std::vector<ValueRest>>& rests, StepGuards& guards) {
  if (!HasReductions(program)) return;
  const std::vector<BufferId> parameters = ParametersOf(program);
  for (size_t p = 0; p < call.arguments.size(); ++p) {
    const GraphValue& value = graph.value(call.arguments[p]);
    const auto parameter = static_cast<int>(p);
    const std::optional<double> number = NeutralNumber(value);
    if (number.has_value()) {
      guards.request.rests.push_back({.parameter = parameter, .axis = -1, .value = *number});
    }
    for (const ValueRest& rest : rests[call.arguments[p]]) {
      const std::optional<int> axis =
          SameAxis(value.type.shape, rest.axis, program.buffers[parameters[p]].shape);
      if (!axis.has_value()) continue;
      auto same = std::find(guards.extents.begin(), guards.extents.end(), rest.holds);
      if (same == guards.extents.end()) same = guards.extents.insert(same, rest.holds);
      guards.request.rests.push_back({.parameter = parameter,
                                      .axis = *axis,
                                      .value = rest.value,
                                      .extent = static_cast<int>(same - guards.extents.begin())});
    }
  }
  // Numbers alone say nothing.
  if (guards.extents.empty()) guards.request.rests.clear();
}

}  // namespace

StepGuards GuardsOf(const Graph& graph, const TaskCall& call, const Program& program,
                    const DemandedParts& demand, const std::vector<std::vector<ValueRest>>& rests) {
  StepGuards guards{.request = {}, .demand = demand, .extents = {}};
  const BufferId output = OnlyOutput(program);
  if (output < 0) return guards;
  if (!demand.empty()) {
    const DemandedParts parts = RegroupDemand(demand, program.buffers[output].shape);
    for (size_t d = 0; d < parts.size(); ++d) {
      if (!IsWhole(parts[d])) guards.request.axes.push_back(static_cast<int>(d));
    }
  }
  AddRests(graph, call, program, rests, guards);
  return guards;
}

std::vector<LoopFlags> LoopFlagsOf(const GuardedLoops& guarded, const StepGuards& guards,
                                   const Program& program) {
  const std::vector<int64_t>& shape = program.buffers[OnlyOutput(program)].shape;
  DemandedParts parts;
  if (!guards.demand.empty()) parts = RegroupDemand(guards.demand, shape);
  parts.resize(shape.size());
  for (const AxisPart& extent : guards.extents) parts.push_back({extent});
  std::vector<LoopFlags> loops;
  for (const LoopGuard& guard : guarded.guards) {
    LoopFlags& loop = loops.emplace_back(LoopFlags{.first = static_cast<uint32_t>(guard.first),
                                                   .count = static_cast<uint32_t>(guard.count),
                                                   .axes = {}});
    for (const LoopGuard::Written& written : guard.written) {
      TrimAxis axis = AxisAsWritten(written.ranges);
      AxisParts along;
      for (size_t d = written.axis; d < written.axis + written.count; ++d) {
        along.insert(along.end(), parts[d].begin(), parts[d].end());
      }
      SetParts(along, axis);
      loop.axes.push_back(std::move(axis));
    }
  }
  return loops;
}

std::optional<StepTrim> TrimOf(const Program& lowered, const DemandedParts& demand) {
  const NodeId loop = OnlyPhase(lowered);
  const BufferId output = OnlyOutput(lowered);
  if (loop < 0 || output < 0 || demand.empty()) return std::nullopt;
  const std::vector<int64_t> starts =
      PartsOf(lowered.vars[lowered.nodes[loop].var].extent->int_value);
  const size_t count = starts.size() - 1;
  if (count < 2) return std::nullopt;
  const DemandedParts parts = RegroupDemand(demand, lowered.buffers[output].shape);
  StepTrim trim{.step = 0, .iterations = static_cast<uint32_t>(count), .axes = {}};
  for (size_t d = 0; d < parts.size(); ++d) {
    if (IsWhole(parts[d])) continue;
    const std::vector<Range> written = WrittenRanges(lowered, loop, output, d, starts);
    if (!Differs(written)) continue;
    TrimAxis axis = AxisAsWritten(written);
    SetParts(parts[d], axis);
    trim.axes.push_back(std::move(axis));
  }
  return trim.axes.empty() ? std::nullopt : std::optional(std::move(trim));
}

}  // namespace burnish
