// What iterations of a lowered program's loops leave to others (guard_loops.h).
#ifndef COMPILER_IR_LOOP_ISOLATION_H_
#define COMPILER_IR_LOOP_ISOLATION_H_

#include "compiler/ir/program.h"

namespace burnish {

class LoopIsolation {
 public:
  // The program outlives this. What is asked of stays as it is.
  explicit LoopIsolation(const Program& program) : program_(program) {}

  // Each iteration writes the temporaries that it reads, before it reads them, and nobody else
  // does; nothing else is written but the output.
  bool IsIsolated(NodeId loop, BufferId output) const;
  // The same of one temporary.
  bool IsOfOneIteration(NodeId loop, BufferId buffer) const;
  // No iteration reads what another one has left in the buffer, as far as hulls say.
  bool WritesWhatItReads(NodeId loop, BufferId buffer) const;
  bool InRegisters(BufferId buffer) const;

 private:
  // Whether a part of the tree reads or overwrites a buffer first.
  enum class First { kNothing, kStore, kLoad };

  bool OthersOverwrite(NodeId loop, BufferId buffer) const;
  First FirstOf(NodeId id, BufferId buffer) const;
  First FirstOfBranches(const Node& node, BufferId buffer) const;

  const Program& program_;
};

}  // namespace burnish

#endif  // COMPILER_IR_LOOP_ISOLATION_H_
