// Blocks over rows that go together a row at a time, in one nest without a barrier: softmax, layer
// normalization and the like. What the rules for chains share.
#ifndef TUNER_SKETCH_RULES_ROW_CHAIN_H_
#define TUNER_SKETCH_RULES_ROW_CHAIN_H_

#include <vector>

#include "tuner/sketch/rule.h"

namespace burnish {

// Verbs on one schedule, in the order in which they are asked for: SplitReductions first, then the
// last block's loops, which are the caller's, then PlaceOthers.
class RowChain {
 public:
  // `blocks`: of the context's program, in its order, at least one; the last writes the rows that
  // others read.
  RowChain(const RuleContext& context, std::vector<const Block*> blocks);

  // Whether every block computes a row's elements, or one value of a row by a reduction along it,
  // some block the latter; all but the last write temporaries, and loads go along rows.
  bool IsChain() const;
  int64_t row_count() const;

  // Reductions along a row run in lanes, which a short second reduction adds up.
  void SplitReductions(Schedule& s) const;
  // A loop along a row of `block`, in vectors of "width" elements: a decision of the schedule.
  void Vectorize(LoopRef axis, const Block& block, Schedule& s);
  // What a compute_at of `block` asks for so that vectors of its rows do not lie across cache
  // lines, in elements: 1 where the rows are whole lines, or one value each.
  int64_t RowAlignment(const Block& block) const;
  // All blocks but the last are computed in loop `inside`, of which an iteration does one row of
  // the last or several.
  void PlaceOthers(LoopRef inside, Schedule& s);

 private:
  void Place(const Block& block, LoopRef inside, Schedule& s);

  const RuleContext& context_;
  const Program& program_;
  const std::vector<const Block*> blocks_;
  const Block& last_;
  int64_t length_ = 0;  // Elements of a row.
  int64_t lanes_ = 0;
  int64_t vector_count_ = 0;  // Of a row; the last may reach beyond its end.
  int64_t sum_count_ = 0;     // Sums along one row: a few vectors of lanes.
  Expr width_;                // The decision; null before it is asked for.
};

}  // namespace burnish

#endif  // TUNER_SKETCH_RULES_ROW_CHAIN_H_
