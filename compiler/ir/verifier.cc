#include "compiler/ir/verifier.h"

#include "base/status_macros.h"
#include "compiler/ir/verify_rules.h"

namespace burnish {

absl::Status Verify(const Program& program) {
  // Each group may trust the ones before: ids before anything is indexed by them, the tree before
  // its paths are walked, bounds before an order of reads is derived from ranges.
  RETURN_IF_ERROR(VerifyDeclarations(program));
  TreeFacts facts;
  if (!program.lowered) RETURN_IF_ERROR(VerifyBlocks(program));
  RETURN_IF_ERROR(VerifyTree(program, &facts));
  if (!program.lowered) RETURN_IF_ERROR(VerifyPlacement(program, facts));
  RETURN_IF_ERROR(VerifyBounds(program));
  RETURN_IF_ERROR(VerifyExtents(program));
  if (program.lowered) RETURN_IF_ERROR(VerifyScopes(program));
  if (program.lowered) RETURN_IF_ERROR(VerifyBarriers(program));
  if (!program.lowered) RETURN_IF_ERROR(VerifyOrder(program, facts));
  return absl::OkStatus();
}

}  // namespace burnish
