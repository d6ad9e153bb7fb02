// prefetch@1 Wp next=oq at=qo to=L2: while one iteration of loop oq runs, the window of Wp that the
// next one reads is asked for, a few cache lines at each iteration of `at`, from its start on.
// prefetch@1 Wp this=mt to=L1: the window that the body of mt reads is asked for when it starts.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/region.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {
namespace {

constexpr int64_t kLineBytes = 64;

// Indices of element `linear` of a region, counted row-major over its sizes.
std::vector<Expr> ElementOf(const Region& region, const Expr& linear) {
  std::vector<Expr> indices(region.size());
  int64_t inner = 1;
  for (size_t d = region.size(); d-- > 0;) {
    Expr at = FloorDiv(linear, inner);
    if (d > 0) at = Mod(at, region[d].size);
    indices[d] = region[d].start + at;
    inner *= region[d].size;
  }
  return indices;
}

int64_t CountElements(const Region& region) {
  int64_t count = 1;
  for (const RegionDim& dim : region) count *= dim.size;
  return count;
}

void InsertFirst(Program& program, NodeId parent, NodeId child) {
  auto& children = program.nodes[parent].children;
  children.insert(children.begin(), child);
  program.nodes[child].parent = parent;
}

absl::Status PrefetchNext(const Step& step, Program& program, BufferId buffer, int level) {
  ASSIGN_OR_RETURN(const std::string next_name, step.GetWord("next"));
  ASSIGN_OR_RETURN(const NodeId next, FindLoopArg(program, next_name));
  ASSIGN_OR_RETURN(const std::string at_name, step.GetWord("at"));
  ASSIGN_OR_RETURN(const NodeId at, FindLoopArg(program, at_name));
  if (at == next || !IsInside(program, at, next)) {
    return Refuse("loop ", at_name, " is not inside loop ", next_name);
  }
  ASSIGN_OR_RETURN(Region region, RegionUnder(program, buffer, next));
  const VarId next_var = program.nodes[next].var;
  // There is no next one: the same trace serves shapes where there is.
  if (MaxExtent(program, next_var) == 1) return absl::OkStatus();
  bool moves = false;
  for (RegionDim& dim : region) {
    moves = moves || MentionsVar(dim.start, next_var);
    dim.start = SubstituteVars(
        dim.start, [&](VarId var) -> Expr { return var == next_var ? VarRef(var) + 1 : nullptr; });
  }
  if (!moves) return Refuse(step.inputs[0], " does not move with loop ", next_name);

  // Iterations of `at` inside one iteration of `next`, numbered.
  Expr slot = Int(0);
  int64_t slots = 1;
  for (NodeId loop : LoopsAround(program, at)) {
    if (loop == next || !IsInside(program, loop, next)) continue;
    const VarId var = program.nodes[loop].var;
    const int64_t extent = MaxExtent(program, var);
    slot = slot * extent + VarRef(var);
    slots *= extent;
  }
  const int64_t line_elements = kLineBytes / SizeBytes(program.buffers[buffer].dtype);
  const int64_t lines = (CountElements(region) + line_elements - 1) / line_elements;
  const int64_t per_slot = (lines + slots - 1) / slots;
  if (per_slot > 16) return Refuse("over 16 lines at each iteration of ", at_name);
  for (int64_t i = 0; i < per_slot; ++i) {
    const Expr line = slot * per_slot + i;
    InsertFirst(program, at,
                AddNode(program, {.kind = NodeKind::kPrefetch,
                                  .buffer = buffer,
                                  .indices = ElementOf(region, line * line_elements),
                                  .cond = Lt(line, Int(lines)),
                                  .cache_level = level}));
  }
  return absl::OkStatus();
}

// Loops of the body that the access moves with are copied, unrolled; the one that walks a row takes
// a step a cache line.
absl::Status PrefetchThis(const Step& step, Program& program, BufferId buffer, int level) {
  ASSIGN_OR_RETURN(const std::string name, step.GetWord("this"));
  ASSIGN_OR_RETURN(const NodeId loop, FindLoopArg(program, name));
  std::vector<Expr> indices;
  for (BlockId id : BlocksUnder(program, loop)) {
    const Block& block = program.blocks[id];
    for (const Expr& load : LoadsOf(block, buffer)) indices = load->operands;
    if (block.output == buffer) indices = block.output_indices;
  }
  if (indices.empty()) return Refuse("nothing under ", name, " touches ", step.inputs[0]);
  for (Expr& index : indices) index = ExpandDefs(program, index);

  std::vector<VarId> outside;
  for (NodeId id : LoopsAround(program, loop)) outside.push_back(program.nodes[id].var);
  std::vector<VarId> walked;
  for (NodeId id : Subtree(program, loop)) {
    const VarId var = program.nodes[id].var;
    const bool moves = std::any_of(indices.begin(), indices.end(),
                                   [&](const Expr& e) { return MentionsVar(e, var); });
    const bool known = std::find(outside.begin(), outside.end(), var) != outside.end() ||
                       std::find(walked.begin(), walked.end(), var) != walked.end();
    if (program.nodes[id].kind == NodeKind::kLoop && moves && !known) walked.push_back(var);
  }
  const int64_t line_elements = kLineBytes / SizeBytes(program.buffers[buffer].dtype);
  const VarRanges ranges = RangesOf(program);
  NodeId first = -1, parent = -1;
  int64_t count = 1;
  Expr cond;
  for (VarId var : walked) {
    const bool row = ToLinear(indices.back(), ranges).StepOf(var) == 1;
    const int64_t greatest = MaxExtent(program, var);
    // Where the extent depends on loops of the body, as many as there may be: a prefetch too many
    // does no harm.
    Expr extent = ExpandDefs(program, program.vars[var].extent);
    for (VarId outer : FreeVars(extent)) {
      if (std::find(outside.begin(), outside.end(), outer) == outside.end()) extent = Int(greatest);
    }
    const int64_t lines = (greatest + line_elements - 1) / line_elements;
    count *= row ? lines : greatest;
    if (count > 64) return Refuse("over 64 lines under one iteration of ", name);
    const VarId copy = AddVar(
        program, {.name = UniqueVarName(program, absl::StrCat(program.vars[var].name, "_line")),
                  .extent = row ? Int(lines) : extent});
    const Expr at = row ? VarRef(copy) * line_elements : VarRef(copy);
    if (row && !(IsConstInt(extent) && extent->int_value % line_elements == 0)) {
      cond = cond == nullptr ? Lt(at, extent) : And(cond, Lt(at, extent));
    }
    for (Expr& index : indices) {
      index = SubstituteVars(index, [&](VarId v) { return v == var ? at : nullptr; });
    }
    const NodeId node =
        AddNode(program, {.kind = NodeKind::kLoop, .var = copy, .loop_kind = LoopKind::kUnrolled});
    if (first < 0) {
      first = node;
    } else {
      AppendChild(program, parent, node);
    }
    parent = node;
  }
  const NodeId leaf = AddNode(program, {.kind = NodeKind::kPrefetch,
                                        .buffer = buffer,
                                        .indices = indices,
                                        .cond = cond,
                                        .cache_level = level});
  if (first < 0) {
    first = leaf;
  } else {
    AppendChild(program, parent, leaf);
  }
  InsertFirst(program, loop, first);
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyPrefetch(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 0));
  ASSIGN_OR_RETURN(const BufferId buffer, FindBufferArg(program, step.inputs[0]));
  ASSIGN_OR_RETURN(const std::string to, step.GetWord("to"));
  if (to != "L1" && to != "L2") return Refuse("got to=", to, ", want L1 or L2");
  const int level = to == "L1" ? 1 : 2;
  return step.Has("next") ? PrefetchNext(step, program, buffer, level)
                          : PrefetchThis(step, program, buffer, level);
}

}  // namespace burnish
