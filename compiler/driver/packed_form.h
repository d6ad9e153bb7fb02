// The form that a schedule's pack function gives a constant, as an index map: where each element of
// the constant lies in what the function writes.
#ifndef COMPILER_DRIVER_PACKED_FORM_H_
#define COMPILER_DRIVER_PACKED_FORM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/program.h"

namespace burnish {

struct PackedForm {
  // Of an axis of the packed tensor, from the constant's index i[dimension]:
  // (i[dimension] / divisor) % modulus; dimension -1: always 0.
  struct Axis {
    int dimension = -1;
    int64_t divisor = 1;
    int64_t modulus = 0;  // 0: the quotient as it is.

    friend bool operator==(const Axis&, const Axis&) = default;
  };

  std::vector<int64_t> shape;  // Of the packed tensor, row-major.
  std::vector<Axis> axes;      // One a dimension of `shape`.
  int ordinal = 0;             // Among what the pack function writes for the kernel.

  friend bool operator==(const PackedForm&, const PackedForm&) = default;
};

// Nullopt unless a block of the pack function of `scheduled`, and nothing else, reads `constant`;
// the block only moves elements, each to a place of its own, and the kernel reads what it writes.
std::optional<PackedForm> FindPackedForm(const Program& scheduled, BufferId constant);

// Gives `program`, a definition, the parameter `constant` in packed form: every load from it reads
// the same element at its new place.
void ReadPackedForm(const PackedForm& form, BufferId constant, Program& program);

}  // namespace burnish

#endif  // COMPILER_DRIVER_PACKED_FORM_H_
