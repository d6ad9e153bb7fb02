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
  ASSIGN_OR_RETURN(const std::string name, step.Get("loop"));
  ASSIGN_OR_RETURN(const NodeId loop, FindLoopArg(program, name));
  const VarId factor = program.nodes[loop].var;
  const NodeId leaf = NodeOf(program, id), nest = NestOf(program, leaf);
  if (!program.vars[factor].reduce || !IsInside(program, leaf, loop)) {
    return Refuse(name, " is no reduction loop of ", step.inputs[0]);
  }
  if (!IsConstInt(program.vars[factor].extent))
    return Refuse("extent of ", name, " is not constant");
  if (BlocksUnder(program, nest).size() != 1) return Refuse(step.inputs[0], " shares its nest");
  for (NodeId n : Subtree(program, nest)) {
    if (program.nodes[n].kind == NodeKind::kStage) return Refuse(step.inputs[0], " is staged");
  }
  Block partial = program.blocks[id];
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
  combined.init = renamed(partial.init);
  combined.finish = renamed(partial.finish);

  // Axes that had guards are no axes of the partial block any more: the guard goes into its step.
  Expr inside = Bool(true);
  for (const Var& var : program.vars) {
    if (var.guarded && var.reduce && MentionsVar(ExpandDefs(program, var.def), factor)) {
      inside = And(inside, Lt(var.def, var.extent));
    }
  }
  // Its step names the loops that are its axes now, not what they were made from.
  partial.step = SubstituteVars(partial.step, [&](VarId var) -> Expr {
    const bool was_axis = std::find(partial.reduction.begin(), partial.reduction.end(), var) !=
                          partial.reduction.end();
    return was_axis ? ExpandDefs(program, VarRef(var)) : nullptr;
  });
  partial.step = Select(ExpandDefs(program, inside), partial.step,
                        Identity(partial.combiner, partial.step->dtype));

  // The partial block keeps the nest; its output has one more dimension.
  Buffer partial_buffer{.name = step.outputs[0], .dtype = out.dtype, .shape = out.shape};
  partial_buffer.shape.push_back(program.vars[factor].extent->int_value);
  partial_buffer.storage = DenseStorage(partial_buffer.shape);
  partial.output = AddBuffer(program, partial_buffer);
  partial.name = step.outputs[0];
  partial.init = nullptr;
  partial.finish = nullptr;
  partial.output_indices.push_back(VarRef(factor));
  program.vars[factor].reduce = false;
  partial.spatial.push_back(factor);
  partial.reduction.clear();
  bool reduces = false;
  for (NodeId n : LoopsAround(program, leaf)) {
    const VarId var = program.nodes[n].var;
    if (!program.vars[var].reduce) continue;
    partial.reduction.push_back(var);
    reduces = true;
  }
  if (!reduces) return Refuse(name, " is the only reduction loop: split it first");
  std::vector<Expr> read = combined.output_indices;
  read.push_back(VarRef(sum_axis));
  combined.step = Load(partial.output, out.dtype, read);

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
