// The canonical form of a definition: the one that tasks are named by.
#ifndef COMPILER_TE_CANONICALIZE_H_
#define COMPILER_TE_CANONICALIZE_H_

#include "compiler/ir/program.h"

namespace burnish {

// Folds single-consumer elementwise blocks into the `finish` of the reduction that they follow, and
// inlines producers, until nothing changes. The result computes exactly the same values (integer
// index arithmetic is simplified, floating point is not touched).
//
// The rule is part of workload/2, whose texts name tasks in databases: it asks for structure only,
// never for what pays on some machine, which schedules decide. Another rule is another version
// (docs/adr/0005-canonical-form-without-weights.md; pinned by compiler/graph:canonical_texts_test).
//
// Folded: a block without reduction that reads a reduction's result at its own element only
// (transposed, or with dimensions of extent 1 added or taken away), of the same dtype, or of a
// narrower one of one or two bytes (a sum in i32 or f32 that ends in u8, bf16 ..). The reduction
// keeps its axes and their names; it writes the consumer's buffer.
//
// Inlined: a temporary without reduction, into every block that reads it, where
//  - it only moves data, or has one reader;
//  - no reduction reads it in its step, if it chooses by position (pad, concat);
//  - and its reader takes each element at most once, or it holds no function (a quotient, exp ..)
//    and a reduction that takes elements more often sees an element, or one operation on elements,
//    at indices without division.
//
// Neither is done where an expression would have more than 512 nodes.
//
// `program`: as TeBuilder::Build gives it (no schedule).
Program Canonicalize(Program program);

// Whether what follows a sum of type `sum` may end it in `stored`: the same type, or a narrower one
// of one or two bytes. (Others stay blocks: the texts of older tasks have them so, and they are
// rare.)
constexpr bool MayEndIn(DType sum, DType stored) {
  const bool narrows = SizeBytes(stored) <= 2 && SizeBytes(stored) < SizeBytes(sum);
  return sum == stored || (narrows && stored != DType::kBool);
}

}  // namespace burnish

#endif  // COMPILER_TE_CANONICALIZE_H_
