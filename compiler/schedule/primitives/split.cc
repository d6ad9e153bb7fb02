// split@1 m->(outer,inner) max=6 | size=16 [tail=ragged|guard|pad|shift] | parts=2: one loop
// becomes two.
//   max, parts: inner sizes differ by at most one (49 by max=6: 4 of 6 and 5 of 5).
//   size, ragged: every inner size is `size`, the last one what is left.
//   guard: every inner size is `size`; instances beyond the end are skipped.
//   pad: the axis is made longer and the new elements are zero (of a private buffer), or add
//     nothing (of a reduction).
//   shift: the last tile starts early; what it shares with its neighbour is computed twice.
// Where `size` leaves no rest, m // size and m % size in a block's expressions become the loops.
#include <algorithm>

#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {
namespace {

struct Pieces {
  Expr outer_extent;
  Expr inner_extent;
  Expr start;  // Of the inner loop, over the outer variable.
  bool guarded = false;
  bool repeats = false;
};

// Tiles whose sizes differ by at most one: `count(n)` of them for n elements.
absl::StatusOr<Pieces> Balanced(const Program& program, const Expr& n, VarId outer,
                                const std::function<int64_t(int64_t)>& count) {
  Pieces pieces;
  ASSIGN_OR_RETURN(pieces.outer_extent, Tabulate(program, n, count));
  ASSIGN_OR_RETURN(const Expr base, Tabulate(program, n, [&](int64_t v) { return v / count(v); }));
  ASSIGN_OR_RETURN(const Expr rest, Tabulate(program, n, [&](int64_t v) { return v % count(v); }));
  const Expr o = VarRef(outer);
  if (IsInt(rest, 0)) {
    pieces.inner_extent = base;
    pieces.start = o * base;
  } else {
    // The first `rest` tiles are one longer. So at most two sizes exist, and lowering writes at
    // most two bodies.
    pieces.inner_extent = Select(Lt(o, rest), base + 1, base);
    pieces.start = o * base + Min(o, rest);
  }
  return pieces;
}

// Lengthens the axis to `padded` elements: new elements of a spatial axis are zero, of a reduction
// axis add nothing.
absl::Status PadAxis(Program& program, VarId axis, int64_t padded) {
  const int64_t extent = program.vars[axis].extent->int_value;
  const NodeId loop = LoopOf(program, axis);
  const std::vector<BlockId> blocks = BlocksUnder(program, loop);
  // The axis itself gets longer, and with it the output's shape; another block in the loop would
  // run too often.
  if (blocks.size() != 1) return Refuse("tail=pad wants a loop around one block");
  Block& block = program.blocks[blocks[0]];
  const std::vector<VarId>& axes = program.vars[axis].reduce ? block.reduction : block.spatial;
  if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
    return Refuse("tail=pad wants an axis of ", block.name, " itself");
  }
  const Expr inside = Lt(VarRef(axis), Int(extent));
  if (program.vars[axis].reduce) {
    // What the combiner leaves as it is: the padded terms are added, and add nothing.
    block.step = Select(inside, block.step, Identity(block.combiner, block.step->dtype));
  } else {
    Buffer& buffer = program.buffers[block.output];
    if (buffer.role != BufferRole::kTemp) {
      return Refuse("tail=pad writes beyond the end of ", buffer.name, ", which is not private");
    }
    int dim = -1;
    for (size_t d = 0; d < block.output_indices.size(); ++d) {
      const Expr& index = block.output_indices[d];
      if (index->kind == ExprKind::kVar && index->id == axis) dim = static_cast<int>(d);
    }
    if (dim < 0) return Refuse("tail=pad wants an axis of ", block.name, " itself");
    buffer.shape[dim] = padded;
    buffer.storage = DenseStorage(buffer.shape);
    if (block.init != nullptr) {
      block.init = Select(inside, block.init, Identity(Combiner::kSum, block.init->dtype));
    }
    const Expr zero = Identity(Combiner::kSum, block.step->dtype);
    // Zero is neutral for sums only: of a maximum of negative numbers it would be the result.
    if (block.combiner != Combiner::kAssign && block.combiner != Combiner::kSum) {
      return Refuse("tail=pad wants a sum");
    }
    block.step = Select(inside, block.step, zero);
    if (block.finish != nullptr) block.finish = Select(inside, block.finish, zero);
  }
  program.vars[axis].extent = Int(padded);
  return absl::OkStatus();
}

// Whether `var` stands in `e` or in the maps of the variables in it.
bool DependsOn(const Program& program, const Expr& e, VarId var) {
  const std::vector<VarId> free = e == nullptr ? std::vector<VarId>() : FreeVars(e);
  return std::any_of(free.begin(), free.end(), [&](VarId v) {
    return v == var || DependsOn(program, program.vars[v].def, var);
  });
}

