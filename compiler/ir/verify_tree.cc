// Rules on the tree: it is one, its nodes are complete, and variables are used inside their loops.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/index_space.h"
#include "compiler/ir/launch.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verify_rules.h"

namespace burnish {
namespace {

// Programs come as text from other machines. The depth bounds recursion here and in everything that
// walks a tree. Extents up to 2^31 keep products of two of them in 64 bits. The budget, in
// evaluations of extents, bounds the time that a hostile text can cost.
constexpr int kDepthMax = 400;
constexpr int64_t kExtentMax = int64_t{1} << 31;
constexpr int64_t kExtentBudget = int64_t{1} << 20;

template <typename... Parts>
absl::Status Broken(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

class TreeVerifier {
 public:
  TreeVerifier(const Program& program, TreeFacts* facts)
      : program_(program),
        facts_(*facts),
        space_(program, VarView::kExpanded),
        loop_open_(program.vars.size()) {
    // Lowered programs have stores in place of blocks.
    facts_.places.resize(program.lowered ? 0 : program.blocks.size());
    facts_.position.assign(program.nodes.size(), -1);
  }

  absl::Status CheckRoot(NodeId root, bool in_pack) {
    if (root < 0 || root >= NodeCount()) {
      return Broken("got root ", root, ", want one of ", NodeCount(), " nodes");
    }
    if (Get(root).kind != NodeKind::kSeq || Get(root).parent != -1) {
      return Broken("the root is no kSeq without parent");
    }
    in_pack_ = in_pack;
    return CheckNode(root);
  }

  absl::Status CheckAllBlocksRun() const {
    for (size_t i = 0; i < facts_.places.size(); ++i) {
      if (facts_.places[i].node < 0) {
        return Broken("block ", program_.blocks[i].name, " is not in the tree");
      }
    }
    return absl::OkStatus();
  }

 private:
  NodeId NodeCount() const { return static_cast<NodeId>(program_.nodes.size()); }
  const Node& Get(NodeId id) const { return program_.nodes[id]; }

  absl::Status CheckNode(NodeId id) {
    // Also ends on a cycle.
    if (facts_.position[id] >= 0) return Broken("node ", id, " is in the tree twice");
    if (path_.size() >= kDepthMax) return Broken("a tree deeper than ", kDepthMax);
    facts_.position[id] = next_position_++;
    path_.push_back(id);
    const Node& node = Get(id);
    const NodeKind kind = node.kind;
    if (kind == NodeKind::kBlock || kind == NodeKind::kStore || kind == NodeKind::kPrefetch ||
        kind == NodeKind::kBarrier) {
      if (!node.children.empty()) return Broken("node ", id, " is a leaf and has children");
    }
    RETURN_IF_ERROR(CheckKind(node));
    if (kind == NodeKind::kLoop) {
      loop_open_[node.var] = true;
      loops_.push_back(node.var);
    }
    for (const NodeId child : node.children) {
      if (child < 0 || child >= NodeCount()) {
        return Broken("got child ", child, " of node ", id, ", want one of ", NodeCount());
      }
      if (Get(child).parent != id) {
        return Broken("node ", child, " has parent ", Get(child).parent, ", want ", id);
      }
      // One shape for one meaning.
      if ((Get(child).kind == NodeKind::kSeq) != (kind == NodeKind::kIf)) {
        return Broken("a kSeq stands under a kIf only, and nothing else does");
      }
      RETURN_IF_ERROR(CheckNode(child));
    }
    if (kind == NodeKind::kLoop) {
      loop_open_[node.var] = false;
      loops_.pop_back();
    }
    path_.pop_back();
    return absl::OkStatus();
  }

  absl::Status CheckKind(const Node& node) {
    switch (node.kind) {
      case NodeKind::kSeq:
        return absl::OkStatus();
      case NodeKind::kLoop:
        return CheckLoop(node);
      case NodeKind::kBlock:
        return CheckBlock(node);
      case NodeKind::kStage:
        return CheckStage(node);
      case NodeKind::kIf:
        if (!program_.lowered) return Broken("an if in a program that is not lowered");
        if (node.children.empty() || node.children.size() > 2) {
          return Broken("an if with ", node.children.size(), " branches, want 1 or 2");
        }
        return CheckExpr(node.cond, DType::kBool, "a condition");
      case NodeKind::kStore:
        return CheckStore(node);
      case NodeKind::kBarrier:
        return program_.lowered ? absl::OkStatus()
                                : Broken("a barrier in a program that is not lowered");
      case NodeKind::kPrefetch:
        RETURN_IF_ERROR(CheckIndices(node, "a prefetch"));
        if (node.cache_level < 1 || node.cache_level > 2) {
          return Broken("got a prefetch to level ", node.cache_level, ", want 1 or 2");
        }
        return node.cond == nullptr ? absl::OkStatus()
                                    : CheckExpr(node.cond, DType::kBool, "a condition");
    }
    return Broken("an unknown kind of node");
  }

  absl::Status CheckLoop(const Node& node) {
    if (node.var < 0 || node.var >= static_cast<VarId>(program_.vars.size())) {
      return Broken("got loop variable ", node.var, ", want one of ", program_.vars.size());
    }
    const Var& var = program_.vars[node.var];
    // A loop gives its variable its values; a map would give it others.
    if (var.def != nullptr) return Broken("loop ", var.name, ": its variable has a map");
    // The inner loop would overwrite the outer one's variable.
    if (loop_open_[node.var]) return Broken("loop ", var.name, " stands inside itself");
    if (node.loop_kind == LoopKind::kVectorized && node.lanes < 1) {
      return Broken("loop ", var.name, ": got ", node.lanes, " lanes, want >= 1");
    }
    if (node.loop_kind == LoopKind::kBound && TagOf(node) < 0) {
      return Broken("loop ", var.name, " is bound to ", node.thread_tag,
                    ", want block.x .. thread.z");
    }
    for (const NodeId outer : path_) {
      if (TagOf(node) < 0 || &Get(outer) == &node || TagOf(Get(outer)) != TagOf(node)) continue;
      return Broken("loop ", var.name, ": ", node.thread_tag, " is taken by an outer loop");
    }
    if (node.loop_kind == LoopKind::kTensorized && node.intrinsic.empty()) {
      return Broken("loop ", var.name, " names no instruction");
    }
    // The rules of declarations have seen it.
    if (IsConstInt(var.extent)) return absl::OkStatus();
    RETURN_IF_ERROR(CheckScope(var.extent, absl::StrCat("the extent of loop ", var.name)));
    const Interval range = space_.RangeOf(var.extent);
    // Ranges first; they settle nearly all. Where they are too wide each value is looked at.
    if (range.min >= 1 && range.max <= kExtentMax) return absl::OkStatus();
    int64_t bad = 1;
    const auto walk = space_.Enumerate(space_.VarsOf({var.extent}), &budget_, [&] {
      bad = space_.Eval(var.extent).value_or(0);
      return bad >= 1 && bad <= kExtentMax;
    });
    if (walk == IndexSpace::Walk::kDone) return absl::OkStatus();
    if (walk == IndexSpace::Walk::kOverBudget) {
      return Broken("loop ", var.name, ": cannot prove that its extent is positive");
    }
    return Broken("loop ", var.name, ": got extent ", bad, ", want 1 to 2^31");
  }

  absl::Status CheckBlock(const Node& node) {
    if (program_.lowered) return Broken("a block in a lowered program");
    if (node.block < 0 || node.block >= static_cast<BlockId>(program_.blocks.size())) {
      return Broken("got block ", node.block, ", want one of ", program_.blocks.size());
    }
    BlockPlace& place = facts_.places[node.block];
    if (place.node >= 0) {
      return Broken("block ", program_.blocks[node.block].name, " is in the tree twice");
    }
    place = {.node = path_.back(), .in_pack = in_pack_, .path = path_, .loops = loops_};
    return absl::OkStatus();
  }

  absl::Status CheckStage(const Node& node) {
    if (program_.lowered) return Broken("a stage in a lowered program");
    if (node.block < 0 || node.block >= static_cast<BlockId>(program_.blocks.size()) ||
        node.buffer < 0 || node.buffer >= static_cast<BufferId>(program_.buffers.size())) {
      return Broken("got a stage of block ", node.block, " in buffer ", node.buffer);
    }
    const Buffer& buffer = program_.buffers[node.buffer];
    const Block& block = program_.blocks[node.block];
    // Unfinished sums in global memory would be seen by every worker.
    if (buffer.role != BufferRole::kTemp || buffer.scope == Scope::kGlobal ||
        buffer.scope == Scope::kAuto) {
      return Broken("stage of ", block.name, ": ", buffer.name,
                    " is no register, tile, scratch, shared or local buffer");
    }
    if (buffer.dtype != block.step->dtype) {
      return Broken("stage of ", block.name, ": ", buffer.name, " has type ",
                    DTypeName(buffer.dtype), ", want ", DTypeName(block.step->dtype));
    }
    return absl::OkStatus();
  }

  absl::Status CheckStore(const Node& node) {
    if (!program_.lowered) return Broken("a store in a program that is not lowered");
    RETURN_IF_ERROR(CheckIndices(node, "a store"));
    const Buffer& buffer = program_.buffers[node.buffer];
    if (buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant) {
      return Broken("a store to ", buffer.name, ", which is an input");
    }
    return CheckExpr(node.value, buffer.dtype, "a stored value");
  }

  absl::Status CheckIndices(const Node& node, const char* what) {
    if (node.buffer < 0 || node.buffer >= static_cast<BufferId>(program_.buffers.size())) {
      return Broken("got buffer ", node.buffer, " in ", what, ", want one of ",
                    program_.buffers.size());
    }
    const Buffer& buffer = program_.buffers[node.buffer];
    if (node.indices.size() != buffer.shape.size()) {
      return Broken("got ", node.indices.size(), " indices of ", buffer.name, ", want ",
                    buffer.shape.size());
    }
    for (const Expr& index : node.indices) {
      RETURN_IF_ERROR(CheckExpr(index, DType::kI64, "an index"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckExpr(const Expr& e, DType want, const char* what) {
    if (absl::Status status = VerifyExpr(program_, e, std::nullopt); !status.ok()) {
      return Broken(what, ": ", status.message());
    }
    if (e->dtype != want) {
      return Broken(what, " of type ", DTypeName(e->dtype), ", want ", DTypeName(want));
    }
    return CheckScope(e, what);
  }

  // Every loop variable that `e` comes down to belongs to a loop around this node.
  absl::Status CheckScope(const Expr& e, absl::string_view what) {
    // Through the maps: an axis stands for the loops that it is made of.
    for (const VarId var : space_.VarsOf({e})) {
      if (!loop_open_[var]) {
        return Broken(what, " uses ", program_.vars[var].name,
                      " outside of its loop: ", PrintExpr(program_, e));
      }
    }
    return absl::OkStatus();
  }

  const Program& program_;
  TreeFacts& facts_;
  IndexSpace space_;
  std::vector<bool> loop_open_;  // By VarId.
  std::vector<VarId> loops_;
  std::vector<NodeId> path_;
  int next_position_ = 0;
  bool in_pack_ = false;
  int64_t budget_ = kExtentBudget;
};

}  // namespace

absl::Status VerifyTree(const Program& program, TreeFacts* facts) {
  TreeVerifier verifier(program, facts);
  RETURN_IF_ERROR(verifier.CheckRoot(program.root, /*in_pack=*/false));
  if (program.pack_root != -1) {
    RETURN_IF_ERROR(verifier.CheckRoot(program.pack_root, /*in_pack=*/true));
  }
  return verifier.CheckAllBlocksRun();
}

}  // namespace burnish
