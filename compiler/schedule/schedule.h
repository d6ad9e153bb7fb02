// A program that is being scheduled, with decisions left open.
//
// Rules write schedules with verbs: each takes handles of what is there, appends a typed step and
// returns handles of what the step makes. A verb also changes the *structure*: the tree of loops
// and blocks as the step will leave it, whatever the decisions are. Extents in it are expressions
// over the decisions. So a rule runs once for a whole space, and never looks at one point.
//
//   Schedule s(program);
//   const Expr mr = s.Decide({"mr", DecisionKind::kSize, {2, 4, 6}});
//   const auto [tile, row] = s.SplitMax(s.Find("m"), {"mt", "mi"}, mr);
//   s.Stage(s.FindBlock("Y"), "acc", tile, Scope::kRegister);
//
// A verb that cannot work (a handle of another schedule, a loop that an earlier verb consumed)
// leaves an error in status(); later verbs then do nothing. Whether the steps apply to the program
// the primitives say, for each point.
#ifndef COMPILER_SCHEDULE_SCHEDULE_H_
#define COMPILER_SCHEDULE_SCHEDULE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/decision.h"
#include "compiler/schedule/step.h"

namespace burnish {

// Handles: places in the structure of one Schedule. A copy of a schedule has handles of its own,
// found by name.
struct LoopRef {
  VarId id = -1;
  const void* owner = nullptr;
  explicit operator bool() const { return id >= 0; }
};
struct BlockRef {
  BlockId id = -1;
  const void* owner = nullptr;
};
struct BufferRef {
  BufferId id = -1;
  const void* owner = nullptr;
};

// What split@1 does with the rest where a size does not divide the loop; see primitives/split.cc.
enum class Tail : uint8_t { kRagged, kGuard, kPad, kShift };

class Schedule {
 public:
  // `program`: a definition with default nests.
  explicit Schedule(Program program);
  Schedule(const Schedule& other);
  Schedule& operator=(const Schedule& other);
  Schedule(Schedule&&) = default;
  Schedule& operator=(Schedule&&) = default;

  // ---- What there is.

  // The definition as structural steps (border, inline) have left it: what rules look at. Its ids
  // are no handles.
  const Program& program() const { return program_; }
  // The tree as all steps leave it. A loop's extent is an expression over the decisions: an upper
  // bound over all iterations; null where only the primitive knows it (the region of compute_at).
  const Program& structure() const { return structure_; }

  LoopRef Find(absl::string_view loop);
  BlockRef FindBlock(absl::string_view name);
  BufferRef FindBuffer(absl::string_view name);
  // The loop of an axis of program().
  LoopRef AxisLoop(VarId axis) { return Find(program_.vars[axis].name); }
  std::vector<LoopRef> AxisLoops(absl::Span<const VarId> axes);
  BufferRef OutputOf(BlockRef block);
  // The axes' loops of a block, spatial ones first.
  std::vector<LoopRef> LoopsOf(BlockRef block);
  const std::string& NameOf(LoopRef loop) const { return structure_.vars[loop.id].name; }
  // Null: see structure().
  Expr ExtentOf(LoopRef loop) const { return structure_.vars[loop.id].extent; }

  // ---- Decisions.

  // The decision as an expression, to be used in verbs and constraints. Where a decision of this
  // name is there already the new one gets the suffix `collision`: blocks of one program may ask
  // for the same things.
  Expr Decide(Decision decision);
  void set_collision_suffix(std::string suffix) { collision_ = std::move(suffix); }
  // A condition over the decisions that every point fulfils.
  void Require(Expr condition) { constraints_.push_back(std::move(condition)); }
  // Steps that `verbs` appends are taken only at points where `condition` holds. They may neither
  // make nor consume a loop, block or buffer: a schedule that does is another sketch.
  void If(Expr condition, const std::function<void()>& verbs);

  // ---- Verbs, one a primitive; primitives/NAME.cc has the meaning.

