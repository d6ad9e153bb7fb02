// Puts a definition in order after its blocks were changed.
#ifndef COMPILER_TE_REBUILD_H_
#define COMPILER_TE_REBUILD_H_

#include <vector>

#include "compiler/ir/program.h"

namespace burnish {

// Keeps the blocks that outputs need, in their order, which is topological. Buffers: kInput and
// kConstant in their order (used or not), then `outputs`, then temporaries in the order of their
// blocks. Variables that no block uses are dropped; each block gets its default nest.
Program Rebuild(const Program& program, const std::vector<BufferId>& outputs);

}  // namespace burnish

#endif  // COMPILER_TE_REBUILD_H_
