// Which inputs an output may overwrite. Errs on the side of no: a wrong yes is a wrong result.
#include <algorithm>

#include "compiler/ir/verifier.h"

namespace burnish {
namespace {

bool StoragesEqual(const Buffer& a, const Buffer& b) {
  // Borders too: the owner of either expects its own value there.
  return a.dtype == b.dtype && a.shape == b.shape && a.storage.strides == b.storage.strides &&
         a.storage.offset == b.storage.offset && a.storage.border == b.storage.border &&
         a.storage.border_value == b.storage.border_value;
}

bool Reads(const Expr& e, BufferId buffer) {
  bool found = false;
  VisitExpr(e, [&](const ExprNode& node) {
    found = found || (node.kind == ExprKind::kLoad && node.id == buffer);
  });
  return found;
}

bool Reads(const Block& block, BufferId buffer) {
  return Reads(block.init, buffer) || Reads(block.step, buffer) || Reads(block.finish, buffer);
}

// Every read of `buffer` in `e` is of the element that the block writes.
bool ReadsOwnElementOnly(const Expr& e, BufferId buffer, const Block& block) {
  bool own = true;
  VisitExpr(e, [&](const ExprNode& node) {
    if (node.kind != ExprKind::kLoad || node.id != buffer) return;
    own =
        own && std::equal(node.operands.begin(), node.operands.end(), block.output_indices.begin(),
                          block.output_indices.end(), StructurallyEqual);
  });
  return own;
}

bool Repeats(const Program& program, VarId var) {
  const Var& v = program.vars[var];
  if (v.repeats) return true;
  if (v.def == nullptr) return false;
  const std::vector<VarId> uses = FreeVars(v.def);
  return std::any_of(uses.begin(), uses.end(), [&](VarId use) { return Repeats(program, use); });
}

// Whether each element is computed once: then a value that was overwritten is not asked for again.
bool RunsOnce(const Program& program, const Block& block, const std::vector<VarId>& loops) {
  std::vector<VarId> own;
  for (const std::vector<VarId>* axes : {&block.spatial, &block.reduction}) {
    for (const VarId axis : *axes) {
      if (Repeats(program, axis)) return false;
      for (const VarId var : LoopVarsOf(program, axis)) own.push_back(var);
    }
  }
  return std::all_of(loops.begin(), loops.end(), [&](VarId loop) {
    return std::find(own.begin(), own.end(), loop) != own.end();
  });
}

// Whether the whole reduction happens in a stage, so that the output holds finished values only.
bool ReducesInStage(const Program& program, BlockId id, NodeId node) {
  std::vector<VarId> reduction;
  for (const VarId axis : program.blocks[id].reduction) {
    for (const VarId var : LoopVarsOf(program, axis)) reduction.push_back(var);
  }
  if (reduction.empty()) return true;
  for (; node >= 0; node = program.nodes[node].parent) {
    const Node& n = program.nodes[node];
    if (n.kind == NodeKind::kStage && n.block == id) {
      // Loops further out must not reduce.
      for (const NodeId loop : LoopsAround(program, node)) {
        if (std::find(reduction.begin(), reduction.end(), program.nodes[loop].var) !=
            reduction.end()) {
          return false;
        }
      }
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<BufferId> InPlaceInputs(const Program& program, BufferId output) {
  const BlockId writer = WriterOf(program, output);
  if (program.lowered || writer < 0) return {};
  const Block& block = program.blocks[writer];
  const NodeId node = NodeOf(program, writer);
  std::vector<VarId> loops;
  for (const NodeId loop : LoopsAround(program, node)) loops.push_back(program.nodes[loop].var);
  const bool finished_only =
      RunsOnce(program, block, loops) && ReducesInStage(program, writer, node);

  std::vector<BufferId> inputs;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const BufferId input = static_cast<BufferId>(i);
    const Buffer& buffer = program.buffers[i];
    if (buffer.role != BufferRole::kInput || !StoragesEqual(buffer, program.buffers[output])) {
      continue;
    }
    // Workers wait for each other only where data crosses, so a block elsewhere that reads the
    // input is never known to be done with it.
    const bool read_elsewhere =
        std::any_of(program.blocks.begin(), program.blocks.end(),
                    [&](const Block& other) { return &other != &block && Reads(other, input); });
    if (read_elsewhere) continue;
    if (Reads(block, input)) {
      // In a reduction, init and step run before the element's last read in finish.
      const bool read_early =
          !block.reduction.empty() && (Reads(block.init, input) || Reads(block.step, input));
      if (!finished_only || read_early || !ReadsOwnElementOnly(block.step, input, block) ||
          !ReadsOwnElementOnly(block.finish, input, block)) {
        continue;
      }
    }
    inputs.push_back(input);
  }
  return inputs;
}

}  // namespace burnish
