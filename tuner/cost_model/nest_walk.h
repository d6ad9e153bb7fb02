// A lowered program as the cost models look at it: nests, their loops, straight-line bodies (stores
// under unrolled and vectorized loops), and how each access to memory moves with the loops around.
#ifndef TUNER_COST_MODEL_NEST_WALK_H_
#define TUNER_COST_MODEL_NEST_WALK_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/target/isa_model.h"

namespace burnish {

// One loop around a store. `trips` are those of one worker: of a parallel loop its share, rounded
// up; where the extent is not the same everywhere, its mean. A fused loop is as many loops as its
// value has digits (loop_digits.h), with one `var`.
struct WalkLoop {
  VarId var = -1;
  LoopKind kind = LoopKind::kSerial;
  int64_t extent = 1;  // The greatest that it has.
  double trips = 1;
  int64_t unit = 1;       // What a step adds to the loop's value.
  bool is_dealt = false;  // Workers have different values of it.
};

// How an address moves with one loop.
struct AccessLoop {
  VarId var = -1;
  double trips = 1;
  int64_t unit = 1;
  bool is_dealt = false;
  int64_t stride = 0;   // Elements an iteration; 0: the address does not depend on it.
  bool hidden = false;  // It depends on it in a way that is no multiple (table, division, load).

  bool moves() const { return hidden || stride != 0; }
};

// One load or store of memory; register windows are none.
struct WalkAccess {
  BufferId buffer = -1;
  bool is_store = false;
  bool is_cold = false;        // Weights: in no cache when the call starts.
  bool is_prefetched = false;  // The program asks for it ahead, and it is there when it is read.
  // What other workers wrote in an earlier phase of the call: it lies in their caches.
  bool is_remote = false;
  bool has_gather = false;  // The vectorized loop does not move it by one element.
  double executions = 1;    // Of the body, on one worker.
  double instructions = 1;  // Loads or stores an execution of the body; equal addresses once.
  double pointers = 0;      // Addresses that the body must keep apart, of a load; 0: one base.
  size_t body_depth = 0;
  std::vector<AccessLoop> loops;  // All around it, outermost first; the body's from body_depth on.
  // Conditions around it: how often they hold each time that the loops from i inward run once, i up
  // to body_depth; and which arm of the innermost one it is in, -1: none.
  std::vector<double> shares;
  int arm = -1;
};

// Operations that one element of a store's value needs.
struct OpCounts {
  int add = 0, multiply = 0, min_max = 0, select = 0, cast = 0, negate = 0;
  int divide = 0;          // And square roots.
  int transcendental = 0;  // exp, log, tanh, erf, sin, cos.
  int power = 0;
  int widened = 0;  // Casts of what is loaded: once a load, however many elements read that.
  int compare = 0;  // Comparisons and logic; those of an index count too.
  int integer = 0;  // Other arithmetic of 64-bit integers: of indices that were not resolved.

  // Those that take one slot of an arithmetic port, and cycles of the others.
  int simple() const { return add + multiply + min_max + select + cast + negate; }
  // Simple ones of the definition, those that are done once a load among them.
  int elementary() const { return simple() + widened; }
  int slow_cycles() const { return 5 * divide + 14 * transcendental + 40 * power; }
};

struct WalkStore {
  NodeId node = -1;
  BufferId buffer = -1;         // What it writes to.
  std::vector<WalkLoop> loops;  // Outermost first; the body's from body_depth on.
  size_t body_depth = 0;
  int vector_loop = -1;  // Position in `loops`; -1: scalar.
  int64_t lanes = 1;     // Of a full vector of what it computes.
  // Of the type of its value: the unit that computes it.
  DType dtype = DType::kF32;
  // The instruction that computes the loops from vector_loop on as a nest; empty: none.
  std::string intrinsic;
  // Of the instruction's nest on tiles; 0: it works on no tile registers.
  int64_t tile_rows = 0;
  double executions = 1;  // Of its body, on one worker.
  double instances = 1;   // Vectors (or scalars) of the value an execution.
  OpCounts ops;
  bool combines = false;    // Its value is combined into what is there.
  bool is_product = false;  // The value is a product: with a sum, one multiply-add.
  bool to_register = false;
  double window = 1;           // Of a register window: vectors that it takes.
  double reduced = 1;          // Of a register window: values combined into each, an execution.
  double converted_loads = 0;  // An execution: loads whose vectors are converted.
  size_t access_begin = 0, access_end = 0;  // In the nest's accesses.

  // Arithmetic instructions of an instance that take one slot of a port. Multiply and add are one.
  int instructions() const {
    return intrinsic.empty() ? ops.simple() + (combines && !is_product) : 1;
  }
};

struct WalkItem;

struct WalkBody {
  std::vector<size_t> stores;  // In the nest's.
  double branch_count = 0;
  // Loops inside a vector: run once a chunk.
  struct Inner {
    double trips = 1;
    std::vector<WalkItem> items;
  };
  std::vector<Inner> inner;
};

enum class WalkKind : uint8_t { kLoop, kIf, kBody, kPrefetch };

struct WalkItem {
  WalkKind kind = WalkKind::kBody;
  double trips = 1;                 // kLoop
  double share = 1;                 // kIf: how often the condition holds.
  std::vector<WalkItem> items;      // kLoop: its children; kIf: where the condition holds.
  std::vector<WalkItem> otherwise;  // kIf
  WalkBody body;                    // kBody: neighbouring stores and body loops.
};

struct WalkNest {
  // Whether all workers of a parallel nest read the same addresses by `access`.
  bool IsShared(const WalkAccess& access) const {
    return parallel && workers > 1 &&
           std::none_of(access.loops.begin(), access.loops.end(),
                        [](const AccessLoop& loop) { return loop.is_dealt && loop.moves(); });
  }

  bool parallel = false;
  int workers = 1;
  int64_t parallel_extent = 1;
  double prefetch_count = 0;  // Executions of prefetches, on one worker.
  std::vector<WalkItem> items;
  std::vector<WalkStore> stores;
  std::vector<WalkAccess> accesses;
};

// Vector instructions for `extent` elements: whole vectors, then halves, down to one lane.
double VectorChunks(int64_t extent, int64_t lanes);

// The kernel's nests in order, without those of the pack function. `threads` >= 1.
std::vector<WalkNest> WalkNests(const Program& lowered, const IsaModel& isa, int threads);

}  // namespace burnish

#endif  // TUNER_COST_MODEL_NEST_WALK_H_
