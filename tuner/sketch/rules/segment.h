// What rules share that run lanes along a reduction: which of its trailing axes lie in memory as
// one.
#ifndef TUNER_SKETCH_RULES_SEGMENT_H_
#define TUNER_SKETCH_RULES_SEGMENT_H_

#include <cstddef>
#include <cstdint>

#include "tuner/sketch/rule.h"

namespace burnish {

// Trailing reduction axes that loads walk element by element, as one axis.
struct Segment {
  size_t first = 0;  // Of the block's reduction axes, the first that belongs to it.
  int64_t extent = 1;
  int64_t lanes = 1;  // That run along it.
};

// The first of the trailing reduction axes that the load walks so; the count of axes where it walks
// none.
size_t SegmentStart(const Program& program, const Block& block, const ExprNode& load);

}  // namespace burnish

#endif  // TUNER_SKETCH_RULES_SEGMENT_H_
