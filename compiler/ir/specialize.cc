#include "compiler/ir/specialize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/ir/launch.h"
#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

bool NeedsConstantExtent(const Node& node) {
  return node.kind == NodeKind::kLoop &&
         (node.loop_kind == LoopKind::kUnrolled || node.loop_kind == LoopKind::kVectorized ||
          node.loop_kind == LoopKind::kTensorized);
}

class Specializer {
 public:
  Specializer(const Program& in, int max_bodies)
      : in_(in),
        out_({.name = in.name,
              .buffers = in.buffers,
              .vars = in.vars,
              .blocks = in.blocks,
              .numerics = in.numerics,
              .lowered = in.lowered}),
        max_bodies_(max_bodies),
        ranges_([this](VarId var) -> std::optional<Range> {
          const int64_t extent = ExtentOf(var);
          if (extent < 0) return std::nullopt;
          return Range{0, extent - 1};
        }) {
    out_.nodes.reserve(2 * in.nodes.size());
    FindRagged(in.root);
    if (in.pack_root >= 0) FindRagged(in.pack_root);
  }

  absl::StatusOr<Program> Run() {
    out_.root = AddNode(out_, {.kind = NodeKind::kSeq});
    RETURN_IF_ERROR(EmitChildren(in_.root, out_.root));
    if (in_.pack_root >= 0) {
      out_.pack_root = AddNode(out_, {.kind = NodeKind::kSeq});
      RETURN_IF_ERROR(EmitChildren(in_.pack_root, out_.pack_root));
    }
    return std::move(out_);
  }

 private:
  Expr Renamed(const Expr& e) const {
    if (renamed_.empty()) return Simplify(e, ranges_);
    return Simplify(SubstituteVars(e,
                                   [&](VarId var) -> Expr {
                                     const auto it = renamed_.find(var);
                                     return it == renamed_.end() ? nullptr : VarRef(it->second);
                                   }),
                    ranges_);
  }

  int64_t ExtentOf(VarId var) const {
    return static_cast<size_t>(var) < extents_.size() ? extents_[var] : -1;
  }

  void SetExtent(VarId var, int64_t extent) {
    if (static_cast<size_t>(var) >= extents_.size()) extents_.resize(out_.vars.size(), -1);
    extents_[var] = extent;
  }

  bool InScope(const Expr& e) const {
    const std::vector<VarId> free = FreeVars(e);
    return std::all_of(free.begin(), free.end(), [&](VarId v) { return ExtentOf(v) >= 0; });
  }

  bool MentionsVector(const Expr& e) const {
    return std::any_of(vectors_.begin(), vectors_.end(),
                       [&](VarId var) { return MentionsVar(e, var); });
  }

  // Notes which nodes have loops under them whose extent must be constant and is not yet. Most
  // programs have none.
  bool FindRagged(NodeId id) {
    bool under = false;
    for (NodeId child : in_.nodes[id].children) {
      const bool below = FindRagged(child);
      const Node& node = in_.nodes[child];
      under =
          under || below || (NeedsConstantExtent(node) && !IsConstInt(in_.vars[node.var].extent));
    }
    if (under) has_ragged_.insert(id);
    return under;
  }

  // A loop under `id` that must have a constant extent, and has not, though all that its extent
  // depends on is known here. -1: none.
  NodeId Unresolved(NodeId id) const {
    if (has_ragged_.count(id) == 0) return -1;
    for (NodeId node : Subtree(in_, id)) {
      if (!NeedsConstantExtent(in_.nodes[node]) || node == id) continue;
      const VarId var = in_.nodes[node].var;
      if (renamed_.count(var)) continue;
      const Expr extent = Renamed(in_.vars[var].extent);
      if (!IsConstInt(extent) && InScope(extent)) return node;
    }
    return -1;
  }

