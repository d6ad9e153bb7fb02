#include "compiler/ir/guard_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/lowered.h"
#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

class RowFinder {
 public:
  RowFinder(const Program& program, NodeId loop, BufferId output, const IsPrivate& is_private)
      : program_(program),
        inside_(Subtree(program, loop)),
        output_(output),
        is_private_(is_private) {
    inside_.erase(inside_.begin());
    for (const NodeId id : inside_) {
      const Node& node = program.nodes[id];
      if (node.kind == NodeKind::kLoop) loops_[node.var] = node.loop_kind;
    }
  }

  std::optional<TileRows> Find(const std::vector<Expr>& stored) {
    for (const Expr& index : stored) {
      if (!AddRowOf(index)) return std::nullopt;
    }
    while (FollowTemporaries()) {
    }
    if (rows_.empty() || !AreApart()) return std::nullopt;
    TileRows found{.vars = {rows_.begin(), rows_.end()}, .least = INT64_MAX, .most = 0};
    for (const VarId row : found.vars) {
      if (!IsConstInt(program_.vars[row].extent)) return std::nullopt;
      const int64_t extent = program_.vars[row].extent->int_value;
      found.least = std::min(found.least, extent);
      found.most = std::max(found.most, extent);
    }
    return found;
  }

 private:
  bool IsRow(const Expr& e) const { return e->kind == ExprKind::kVar && rows_.count(e->id) > 0; }

  bool MentionsRow(const Expr& e) const {
    return e != nullptr &&
           std::any_of(rows_.begin(), rows_.end(), [&](VarId row) { return MentionsVar(e, row); });
  }

  // The one unrolled variable that the index grows with by one.
  bool AddRowOf(const Expr& index) {
    const VarRanges ranges = [this](VarId var) -> std::optional<Range> {
      return Range{0, MaxExtent(program_, var) - 1};
    };
    const LinearForm form = ToLinear(index, ranges);
    VarId row = -1;
    for (const VarId var : FreeVars(index)) {
      const auto loop = loops_.find(var);
      if (loop == loops_.end() || loop->second == LoopKind::kSerial) continue;
      if (loop->second != LoopKind::kUnrolled || form.StepOf(var) != 1 || row >= 0) return false;
      row = var;
    }
    if (row >= 0) rows_.insert(row);
    return row >= 0;
  }

  // What a leaf stores and loads.
  template <typename Visit>
  static void VisitAccesses(const Node& leaf, const Visit& visit) {
    if (leaf.kind != NodeKind::kStore) return;
    visit(leaf.buffer, leaf.indices);
    VisitLoads(leaf, [&](const ExprNode& load) { visit(load.id, load.operands); });
  }

  // A dimension of a temporary that one row indexes is one of rows, and so is whatever else indexes
  // it. Whether that says anything new.
  bool FollowTemporaries() {
    bool is_new = false;
    for (const NodeId id : inside_) {
      VisitAccesses(program_.nodes[id], [&](BufferId buffer, const std::vector<Expr>& indices) {
        if (program_.buffers[buffer].role != BufferRole::kTemp) return;
        for (size_t d = 0; d < indices.size(); ++d) {
          if (IsRow(indices[d])) is_new |= row_dims_.insert({buffer, d}).second;
          const bool is_of_rows = row_dims_.count({buffer, d}) > 0;
          if (is_of_rows && indices[d]->kind == ExprKind::kVar && loops_.count(indices[d]->id) > 0)
            is_new |= rows_.insert(indices[d]->id).second;
        }
      });
    }
    return is_new;
  }

  // The only loop of rows around the leaf; -1: none. Nullopt: several.
  std::optional<NodeId> RowLoopAround(NodeId leaf) const {
    NodeId found = -1;
    for (const NodeId around : LoopsAround(program_, leaf)) {
      if (rows_.count(program_.nodes[around].var) == 0) continue;
      if (found >= 0) return std::nullopt;
      found = around;
    }
    return found;
  }

  // Whether each row is stored and read by its own iterations alone, and decides about nothing.
  bool AreApart() const {
    return std::all_of(inside_.begin(), inside_.end(), [&](NodeId id) {
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::kLoop) {
        // A vector of rows has no shorter copy that is as fast.
        const bool is_row = rows_.count(node.var) > 0;
        return !MentionsRow(program_.vars[node.var].extent) &&
               (!is_row || node.loop_kind == LoopKind::kUnrolled ||
                node.loop_kind == LoopKind::kSerial);
      }
      if (node.kind == NodeKind::kIf) return !MentionsRow(node.cond);
      if (node.kind != NodeKind::kStore) return true;
      const std::optional<NodeId> row = RowLoopAround(id);
      if (!row.has_value()) return false;
      if (*row >= 0 && node.buffer != output_ && !HasRows(node.buffer) &&
          !is_private_(*row, node.buffer)) {
        return false;
      }
      bool is_own = true;
      VisitAccesses(node, [&](BufferId buffer, const std::vector<Expr>& indices) {
        for (size_t d = 0; d < indices.size(); ++d) {
          if (row_dims_.count({buffer, d}) == 0) continue;
          is_own = is_own && *row >= 0 && indices[d]->kind == ExprKind::kVar &&
                   indices[d]->id == program_.nodes[*row].var;
        }
      });
      return is_own;
    });
  }

  bool HasRows(BufferId buffer) const {
    const auto found = row_dims_.lower_bound({buffer, 0});
    return found != row_dims_.end() && found->first == buffer;
  }

  const Program& program_;
  std::vector<NodeId> inside_;
  const BufferId output_;
  const IsPrivate& is_private_;
  std::map<VarId, LoopKind> loops_;  // Inside.
  std::set<VarId> rows_;
  std::set<std::pair<BufferId, size_t>> row_dims_;
};

