#include "compiler/codegen/llvm/tile_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "compiler/ir/number_type.h"
#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

std::optional<TileNest> NestNamed(absl::string_view intrinsic) {
  if (intrinsic == kTileZero) return TileNest{.operation = TileOperation::kZero};
  if (intrinsic == kTileLoad) return TileNest{.operation = TileOperation::kLoad};
  if (intrinsic == kTileStore) return TileNest{.operation = TileOperation::kStore};
  const Instruction* const product = FindNest(intrinsic);
  if (product == nullptr || product->tiles == nullptr) return std::nullopt;
  return TileNest{.operation = TileOperation::kProduct, .product = product};
}

bool IsPositiveZero(const Expr& e) {
  return IsInt(e, 0) ||
         (e->kind == ExprKind::kFloatImm && e->float_value == 0 && !std::signbit(e->float_value));
}

// Recognizes nests. Each condition is one that the instruction computes something else without.
class Matcher {
 public:
  Matcher(const Program& program, const TileProducts& products)
      : program_(program),
        products_(products),
        ranges_([&program](VarId var) -> std::optional<Range> {
          return Range{0, MaxExtent(program, var) - 1};
        }) {}

  // Nullopt: not what its name says, or the target has no such instruction.
  std::optional<TileNest> Match(const Node& loop) {
    std::optional<TileNest> named = NestNamed(loop.intrinsic);
    if (!named.has_value()) return std::nullopt;
    TileNest& nest = *named;
    const bool is_product = nest.product != nullptr;
    // The instructions that only move come with any product.
    const bool has =
        is_product ? std::find(products_.begin(), products_.end(), nest.product) != products_.end()
                   : !products_.empty();
    if (!has) return std::nullopt;
    const Node* node = &loop;
    for (size_t depth = 0; depth < (is_product ? 4 : 2); ++depth) {
      if (node->kind != NodeKind::kLoop || node->children.size() != 1) return std::nullopt;
      const Expr& extent = program_.vars[node->var].extent;
      if (!IsConstInt(extent)) return std::nullopt;
      nest.vars[depth] = node->var;
      extents_[depth] = extent->int_value;
      node = &program_.nodes[node->children[0]];
    }
    if (node->kind != NodeKind::kStore || extents_[0] > tiles_.rows ||
        extents_[1] > tiles_.row_bytes / kSumBytes) {
      return std::nullopt;
    }
    nest.store = node;
    nest.rows = extents_[0];
    nest.columns = extents_[1];
    if (is_product) nest.groups = extents_[2];
    vars_ = nest.vars;
    const bool matches = is_product ? MatchProduct(*nest.product, nest) : MatchMove(nest);
    return matches ? named : std::nullopt;
  }

 private:
  static constexpr int64_t kSumBytes = 4;  // And of a group of products' factors.

  bool MatchMove(TileNest& nest) {
    const Node& store = *nest.store;
    if (store.combiner != Combiner::kAssign) return false;
    if (nest.operation == TileOperation::kStore) {
      if (!IsLoadOf(store.value, Scope::kTile) || !IsMemory(store.buffer)) return false;
      const auto row = RowStride(store.buffer, store.indices, 0, {{1, 1}});
      if (!row.has_value()) return false;
      nest.left_stride_bytes = *row;
      return SetTiles(store.value->id, store.value->operands, nest);
    }
    if (!SetTiles(store.buffer, store.indices, nest)) return false;
    if (nest.operation == TileOperation::kZero) return IsPositiveZero(store.value);
    if (store.value->kind != ExprKind::kLoad || !IsMemory(store.value->id)) return false;
    nest.left = store.value.get();
    const auto row = RowStride(nest.left->id, nest.left->operands, 0, {{1, 1}});
    nest.left_stride_bytes = row.value_or(0);
    return row.has_value();
  }