absl::StatusOr<Pieces> BySize(Program& program, VarId var, VarId outer, int64_t size,
                              const std::string& tail) {
  const auto count = [size](int64_t n) { return (n + size - 1) / size; };
  const Expr n = program.vars[var].extent, o = VarRef(outer);
  Pieces pieces{.inner_extent = Int(size), .start = o * size};
  ASSIGN_OR_RETURN(pieces.outer_extent, Tabulate(program, n, count));
  const bool even = IsConstInt(n) && n->int_value % size == 0;
  if (tail == "ragged") {
    if (!even) pieces.inner_extent = Min(Int(size), n - o * size);
  } else if (tail == "guard") {
    pieces.guarded = !even;
    // Beyond the end there is no iteration that an inner loop could be as long as.
    for (const Var& other : program.vars) {
      if (!even && DependsOn(program, other.extent, var)) {
        return Refuse("tail=guard: the extent of ", other.name, " depends on ",
                      program.vars[var].name);
      }
    }
  } else if (tail == "shift") {
    if (!IsConstInt(n) || n->int_value < size) {
      return Refuse("tail=shift wants a constant extent of at least the size");
    }
    if (program.vars[var].reduce) return Refuse("tail=shift would add terms of a reduction twice");
    if (!even) {
      pieces.start = Min(o * size, n - size);
      pieces.repeats = true;
    }
  } else if (tail == "pad") {
    if (!IsConstInt(n)) return Refuse("tail=pad wants a constant extent");
    if (!even) RETURN_IF_ERROR(PadAxis(program, var, count(n->int_value) * size));
  } else {
    return Refuse("got tail=", tail, ", want ragged, guard, pad or shift");
  }
  return pieces;
}

// Quotients and rests of an axis by the size that it is split by evenly are the two new loops: from
// the map alone nobody sees that any more once the inner one is cut into ragged pieces.
void NameQuotients(Program& program, VarId axis, int64_t size, VarId outer, VarId inner) {
  for (Block& block : program.blocks) {
    RewriteBlock(block, [&](const Expr& e) -> Expr {
      const bool of_axis = (e->kind == ExprKind::kFloorDiv || e->kind == ExprKind::kMod) &&
                           e->operands[0]->kind == ExprKind::kVar && e->operands[0]->id == axis &&
                           IsInt(e->operands[1], size);
      return of_axis ? VarRef(e->kind == ExprKind::kMod ? inner : outer) : nullptr;
    });
  }
}

}  // namespace

absl::Status ApplySplit(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 2));
  ASSIGN_OR_RETURN(const NodeId loop, FindLoopArg(program, step.inputs[0]));
  if (program.nodes[loop].loop_kind != LoopKind::kSerial) {
    return Refuse("loop ", step.inputs[0], " is annotated already");
  }
  RETURN_IF_ERROR(WantNewVar(program, step.outputs[0]));
  RETURN_IF_ERROR(WantNewVar(program, step.outputs[1]));
  if (step.outputs[0] == step.outputs[1]) return Refuse("the two new loops have one name");
  const VarId var = program.nodes[loop].var;
  const Expr n = program.vars[var].extent;
  const int64_t least = ExtentValues(program, var).front();
  const bool reduce = program.vars[var].reduce;
  const VarId outer = AddVar(program, {.name = step.outputs[0], .reduce = reduce});
  const VarId inner = AddVar(program, {.name = step.outputs[1], .reduce = reduce});
  const char* key = step.Has("max") ? "max" : step.Has("parts") ? "parts" : "size";
  ASSIGN_OR_RETURN(const int64_t amount, step.GetInt(key));
  if (amount < 1 || amount > (int64_t{1} << 31)) return Refuse("got ", key, " out of range");
  Pieces pieces;
  if (step.Has("max")) {
    ASSIGN_OR_RETURN(pieces, Balanced(program, n, outer,
                                      [amount](int64_t v) { return (v + amount - 1) / amount; }));
  } else if (step.Has("parts")) {
    // In the iteration with the fewest elements a part would be empty, and loops run at least once.
    if (amount > least) return Refuse("more parts than elements");
    ASSIGN_OR_RETURN(pieces, Balanced(program, n, outer, [amount](int64_t) { return amount; }));
  } else {
    const std::string tail = step.Has("tail") ? *step.GetWord("tail") : "ragged";
    ASSIGN_OR_RETURN(pieces, BySize(program, var, outer, amount, tail));
  }
  program.vars[outer].extent = pieces.outer_extent;
  program.vars[inner].extent = pieces.inner_extent;
  // Tiles of a constant are two sizes; those of a ragged loop may be as many as it has iterations.
  if (!IsConstInt(n)) RETURN_IF_ERROR(NewExtentValues(program, inner).status());
  program.vars[var].def = pieces.start + VarRef(inner);
  program.vars[var].guarded = pieces.guarded;
  program.vars[var].repeats = pieces.repeats;

  const bool even = IsConstInt(n) && n->int_value % amount == 0;
  if (step.Has("size") && even) NameQuotients(program, var, amount, outer, inner);
  RETURN_IF_ERROR(CheckExtentsBy(program, {outer, inner}));

  const NodeId outer_loop = AddNode(program, {.kind = NodeKind::kLoop, .var = outer});
  const NodeId inner_loop = AddNode(program, {.kind = NodeKind::kLoop, .var = inner});
  const std::vector<NodeId> children = program.nodes[loop].children;
  ReplaceChild(program, loop, outer_loop);
  AppendChild(program, outer_loop, inner_loop);
  for (NodeId child : children) AppendChild(program, inner_loop, child);
  // Tiles that overlap compute elements twice. Under a reduction loop the second time would add to
  // the first.
  return pieces.repeats ? CheckLoopOrder(program, NestOf(program, outer_loop)) : absl::OkStatus();
}

}  // namespace burnish
