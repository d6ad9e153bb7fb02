#include "compiler/ir/lower.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/ir/launch.h"
#include "compiler/ir/lower_barriers.h"
#include "compiler/ir/lower_scopes.h"
#include "compiler/ir/owner_dims.h"
#include "compiler/ir/skip_borders.h"
#include "compiler/ir/space_rows.h"
#include "compiler/ir/specialize.h"
#include "compiler/target/instruction.h"

namespace burnish {
namespace {

// First half: blocks and stages become stores around and inside their loops. Extents of ragged
// tiles are still expressions, nothing is simplified; Specialize does both.
class BlockLowering {
 public:
  BlockLowering(const Program& in, const LowerOptions& options)
      : in_(in),
        with_pack_(!options.for_estimate),
        out_({.name = in.name,
              .buffers = in.buffers,
              .vars = in.vars,
              .numerics = in.numerics,
              .lowered = true}) {
    out_.nodes.reserve(2 * in.nodes.size());
  }

  absl::StatusOr<Program> Run() {
    out_.root = AddNode(out_, {.kind = NodeKind::kSeq});
    RETURN_IF_ERROR(EmitChildren(in_.root, out_.root));
    if (with_pack_ && in_.pack_root >= 0) {
      out_.pack_root = AddNode(out_, {.kind = NodeKind::kSeq});
      RETURN_IF_ERROR(EmitChildren(in_.pack_root, out_.pack_root));
    }
    RETURN_IF_ERROR(ResolveScopes(out_));
    for (Var& var : out_.vars) {
      if (!IsConstInt(var.extent)) var.extent = ExpandDefs(in_, var.extent);
      var.def = nullptr;
    }
    return std::move(out_);
  }

 private:
  // Where the running value of a block is kept while its steps run.
  struct Accumulator {
    BufferId buffer = -1;
    std::vector<Expr> indices;
  };

  absl::Status EmitChildren(NodeId from, NodeId to) {
    for (NodeId child : in_.nodes[from].children) RETURN_IF_ERROR(Emit(child, to));
    return absl::OkStatus();
  }

  absl::Status Emit(NodeId id, NodeId to) {
    const Node& node = in_.nodes[id];
    switch (node.kind) {
      case NodeKind::kLoop:
        return EmitLoop(id, to);
      case NodeKind::kStage:
        return EmitStage(id, to);
      case NodeKind::kBlock:
        EmitStep(id, to);
        return absl::OkStatus();
      case NodeKind::kPrefetch: {
        Node prefetch = node;
        for (Expr& index : prefetch.indices) index = ExpandDefs(in_, index);
        prefetch.cond = ExpandDefs(in_, prefetch.cond);
        AppendChild(out_, to, AddNode(out_, std::move(prefetch)));
        return absl::OkStatus();
      }
      default:
        return absl::InvalidArgumentError("the program is lowered already");
    }
  }

  absl::Status EmitLoop(NodeId id, NodeId to) {
    // Blocks whose reduction starts with this loop and that no stage keeps elsewhere: their value
    // is kept in the output itself, if the output has its type. Sums that end in a narrower type
    // have a window of their own, as have those that a stage inside of the loop leaves unfinished.
    std::vector<NodeId> starting;
    std::vector<BlockId> parked;
    for (NodeId leaf : Subtree(in_, id)) {
      if (in_.nodes[leaf].kind != NodeKind::kBlock) continue;
      const BlockId block = in_.nodes[leaf].block;
      if (accumulators_.count(block) || !Reduces(block, in_.nodes[id].var)) continue;
      if (StageOf(leaf) < 0) {
        starting.push_back(leaf);
      } else if (!HoldsSums(block) && parked_.count(block) == 0) {
        ASSIGN_OR_RETURN(parked_[block], NewWindow(leaf, id));
        parked.push_back(block);
      }
    }
    for (NodeId leaf : starting) {
      const Block& block = in_.blocks[in_.nodes[leaf].block];
      RETURN_IF_ERROR(CheckMovable(block, id));
      Accumulator at = {block.output, Expanded(block.output_indices)};
      if (!HoldsSums(in_.nodes[leaf].block)) {
        ASSIGN_OR_RETURN(at, NewWindow(leaf, id));
      }
      accumulators_[in_.nodes[leaf].block] = std::move(at);
      EmitAround(leaf, id, to, [&](NodeId at) { EmitInit(leaf, at); });
    }
    const NodeId loop = AddNode(out_, LoopLike(id));
    AppendChild(out_, to, loop);
    RETURN_IF_ERROR(EmitChildren(id, loop));
    for (NodeId leaf : starting) {
      const BlockId block = in_.nodes[leaf].block;
      if (in_.blocks[block].finish != nullptr) {
        EmitAround(leaf, id, to, [&](NodeId at) { EmitFinish(leaf, at, /*in_tiles=*/false); });
      }
      accumulators_.erase(block);
    }
    for (const BlockId block : parked) parked_.erase(block);
    return absl::OkStatus();
  }