  bool MatchProduct(const Instruction& product, TileNest& nest) {
    const Node& store = *nest.store;
    const int64_t pack = product.packed_k;
    if (extents_[2] > tiles_.row_bytes / kSumBytes || extents_[3] != pack ||
        store.combiner != Combiner::kSum || store.value->kind != ExprKind::kMul ||
        !IsOf(product.sum, store.value->dtype)) {
      return false;
    }
    nest.left = Factor(store.value->operands[0]);
    nest.right = Factor(store.value->operands[1]);
    if (nest.left == nullptr || nest.right == nullptr) return false;
    // The product commutes: rows are the left one's.
    if (MentionsColumn(*nest.left)) std::swap(nest.left, nest.right);
    if (!IsOf(product.left, nest.left->dtype) || !IsOf(product.right, nest.right->dtype)) {
      return false;
    }
    const auto row = RowStride(nest.left->id, nest.left->operands, 0, {{2, pack}, {3, 1}});
    const auto group = RowStride(nest.right->id, nest.right->operands, 2, {{1, pack}, {3, 1}});
    if (!row.has_value() || !group.has_value()) return false;
    nest.left_stride_bytes = *row;
    nest.right_stride_bytes = *group;
    return SetTiles(store.buffer, store.indices, nest);
  }

  // The load that is one factor, converted or not; null where it is something else.
  const ExprNode* Factor(const Expr& e) const {
    const ExprNode& load = e->kind == ExprKind::kCast ? *e->operands[0] : *e;
    return load.kind == ExprKind::kLoad && IsMemory(load.id) ? &load : nullptr;
  }

  bool MentionsColumn(const ExprNode& load) const {
    return std::any_of(load.operands.begin(), load.operands.end(),
                       [&](const Expr& index) { return MentionsVar(index, vars_[1]); });
  }

  bool IsLoadOf(const Expr& e, Scope scope) const {
    return e->kind == ExprKind::kLoad && program_.buffers[e->id].scope == scope;
  }

  bool IsMemory(BufferId buffer) const {
    const Scope scope = program_.buffers[buffer].scope;
    return scope != Scope::kTile && scope != Scope::kRegister;
  }

  // The sums' last two indices are row and column, the others none of the nest's.
  bool SetTiles(BufferId buffer, const std::vector<Expr>& indices, TileNest& nest) const {
    const size_t rank = indices.size();
    if (program_.buffers[buffer].scope != Scope::kTile || rank < 2 ||
        SizeBytes(program_.buffers[buffer].dtype) != kSumBytes) {
      return false;
    }
    for (size_t d = 0; d < rank; ++d) {
      const size_t own = d + 2 - rank;  // 0: row, 1: column; wraps around for others.
      if (d + 2 >= rank) {
        const bool is_var = indices[d]->kind == ExprKind::kVar && indices[d]->id == vars_[own];
        // Of a tile of one row the index is a number.
        if (!is_var && !(extents_[own] == 1 && IsInt(indices[d], 0))) return false;
        continue;
      }
      for (VarId var : vars_) {
        if (var >= 0 && MentionsVar(indices[d], var)) return false;
      }
    }
    nest.tiles = buffer;
    nest.tile_indices = &indices;
    return true;
  }

  // `e` with quotients and rests by constants freed of the nest's variables where these never
  // carry: where g divides the divisor and all else in the dividend, and they sum up to less than
  // g, (g * a + r) / (g * d) is g * a / (g * d). Channels that are fused with the taps of a window
  // come so where pixels lie further apart than their channels.
  Expr WithoutCarries(const Expr& e) const {
    return RewriteExpr(e, [&](const Expr& node) -> Expr {
      const bool is_quotient = node->kind == ExprKind::kFloorDiv;
      if ((!is_quotient && node->kind != ExprKind::kMod) || !IsConstInt(node->operands[1])) {
        return nullptr;
      }
      const LinearForm dividend = ToLinear(node->operands[0], ranges_);
      LinearForm own, others;
      others.constant = dividend.constant;
      int64_t step = std::gcd(node->operands[1]->int_value, dividend.constant);
      for (const auto& term : dividend.terms) {
        const bool is_own = term.first->kind == ExprKind::kVar &&
                            std::find(vars_.begin(), vars_.end(), term.first->id) != vars_.end();
        (is_own ? own : others).terms.push_back(term);
        if (!is_own) step = std::gcd(step, term.second);
      }
      const Expr rest = FromLinear(own);
      const std::optional<Range> range = RangeOf(rest, ranges_);
      if (own.terms.empty() || !range.has_value() || range->min < 0 || range->max >= step) {
        return nullptr;
      }
      const Expr whole = Binary(node->kind, FromLinear(others), node->operands[1]);
      return is_quotient ? whole : whole + rest;
    });
  }

