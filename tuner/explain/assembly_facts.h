// What a kernel's assembly says of the loop that matters: the innermost one with the most
// arithmetic on vectors.
#ifndef TUNER_EXPLAIN_ASSEMBLY_FACTS_H_
#define TUNER_EXPLAIN_ASSEMBLY_FACTS_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace burnish {

struct HotLoop {
  std::string label;
  int instructions = 0;
  int multiply_adds = 0;  // Vector instructions that multiply and add, dot products included.
  int arithmetic = 0;     // All that compute on vector registers, these included.
  int loads = 0;          // Instructions that read memory, those that compute with it included.
  int stores = 0;
  int stack_accesses = 0;    // Of vector registers: spills, or what is read again from there.
  int vector_registers = 0;  // Different ones.
  int vector_bits = 0;       // The widest: 128, 256 or 512.
};

// `text`: as `--emit asm` prints it, x86 in AT&T's order. Nothing where no instruction has a vector
// register, or the text is none of that kind. Of a kernel without loops, the whole.
std::optional<HotLoop> FindHotLoop(absl::string_view text);

}  // namespace burnish

#endif  // TUNER_EXPLAIN_ASSEMBLY_FACTS_H_