  // Whether the block's output has the type of its sums.
  bool HoldsSums(BlockId block) const {
    return in_.buffers[in_.blocks[block].output].dtype == in_.blocks[block].step->dtype;
  }

  // A temporary for what the block computes between `above` and its leaf.
  absl::StatusOr<Accumulator> NewWindow(NodeId leaf, NodeId above) {
    const Block& block = in_.blocks[in_.nodes[leaf].block];
    std::string name = absl::StrCat(block.name, "_sums");
    for (int i = 1; FindBuffer(out_, name) >= 0; ++i) name = absl::StrCat(block.name, "_sums_", i);
    return ShapeWindow(leaf, above,
                       AddBuffer(out_, {.name = std::move(name), .dtype = block.step->dtype}));
  }

  // Gives `window` a dimension for each spatial loop between `above` and the leaf.
  absl::StatusOr<Accumulator> ShapeWindow(NodeId leaf, NodeId above, BufferId id) {
    Accumulator accumulator{.buffer = id};
    Buffer& window = out_.buffers[id];
    window.shape.clear();
    // Lanes of a vector lie side by side: its dimension is the last. So do those of an
    // instruction's nest.
    std::vector<NodeId> dims;
    for (const bool vector : {false, true}) {
      bool in_nest = false;
      for (NodeId loop : SpatialLoopsBetween(leaf, above)) {
        const LoopKind kind = in_.nodes[loop].loop_kind;
        in_nest = in_nest || kind == LoopKind::kTensorized;
        if ((kind == LoopKind::kVectorized || in_nest) == vector) dims.push_back(loop);
      }
    }
    if (dims.size() > 8) {
      return absl::InvalidArgumentError(absl::StrCat("window ", window.name, " has ", dims.size(),
                                                     " dimensions, want at most 8"));
    }
    for (NodeId loop : dims) {
      accumulator.indices.push_back(VarRef(in_.nodes[loop].var));
      window.shape.push_back(MaxExtent(in_, in_.nodes[loop].var));
    }
    window.storage = DenseStorage(window.shape);
    return accumulator;
  }

  absl::Status EmitStage(NodeId id, NodeId to) {
    const Node& stage = in_.nodes[id];
    const NodeId leaf = NodeOf(in_, stage.block);
    CHECK(IsInside(in_, leaf, id));
    ASSIGN_OR_RETURN(const Accumulator window, ShapeWindow(leaf, id, stage.buffer));
    const bool in_tiles = in_.buffers[stage.buffer].scope == Scope::kTile;
    // Where vectors reach the window: tiles have no elements, so theirs pass through memory.
    Accumulator accumulator = window;
    if (in_tiles) {
      if (in_.blocks[stage.block].combiner != Combiner::kSum) {
        return absl::InvalidArgumentError(
            absl::StrCat(in_.blocks[stage.block].name, " is no sum, and tiles hold sums"));
      }
      RETURN_IF_ERROR(CheckTiles(out_.buffers[stage.buffer]));
      ASSIGN_OR_RETURN(accumulator, NewWindow(leaf, id));
    }
    const DType dtype = in_.blocks[stage.block].step->dtype;
    accumulators_[stage.block] = accumulator;
    RETURN_IF_ERROR(CheckMovable(in_.blocks[stage.block], id));

    // Reduction loops outside the stage: the window holds partial sums in between.
    Expr first = Bool(true), last = Bool(true);
    for (NodeId loop : LoopsAround(in_, id)) {
      const VarId var = in_.nodes[loop].var;
      if (!Reduces(stage.block, var)) continue;
      first = And(first, Eq(VarRef(var), Int(0)));
      last = And(last, Eq(VarRef(var), ExpandDefs(in_, in_.vars[var].extent) - 1));
    }
    const Block& block = in_.blocks[stage.block];
    Accumulator home = {block.output, Expanded(block.output_indices)};
    if (const auto parked = parked_.find(stage.block); parked != parked_.end()) {
      home = parked->second;
    }
    EmitChoice(
        first, to,
        [&](NodeId at) {
          if (in_tiles) return EmitTileNest(kTileZero, leaf, id, at, window);
          EmitAround(leaf, id, at, [&](NodeId n) { EmitInit(leaf, n); });
        },
        [&](NodeId at) {
          EmitAround(leaf, id, at, [&](NodeId n) {
            EmitStore(leaf, n, accumulator.buffer, accumulator.indices,
                      Load(home.buffer, dtype, home.indices), Combiner::kAssign, false);
          });
          if (in_tiles) EmitTileNest(kTileLoad, leaf, id, at, window, accumulator);
        });
    accumulators_[stage.block] = window;
    RETURN_IF_ERROR(EmitChildren(id, to));
    accumulators_[stage.block] = accumulator;
    if (in_tiles) EmitTileNest(kTileStore, leaf, id, to, accumulator, window);
    EmitChoice(
        last, to,
        [&](NodeId at) {
          EmitAround(leaf, id, at, [&](NodeId n) { EmitFinish(leaf, n, in_tiles); });
        },
        [&](NodeId at) {
          EmitAround(leaf, id, at, [&](NodeId n) {
            EmitStore(leaf, n, home.buffer, home.indices,
                      Load(accumulator.buffer, dtype, accumulator.indices), Combiner::kAssign,
                      false);
          });
        });
    accumulators_.erase(stage.block);
    return absl::OkStatus();
  }

