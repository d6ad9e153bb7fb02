// Parameters that lie in a run as its caller has them: densely in the shape of that run, which is
// at most the parameter's (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_IR_RUN_STRIDES_H_
#define COMPILER_IR_RUN_STRIDES_H_

#include <vector>

#include "absl/status/status.h"
#include "compiler/ir/program.h"

namespace burnish {

// The parameter's leading axes, up to the last one whose extent a run says. What is behind them is
// whole in each run: a row, whose elements lie together.
struct RunStrides {
  int parameter = 0;  // By ParametersOf.
  // By leading axis, which number of the table is its stride; -1: the storage says it.
  std::vector<int> numbers = {};

  friend bool operator==(const RunStrides&, const RunStrides&) = default;
  friend auto operator<=>(const RunStrides&, const RunStrides&) = default;
};

// Number 0 of a table: how many elements lie before the last row. Strides follow, in elements.
inline constexpr int kLastRow = 0;
// Of a table: more than any tensor of the runtime has axes (kRankMax, tensor_info.h).
inline constexpr int kStrideNumbersMax = 64;

// A parameter that is read by its table: i64 numbers, a new input.
struct StridedParameter {
  int parameter = 0;
  BufferId table = -1;
};

// Parameters that are read so from now on. Indices beyond the run's shape read some other row of
// it: nothing behind the last is touched, whatever the loops' extents are. The parameter is one
// dimension then, aligned to its elements. Others stay as they are: those that an instruction
// reads, whose strides are constants, and those with lanes of a vector in different rows, which
// would be loaded one by one. The request is valid (CheckRunStrides).
std::vector<StridedParameter> ReadByRunStrides(const std::vector<RunStrides>& request,
                                               Program& lowered);

// INVALID_ARGUMENT: a parameter or an axis that the program has not, numbers out of range, or
// storage that is not dense.
absl::Status CheckRunStrides(const std::vector<RunStrides>& request, const Program& program);

}  // namespace burnish

#endif  // COMPILER_IR_RUN_STRIDES_H_
