// A sketch as people read it.
#ifndef TUNER_SKETCH_SKETCH_TEXT_H_
#define TUNER_SKETCH_SKETCH_TEXT_H_

#include <string>

#include "tuner/sketch/sketch.h"

namespace burnish {

// The name; then decisions, constraints and steps, one a line. Decisions stand by their names:
//   contraction/rows
//     mr = 1 2 3
//     prefetch = choice 0 1
//     require $mr * $nr // 8 <= 16
//     split@1 b0_m->(b0_mt,b0_mi) max=$mr
//     reorder@1 (b0_vi,b0_mi) when $mr < $nr // 8
std::string ToText(const Sketch& sketch);

}  // namespace burnish

#endif  // TUNER_SKETCH_SKETCH_TEXT_H_