  // As the verifier wants them. Here, too: a target without such registers keeps tiles on its
  // stack.
  static absl::Status CheckTiles(const Buffer& window) {
    const size_t rank = window.shape.size();
    const int64_t rows = rank < 2 ? 0 : window.shape[rank - 2];
    const int64_t row_bytes = rank < 2 ? 0 : window.shape[rank - 1] * SizeBytes(window.dtype);
    const TileFile& most = GreatestTiles();
    if (rows < 1 || rows > most.rows || row_bytes > most.row_bytes) {
      return absl::InvalidArgumentError(absl::StrCat("tile window ", window.name, " has ", rows,
                                                     " rows of ", row_bytes, " bytes, want 1 to ",
                                                     most.rows, " of at most ", most.row_bytes));
    }
    const int64_t tiles = ElementCount(window.shape) / rows / window.shape[rank - 1];
    if (tiles <= most.count - 2) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("tile window ", window.name, " has ", tiles,
                                                   " tiles, want at most ", most.count - 2));
  }

  // init and finish run outside of `node`: what they read must not be computed inside.
  absl::Status CheckMovable(const Block& block, NodeId node) const {
    absl::Status status;
    for (const Expr& e : {block.init, block.finish}) {
      if (e == nullptr) continue;
      VisitExpr(e, [&](const ExprNode& load) {
        if (load.kind != ExprKind::kLoad) return;
        const BlockId writer = WriterOf(in_, load.id);
        if (writer < 0 || !IsInside(in_, NodeOf(in_, writer), node)) return;
        status = absl::InvalidArgumentError(
            absl::StrCat("init or finish of ", block.name, " reads ", in_.buffers[load.id].name,
                         ", which is computed inside the reduction"));
      });
    }
    return status;
  }

  template <typename Then, typename Else>
  void EmitChoice(const Expr& cond, NodeId to, const Then& then, const Else& otherwise) {
    if (IsConstInt(cond)) {
      CHECK(cond->int_value == 1);
      then(to);
      return;
    }
    const NodeId branch = AddNode(out_, {.kind = NodeKind::kIf, .cond = cond});
    AppendChild(out_, to, branch);
    for (int side = 0; side < 2; ++side) {
      const NodeId seq = AddNode(out_, {.kind = NodeKind::kSeq});
      AppendChild(out_, branch, seq);
      side == 0 ? then(seq) : otherwise(seq);
    }
  }

  // +0, which sums of tiles begin with.
  static bool StartsAtZero(const Block& block) {
    const Expr init = InitOf(block);
    return IsInt(init, 0) || (init->kind == ExprKind::kFloatImm && init->float_value == 0 &&
                              !std::signbit(init->float_value));
  }

