// Random traces: primitives proposed with random arguments, some of them senseless, until enough
// were accepted.
#ifndef TESTS_PROPERTY_RANDOM_TRACE_H_
#define TESTS_PROPERTY_RANDOM_TRACE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/schedule/trace.h"

namespace burnish {

struct RandomTrace {
  Trace trace;        // The accepted steps that lower.
  Program scheduled;  // The program after them.
  Program lowered;
  int proposal_count = 0;
  int refusal_count = 0;
  // Every refusal as "primitive: reason", a refused Lower as "lower: reason".
  std::vector<std::string> refusals;
  // Accepted steps after which the program broke a rule of the verifier, with the rule: each one is
  // a bug of a primitive.
  std::vector<std::string> broken;
};

// The same for the same program and seed. Steps that make a program that cannot be lowered are
// taken back from the end.
RandomTrace MakeRandomTrace(const Program& program, uint64_t seed);

}  // namespace burnish

#endif  // TESTS_PROPERTY_RANDOM_TRACE_H_