  using Pair = std::pair<LoopRef, LoopRef>;  // Outer, inner.
  using Names = std::array<std::string, 2>;
  Pair SplitMax(LoopRef loop, Names names, const Expr& max);
  Pair SplitSize(LoopRef loop, Names names, const Expr& size, Tail tail = Tail::kRagged);
  Pair SplitParts(LoopRef loop, Names names, const Expr& parts);
  // Of one loop: that loop, and no step.
  LoopRef Fuse(absl::Span<const LoopRef> loops, const std::string& name);
  // Of fewer than two loops: nothing.
  void Reorder(absl::Span<const LoopRef> loops);
  BufferRef Stage(BlockRef block, const std::string& name, LoopRef inside, Scope scope);
  // `dims`: loops, or loops that were split or fused since.
  BlockRef Relayout(BufferRef source, const std::string& name, absl::Span<const LoopRef> dims);
  void Precompute(BlockRef block);
  // One new loop an axis. `align_elements`: 1 for none.
  std::vector<LoopRef> ComputeAt(BlockRef block, const std::vector<std::string>& names,
                                 LoopRef inside, int64_t align_elements = 1);
  BlockRef Rfactor(BlockRef block, const std::string& name, LoopRef loop);
  void Parallel(LoopRef loop);
  void Unroll(LoopRef loop);
  void Vectorize(LoopRef loop, int64_t lanes);
  // From `loop` on, the nest of an instruction; `intrinsic`: of intrinsics.h.
  void Tensorize(LoopRef loop, const std::string& intrinsic);
  // `thread`: an axis of a GPU's grid, "block.x" .. "thread.z".
  void Bind(LoopRef loop, const std::string& thread);
  void PrefetchNext(BufferRef buffer, LoopRef next, LoopRef at, int cache_level);
  void PrefetchThis(BufferRef buffer, LoopRef loop, int cache_level);
  void Stream(BufferRef buffer);
  // A block that the primitive of an algorithm puts in front of the one that it computes otherwise.
  struct AlgorithmPart {
    std::string name;
    std::vector<std::string> spatial, reduction;  // Axes, as the primitive names them.
    std::vector<int> reads;  // Parts in front of this one; empty: what the block itself read.
  };
  // The step `primitive` block->(names of parts). `block` then reads the last part, and sums over
  // the one axis `rest`; without parts its axes stay. One handle a part.
  std::vector<BlockRef> Algorithm(const char* primitive, BlockRef block,
                                  absl::Span<const AlgorithmPart> parts, absl::string_view rest,
                                  std::vector<Argument> arguments);

  // Structural verbs: program() changes, and its ids with it. An error of theirs is the caller's
  // question answered ("does border@1 take it?") and leaves the schedule as it was.
  absl::Status Border(absl::string_view block, absl::string_view source);
  absl::Status Inline(absl::string_view block);

  // ---- The result.

  const absl::Status& status() const { return status_; }
  const std::vector<OpenStep>& steps() const { return steps_; }
  const std::vector<Decision>& decisions() const { return decisions_; }
  const std::vector<Expr>& constraints() const { return constraints_; }

 private:
  // Records a step where the schedule is good; false: it is not.
  bool Append(const char* primitive, std::vector<std::string> inputs,
              std::vector<std::string> outputs, std::vector<Argument> arguments = {});
  absl::Status Restructure(const char* primitive, absl::string_view block,
                           std::vector<std::string> outputs);
  void Fail(absl::string_view what);
  // False, and an error, for a handle of another schedule or what is no longer there.
  bool Check(LoopRef loop);
  bool Check(BlockRef block);
  bool Check(BufferRef buffer);
  // Whether a step may make or consume something here.
  bool CheckUnconditional(const char* primitive);
  bool CheckNew(const std::string& name);
  LoopRef Ref(VarId id) const { return {id, owner_.get()}; }
  VarId NewLoop(const std::string& name, Expr extent, bool reduce);
  Pair Split(LoopRef loop, const Names& names, const char* key, const Expr& value, Expr outer,
             Expr inner, Tail tail);
  void Annotate(const char* primitive, LoopRef loop, LoopKind kind,
                std::vector<Argument> arguments = {});

  Program program_;
  Program structure_;
  std::vector<OpenStep> steps_;
  std::vector<Decision> decisions_;
  std::vector<Expr> constraints_;
  std::string collision_;
  Expr condition_;  // Of the If that is being written; null: none.
  absl::Status status_;
  std::unique_ptr<const char> owner_;  // Its address is this schedule's own.
};

// "tail" of split@1, "scope" of stage@1.
const char* TailName(Tail tail);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_SCHEDULE_H_