  // The window between `above` and the leaf as a nest of the instruction `name`: to[..] = from[..],
  // or 0 without `from`.
  void EmitTileNest(const char* name, NodeId leaf, NodeId above, NodeId at, const Accumulator& to,
                    const std::optional<Accumulator>& from = std::nullopt) {
    const DType dtype = in_.blocks[in_.nodes[leaf].block].step->dtype;
    const Expr value = from.has_value() ? Load(from->buffer, dtype, from->indices)
                                        : Identity(Combiner::kSum, dtype);
    const auto body = [&](NodeId n) {
      EmitStore(leaf, n, to.buffer, to.indices, value, Combiner::kAssign, false);
    };
    EmitAround(leaf, above, at, body, name);
  }

  // Copies of the spatial loops between `above` and the block, with `body` inside. `nest`: what the
  // instruction's loops become a nest of; null: loops around a vector.
  template <typename Body>
  void EmitAround(NodeId leaf, NodeId above, NodeId to, const Body& body,
                  const char* nest = nullptr) {
    const std::vector<NodeId> loops = SpatialLoopsBetween(leaf, above);
    bool in_nest = false;
    for (NodeId loop : loops) {
      Node around = LoopLike(loop);
      const bool begins = around.loop_kind == LoopKind::kTensorized;
      in_nest = in_nest || begins;
      if (begins && nest != nullptr) {
        around.intrinsic = nest;
      } else if (in_nest && nest == nullptr) {
        // The instruction does steps only: what stands around them is rows of vectors of its width.
        const bool is_vector = loop == loops.back();
        around.loop_kind = is_vector ? LoopKind::kVectorized : LoopKind::kSerial;
        // A power of two; the rest of a row of 12 is a vector of 4.
        const auto columns = static_cast<uint32_t>(MaxExtent(in_, around.var));
        around.lanes = is_vector ? static_cast<int32_t>(std::bit_floor(columns)) : 0;
        around.intrinsic.clear();
      }
      const NodeId copy = AddNode(out_, std::move(around));
      AppendChild(out_, to, copy);
      to = copy;
    }
    body(to);
  }

  void EmitInit(NodeId leaf, NodeId to) {
    const Accumulator& at = accumulators_.at(in_.nodes[leaf].block);
    EmitStore(leaf, to, at.buffer, at.indices, InitOf(in_.blocks[in_.nodes[leaf].block]),
              Combiner::kAssign, false);
  }

  static Expr InitOf(const Block& block) {
    return block.init == nullptr ? Identity(block.combiner, block.step->dtype) : block.init;
  }

  // `in_tiles`: the sums began with zeros, which an instruction makes, and what they should begin
  // with is added now. Written to memory first and loaded as tiles it would cost as much as the
  // products of some steps, since loads of tiles wait for stores of vectors to the same lines.
  void EmitFinish(NodeId leaf, NodeId to, bool in_tiles) {
    const Block& block = in_.blocks[in_.nodes[leaf].block];
    const Accumulator& at = accumulators_.at(in_.nodes[leaf].block);
    Expr self = Load(at.buffer, block.step->dtype, at.indices);
    if (in_tiles && !StartsAtZero(block)) self = Combine(block.combiner, InitOf(block), self);
    EmitStore(leaf, to, block.output, block.output_indices, Finished(block, self),
              Combiner::kAssign, false);
  }

  void EmitStep(NodeId leaf, NodeId to) {
    const BlockId id = in_.nodes[leaf].block;
    const Block& block = in_.blocks[id];
    if (block.reduction.empty()) {
      EmitStore(leaf, to, block.output, block.output_indices, Finished(block, block.step),
                Combiner::kAssign, false);
      return;
    }
    if (const auto it = accumulators_.find(id); it != accumulators_.end()) {
      EmitStore(leaf, to, it->second.buffer, it->second.indices, block.step, block.combiner, true);
      return;
    }
    // Every reduction loop is gone (one iteration each): init, one step and finish at once.
    EmitStore(leaf, to, block.output, block.output_indices,
              Finished(block, Combine(block.combiner, InitOf(block), block.step)),
              Combiner::kAssign, true);
  }

  static Expr Finished(const Block& block, const Expr& self) {
    return block.finish == nullptr ? self : RewriteExpr(block.finish, [&](const Expr& e) -> Expr {
      return e->kind == ExprKind::kSelf ? self : nullptr;
    });
  }

