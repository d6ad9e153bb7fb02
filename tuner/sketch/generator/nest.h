// A nest that the generator derives: a schedule in the making, with what its rules must know of
// each other. Each rule of kind kNest takes a nest and returns the ways to go on. Loops are names
// and no handles: a nest is copied where there are several ways, and handles belong to one
// schedule.
#ifndef TUNER_SKETCH_GENERATOR_NEST_H_
#define TUNER_SKETCH_GENERATOR_NEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/schedule/schedule.h"
#include "tuner/sketch/rule.h"

namespace burnish {

struct NestLoop {
  std::string name;
  // Axes of the definition whose elements the loop walks, the last one fastest.
  std::vector<VarId> axes;
  int64_t extent = 1;  // The greatest, where it is known before decisions are.
  // A producer is computed for all of it: not cut in front of '|'.
  bool is_whole = false;
};

struct NestLevel {
  char kind = 'S';                 // A letter of the structure.
  std::vector<std::string> loops;  // Outermost first.
  // The same as variables of the definition's loops, for layouts: also after loops were fused.
  std::vector<NestLoop> dims;
};

struct Nest {
  std::string trail;  // What the rules chose, for people: "/s1/SRUS".
  Schedule schedule;
  BlockId definition = -1;  // Of the context's program.
  std::string block;        // Whose loops these are: the definition's, or partial results of it.

  // ---- Until the nest is tiled: its loops of more than one iteration, outermost first.
  std::vector<NestLoop> spatial = {}, reduction = {};
  // Loops of one iteration.
  std::vector<std::string> trivial_spatial = {}, trivial_reduction = {};
  // Of the vector loop, which is the last of `spatial`; 1: none; 0: nobody has said.
  int64_t lanes = 0;
  bool is_cut = false;    // The vector loop is as long as it is to be.
  bool is_inner = false;  // Inside of another block's loop: nothing is dealt out, nothing cut.
  bool is_flat = false;   // What may be fused is.

  // ---- From then on.
  std::vector<NestLevel> levels = {};
  int location = -1;  // The level after which producers are computed; -1: they have nests.

  // ---- What is left to do.
  std::vector<std::string> producers = {};  // Blocks to compute inside, readers first.
  bool needs_copies = false;             // Lanes were chosen for what copies of operands will be.
  std::vector<std::string> copies = {};  // Blocks that copy an operand, to be placed,
  int copy_level = -1;                   // inside of this level; -1: in front.
  std::string combined;  // The block that adds up what workers summed: its nest is as it was.
  bool is_dealt = false, is_cached = false, is_packed = false, is_copied = false,
       is_written_out = false;
  // Lanes load a constant element by element, which no layout could mend: offered only where a
  // block has nothing else (docs/schedule-space.md).
  bool loads_apart = false;

  std::string New(absl::string_view what) const;
  bool tiled() const { return !levels.empty(); }
};

// The nest of a block as its definition has it. `schedule` has the block's loops by their names in
// the context's program.
Nest StartNest(const RuleContext& context, BlockId block, Schedule schedule);

// Puts the loops that are not tiled yet in their order, directly in each other.
void PutInOrder(Nest& nest);

// Loops of a nest by name, in the order of its schedule.
std::vector<LoopRef> Refs(Schedule& schedule, const std::vector<std::string>& names);

// What the block writes, as if it were read: for the address.
Expr OutputAccess(const Program& program, const Block& block);

// How the accesses of a block move with a loop: by its fastest axis.
struct LoopWalk {
  int stride_count = 0;    // Loads that walk by steps of several elements, or in no steps.
  int packable_count = 0;  // Of them constants, which may be laid out.
  bool writes_in_order = false;
  bool diverges = false;  // Single iterations are checked, or load under conditions of their own.
};
LoopWalk WalkOf(const Program& program, const Block& block, const NestLoop& loop);

// What lanes along `vector` would load element by element and may load from a copy that pays: made
// at run time, read in this place alone, and again by other rows.
std::vector<Expr> LoadsToCopy(const Program& program, const Nest& nest, const NestLoop& vector);

// The order of use, as variables of a layout: tiles of the vector loop, what is summed, lanes.
// Other loops are in it whole: a dimension for each of their levels would be more than layouts may
// have. Of a tiled nest.
std::vector<std::string> LayoutOf(const Program& program, const Nest& nest, const ExprNode& load);

// At most `count` divisors of n, 1 and n among them, evenly spread.
std::vector<int64_t> SpacedDivisors(int64_t n, int count);

// The product of the loops' extents, as an expression over the decisions.
Expr ExtentOf(Schedule& schedule, const std::vector<std::string>& loops);

// ---- Rules, one a file. `row`: theirs, with its structure.

std::vector<Nest> MergeRule(const RuleContext& context, const SketchRule& row, const Nest& nest);
std::vector<Nest> PartsRule(const RuleContext& context, const SketchRule& row, const Nest& nest);
std::vector<Nest> LanesRule(const RuleContext& context, const SketchRule& row, const Nest& nest);
std::vector<Nest> FlattenRule(const RuleContext& context, const SketchRule& row, const Nest& nest);
std::vector<Nest> TilingRule(const RuleContext& context, const SketchRule& row, const Nest& nest);
std::vector<Nest> DealRule(const RuleContext& context, const SketchRule& row, const Nest& nest);
std::vector<Nest> CopyRule(const RuleContext& context, const SketchRule& row, const Nest& nest);
std::vector<Nest> PlaceCopiesRule(const RuleContext& context, const SketchRule& row,
                                  const Nest& nest);
std::vector<Nest> ProducersRule(const RuleContext& context, const SketchRule& row,
                                const Nest& nest);
std::vector<Nest> WriteCacheRule(const RuleContext& context, const SketchRule& row,
                                 const Nest& nest);
std::vector<Nest> ReadCacheRule(const RuleContext& context, const SketchRule& row,
                                const Nest& nest);
std::vector<Nest> RegistersRule(const RuleContext& context, const SketchRule& row,
                                const Nest& nest);
std::vector<Nest> CombineRule(const RuleContext& context, const SketchRule& row, const Nest& nest);

}  // namespace burnish

#endif  // TUNER_SKETCH_GENERATOR_NEST_H_
