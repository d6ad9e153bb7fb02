// precompute@1 Wp: the block that writes Wp, which depends on constants only, moves to the pack
// function, which runs once when the weights are known.
#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {

absl::Status ApplyPrecompute(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 0));
  ASSIGN_OR_RETURN(const BufferId buffer, FindBufferArg(program, step.inputs[0]));
  const BlockId writer = WriterOf(program, buffer);
  if (writer < 0 || NodeOf(program, writer) < 0) return Refuse("no block writes ", step.inputs[0]);
  if (program.buffers[buffer].role != BufferRole::kTemp) {
    return Refuse(step.inputs[0], " is not private");
  }
  const NodeId nest = NestOf(program, NodeOf(program, writer));
  if (BlocksUnder(program, nest).size() != 1 || program.nodes[nest].parent != program.root) {
    return Refuse(program.blocks[writer].name, " has no nest of its own");
  }
  bool constant = true;
  std::string culprit;
  for (const Expr& e :
       {program.blocks[writer].init, program.blocks[writer].step, program.blocks[writer].finish}) {
    VisitExpr(e, [&](const ExprNode& node) {
      if (node.kind != ExprKind::kLoad) return;
      const Buffer& read = program.buffers[node.id];
      // Packed as well: what an earlier precompute has made is there by then, since nests keep
      // their order.
      if (read.role != BufferRole::kConstant && read.role != BufferRole::kPacked) {
        constant = false;
        culprit = read.name;
      }
    });
  }
  if (!constant) return Refuse(program.blocks[writer].name, " reads ", culprit, ", not a constant");
  if (program.pack_root < 0) program.pack_root = AddNode(program, {.kind = NodeKind::kSeq});
  Detach(program, nest);
  AppendChild(program, program.pack_root, nest);
  program.buffers[buffer].role = BufferRole::kPacked;
  return absl::OkStatus();
}

}  // namespace burnish