  // A store at the block's current instance, under its guards; those of reductions only for steps.
  void EmitStore(NodeId leaf, NodeId to, BufferId buffer, const std::vector<Expr>& indices,
                 const Expr& value, Combiner combiner, bool is_step) {
    const Expr guard = Guard(in_.blocks[in_.nodes[leaf].block], is_step);
    if (!IsInt(guard, 1)) {
      const NodeId branch = AddNode(out_, {.kind = NodeKind::kIf, .cond = guard});
      AppendChild(out_, to, branch);
      const NodeId seq = AddNode(out_, {.kind = NodeKind::kSeq});
      AppendChild(out_, branch, seq);
      to = seq;
    }
    AppendChild(out_, to,
                AddNode(out_, {.kind = NodeKind::kStore,
                               .buffer = buffer,
                               .indices = Expanded(indices),
                               .value = ExpandDefs(in_, value),
                               .combiner = combiner}));
  }

  // True where no guarded variable that feeds the block's axes is beyond its extent.
  Expr Guard(const Block& block, bool with_reduction) const {
    Expr guard = Bool(true);
    std::set<VarId> seen;
    std::vector<VarId> open = block.spatial;
    if (with_reduction) open.insert(open.end(), block.reduction.begin(), block.reduction.end());
    while (!open.empty()) {
      const VarId id = open.back();
      open.pop_back();
      const Var& var = in_.vars[id];
      if (var.def == nullptr || !seen.insert(id).second) continue;
      if (var.guarded) {
        guard = And(guard, Lt(ExpandDefs(in_, var.def), ExpandDefs(in_, var.extent)));
      }
      const std::vector<VarId> inner = FreeVars(var.def);
      open.insert(open.end(), inner.begin(), inner.end());
    }
    return guard;
  }

  std::vector<Expr> Expanded(const std::vector<Expr>& indices) const {
    std::vector<Expr> expanded;
    for (const Expr& index : indices) expanded.push_back(ExpandDefs(in_, index));
    return expanded;
  }

  Node LoopLike(NodeId id) const {
    const Node& loop = in_.nodes[id];
    return {.kind = loop.kind,
            .var = loop.var,
            .loop_kind = loop.loop_kind,
            .lanes = loop.lanes,
            .thread_tag = loop.thread_tag,
            .intrinsic = loop.intrinsic};
  }

  // Whether loop variable `var` feeds a reduction axis of `block`.
  bool Reduces(BlockId block, VarId var) const {
    if (!in_.vars[var].reduce) return false;
    for (VarId axis : in_.blocks[block].reduction) {
      if (axis == var) return true;
      if (in_.vars[axis].def != nullptr && MentionsVar(ExpandDefs(in_, in_.vars[axis].def), var)) {
        return true;
      }
    }
    return false;
  }

  // The kStage node that keeps the block's values, above its leaf; -1: none.
  NodeId StageOf(NodeId leaf) const {
    for (NodeId id = leaf; id >= 0; id = in_.nodes[id].parent) {
      const Node& node = in_.nodes[id];
      if (node.kind == NodeKind::kStage && node.block == in_.nodes[leaf].block) return id;
    }
    return -1;
  }

  std::vector<NodeId> SpatialLoopsBetween(NodeId leaf, NodeId above) const {
    std::vector<NodeId> loops;
    for (NodeId id = in_.nodes[leaf].parent; id != above; id = in_.nodes[id].parent) {
      const Node& node = in_.nodes[id];
      if (node.kind == NodeKind::kLoop && !in_.vars[node.var].reduce) loops.push_back(id);
    }
    std::reverse(loops.begin(), loops.end());
    return loops;
  }

  const Program& in_;
  const bool with_pack_;
  Program out_;
  std::map<BlockId, Accumulator> accumulators_;
  // Where stages leave unfinished sums that the block's output is too narrow for.
  std::map<BlockId, Accumulator> parked_;
};

}  // namespace

absl::StatusOr<Program> Lower(const Program& program, const LowerOptions& options) {
  ASSIGN_OR_RETURN(const Program stores, BlockLowering(program, options).Run());
  ASSIGN_OR_RETURN(Program lowered, Specialize(stores, options.max_bodies));
  SkipBorders(lowered);
  SpaceRows(lowered);
  if (HasBoundLoops(lowered)) {
    RETURN_IF_ERROR(FindOwners(lowered).status());
    RETURN_IF_ERROR(InsertBarriers(lowered));
  }
  // Variables of loops that were copied or dropped are left over, and those that have a map.
  if (!options.for_estimate) Prune(lowered);
  return lowered;
}

}  // namespace burnish
