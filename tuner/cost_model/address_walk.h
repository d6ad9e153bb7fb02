// How the address of an access moves: by which steps with each loop, and in how many runs of
// neighbours its lanes lie.
#ifndef TUNER_COST_MODEL_ADDRESS_WALK_H_
#define TUNER_COST_MODEL_ADDRESS_WALK_H_

#include <cstdint>
#include <vector>

#include "compiler/ir/program.h"
#include "tuner/cost_model/nest_walk.h"

namespace burnish {

class AddressWalk {
 public:
  // By variable: the greatest extents, and the units of digits (loop_digits.h).
  AddressWalk(const std::vector<int64_t>& extents, const std::vector<std::vector<int64_t>>& units)
      : extents_(extents), units_(units) {}

  // `stride` and `hidden` of the access's loops, where strides are 0 so far.
  void SetStrides(const Buffer& buffer, const std::vector<Expr>& indices, WalkAccess& access) const;

  // A load whose lanes, `loop`, differ by no step: in how many runs of neighbours they lie,
  // where their order is known. 0: lanes are loaded one by one.
  double RunsOfLanes(const Buffer& buffer, const std::vector<Expr>& indices, const WalkLoop& loop,
                     int64_t lanes) const;

  // Of a load whose lanes are the rows of a square, in code that is written out for its columns
  // (compiler/ir/access.h): a load and shuffles for each column. 0: there is no such square.
  double InstructionsOfColumn(const Buffer& buffer, const WalkAccess& access, size_t vector_loop,
                              int64_t vector_lanes) const;

 private:
  bool AddSum(const ExprNode& e, int64_t scale, WalkAccess& access) const;
  void SetStridesSlowly(const Buffer& buffer, const std::vector<Expr>& indices,
                        WalkAccess& access) const;

  const std::vector<int64_t>& extents_;
  const std::vector<std::vector<int64_t>>& units_;
};

}  // namespace burnish

#endif  // TUNER_COST_MODEL_ADDRESS_WALK_H_
