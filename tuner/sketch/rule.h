// A sketch rule: how one block of a program, or a whole program, may be scheduled. All rules are in
// one table (SketchRules), which says of each what it takes and beside which others it stands.
#ifndef TUNER_SKETCH_RULE_H_
#define TUNER_SKETCH_RULE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/program.h"
#include "compiler/ir/simplify.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/device_model.h"
#include "compiler/target/isa_model.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

struct RuleContext {
  const Program& program;
  const DeviceModel& device;
  SketchOptions options;

  int threads() const { return device.workers(); }
};

// One way to schedule what a rule takes.
struct Draft {
  std::string name;  // Rule and structure, such as "contraction/rows".
  Schedule schedule;
};

enum class RuleKind : uint8_t {
  // Takes whole programs: its sketches are complete.
  kProgram,
  // Takes a block for good by steps without decisions; other rules see the program without it.
  kStructural,
  // Schedules one block.
  kBlock,
  // Schedules one block by an algorithm that rounds in another way; its sketches stand behind those
  // of the block rules, for callers that allow such algorithms.
  kAlgorithm,
  // Goes on with a nest that the generator derives (generator/nest.h).
  kNest,
};

struct Nest;

struct SketchRule {
  const char* name;
  // Whether the rule writes for devices of this kind: what it asks of a device, the device has.
  bool (*suits)(const DeviceModel& device);
  RuleKind kind;
  // Of the rules of one kind that take a block or a program, those with a greater precedence are
  // asked first. No two rules of a kind have the same.
  int precedence;
  // Whether rules of lower precedence are asked too when this one takes something; their sketches
  // stand behind. Of a program rule: whether its blocks are scheduled one by one as well. Of a rule
  // of nests: whether the nest goes on without what it did, too.
  bool shares;
  // Most promising first; empty when the rule does not take the block (of a program rule: -1).
  // Names of new loops and buffers start with the block's name, so that blocks do not collide. Null
  // for rules of nests.
  std::vector<Draft> (*apply)(const RuleContext& context, BlockId block);
  // Spaces that the rule takes part in, as bits of SketchSpace.
  uint32_t spaces = kTemplates;
  // Of rules of nests: the ways to go on, most promising first; empty where the rule has nothing to
  // say. Asked of every nest once; what it did the nest remembers.
  std::vector<Nest> (*extend)(const RuleContext& context, const SketchRule& row,
                              const Nest& nest) = nullptr;
  // Levels of tiles (generator/tiling_rule.cc).
  const char* structure = "";
};

// Every rule, in no order that means anything.
const std::vector<SketchRule>& SketchRules();

// Kinds of devices, for `suits`. Workers of vectors: cores that share out a loop, each with vector
// instructions (a CPU). Grids of threads: blocks of threads in lock step (a GPU).
bool AnyDevice(const DeviceModel& device);
bool WorkersOfVectors(const DeviceModel& device);
bool GridsOfThreads(const DeviceModel& device);

// One line for each rule, in its own file under rules/.
std::vector<Draft> BorderRule(const RuleContext& context, BlockId block);
std::vector<Draft> ContractionRule(const RuleContext& context, BlockId block);
std::vector<Draft> DotRule(const RuleContext& context, BlockId block);
std::vector<Draft> DotTileRule(const RuleContext& context, BlockId block);
std::vector<Draft> WindowRule(const RuleContext& context, BlockId block);
std::vector<Draft> SteppedWindowRule(const RuleContext& context, BlockId block);
std::vector<Draft> OuterReductionRule(const RuleContext& context, BlockId block);
std::vector<Draft> WinogradRule(const RuleContext& context, BlockId block);
std::vector<Draft> RowChainRule(const RuleContext& context, BlockId block);
std::vector<Draft> ColumnChainRule(const RuleContext& context, BlockId block);
std::vector<Draft> ContractionChainRule(const RuleContext& context, BlockId block);
std::vector<Draft> SegmentReductionRule(const RuleContext& context, BlockId block);
std::vector<Draft> RowReductionRule(const RuleContext& context, BlockId block);
std::vector<Draft> InterleaveRule(const RuleContext& context, BlockId block);
std::vector<Draft> TransposeRule(const RuleContext& context, BlockId block);
std::vector<Draft> TileProductRule(const RuleContext& context, BlockId block);
std::vector<Draft> SpatialRule(const RuleContext& context, BlockId block);

// ---- What rules share.

// Less work than this, in loads and operations, does not pay for waking the other workers.
inline constexpr int64_t kParallelMin = 16384;

// What vectorize@1 takes at most of one loop, in elements.
inline constexpr int64_t kVectorElementsMax = 256;

// Elements of a full vector of what the block computes. A lane is as wide as the widest element
// that the block loads, writes or computes from these: so that no step of a lane needs two vectors.
// Indices of loads take no lane.
int64_t LanesOf(const IsaModel& isa, const Program& program, const Block& block);
// Constant extent of an axis.
int64_t Extent(const Program& program, VarId axis);
// Of no axes 1.
int64_t ProductOfExtents(const Program& program, absl::Span<const VarId> axes);
// Of every variable of the program, which must outlive the result.
VarRanges AxisRanges(const Program& program);
// Row-major element address of a load, as a linear form over the block's axes.
LinearForm AddressOf(const Program& program, const ExprNode& load);
// Elements that a step of `axis` moves the address by; nullopt where steps differ.
std::optional<int64_t> StepOf(const Program& program, const ExprNode& load, VarId axis);
// Whether every load of the block that moves with `axis` goes along it element by element.
bool WalksByOne(const Program& program, const Block& block, VarId axis);
// Whether every load goes on where `extent` steps of `inner` end when `outer` takes a step.
bool WalkAsOne(const Program& program, const std::vector<Expr>& loads, VarId outer, VarId inner,
               int64_t extent);
// Whether address or atoms of the load depend on `axis`.
bool DependsOn(const Program& program, const ExprNode& load, VarId axis);
// Loads in the block's expressions, without repetitions.
std::vector<Expr> DistinctLoads(const Block& block);
// Whether the block moves or maps elements, each the same way, in the order of its axes.
bool IsUniformMap(const Program& program, const Block& block);
// The greatest power of two that is not over `value` (>= 1).
int64_t FloorPowerOfTwo(int64_t value);
// A part of the loop for each worker, all at once. The loop that walks a worker's part.
LoopRef DealToWorkers(Schedule& s, LoopRef loop, const Schedule::Names& names, int threads);
// Whether the workers' own caches hold the buffer, or `count` of its size: in them others, or the
// next layer, find what was written or wait for it to be given up. What is larger has gone to the
// last cache by then.
bool StaysWithWorkers(const RuleContext& context, const Buffer& buffer, int count = 1);
// Whether the primitives accept the first point: for conditions that are theirs to know.
bool FirstPointApplies(const Draft& draft, const Program& program);
// CHECKs that no verb failed: a rule that misuses them is a bug.
Sketch SketchOf(const Draft& draft);

}  // namespace burnish

#endif  // TUNER_SKETCH_RULE_H_
