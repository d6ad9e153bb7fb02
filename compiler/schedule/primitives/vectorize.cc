// vectorize@1 oi lanes=8: the loop runs in vectors of `lanes` elements, the rest in narrower ones.
// Of a reduction loop, the lanes of each vector are combined as a tree: sums are rounded in another
// order.
#include "base/status_macros.h"
#include "compiler/schedule/primitives/annotate.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {
namespace {

// A reduction whose elements all go into one: each block under the loop combines, and no loop lies
// between it and the vector.
absl::Status WantIndependentOrCombined(const Program& program, NodeId loop) {
  if (!program.vars[program.nodes[loop].var].reduce) return WantIndependent(program, loop);
  for (NodeId child : program.nodes[loop].children) {
    const Node& node = program.nodes[child];
    const bool combines =
        node.kind == NodeKind::kBlock && program.blocks[node.block].combiner != Combiner::kAssign;
    if (!combines) return Refuse("under a reduction loop that is a vector only its sum may be");
  }
  return absl::OkStatus();
}

// A guarded variable of a block under the loop, of which the loop is a part: a lane cannot be
// skipped on its own. -1: none. An axis that rfactor has opened has its guard as a condition in the
// step, which lanes may answer each in its own way.
VarId GuardOver(const Program& program, NodeId loop) {
  const VarId lane = program.nodes[loop].var;
  for (BlockId id : BlocksUnder(program, loop)) {
    std::vector<VarId> open = program.blocks[id].spatial;
    open.insert(open.end(), program.blocks[id].reduction.begin(),
                program.blocks[id].reduction.end());
    while (!open.empty()) {
      const VarId var = open.back();
      open.pop_back();
      const Expr& def = program.vars[var].def;
      if (def == nullptr) continue;
      if (program.vars[var].guarded && MentionsVar(ExpandDefs(program, def), lane)) return var;
      const std::vector<VarId> parts = FreeVars(def);
      open.insert(open.end(), parts.begin(), parts.end());
    }
  }
  return -1;
}

}  // namespace

absl::Status ApplyVectorize(const Step& step, Program& program) {
  ASSIGN_OR_RETURN(const NodeId loop, SerialLoop(step, program));
  RETURN_IF_ERROR(WantIndependentOrCombined(program, loop));
  ASSIGN_OR_RETURN(const int64_t lanes, step.GetInt("lanes"));
  // 64 bytes of the widest vectors, in elements of one byte. Powers of two, as tails are halved
  // (kernel_emitter.cc) and reductions are trees.
  if (lanes < 2 || lanes > 64 || (lanes & (lanes - 1)) != 0) {
    return Refuse("lanes must be a power of two from 2 to 64");
  }
  const VarId var = program.nodes[loop].var;
  // Of a register tile all vectors are written out: 256 elements are 16 vectors of 16 floats, half
  // of AVX-512's registers. A bound against code that explodes; not tuned.
  if (MaxExtent(program, var) > 256) return Refuse("over 256 elements: split the loop first");
  for (NodeId id : LoopsAround(program, program.nodes[loop].parent)) {
    if (program.nodes[id].loop_kind == LoopKind::kVectorized) {
      return Refuse("inside a loop that is a vector already");
    }
  }
  for (NodeId id : Subtree(program, loop)) {
    if (program.nodes[id].loop_kind == LoopKind::kVectorized) {
      return Refuse("around a loop that is a vector already");
    }
  }
  if (const VarId guarded = GuardOver(program, loop); guarded >= 0) {
    return Refuse("lanes of ", program.vars[guarded].name, " would be guarded one by one");
  }
  program.nodes[loop].loop_kind = LoopKind::kVectorized;
  program.nodes[loop].lanes = static_cast<int32_t>(lanes);
  return absl::OkStatus();
}

}  // namespace burnish
