// Whether outputs are what they should be. Floats by tensor error, max |got - want| / max |want|;
// integers and bools exactly. A NaN or an infinity agrees with itself only.
#ifndef WORKER_RUNNER_OUTPUT_CHECK_H_
#define WORKER_RUNNER_OUTPUT_CHECK_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/tensor_info.h"
#include "worker/runner/expr_value.h"

namespace burnish {

struct CheckResult {
  std::string what_is_wrong;  // Empty: nothing. Names the worst element.
  double error = 0;           // Tensor error of floats, where finite values are compared.
};

// Dense outputs of one type, both. `bound`: of the tensor error; for integers no matter.
CheckResult CompareAll(ElementType type, std::span<const uint8_t> got,
                       std::span<const uint8_t> want, double bound);

// Elements of a dense output: offset and what it should be (floats as doubles).
struct Sample {
  int64_t offset = 0;
  ExprValue want = {.i = 0};
};
CheckResult CompareSamples(ElementType type, std::span<const uint8_t> got,
                           const std::vector<Sample>& samples, double bound);

// Offsets to look at in a tensor of this shape: all corners of up to six dimensions and `count`
// others, or every element where those are not more; ascending, each once. By `seed` and `output`.
std::vector<int64_t> SampleOffsets(const std::vector<int64_t>& shape, int count, uint64_t seed,
                                   int output);

}  // namespace burnish

#endif  // WORKER_RUNNER_OUTPUT_CHECK_H_
