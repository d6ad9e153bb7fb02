// stage@1 Y->acc inside=mt scope=register|tile|scratch|shared|local: the elements of Y that are
// written under loop mt are kept in `acc` while the loop's body runs: filled with init, or
// reloaded, on entry; finished, or stored back as partial sums, on exit. Whether all who touch the
// window share a memory of that scope is seen when all loops are bound: lowering refuses what is
// not so.
#include <algorithm>
#include <array>
#include <utility>

#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {
namespace {

constexpr std::array<std::pair<absl::string_view, Scope>, 5> kScopes = {{
    {"register", Scope::kRegister},
    {"scratch", Scope::kScratch},
    {"shared", Scope::kShared},
    {"local", Scope::kLocal},
    {"tile", Scope::kTile},
}};

}  // namespace

absl::Status ApplyStage(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 1));
  ASSIGN_OR_RETURN(const BlockId block, FindBlockArg(program, step.inputs[0]));
  ASSIGN_OR_RETURN(const std::string inside, step.GetWord("inside"));
  ASSIGN_OR_RETURN(const NodeId loop, FindLoopArg(program, inside));
  ASSIGN_OR_RETURN(const std::string scope, step.GetWord("scope"));
  RETURN_IF_ERROR(WantNewBuffer(program, step.outputs[0]));
  // Not global: unfinished sums would be seen by other workers.
  const auto found = std::find_if(kScopes.begin(), kScopes.end(),
                                  [&](const auto& known) { return known.first == scope; });
  if (found == kScopes.end()) {
    return Refuse("got scope=", scope, ", want register, tile, scratch, shared or local");
  }
  if (program.blocks[block].reduction.empty()) {
    return Refuse(step.inputs[0], " has no reduction: there is nothing to keep");
  }
  const NodeId leaf = NodeOf(program, block);
  if (!IsInside(program, leaf, loop)) {
    return Refuse(step.inputs[0], " is not inside loop ", inside);
  }
  bool reduces_inside = false;
  for (NodeId id = leaf; id != loop; id = program.nodes[id].parent) {
    if (program.nodes[id].kind == NodeKind::kStage && program.nodes[id].block == block) {
      return Refuse(step.inputs[0], " is staged already");
    }
    reduces_inside = reduces_inside || (program.nodes[id].kind == NodeKind::kLoop &&
                                        program.vars[program.nodes[id].var].reduce);
  }
  for (NodeId id = loop; id >= 0; id = program.nodes[id].parent) {
    if (program.nodes[id].kind == NodeKind::kStage && program.nodes[id].block == block) {
      return Refuse(step.inputs[0], " is staged already");
    }
  }
  for (BlockId reader : ReadersOf(program, program.blocks[block].output)) {
    if (IsInside(program, NodeOf(program, reader), loop)) {
      // Its output is not written before the body ends.
      return Refuse(program.blocks[reader].name, " reads ", step.inputs[0], " inside ", inside);
    }
  }
  // Each element would be brought in, combined once and taken out again: nothing is saved.
  if (!reduces_inside)
    return Refuse("no reduction loop of ", step.inputs[0], " is inside ", inside);

  const BufferId buffer = AddBuffer(program, {.name = step.outputs[0],
                                              .dtype = program.blocks[block].step->dtype,
                                              .role = BufferRole::kTemp,
                                              .scope = found->second});
  const NodeId stage =
      AddNode(program, {.kind = NodeKind::kStage, .block = block, .buffer = buffer});
  const std::vector<NodeId> children = program.nodes[loop].children;
  program.nodes[loop].children.clear();
  AppendChild(program, loop, stage);
  for (NodeId child : children) AppendChild(program, stage, child);
  return absl::OkStatus();
}

}  // namespace burnish
