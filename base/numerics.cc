#include "base/numerics.h"

#include <limits>

#include "base/extra_row.h"

namespace burnish {
namespace {

constexpr Algorithm kAlgorithms[] = {
    // Minimal filtering F(m x m, 3 x 3): its errors come from the transforms, whose constants grow
    // about tenfold with each step of m.
    {.name = "winograd",
     .number = 0,
     .parameter_meaning = "an output tile",
     .parameter_label = "F",
     .parameter_max = 64,
     // Above the largest that ResNet-50's layers show with random inputs: 8e-7, 6.4e-6, 1.8e-5.
     .assumed_error = [](int32_t m) { return m <= 2   ? 2e-6
                                             : m <= 4 ? 7e-6
                                                      : 2e-5; },
     // From the bound of sums in another order (1e-4) up, tenfold with each step of m. A wrong
     // kernel is off by about 1.
     .difference_max = [](int32_t m) { return m <= 2   ? 1e-4
                                              : m <= 4 ? 1e-3
                                                       : 1e-2; },
     // Of F(6 x 6, 3 x 3): (6 * 3)^2 / (6 + 3 - 1)^2.
     .saving_max = 324.0 / 64.0,
     // The transforms' matrices are mostly 0, 1 and -1.
     .folds_zeros = true},
    // The same with transformed weights in binary16, of which each has 11 bits. Of single layers of
    // normal weights, in root mean squares of the output, F2 0.0002 and F4 0.0018; weights that are
    // stored in bfloat16 already are off by 0.0017.
    {.name = "winograd_half",
     .number = 1,
     .parameter_meaning = "an output tile",
     .parameter_label = "F",
     .parameter_max = 64,
     .assumed_error = [](int32_t m) { return m <= 2 ? 2e-4 : 2e-3; },
     .difference_max = [](int32_t m) { return m <= 2 ? 2e-3 : 2e-2; },
     // Of F(4 x 4, 3 x 3): (4 * 3)^2 / (4 + 3 - 1)^2.
     .saving_max = 144.0 / 36.0,
     .folds_zeros = true},
};

}  // namespace

const char kUnnamedAlgorithm[] = "winograd";

std::vector<const Algorithm*> AllAlgorithms() {
  std::vector<const Algorithm*> all;
  for (const Algorithm& algorithm : kAlgorithms) all.push_back(&algorithm);
  for (const Algorithm* algorithm : ExtraRow<Algorithm>::All()) all.push_back(algorithm);
  return all;
}

const Algorithm* FindAlgorithm(absl::string_view name) {
  for (const Algorithm& algorithm : kAlgorithms) {
    if (name == algorithm.name) return &algorithm;
  }
  for (const Algorithm* algorithm : ExtraRow<Algorithm>::All()) {
    if (name == algorithm->name) return algorithm;
  }
  return nullptr;
}

int64_t AlgorithmKey(const Numerics& numerics) {
  const Algorithm* algorithm = FindAlgorithm(numerics.algorithm);
  if (algorithm == nullptr) return 0;
  return int64_t{algorithm->number} * kAlgorithmParameterLimit + numerics.parameter;
}

double ErrorOf(const Numerics& numerics) {
  if (numerics.lossless()) return 0;
  if (numerics.error >= 0) return numerics.error;
  const Algorithm* algorithm = FindAlgorithm(numerics.algorithm);
  if (algorithm == nullptr) return std::numeric_limits<double>::max();
  return algorithm->assumed_error(numerics.parameter);
}

}  // namespace burnish
