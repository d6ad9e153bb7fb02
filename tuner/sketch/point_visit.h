// Which points of a sketch are looked at for a default schedule.
#ifndef TUNER_SKETCH_POINT_VISIT_H_
#define TUNER_SKETCH_POINT_VISIT_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

// Asks for the seconds of points, each once; nullopt: it is none after all. Of one block's sketch
// all points are looked at, up to a few thousand. Blocks of one kernel hardly depend on each other
// in what is best, and their points multiply: 8 nests of 3 widths each have 6,561. So where blocks
// together have more than a few, all ways of one block are looked at beside the best of the others,
// block after block, until none finds a better one.
void VisitPoints(const Sketch& sketch,
                 absl::FunctionRef<std::optional<double>(const Point&)> seconds);

}  // namespace burnish

#endif  // TUNER_SKETCH_POINT_VISIT_H_
