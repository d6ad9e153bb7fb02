// Loops whose last iterations need no work, since what they read does not hold: a reduction's add
// nothing, others store a number (guard_loops.h).
#ifndef COMPILER_IR_NEUTRAL_LOOPS_H_
#define COMPILER_IR_NEUTRAL_LOOPS_H_

#include <functional>
#include <vector>

#include "compiler/ir/known_rest.h"
#include "compiler/ir/program.h"

namespace burnish {

struct NeutralLoop {
  NodeId loop = -1;
  // An iteration changes nothing unless one of these positions is before this extent
  // (KnownRest::extent).
  int extent = -1;
  std::vector<Expr> positions;
};

// Serial and unrolled loops that reach no further than sums, products, maxima and minima with
// neutral elements wherever their positions lie behind an extent; what else an iteration stores is
// its own by `is_private`. Of loops in one another the innermost.
std::vector<NeutralLoop> NeutralLoops(
    const Program& lowered, const std::vector<KnownRest>& rests,
    const std::function<bool(NodeId loop, BufferId buffer)>& is_private);

struct ConstantLoop {
  NodeId loop = -1;
  // An iteration stores `value` alone unless one of these positions is before this extent.
  int extent = -1;
  std::vector<Expr> positions;
  double value = 0;
};

// Loops, serial or parallel, that store a number wherever their positions lie behind an extent, as
// behind a mask, to the output and to nothing else that is not their own by `is_private`. Of loops
// in one another the innermost.
std::vector<ConstantLoop> ConstantLoops(
    const Program& lowered, BufferId output, const std::vector<KnownRest>& rests,
    const std::function<bool(NodeId loop, BufferId buffer)>& is_private);

// A kSeq that stores the number wherever the loop's body stores the output.
NodeId StoreOf(double value, NodeId loop, BufferId output, Program& lowered);

}  // namespace burnish

#endif  // COMPILER_IR_NEUTRAL_LOOPS_H_
