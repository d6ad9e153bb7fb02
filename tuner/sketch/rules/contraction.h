// Recognizes sums of products of two tensors: matrix products, convolutions, batched and grouped
// ones. What the rules for them share.
#ifndef TUNER_SKETCH_RULES_CONTRACTION_H_
#define TUNER_SKETCH_RULES_CONTRACTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/sketch/rule.h"

namespace burnish {

// Independent sums that a register tile is asked for at most, whatever the units could use: two FMA
// units with a latency of 4 cycles are filled by 8, and more sums only forbid narrow tiles, which
// small problems need. Processors with a longer latency or more units are asked for no more.
inline constexpr int64_t kSumsMax = 8;
// Steps of a product's reduction that are written out where the rule leaves no decision: loads of
// the next steps overlap with the sums, and the body stays within the decoder's cache.
inline constexpr int64_t kDepthUnroll = 4;

struct Contraction {
  BlockId block = -1;
  Expr vector_load, broadcast_load;  // Of the product's two sides, behind conversions and scales.
  VarId vector_axis = -1;            // Neighbouring elements of the output lie along it.
  std::vector<VarId> rows;           // Output axes that only the broadcast operand has.
  std::vector<VarId> outer;          // Output axes that the vector operand has too: batch, groups.
  std::vector<VarId> reduction;
  int fused_from = 0;  // Reduction axes from here on are one segment of the broadcast operand.
};

// Nullopt where the block's step is no product of two loads of numbers, converted or not, of which
// one may be integers times a constant's scale, or its output is not written in vectors.
std::optional<Contraction> RecognizeContraction(const Program& program, BlockId id);

// A block that has group and channel of a group as two axes instead of one. `program` is for
// reading: its names, extents and loads are those after the split that `schedule` begins with.
struct GroupedProgram {
  Program program;
  Schedule schedule;
};

// Output channels of grouped convolutions choose their input channels by a quotient, o / size:
// split by that size, the group is an axis of its own and both operands are plain again. Nullopt
// where no load of the block has such a quotient of one of its axes.
std::optional<GroupedProgram> SplitGroups(const Program& program, BlockId id);

// What multiplies and adds in a register tile: vectors, as the backend makes them of any product,
// or an instruction that computes a nest of sums and products.
struct TileUnit {
  int64_t lanes = 1;      // Sums of one vector.
  int64_t depth = 1;      // Products that one instruction adds to each of them.
  std::string intrinsic;  // An instruction that is a nest; empty: vectors.
  // No instruction's sums divide the columns: the last panel begins early, among those before it.
  bool shifted = false;
};

// The units of the device for this product: the widest instruction that takes operands and sums of
// these types and shares out the problem evenly, if there is one; where that is narrow, or none,
// the widest that leaves a rest of the columns; then vectors, which take every product.
std::vector<TileUnit> TileUnitsOf(const DeviceModel& device, const Program& program,
                                  const Contraction& c);

// Whether a product reads its broadcast operand from memory, in the instruction that uses the
// value: elements of 32 and 64 bits, as they are. Others are widened or converted in a register
// first.
bool BroadcastsFromMemory(const IsaModel& isa, const Program& program, const Contraction& c);

// Products that each sum takes from the flat segment of its reduction.
int64_t SegmentDepth(const Program& program, const Contraction& c);

// Of the tensor that an operand is loaded from.
int64_t OperandBytes(const Program& program, const Expr& load);

// Whether what is packed is prefetched.
Decision PrefetchDecision(const SketchOptions& options);
// In how many chunks a worker's rows may go, each through all panels while it stays in the second
// cache.
Decision ChunksDecision();
// That a part in `parts` of the broadcast operand fits into L2 beside a panel, and not several
// times.
Expr IsWorthAChunk(const IsaModel& isa, const Program& program, const Contraction& c,
                   const Expr& parts);

// That a register tile of `rows` x `vectors` accumulators leaves a k-step the registers that it
// needs: the shorter side of the tile, of which operands from memory are none, and one more value.
Expr TileFitsRegisters(const IsaModel& isa, bool broadcasts_from_memory, const Expr& rows,
                       const Expr& vectors);

}  // namespace burnish

#endif  // TUNER_SKETCH_RULES_CONTRACTION_H_
