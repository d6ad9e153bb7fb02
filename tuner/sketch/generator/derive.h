// Sketches by derivation: rules of kind kNest, one after the other (docs/schedule-space.md).
#ifndef TUNER_SKETCH_GENERATOR_DERIVE_H_
#define TUNER_SKETCH_GENERATOR_DERIVE_H_

#include <vector>

#include "compiler/ir/program.h"
#include "tuner/sketch/rule.h"

namespace burnish {

// Ways to schedule one block in a nest of its own; empty: none but the default nest.
std::vector<Draft> DeriveBlock(const RuleContext& context, BlockId block);

// Ways to schedule a whole program in the nest of its last block, the others inside; empty where
// that does not go.
std::vector<Draft> DeriveProgram(const RuleContext& context);

}  // namespace burnish

#endif  // TUNER_SKETCH_GENERATOR_DERIVE_H_
