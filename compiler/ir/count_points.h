// How often a condition holds, which says whether a guard pays and how long an arm runs.
#ifndef COMPILER_IR_COUNT_POINTS_H_
#define COMPILER_IR_COUNT_POINTS_H_

#include <cstdint>
#include <optional>

#include "compiler/ir/simplify.h"

namespace burnish {

// The share of the points of a box in which an integer condition without loads holds. `ranges`
// gives the box: one for each variable of the condition, of a value at least. Nothing where the
// variables have more than `limit` combinations.
std::optional<double> ShareOfPoints(const Expr& condition, const VarRanges& ranges, int64_t limit);

// Whether the condition does not hold in at least `share` of the points: as ShareOfPoints says, but
// mostly told by the comparisons that it is made of, each of which is counted faster. False for
// more points than the limit.
bool FailsInShare(const Expr& condition, const VarRanges& ranges, int64_t limit, double share);

// ShareOfPoints of `count` of the points, spread evenly: within some 0.02 of it for 512.
double ShareOfSample(const Expr& condition, const VarRanges& ranges, int count);

}  // namespace burnish

#endif  // COMPILER_IR_COUNT_POINTS_H_
