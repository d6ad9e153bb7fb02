// Which times cannot be: what a machine needs at least for a workload, so that a worker that says
// less is wrong, or lies.
#ifndef TUNER_APP_LEAST_TIME_H_
#define TUNER_APP_LEAST_TIME_H_

#include <optional>

#include "compiler/ir/program.h"
#include "compiler/target/target.h"
#include "proto/calibration_row.h"
#include "tuner/study/study_types.h"

namespace burnish {

// Of one call with all of the target's threads. `saving_max`: an algorithm may do with so many
// times fewer operations than the definition. `row`: of the machine that measured, by its own word,
// and of no other; nothing: it has none. A row is held against the table of microarchitectures: one
// that promises more than the instruction set can do, or less than half of what the table says, is
// not believed. `of_any_ns` asks no row, and is above 0 for every workload.
LeastTimes LeastTimesOf(const Target& target, const Program& workload, double saving_max,
                        const std::optional<CalibrationRow>& row);

}  // namespace burnish

#endif  // TUNER_APP_LEAST_TIME_H_