  // Bytes from one iteration of the nest's loop `row` to the next, where the other loops move the
  // access by the elements of `steps` and else by none.
  std::optional<int64_t> RowStride(BufferId buffer, const std::vector<Expr>& indices, size_t row,
                                   const std::vector<std::pair<size_t, int64_t>>& steps) const {
    const Storage& storage = program_.buffers[buffer].storage;
    Expr flat = Int(0);
    for (size_t d = 0; d < indices.size(); ++d) {
      flat = flat + WithoutCarries(indices[d]) * storage.strides[d];
    }
    const LinearForm form = ToLinear(flat, ranges_);
    for (size_t i = 0; i < vars_.size(); ++i) {
      if (vars_[i] < 0) continue;
      const std::optional<int64_t> moves = form.StepOf(vars_[i]);
      if (!moves.has_value()) return std::nullopt;
      if (i == row) continue;
      const auto step = std::find_if(steps.begin(), steps.end(),
                                     [i](const auto& known) { return known.first == i; });
      if (moves != (step == steps.end() ? 0 : step->second)) return std::nullopt;
    }
    return form.StepOf(vars_[row]).value_or(0) * SizeBytes(program_.buffers[buffer].dtype);
  }

  const Program& program_;
  const TileProducts& products_;
  const TileFile& tiles_ = GreatestTiles();
  const VarRanges ranges_;
  std::array<VarId, 4> vars_ = {-1, -1, -1, -1};
  std::array<int64_t, 4> extents_ = {};
};

// The tile buffers that a leaf touches.
void CollectTiles(const Program& program, const Node& leaf, std::set<BufferId>& tiles) {
  const auto add = [&](BufferId buffer) {
    if (program.buffers[buffer].scope == Scope::kTile) tiles.insert(buffer);
  };
  if (leaf.kind == NodeKind::kStore) add(leaf.buffer);
  VisitExpr(leaf.value, [&](const ExprNode& e) {
    if (e.kind == ExprKind::kLoad) add(e.id);
  });
}

// Whether the nest's tiles have the phase's shape, which the first nest that says so gives it.
bool Agrees(const TileNest& nest, TileRegisters& registers) {
  const auto agrees = [](int64_t size, int64_t& common) {
    if (common == 0) common = size;
    return size == 0 || size == common;
  };
  return agrees(nest.rows, registers.rows) && agrees(nest.columns, registers.columns) &&
         agrees(nest.groups, registers.groups);
}

}  // namespace

bool IsTileNest(absl::string_view intrinsic) { return NestNamed(intrinsic).has_value(); }

int64_t TileCount(const Buffer& buffer) {
  const size_t rank = buffer.shape.size();
  return rank < 2 ? 0
                  : ElementCount(buffer.shape) / buffer.shape[rank - 1] / buffer.shape[rank - 2];
}

TilePlan PlanTiles(const Program& program, NodeId root, const TileProducts& products) {
  const int64_t registers_max = GreatestTiles().count;
  TilePlan plan{.first = std::vector<int>(program.buffers.size(), -1)};
  for (NodeId phase : program.nodes[root].children) {
    std::map<NodeId, TileNest> nests;
    std::set<BufferId> tiles;
    std::set<const Node*> matched;
    TileRegisters registers;
    bool good = true;
    for (NodeId id : Subtree(program, phase)) {
      const Node& node = program.nodes[id];
      if (node.kind == NodeKind::kStore) {
        std::set<BufferId> touched;
        CollectTiles(program, node, touched);
        tiles.insert(touched.begin(), touched.end());
        // Nests stand before their leaves in this order.
        good = good && (touched.empty() || matched.count(&node) > 0);
      }
      if (node.kind != NodeKind::kLoop || node.loop_kind != LoopKind::kTensorized) continue;
      const std::optional<TileNest> nest = Matcher(program, products).Match(node);
      if (!nest.has_value()) continue;
      good = good && Agrees(*nest, registers);
      matched.insert(nest->store);
      nests.emplace(id, *nest);
    }
    for (BufferId tile : tiles) {
      const int64_t count = TileCount(program.buffers[tile]);
      good = good && count <= registers_max;
      registers.sums += static_cast<int>(std::min(count, registers_max));
    }
    const int operands = static_cast<int>(registers_max) - registers.sums;
    if (tiles.empty() || !good || operands < 2) continue;
    registers.left = operands / 2;
    registers.right = operands - registers.left;
    int next = 0;
    for (BufferId tile : tiles) {
      plan.first[tile] = next;
      next += static_cast<int>(TileCount(program.buffers[tile]));
    }
    plan.nests.merge(nests);
    plan.phases.emplace(phase, registers);
  }
  return plan;
}

}  // namespace burnish
