// Cuts a lowered program in two: what runs in every call, and what packs the constants once.
#ifndef WORKER_BUILDER_SPLIT_PACK_H_
#define WORKER_BUILDER_SPLIT_PACK_H_

#include <optional>

#include "compiler/ir/program.h"

namespace burnish {

struct SplitProgram {
  // Without a pack function: the program as it was. Else its constants are exactly what `pack`
  // gives out, in that order; the model's own constants are no parameters any more.
  Program compute;
  // Parameters: the constants as the model has them, all of them, in order; outputs: what the pack
  // function writes and `compute` reads, then copies of the constants that `compute` reads as they
  // are.
  std::optional<Program> pack;
};

SplitProgram SplitPack(const Program& lowered);

}  // namespace burnish

#endif  // WORKER_BUILDER_SPLIT_PACK_H_