  // The children of `id`, in as many copies as there are sizes to tell apart.
  absl::Status EmitChildren(NodeId id, NodeId to) {
    const NodeId ragged = Unresolved(id);
    if (ragged < 0) {
      for (NodeId child : in_.nodes[id].children) RETURN_IF_ERROR(Emit(child, to));
      return absl::OkStatus();
    }
    const VarId var = in_.nodes[ragged].var;
    const Expr extent = Renamed(in_.vars[var].extent);
    std::vector<int64_t> sizes = ExtentValues(in_, var);
    // Largest first, so that a full tile takes one test.
    std::reverse(sizes.begin(), sizes.end());
    // The bound counts all bodies of the program: two ragged axes multiply, and code and the time
    // to compile it grow with each.
    bodies_ += static_cast<int>(sizes.size()) - 1;
    if (bodies_ > max_bodies_) {
      return absl::InvalidArgumentError(
          absl::StrCat("over ", max_bodies_, " bodies for distinct tile sizes, the last of ",
                       in_.vars[var].name));
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Expr cond = Simplify(Eq(extent, Int(sizes[i])), ranges_);
      // A size that cannot occur where this copy stands.
      if (IsInt(cond, 0)) continue;
      NodeId then = to;
      // The last size needs no test: it is what remains.
      if (i + 1 < sizes.size() && !IsInt(cond, 1)) {
        const NodeId branch = AddNode(out_, {.kind = NodeKind::kIf, .cond = cond});
        AppendChild(out_, to, branch);
        then = AddNode(out_, {.kind = NodeKind::kSeq});
        AppendChild(out_, branch, then);
        to = AddNode(out_, {.kind = NodeKind::kSeq});
        AppendChild(out_, branch, to);
      }
      const VarId copy = AddVar(
          out_, {.name = UniqueVarName(out_, absl::StrCat(in_.vars[var].name, "_", sizes[i])),
                 .extent = Int(sizes[i]),
                 .reduce = in_.vars[var].reduce});
      renamed_[var] = copy;
      RETURN_IF_ERROR(EmitChildren(id, then));
      // The next size makes another copy of the same variable.
      renamed_.erase(var);
    }
    return absl::OkStatus();
  }

  absl::Status Emit(NodeId id, NodeId to) {
    const Node& node = in_.nodes[id];
    switch (node.kind) {
      case NodeKind::kLoop:
        return EmitLoop(id, to);
      case NodeKind::kIf:
        return EmitIf(id, to);
      case NodeKind::kStore:
      case NodeKind::kPrefetch: {
        Node leaf = node;
        for (Expr& index : leaf.indices) index = Renamed(index);
        leaf.value = Renamed(leaf.value);
        leaf.cond = Renamed(leaf.cond);
        RETURN_IF_ERROR(CheckRegisters(leaf));
        RETURN_IF_ERROR(CheckLanes(leaf));
        AppendChild(out_, to, AddNode(out_, std::move(leaf)));
        return absl::OkStatus();
      }
      default:
        CHECK(node.kind == NodeKind::kSeq);
        return EmitChildren(id, to);
    }
  }

  absl::Status EmitLoop(NodeId id, NodeId to) {
    Node loop = in_.nodes[id];
    loop.children.clear();
    const VarId original = loop.var;
    const auto copy = renamed_.find(original);
    const bool specialized = copy != renamed_.end();
    if (specialized) loop.var = copy->second;
    const Expr extent =
        specialized ? out_.vars[loop.var].extent : Renamed(in_.vars[original].extent);
    // In another copy of a body the extent may say something else: then it is another variable.
    const bool again = !specialized && !emitted_.insert(original).second;
    if (again && !StructurallyEqual(extent, out_.vars[original].extent)) {
      Var var = in_.vars[original];
      var.name = UniqueVarName(out_, var.name);
      loop.var = renamed_[original] = AddVar(out_, var);
    }
    if (MentionsVector(extent)) {
      return absl::InvalidArgumentError(absl::StrCat("the extent of ", in_.vars[original].name,
                                                     " would differ between lanes of a vector"));
    }
    if (NeedsConstantExtent(loop) && !IsConstInt(extent)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the extent of ", in_.vars[original].name, " is not constant in its body"));
    }
    // The greatest of all extents gives a sound range for simplifying, where the present one is not
    // known.
    const int64_t greatest = IsConstInt(extent) ? extent->int_value : MaxExtent(in_, original);
    out_.vars[loop.var].extent = extent;
    SetExtent(loop.var, greatest);
    NodeId inner = to;
    // Parallel loops stay, so that a nest keeps its kind; outermost ones, so that it stays one
    // nest.
    const bool drop = greatest == 1 && IsConstInt(extent) && to != out_.root &&
                      to != out_.pack_root && loop.loop_kind != LoopKind::kParallel &&
                      loop.loop_kind != LoopKind::kBound &&
                      // A tile of one row: the nest keeps its name.
                      loop.loop_kind != LoopKind::kTensorized;
    if (!drop) {
      inner = AddNode(out_, loop);
      AppendChild(out_, to, inner);
      if (NeedsConstantExtent(loop)) constant_.insert(loop.var);
      if (loop.loop_kind == LoopKind::kVectorized) vectors_.insert(loop.var);
      if (IsThreadLoop(loop)) threads_.insert(loop.var);
    }
    const bool in_nest =
        std::exchange(in_nest_, in_nest_ || loop.loop_kind == LoopKind::kTensorized);
    const absl::Status status = EmitChildren(id, inner);
    in_nest_ = in_nest;
    if (!specialized) renamed_.erase(original);
    vectors_.erase(loop.var);
    threads_.erase(loop.var);
    constant_.erase(loop.var);
    // Out of scope again: an expression after the loop must not be simplified by its range.
    SetExtent(loop.var, -1);
    return status;
  }

