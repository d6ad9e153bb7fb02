// rfactor@1 Y->Yr loop=ki: partial results over the other reduction loops, one for each iteration
// of ki (which becomes a spatial loop of the new block Yr), and a block Y that combines them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {

absl::Status ApplyRfactor(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 1));
  ASSIGN_OR_RETURN(const BlockId id, FindBlockArg(program, step.inputs[0]));
  RETURN_IF_ERROR(WantNewBuffer(program, step.outputs[0]));
  if (FindBlock(program, step.outputs[0]) >= 0) return Refuse("there is such a block already");
  ASSIGN_OR_RETURN(const std::string name, step.GetWord("loop"));
  ASSIGN_OR_RETURN(const NodeId loop, FindLoopArg(program, name));
  const VarId factor = program.nodes[loop].var;
  const NodeId leaf = NodeOf(program, id), nest = NestOf(program, leaf);
  if (!program.vars[factor].reduce || !IsInside(program, leaf, loop)) {
    return Refuse(name, " is no reduction loop of ", step.inputs[0]);
  }
  // The partial results need a dimension of constant size.
  if (!IsConstInt(program.vars[factor].extent))
    return Refuse("extent of ", name, " is not constant");
  // The nest goes to the partial block with all its loops; another block in it would lose its
  // place.
  if (BlocksUnder(program, nest).size() != 1) return Refuse(step.inputs[0], " shares its nest");
  for (NodeId n : Subtree(program, nest)) {
    if (program.nodes[n].kind == NodeKind::kStage) return Refuse(step.inputs[0], " is staged");
  }
  Block partial = program.blocks[id];
  for (const Expr& e : {partial.init, partial.finish}) {
    if (e == nullptr) continue;
    for (VarId var : FreeVars(e)) {
      if (std::find(partial.spatial.begin(), partial.spatial.end(), var) == partial.spatial.end()) {
        return Refuse("init or finish of ", step.inputs[0], " reads by its loop ",
                      program.vars[var].name);
      }
    }
  }
  const Buffer out = program.buffers[partial.output];

  // The combining block, over new axes.
  Block combined{.name = partial.name, .output = partial.output, .combiner = partial.combiner};
  std::vector<Expr> spatial;
  for (VarId axis : partial.spatial) {
    const VarId fresh =
        AddVar(program, {.name = UniqueVarName(
                             program, absl::StrCat(step.outputs[0], ".", program.vars[axis].name)),
                         .extent = program.vars[axis].extent});
    combined.spatial.push_back(fresh);
    spatial.push_back(VarRef(fresh));
  }
  const VarId sum_axis =
      AddVar(program, {.name = UniqueVarName(program, absl::StrCat(step.outputs[0], ".", name)),
                       .extent = program.vars[factor].extent,
                       .reduce = true});
  combined.reduction = {sum_axis};
  const auto renamed = [&](const Expr& e) {
    return SubstituteVars(e, [&](VarId var) -> Expr {
      const size_t d =
          std::find(partial.spatial.begin(), partial.spatial.end(), var) - partial.spatial.begin();
      return d < partial.spatial.size() ? spatial[d] : nullptr;
    });
  };
  for (const Expr& index : partial.output_indices)
    combined.output_indices.push_back(renamed(index));
  // init and finish run once an element, so that they go with the sum that ends it.
  combined.init = renamed(partial.init);
  combined.finish = renamed(partial.finish);

  // Axes that ki is a part of are no axes of the partial block any more: their other loops are, and
  // their guards go into its step.
  Expr inside = Bool(true);
  std::vector<VarId> kept, opened;
  const auto open = [&](VarId axis, const auto& self) -> void {
    const Var& var = program.vars[axis];
    if (var.def == nullptr) return;
    opened.push_back(axis);
    if (var.guarded) {
      inside = And(inside, Lt(ExpandDefs(program, var.def), ExpandDefs(program, var.extent)));
    }
    for (VarId inner : FreeVars(var.def)) self(inner, self);
  };
  for (VarId axis : partial.reduction) {
    if (!MentionsVar(ExpandDefs(program, VarRef(axis)), factor)) {
      kept.push_back(axis);
      continue;
    }
    open(axis, open);
    for (VarId part : LoopVarsOf(program, axis)) {
      if (part == factor || std::find(kept.begin(), kept.end(), part) != kept.end()) continue;
      if (!IsConstInt(program.vars[part].extent)) {
        return Refuse("extent of ", program.vars[part].name, " is not constant");
      }
      kept.push_back(part);
    }
  }
  // The partial block would sum over nothing: one term each, and a copy of them all.
  if (kept.empty()) return Refuse(name, " is the only reduction loop: split it first");
  RewriteBlock(partial, [&](const Expr& node) -> Expr {
    const bool gone = node->kind == ExprKind::kVar &&
                      std::find(opened.begin(), opened.end(), node->id) != opened.end();
    return gone ? ExpandDefs(program, node) : nullptr;
  });
  partial.step = Select(inside, partial.step, Identity(partial.combiner, partial.step->dtype));

  // The partial block keeps the nest; its output has one more dimension.
  Buffer partial_buffer{.name = step.outputs[0], .dtype = partial.step->dtype, .shape = out.shape};
  partial_buffer.shape.push_back(program.vars[factor].extent->int_value);
  partial_buffer.storage = DenseStorage(partial_buffer.shape);
  partial.output = AddBuffer(program, partial_buffer);
  partial.name = step.outputs[0];
  partial.init = nullptr;
  partial.finish = nullptr;
  partial.output_indices.push_back(VarRef(factor));
  // From here on the loop is an axis of the partial output, and may be parallel or a vector.
  program.vars[factor].reduce = false;
  partial.spatial.push_back(factor);
  partial.reduction = kept;
  std::vector<Expr> read = combined.output_indices;
  read.push_back(VarRef(sum_axis));
  combined.step = Load(partial.output, partial.step->dtype, read);

  program.blocks[id] = combined;
  program.blocks.push_back(partial);
  program.nodes[leaf].block = static_cast<BlockId>(program.blocks.size()) - 1;
  const NodeId combine_nest = AddDefaultNest(program, id);
  auto& order = program.nodes[program.root].children;
  order.pop_back();
  const auto at = std::find(order.begin(), order.end(), nest);
  if (at == order.end()) return Refuse(step.inputs[0], " is in the pack function");
  order.insert(at + 1, combine_nest);
  return absl::OkStatus();
}

}  // namespace burnish
