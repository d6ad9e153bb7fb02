#include "tuner/sketch/rules/segment.h"

namespace burnish {

size_t SegmentStart(const Program& program, const Block& block, const ExprNode& load) {
  const LinearForm address = AddressOf(program, load);
  int64_t expected = 1;
  size_t start = block.reduction.size();
  for (size_t i = block.reduction.size(); i-- > 0;) {
    const VarId axis = block.reduction[i];
    const int64_t extent = Extent(program, axis);
    if (extent > 1) {
      if (address.StepOf(axis) != expected) break;
      expected *= extent;
    }
    start = i;
  }
  return expected > 1 ? start : block.reduction.size();
}

}  // namespace burnish