  absl::Status EmitIf(NodeId id, NodeId to) {
    const Node& node = in_.nodes[id];
    const Expr cond = Renamed(node.cond);
    if (IsConstInt(cond)) {
      const size_t side = cond->int_value != 0 ? 0 : 1;
      return side < node.children.size() ? Emit(node.children[side], to) : absl::OkStatus();
    }
    if (MentionsVector(cond)) {
      return absl::InvalidArgumentError("a guard would differ between lanes of a vector");
    }
    const NodeId branch = AddNode(out_, {.kind = NodeKind::kIf, .cond = cond});
    AppendChild(out_, to, branch);
    for (NodeId child : node.children) {
      const NodeId seq = AddNode(out_, {.kind = NodeKind::kSeq});
      AppendChild(out_, branch, seq);
      RETURN_IF_ERROR(EmitChildren(child, seq));
    }
    return absl::OkStatus();
  }

  // Registers have no address: each index must be known once unrolled loops are written out, or be
  // a thread's own (owner_dims.h has the rest of that rule). Of a tile the last two indices are the
  // instruction's own.
  absl::Status CheckRegisters(const Node& leaf) const {
    absl::Status status;
    const auto check = [&](BufferId buffer, const std::vector<Expr>& all) {
      const bool is_tile = out_.buffers[buffer].scope == Scope::kTile;
      if (out_.buffers[buffer].scope != Scope::kRegister && !is_tile) return;
      if (is_tile && (!in_nest_ || all.size() < 2)) {
        status = absl::InvalidArgumentError(
            absl::StrCat("tile window ", out_.buffers[buffer].name,
                         " is touched outside of an instruction's nest of rows and columns"));
        return;
      }
      for (const Expr& index : absl::MakeConstSpan(all).first(all.size() - (is_tile ? 2 : 0))) {
        if (index->kind == ExprKind::kVar && threads_.count(index->id) > 0) continue;
        for (VarId var : FreeVars(index)) {
          if (constant_.count(var)) continue;
          status = absl::InvalidArgumentError(
              absl::StrCat("register window ", out_.buffers[buffer].name, " is indexed by ",
                           out_.vars[var].name, ", which is neither unrolled nor vectorized"));
        }
      }
    };
    if (leaf.kind == NodeKind::kStore) check(leaf.buffer, leaf.indices);
    VisitExpr(leaf.value, [&](const ExprNode& e) {
      if (e.kind == ExprKind::kLoad) check(e.id, e.operands);
    });
    return status;
  }

  // Lanes run side by side: each must have elements of its own, but for the terms of a reduction,
  // which are combined first.
  absl::Status CheckLanes(const Node& leaf) const {
    if (leaf.kind != NodeKind::kStore) return absl::OkStatus();
    for (VarId vector : vectors_) {
      const bool own = std::any_of(leaf.indices.begin(), leaf.indices.end(),
                                   [&](const Expr& e) { return MentionsVar(e, vector); });
      const bool combined = leaf.combiner != Combiner::kAssign && out_.vars[vector].reduce;
      if (own || combined) continue;
      return absl::InvalidArgumentError(absl::StrCat("lanes of ", out_.vars[vector].name,
                                                     " would share elements of ",
                                                     out_.buffers[leaf.buffer].name));
    }
    return absl::OkStatus();
  }

  const Program& in_;
  Program out_;
  const int max_bodies_;
  int bodies_ = 1;
  VarRanges ranges_;
  std::vector<int64_t> extents_;    // Greatest of the loops around, by new variable; -1: none.
  std::map<VarId, VarId> renamed_;  // Ragged variables whose copy for one size is being emitted.
  std::set<NodeId> has_ragged_;     // See FindRagged.
  std::set<VarId> constant_, vectors_, threads_;
  bool in_nest_ = false;     // Of an instruction.
  std::set<VarId> emitted_;  // Original variables that have a loop already.
};

}  // namespace

absl::StatusOr<Program> Specialize(const Program& program, int max_bodies) {
  return Specializer(program, max_bodies).Run();
}

}  // namespace burnish
