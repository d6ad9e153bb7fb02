#include "tuner/cost_model/store_sums.h"

namespace burnish {
namespace {

double BodyElements(const WalkStore& store) {
  double elements = 1;
  for (size_t i = store.body_depth; i < store.loops.size(); ++i) elements *= store.loops[i].trips;
  return elements;
}

}  // namespace

StoreSums SumsOf(const Program& program, const WalkNest& nest, const WalkStore& store) {
  StoreSums sums;
  const OpCounts& ops = store.ops;
  const int slow = ops.divide + ops.transcendental + ops.power;
  sums.elements = store.executions * BodyElements(store);
  sums.operations = sums.elements * (ops.elementary() + slow + store.combines);
  sums.slow = sums.elements * slow;
  const int instructions = store.instructions() + (store.intrinsic.empty() ? ops.slow_cycles() : 0);
  sums.instructions = store.executions * (store.instances * instructions + store.converted_loads);
  // An instruction with a nest of its own takes whole ones only.
  if (!store.intrinsic.empty()) sums.lanes = sums.elements;
  if (store.vector_loop >= 0 && store.intrinsic.empty()) {
    sums.lanes = store.executions * store.instances * static_cast<double>(store.lanes);
    sums.wasted_lanes = sums.lanes - sums.elements;
  }
  for (size_t a = store.access_begin; a < store.access_end; ++a) {
    const WalkAccess& access = nest.accesses[a];
    (access.is_store ? sums.stores : sums.loads) += access.executions * access.instructions;
    sums.pointers += access.pointers;
    double elements = access.executions;
    for (size_t i = access.body_depth; i < access.loops.size(); ++i) {
      if (access.loops[i].moves()) elements *= access.loops[i].trips;
    }
    sums.accessed_bytes +=
        elements * static_cast<double>(SizeBytes(program.buffers[access.buffer].dtype));
  }
  return sums;
}

}  // namespace burnish
