// Choices that are the same for all elements of a vector loop, as branches around it.
#ifndef COMPILER_IR_CHOOSE_ONCE_H_
#define COMPILER_IR_CHOOSE_ONCE_H_

#include "compiler/ir/program.h"

namespace burnish {

// A select reads both of its sides and is decided for each vector: a join of tensors, whose rows
// come from one or another part by where a run's sizes end, reads twice what it writes. Of each
// loop inside that stores nothing but such a choice, by a condition that does not change in it and
// sides of which both are read from memory, there is a copy for each side. No element changes.
void ChooseOnce(NodeId root, Program& lowered);

}  // namespace burnish

#endif  // COMPILER_IR_CHOOSE_ONCE_H_
