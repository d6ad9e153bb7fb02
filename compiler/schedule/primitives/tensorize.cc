// tensorize@1 vi intrinsic=NAME: the nest from loop vi on is done by an instruction of the
// table in compiler/target/instruction.cc. The nest must be the instruction's own: the same loops,
// the same block, the same steps of every access in memory as its buffers are stored now. Where a
// program is compiled with other storage, the nest is done as it stands. A product of tiles takes
// as many rows, columns and groups as the loops have, and the block's sums must be staged in tile
// registers.
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/primitives/annotate.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"
#include "compiler/target/instruction.h"

namespace burnish {
namespace {

class NestMatcher {
 public:
  // `free_rows`: rows of what the outermost loop moves may lie anyhow far apart.
  NestMatcher(const Program& program, const Program& pattern, bool free_rows)
      : program_(program),
        pattern_(pattern),
        ranges_(RangesOf(program)),
        row_(free_rows ? pattern.nodes[pattern.nodes[pattern.root].children[0]].var : -1) {}

  absl::Status MatchNest(NodeId node) {
    NodeId want = pattern_.nodes[pattern_.root].children[0];
    while (pattern_.nodes[want].kind == NodeKind::kLoop) {
      RETURN_IF_ERROR(MatchLoop(node, want));
      if (program_.nodes[node].children.size() != 1) return Refuse("the nest holds more");
      node = program_.nodes[node].children[0];
      want = pattern_.nodes[want].children[0];
    }
    if (program_.nodes[node].kind != NodeKind::kBlock) return Refuse("the nest has more loops");
    return MatchBlock(program_.blocks[program_.nodes[node].block], pattern_.blocks[0]);
  }

 private:
  absl::Status MatchLoop(NodeId id, NodeId want_id) {
    const Node &node = program_.nodes[id], &want = pattern_.nodes[want_id];
    if (node.kind != NodeKind::kLoop) return Refuse("the nest has fewer loops");
    const Var &var = program_.vars[node.var], &want_var = pattern_.vars[want.var];
    if (node.loop_kind != LoopKind::kSerial) return Refuse("loop ", var.name, " is annotated");
    if (!IsInt(var.extent, want_var.extent->int_value)) {
      return Refuse("extent of ", var.name, " is not ", absl::StrCat(want_var.extent->int_value));
    }
    if (var.reduce != want_var.reduce) {
      return Refuse(var.name, want_var.reduce ? " is no reduction loop" : " is a reduction loop");
    }
    for (VarId derived_id = 0; derived_id < static_cast<VarId>(program_.vars.size());
         ++derived_id) {
      const Var& derived = program_.vars[derived_id];
      // The instruction does all its iterations, each once. What another nest does again is that
      // one's.
      const bool repeats = derived.repeats && !IsDistinctWithin(program_, derived_id, id);
      if ((derived.guarded || repeats) &&
          MentionsVar(ExpandDefs(program_, derived.def), node.var)) {
        return Refuse("iterations of ", var.name, " are guarded one by one, or run twice");
      }
    }
    loops_[want.var] = node.var;
    return absl::OkStatus();
  }

  absl::Status MatchBlock(const Block& block, const Block& want) {
    if (block.combiner != want.combiner || !MatchExpr(block.step, want.step)) {
      return Refuse("the step of ", block.name, " is another");
    }
    // The instruction adds to sums, which have the step's type wherever they are kept; the output
    // may be narrower.
    if (!MatchSteps(block.output, block.output_indices, want.output, want.output_indices)) {
      return Refuse("the output of ", block.name, " is stored another way");
    }
    return absl::OkStatus();
  }

  bool MatchExpr(const Expr& e, const Expr& want) const {
    if (e->kind != want->kind || e->dtype != want->dtype) return false;
    if (e->kind == ExprKind::kLoad)
      return MatchAccess(e->id, e->operands, want->id, want->operands);
    if (e->operands.size() != want->operands.size() || e->operands.empty()) return false;
    const auto in_order = [&](size_t first) {
      for (size_t i = 0; i < e->operands.size(); ++i) {
        if (!MatchExpr(e->operands[(first + i) % e->operands.size()], want->operands[i])) {
          return false;
        }
      }
      return true;
    };
    const bool commutes = e->kind == ExprKind::kMul || e->kind == ExprKind::kAdd;
    return in_order(0) || (commutes && in_order(1));
  }

