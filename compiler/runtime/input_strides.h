// Inputs that steps read in the shape of the run, as callers have them: where each lies is said by
// a table (compiler/ir/run_strides.h has the kernels' side).
#ifndef COMPILER_RUNTIME_INPUT_STRIDES_H_
#define COMPILER_RUNTIME_INPUT_STRIDES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/place.h"
#include "compiler/runtime/run_sizes.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

struct InputStrides {
  uint32_t input = 0;
  // i64 numbers in the arena, one more than the input has axes, where no step writes: how many
  // elements lie before the last row, a row being what is behind the last axis that a run sizes;
  // then each axis's stride in elements.
  Place place;
  // Every step that reads the input does so by the table, and no further than the last row.
  bool in_place = false;

  friend bool operator==(const InputStrides&, const InputStrides&) = default;
};

std::string EncodeInputStrides(const std::vector<InputStrides>& tables);
// kDataLoss: not such bytes. Checks no meaning.
RuntimeOr<std::vector<InputStrides>> DecodeInputStrides(std::span<const uint8_t> bytes);

// The last axis that a run sizes; -1: there is none.
int LastSizedAxis(const RunSizes& sizes, size_t input);

// Of a dense tensor of this shape. `numbers`: one more than it has axes.
void FillStrides(std::span<const int64_t> shape, int last_sized_axis, std::span<int64_t> numbers);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_INPUT_STRIDES_H_