class Copier {
 public:
  Copier(const TileRows& rows, int64_t count, Program& program) : rows_(rows), program_(program) {
    // One for all: what is left of tiles of several sizes is the same.
    short_ = AddVar(
        program,
        {.name = UniqueVarName(program, absl::StrCat(program.vars[rows.vars[0]].name, "_", count)),
         .extent = Int(count)});
  }

  NodeId Copy(NodeId id) {
    Node copy = program_.nodes[id];
    const std::vector<NodeId> children = std::exchange(copy.children, {});
    copy.parent = -1;
    if (IsCut(copy.var)) copy.var = short_;
    for (Expr& index : copy.indices) index = Renamed(index);
    copy.value = Renamed(copy.value);
    copy.cond = Renamed(copy.cond);
    const NodeId made = AddNode(program_, std::move(copy));
    for (const NodeId child : children) AppendChild(program_, made, Copy(child));
    return made;
  }

 private:
  bool IsCut(VarId var) const { return std::count(rows_.vars.begin(), rows_.vars.end(), var) > 0; }

  Expr Renamed(const Expr& e) const {
    if (e == nullptr) return nullptr;
    return SubstituteVars(e,
                          [&](VarId var) -> Expr { return IsCut(var) ? VarRef(short_) : nullptr; });
  }

  const TileRows& rows_;
  Program& program_;
  VarId short_ = -1;
};

// Names aside, the same loops and leaves.
bool AreAlike(const Program& program, NodeId a, NodeId b) {
  const Node &left = program.nodes[a], &right = program.nodes[b];
  const auto equal = [](const Expr& x, const Expr& y) {
    return x == nullptr || y == nullptr ? x == y : StructurallyEqual(x, y);
  };
  return left.kind == right.kind && left.var == right.var && left.loop_kind == right.loop_kind &&
         left.lanes == right.lanes && left.buffer == right.buffer &&
         left.combiner == right.combiner && left.cache_level == right.cache_level &&
         left.intrinsic == right.intrinsic && equal(left.value, right.value) &&
         equal(left.cond, right.cond) &&
         std::equal(left.indices.begin(), left.indices.end(), right.indices.begin(),
                    right.indices.end(), equal) &&
         std::equal(left.children.begin(), left.children.end(), right.children.begin(),
                    right.children.end(),
                    [&](NodeId x, NodeId y) { return AreAlike(program, x, y); });
}

// A choice between tiles of two sizes that were both cut to one is none.
void DropChoices(NodeId id, Program& program) {
  const std::vector<NodeId> children = std::exchange(program.nodes[id].children, {});
  for (const NodeId child : children) {
    DropChoices(child, program);
    const Node& node = program.nodes[child];
    const bool stays = node.kind != NodeKind::kIf || node.children.size() != 2 ||
                       !AreAlike(program, node.children[0], node.children[1]);
    if (stays) {
      AppendChild(program, id, child);
      continue;
    }
    const std::vector<NodeId> kept = program.nodes[node.children[0]].children;
    for (const NodeId each : kept) AppendChild(program, id, each);
  }
}

}  // namespace

std::optional<TileRows> FindTileRows(const Program& lowered, NodeId loop, BufferId output,
                                     const std::vector<Expr>& stored, const IsPrivate& is_private) {
  return RowFinder(lowered, loop, output, is_private).Find(stored);
}

std::vector<int64_t> ShorterTiles(const TileRows& rows, int64_t parts) {
  std::vector<int64_t> counts;
  const int64_t step = (rows.most + parts - 1) / parts;
  for (int64_t count = step; count <= rows.least && count < rows.most; count += step)
    counts.push_back(count);
  return counts;
}

NodeId CopyOfRows(const std::vector<NodeId>& children, const TileRows& rows, int64_t count,
                  Program& lowered) {
  const NodeId seq = AddNode(lowered, {.kind = NodeKind::kSeq});
  Copier copier(rows, count, lowered);
  for (const NodeId child : children) AppendChild(lowered, seq, copier.Copy(child));
  DropChoices(seq, lowered);
  return seq;
}

}  // namespace burnish
