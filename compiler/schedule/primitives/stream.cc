// stream@1 Y: stores to Y bypass the caches where they are whole vectors. Without meaning: for
// outputs whose lines other cores hold, from the last time that the memory was read; each plain
// store waits until they have given their line up.
#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {

absl::Status ApplyStream(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 0));
  ASSIGN_OR_RETURN(const BufferId id, FindBufferArg(program, step.inputs[0]));
  Buffer& buffer = program.buffers[id];
  if (buffer.role != BufferRole::kOutput) return Refuse(buffer.name, " is no output");
  // A sum would come back from memory for each of its terms.
  for (const Block& block : program.blocks) {
    if (block.output == id && !block.reduction.empty()) {
      return Refuse(block.name, " is a reduction");
    }
  }
  buffer.streamed = true;
  return absl::OkStatus();
}

}  // namespace burnish
