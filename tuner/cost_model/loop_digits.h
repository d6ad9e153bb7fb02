// Loops that were fused, as the loops that they were: addresses take a fused loop's value apart by
// quotients and rests, and each part moves them by a step of its own.
#ifndef TUNER_COST_MODEL_LOOP_DIGITS_H_
#define TUNER_COST_MODEL_LOOP_DIGITS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "compiler/ir/program.h"

namespace burnish {

// Of a lowered program, by variable: the units of the digits that its value has, the least first,
// each a multiple of the one before; {1} where no address takes it apart. Of v in
// `v / 224`, `v / 2 % 112` and `v % 2`: 1, 2, 224. `extents`: the greatest, by variable.
std::vector<std::vector<int64_t>> DigitUnits(const Program& lowered,
                                             const std::vector<int64_t>& extents);

// Calls add(unit, step) for each digit of `var` by which `e` moves, with the elements that one step
// of the digit is: of `var`, which is less than `extent`, all of its digits. False, without a call,
// where `e` is none of `v`, `v / a`, `v % b`, `v / a % b`, or cuts within a digit.
bool VisitDigits(const ExprNode& e, VarId var, const std::vector<int64_t>& units, int64_t extent,
                 const std::function<void(int64_t unit, int64_t step)>& add);

}  // namespace burnish

#endif  // TUNER_COST_MODEL_LOOP_DIGITS_H_
