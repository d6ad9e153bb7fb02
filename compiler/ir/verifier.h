// Structural rules that every program keeps, and facts that are derived from it.
#ifndef COMPILER_IR_VERIFIER_H_
#define COMPILER_IR_VERIFIER_H_

#include <vector>

#include "absl/status/status.h"
#include "compiler/ir/program.h"

namespace burnish {

// INVALID_ARGUMENT naming the first rule that is broken: dangling ids, a tree that is not a tree, a
// variable used outside its loop, an index that may leave its buffer and border, a reduction loop
// that is parallel, a block before a block that it reads, a buffer written twice, types that do not
// agree, a `repeats` variable inside a reduction loop, ..
absl::Status Verify(const Program& program);

// The inputs whose memory output `output` may share: each element is read for the last time before
// or in the store that first writes the same element, and storages are equal element for element.
std::vector<BufferId> InPlaceInputs(const Program& program, BufferId output);

}  // namespace burnish

#endif  // COMPILER_IR_VERIFIER_H_
