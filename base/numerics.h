// What rounding a program may show, relative to its definition: one value that the IR, messages,
// records, the driver and reports share. What is particular to an algorithm stands in its row of
// the table of algorithms; outside of that row, its rule and its primitive nothing knows its name.
#ifndef BASE_NUMERICS_H_
#define BASE_NUMERICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace burnish {

// The numbers are those of v1.Numerics.Kind and of stored rows: never reused.
enum class NumericsClass : uint8_t {
  kUnknown = 0,       // Of a newer writer: no accuracy limit accepts it.
  kExact = 1,         // Rounds as the definition does.
  kReassociated = 2,  // Sums in another order.
  kAlgorithm = 3,     // Computes something else that is equal without rounding.
  kLowPrecision = 4,  // Rounds operands to narrower types.
};

struct Numerics {
  static constexpr double kErrorNotMeasured = -1;
  static constexpr size_t kAlgorithmBytesMax = 64;

  NumericsClass kind = NumericsClass::kUnknown;
  std::string algorithm = {};  // Name of kAlgorithm, perhaps one without a row here; else empty.
  int32_t parameter = 0;       // Of the algorithm; its row says what it means. Else 0.
  double error = kErrorNotMeasured;  // max|got - want| / max|want| against float64.

  // Whether it counts nothing in an error budget.
  bool lossless() const {
    return kind == NumericsClass::kExact || kind == NumericsClass::kReassociated;
  }
  bool operator==(const Numerics&) const = default;
};

struct Algorithm {
  const char*
      name;    // In the text of programs, messages and records: never changed. A lower-case word.
  int number;  // In fingerprints and features: never reused. The first is 0.
  const char* parameter_meaning;  // For refusals, such as "an output tile".
  const char* parameter_label;    // In front of the parameter, for people: "F" makes "F4".
  int32_t parameter_max;          // Least: 0. Below kAlgorithmParameterLimit.
  // A step's error where none was measured: above what such steps show.
  double (*assumed_error)(int32_t parameter);
  // By how much a right kernel may differ from one that rounds as the definition does,
  // max|got - want| / max|want|: the runner's bound between wrong and rounded.
  double (*difference_max)(int32_t parameter);
  // Multiplications of the definition for one of its own, at most.
  double saving_max;
  // Whether code may take 0 * x for 0 and 0 + x for x, whatever x is.
  bool folds_zeros;
};

inline constexpr int32_t kAlgorithmParameterLimit = 1024;

// The algorithm of messages and rows from before algorithms had names.
extern const char kUnnamedAlgorithm[];

// Null where there is no row: for another name, and "".
const Algorithm* FindAlgorithm(absl::string_view name);
std::vector<const Algorithm*> AllAlgorithms();

// Algorithm and parameter as one number, for fingerprints, features and maps: 0 where there is no
// algorithm that has a row.
int64_t AlgorithmKey(const Numerics& numerics);

// What a step adds to a model's error: 0 where it is lossless, as measured, as assumed, or the
// greatest number where nothing is known.
double ErrorOf(const Numerics& numerics);

}  // namespace burnish

#endif  // BASE_NUMERICS_H_
