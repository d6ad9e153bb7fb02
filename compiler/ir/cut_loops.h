// Loops whose iterations do too little to be asked about, as loops over blocks of iterations.
#ifndef COMPILER_IR_CUT_LOOPS_H_
#define COMPILER_IR_CUT_LOOPS_H_

#include <cstdint>
#include <vector>

#include "compiler/ir/program.h"

namespace burnish {

// Elements that an iteration of the loop stores at least at one place; `enough` or more count as
// less than twice that.
int64_t StoredInIteration(const Program& lowered, NodeId loop, int64_t enough);

struct ShortLoop {
  NodeId loop = -1;
  int64_t block = 0;  // Iterations; divides the loop's.
};
// Serial loops of many iterations with less than `body_min` elements each, of which blocks of some
// cache lines can be made.
std::vector<ShortLoop> ShortLoops(const Program& lowered, int64_t body_min);

// Makes the loop one over blocks, with a loop over a block inside. The node stays; its variable is
// a new one, and the old one counts in the block.
void CutLoop(const ShortLoop& short_loop, Program& lowered);

}  // namespace burnish

#endif  // COMPILER_IR_CUT_LOOPS_H_
