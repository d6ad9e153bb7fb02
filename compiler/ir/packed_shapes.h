// Which form a schedule's pack function gives the weights, as far as bundles ask: by shape.
#ifndef COMPILER_IR_PACKED_SHAPES_H_
#define COMPILER_IR_PACKED_SHAPES_H_

#include <cstdint>
#include <vector>

#include "compiler/ir/program.h"

namespace burnish {

// Of what the pack function writes, in the order of buffers. Equal ones nearly always come of equal
// pack functions; where they do not, the weights are there once more and nothing is wrong.
using PackedShapes = std::vector<std::vector<int64_t>>;

PackedShapes PackedShapesOf(const Program& scheduled);

}  // namespace burnish

#endif  // COMPILER_IR_PACKED_SHAPES_H_
