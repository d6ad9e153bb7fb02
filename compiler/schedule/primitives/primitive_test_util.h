// For tests of primitives: programs and traces as text in, text or the reason of a refusal out.
#ifndef COMPILER_SCHEDULE_PRIMITIVES_PRIMITIVE_TEST_UTIL_H_
#define COMPILER_SCHEDULE_PRIMITIVES_PRIMITIVE_TEST_UTIL_H_

#include <string>
#include <vector>

namespace burnish {

// Y[7,9] = relu(X[7,5] * W[5,9]), axes m, n and k.
extern const char kMatmulText[];
// A convolution of one dimension: block P(h, c) is X[10,3] between two zeros, block Y(y, o; k, d)
// sums over taps and channels, block Z(y, o) is its ReLU.
extern const char kConvText[];

// Text of the program after the trace, every step of which must be accepted and leave a program
// that verifies; the program must compute what it computed before, as scheduled and as lowered.
std::string After(const std::string& program_text, const std::string& trace_text);

struct IllegalUse {
  std::string before;  // Steps that are accepted.
  std::string step;    // The step that is not.
  std::string reason;  // A part of the message.
  std::string program_text = kMatmulText;
};
// Each step is refused for its reason, and the program is as it was.
void ExpectRefused(const std::vector<IllegalUse>& uses);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_PRIMITIVES_PRIMITIVE_TEST_UTIL_H_
