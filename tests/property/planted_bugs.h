// Bugs as they are made in primitives, lowering and code generation, planted in a program: each
// imitates what the bug would do to the result of its stage. For the test of the property test.
#ifndef TESTS_PROPERTY_PLANTED_BUGS_H_
#define TESTS_PROPERTY_PLANTED_BUGS_H_

#include <string>
#include <vector>

#include "compiler/ir/program.h"

namespace burnish {

struct PlantedBug {
  // Whose bug: of a primitive (changes the scheduled program), of lowering (the lowered program),
  // or of code generation (the lowered program that the backend is given, and nobody else sees; it
  // stays inside its buffers, because its code is run).
  enum class Stage { kPrimitive, kLowering, kCodegen };
  std::string name;
  Stage stage;
  // False where the program has no place for this bug; it is then unchanged.
  bool (*plant)(Program& program);
};

const std::vector<PlantedBug>& PlantedBugs();

}  // namespace burnish

#endif  // TESTS_PROPERTY_PLANTED_BUGS_H_