  // One iteration of each loop moves the access by as many elements as in the pattern.
  bool MatchAccess(BufferId buffer, const std::vector<Expr>& indices, BufferId want,
                   const std::vector<Expr>& want_indices) const {
    return program_.buffers[buffer].dtype == pattern_.buffers[want].dtype &&
           MatchSteps(buffer, indices, want, want_indices);
  }
  bool MatchSteps(BufferId buffer, const std::vector<Expr>& indices, BufferId want_buffer,
                  const std::vector<Expr>& want_indices) const {
    const LinearForm form = Address(program_, program_.buffers[buffer], indices, ranges_);
    const LinearForm want_form =
        Address(pattern_, pattern_.buffers[want_buffer], want_indices, RangesOf(pattern_));
    for (const auto& [want_var, var] : loops_) {
      // In memory, not by index: an instruction reads neighbours, whatever the dimensions are
      // called.
      const std::optional<int64_t> step = form.StepOf(var), want = want_form.StepOf(want_var);
      const bool any_step = want_var == row_ && want != 0;
      if (!step.has_value() || (!any_step && step != want)) return false;
    }
    return true;
  }

  static LinearForm Address(const Program& program, const Buffer& buffer,
                            const std::vector<Expr>& indices, const VarRanges& ranges) {
    Expr flat = Int(0);
    for (size_t d = 0; d < indices.size(); ++d) {
      flat = flat + ExpandDefs(program, indices[d]) * buffer.storage.strides[d];
    }
    return ToLinear(flat, ranges);
  }

  const Program& program_;
  const Program& pattern_;
  const VarRanges ranges_;
  const VarId row_;               // The pattern's loop over rows that may lie apart; -1: none.
  std::map<VarId, VarId> loops_;  // The pattern's, to the program's.
};

// What a product of tiles is to have: rows, columns and groups of the three outermost loops.
absl::StatusOr<TileShape> ShapeOf(const Program& program, NodeId loop,
                                  const Instruction& intrinsic) {
  TileShape shape;
  if (intrinsic.tiles == nullptr) return shape;
  NodeId nest = loop;
  for (int64_t* const size : {&shape.rows, &shape.columns, &shape.groups}) {
    const Node& node = program.nodes[nest];
    if (node.kind != NodeKind::kLoop) return Refuse("the nest has fewer loops");
    const Var& var = program.vars[node.var];
    if (!IsConstInt(var.extent) || var.extent->int_value < 1 ||
        var.extent->int_value > intrinsic.tiles->rows) {
      return Refuse("rows, columns and groups of ", std::string(intrinsic.name), " are 1 to ",
                    absl::StrCat(intrinsic.tiles->rows), ", and loop ", var.name,
                    " has not one constant extent among them");
    }
    *size = var.extent->int_value;
    if (node.children.size() != 1) return Refuse("the nest holds more");
    nest = node.children[0];
  }
  for (NodeId id = loop; id >= 0; id = program.nodes[id].parent) {
    const Node& node = program.nodes[id];
    if (node.kind == NodeKind::kStage && program.buffers[node.buffer].scope == Scope::kTile) {
      return shape;
    }
  }
  return Refuse("sums of ", std::string(intrinsic.name),
                " live in tile registers: stage them with scope=tile");
}

}  // namespace

absl::Status ApplyTensorize(const Step& step, Program& program) {
  ASSIGN_OR_RETURN(const NodeId loop, SerialLoop(step, program));
  ASSIGN_OR_RETURN(const std::string name, step.GetWord("intrinsic"));
  const Instruction* const intrinsic = FindNest(name);
  if (intrinsic == nullptr) return Refuse("there is no instruction ", name);
  for (NodeId around : LoopsAround(program, loop)) {
    if (program.nodes[around].loop_kind == LoopKind::kVectorized) {
      return Refuse("inside a loop that is a vector already");
    }
  }
  ASSIGN_OR_RETURN(const TileShape shape, ShapeOf(program, loop, *intrinsic));
  ASSIGN_OR_RETURN(const Program pattern, ParseProgram(NestText(*intrinsic, shape)));
  const absl::Status matched =
      NestMatcher(program, pattern, intrinsic->tiles != nullptr).MatchNest(loop);
  if (!matched.ok()) return Refuse("this is no ", name, ": ", std::string(matched.message()));
  program.nodes[loop].loop_kind = LoopKind::kTensorized;
  program.nodes[loop].intrinsic = name;
  return absl::OkStatus();
}

}  // namespace burnish
