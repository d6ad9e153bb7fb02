#include "compiler/ir/packed_shapes.h"

namespace burnish {

PackedShapes PackedShapesOf(const Program& scheduled) {
  PackedShapes shapes;
  for (const Buffer& buffer : scheduled.buffers) {
    if (buffer.role == BufferRole::kPacked) shapes.push_back(buffer.shape);
  }
  return shapes;
}

}  // namespace burnish
