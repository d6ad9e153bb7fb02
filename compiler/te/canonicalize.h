// The canonical form of a definition: the one that tasks are named by.
#ifndef COMPILER_TE_CANONICALIZE_H_
#define COMPILER_TE_CANONICALIZE_H_

#include "compiler/ir/program.h"

namespace burnish {

// Folds single-consumer elementwise blocks into the `finish` of the reduction that they follow, and
// inlines injective producers where that costs little, until nothing changes. The result computes
// exactly the same values (integer index arithmetic is simplified, floating point is not touched).
//
// Folded: a block without reduction that reads a reduction's result at its own element only
// (transposed, or with dimensions of extent 1 added or taken away), of the same dtype. The
// reduction keeps its axes and their names; it writes the consumer's buffer.
//
// Inlined: a temporary without reduction, into every block that reads it, where
//  - it only moves data, or has one consumer;
//  - it is cheap, or each of its elements is read at most once;
//  - a reduction that reads its elements more than once sees no pad or concat (a choice by
//    position), no more than one operation, and no division in the indices: such producers stay
//    blocks, so that a schedule can choose between computing once and computing again.
//
// `program`: as TeBuilder::Build gives it (no schedule).
Program Canonicalize(Program program);

}  // namespace burnish

#endif  // COMPILER_TE_CANONICALIZE_H_
