// Recognizes blocks that interleave a few rows of what they read.
#ifndef TUNER_SKETCH_RULES_INTERLEAVE_H_
#define TUNER_SKETCH_RULES_INTERLEAVE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tuner/sketch/rule.h"

namespace burnish {

struct Interleaving {
  VarId along = -1;   // Walks each row element by element.
  VarId across = -1;  // The last output axis: from row to row.
  std::vector<VarId> others;
  int64_t total = 0;   // Elements of both axes.
  int64_t lanes = 0;   // Of a vector.
  int64_t period = 0;  // Elements after which a vector begins at the same row again.
};

// Nullopt where the block moves data another way, or has too many rows for vectors of them to pay.
std::optional<Interleaving> FindInterleaving(const RuleContext& context, BlockId block);

}  // namespace burnish

#endif  // TUNER_SKETCH_RULES_INTERLEAVE_H_
