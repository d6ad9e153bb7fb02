// What a schedule's verbs do to its structure: the tree of loops and blocks, as the primitives will
// leave it at every point. Edits of the tree alone: nothing is checked that the primitives check,
// and extents are upper bounds.
#ifndef COMPILER_SCHEDULE_STRUCTURE_H_
#define COMPILER_SCHEDULE_STRUCTURE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/program.h"

namespace burnish {

// Puts the nest `loops`, outermost first, where the loop of `var` is; its body goes innermost.
void ReplaceLoop(Program& structure, VarId var, absl::Span<const VarId> loops);
// One loop `fused` for directly nested ones. False: they are not.
bool FuseLoops(Program& structure, absl::Span<const VarId> loops, VarId fused);
// The loops take the given order in the places that they have. False: they are not in one nest.
bool ReorderLoops(Program& structure, absl::Span<const VarId> loops);
// A stage of `block` around the body of a loop.
void InsertStage(Program& structure, VarId inside, BlockId block, BufferId buffer);
// A block in a default nest of its own, in front of the nest that holds block `before`, or at the
// end of the kernel where that is -1.
BlockId AddBlockBefore(Program& structure, Block block, BlockId before);
// Moves the nest of a block to the pack function.
void MoveToPack(Program& structure, BlockId block);
// The block leaves its nest for the body of loop `inside`, in front of its first reader there,
// under new loops for its spatial axes and the old ones for its reduction.
void MoveInside(Program& structure, BlockId block, absl::Span<const VarId> loops, VarId inside);
// `partial` takes the nest of `block` over, which gets a default nest behind it.
BlockId GiveNest(Program& structure, BlockId block, Block partial);
// A default nest where the nest of `block` was.
void ReplaceNest(Program& structure, BlockId block);
// Takes a block out with its nest: nothing reads it any more.
void RemoveNest(Program& structure, BlockId block);

// The nest under a root that holds `node`.
NodeId TopOf(const Program& structure, NodeId node);

// One line a node, indented, without extents, prefetches and their loops: what a structure and the
// program that steps were applied to have in common.
std::string StructureText(const Program& program);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_STRUCTURE_H_
