// Random small programs of every operator family, at odd shapes: what schedules are tried on.
#ifndef TESTS_PROPERTY_RANDOM_PROGRAM_H_
#define TESTS_PROPERTY_RANDOM_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/interpreter.h"
#include "compiler/ir/program.h"

namespace burnish {

struct RandomProgram {
  std::string family;  // "conv2d", "softmax", ..
  Program program;     // A definition, in canonical form or as the operator library wrote it.
  // For each kInput and kConstant buffer: floats normal or positive, as the operator wants them,
  // all exact in f32; indices uniform over their valid range, negative ones included.
  std::vector<TensorValue> arguments;
  // Terms that are added up into one output element, over all blocks: K of the tolerance.
  int64_t term_count = 1;
};

// Families, in the order in which seeds take turns.
const std::vector<std::string>& ProgramFamilies();

// The same for the same seed. Seed s has family s % count: a run of consecutive seeds covers all.
// At most about 12,000 block instances.
RandomProgram MakeRandomProgram(uint64_t seed);

}  // namespace burnish

#endif  // TESTS_PROPERTY_RANDOM_PROGRAM_H_
