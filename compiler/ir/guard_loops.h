// Iterations of a lowered program's loops behind a table of flags: those whose results nobody reads
// in a call cost a test (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_IR_GUARD_LOOPS_H_
#define COMPILER_IR_GUARD_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "compiler/ir/known_rest.h"
#include "compiler/ir/program.h"
#include "compiler/ir/simplify.h"

namespace burnish {

// A loop's share of the table: one flag for each combination of its own variable and those around
// it that the written indices depend on, the innermost fastest.
struct LoopGuard {
  int64_t first = 0;  // Of its flags in the table.
  int64_t count = 0;
  // What is written where a flag is set, of an axis that was asked for, or of two such axes side by
  // side as the one that they are in memory: a tile that goes on from one row of the first to the
  // next is a range of the second, which says more than a range of each. Nothing is read of what a
  // flag stands for where nothing is read of one of them.
  struct Written {
    // Of the output; behind its axes, extents of rests: the ranges are of positions that are read.
    size_t axis = 0;
    size_t count = 1;           // Axes together.
    std::vector<Range> ranges;  // One a flag.
  };
  std::vector<Written> written;
};

struct GuardedLoops {
  BufferId live = -1;  // bool[flags], a new input, the last parameter; -1: nothing is guarded.
  std::vector<LoopGuard> guards;
};

// What a run may say of a program with one output.
struct GuardRequest {
  std::vector<int> axes = {};         // Of the output, those of which a call may want a part.
  std::vector<KnownRest> rests = {};  // Of what it reads.

  friend bool operator==(const GuardRequest&, const GuardRequest&) = default;
  friend auto operator<=>(const GuardRequest&, const GuardRequest&) = default;
};

// A flag that is not set leaves out exactly what the output has in the ranges beside it, or what
// sums would not see, and no other element changes: a loop is guarded where its iterations write
// nothing but the output and temporaries that no other iteration reads, or where they add nothing
// (neutral_loops.h), or write nothing but temporaries that guarded loops behind it read: its flags
// then say what those are written for. Deterministic: who compiles and who fills the table call it
// each. The request is valid (CheckRequest).
GuardedLoops GuardLoops(const GuardRequest& request, Program& lowered);

// INVALID_ARGUMENT: an axis or a parameter that the program has not.
absl::Status CheckRequest(const GuardRequest& request, const Program& program);

}  // namespace burnish

#endif  // COMPILER_IR_GUARD_LOOPS_H_
