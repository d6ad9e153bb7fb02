// What one store of a walked nest does in a call, as numbers that features and explanations share.
#ifndef TUNER_COST_MODEL_STORE_SUMS_H_
#define TUNER_COST_MODEL_STORE_SUMS_H_

#include "compiler/ir/program.h"
#include "tuner/cost_model/nest_walk.h"

namespace burnish {

// Sums over one store, as executed by one worker.
struct StoreSums {
  double elements = 0;    // Values that it writes or combines.
  double operations = 0;  // On elements; a multiply-add counts two.
  double slow = 0;
  double instructions = 0;  // Vector arithmetic instructions.
  double loads = 0, stores = 0;
  double lanes = 0, wasted_lanes = 0;
  double accessed_bytes = 0;
  double pointers = 0;
};

StoreSums SumsOf(const Program& lowered, const WalkNest& nest, const WalkStore& store);

}  // namespace burnish

#endif  // TUNER_COST_MODEL_STORE_SUMS_H_
