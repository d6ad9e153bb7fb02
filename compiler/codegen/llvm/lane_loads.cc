#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/llvm/memory_emitter.h"
#include "compiler/codegen/llvm/square_transpose.h"
#include "llvm/IR/IRBuilder.h"

namespace burnish {
namespace {

// Whether all iterations of a loop that is written out load alike: nothing in the loop is decided
// by the loop's variable.
bool IsUniform(const Program& program, const Node& loop) {
  const auto decides = [&](const Expr& e) { return MentionsVar(ExpandDefs(program, e), loop.var); };
  bool uniform = true;
  for (NodeId child : loop.children) {
    for (NodeId id : Subtree(program, child)) {
      const Node& node = program.nodes[id];
      if (node.kind == NodeKind::kIf) uniform = uniform && !decides(node.cond);
      if (node.kind == NodeKind::kLoop) {
        uniform = uniform && !decides(program.vars[node.var].extent);
      }
      if (node.kind != NodeKind::kStore) continue;
      VisitExpr(node.value, [&](const ExprNode& e) {
        if (e.kind == ExprKind::kSelect) uniform = uniform && !decides(e.operands[0]);
      });
    }
  }
  return uniform;
}

}  // namespace

llvm::Value* MemoryEmitter::LoadApart(const Expr& load, const LaneAddress& address) {
  if (!address.step.has_value()) return LoadRuns(load);
  const std::vector<LaneVector> vectors = VectorsOfSteps(*address.step, state_.lanes);
  if (vectors.empty() || state_.buffers[load->id].in_registers) return LoadColumn(load, address);
  return Join(load->id, address.first, vectors);
}

llvm::Value* MemoryEmitter::LoadRuns(const Expr& load) {
  const VarBinding& base = state_.vars[state_.vector_var];
  if (base.value != nullptr || state_.mask != nullptr || state_.buffers[load->id].in_registers) {
    return nullptr;
  }
  const Storage& storage = state_.program->buffers[load->id].storage;
  const VarRanges ranges = state_.Ranges();
  const std::optional<LanePlaces> known = PlacesOfLanes(state_.lanes, [&](int64_t lane) {
    const int64_t value = base.constant + lane;
    return AddressOf(storage, load->operands, [&](VarId var) {
      return var == state_.vector_var ? Range{value, value} : ranges(var);
    });
  });
  if (!known.has_value()) return nullptr;
  const std::vector<LaneVector> runs = VectorsOfRuns(known->places);
  if (!LoadsPay(static_cast<int64_t>(runs.size()), state_.lanes)) return nullptr;
  const bool outer_lane = std::exchange(state_.single_lane, true);
  llvm::Value* const whole = Join(load->id, known->first, runs);
  state_.single_lane = outer_lane;
  return whole;
}

// One vector after the other: those lanes are taken that the ones before do not have.
llvm::Value* MemoryEmitter::Join(BufferId buffer, const LinearForm& first,
                                 const std::vector<LaneVector>& vectors) {
  llvm::IRBuilderBase& b = *state_.builder;
  const auto lanes = static_cast<size_t>(state_.lanes);
  std::vector<int> each(lanes);
  std::iota(each.begin(), each.end(), 0);
  llvm::Value* whole = nullptr;
  std::vector<int> where(lanes, -1);  // Of each lane in `whole`; -1: not yet.
  for (const LaneVector& vector : vectors) {
    LinearForm form = first;
    form.constant += vector.from;
    llvm::Value* part = LoadNeighbours(buffer, form, vector);
    std::vector<int> place = vector.place_of;
    const bool is_narrow = vector.width < state_.lanes;
    if (is_narrow) {
      if (!part->getType()->isVectorTy()) part = b.CreateVectorSplat(1, part);
      part = b.CreateShuffleVector(part, place);
      for (size_t i = 0; i < lanes; ++i) place[i] = place[i] < 0 ? -1 : static_cast<int>(i);
    }
    if (whole == nullptr) {
      whole = part;
      where = is_narrow ? each : place;
      continue;
    }
    std::vector<int> merge = where;
    for (size_t i = 0; i < lanes; ++i) {
      if (place[i] >= 0) merge[i] = static_cast<int>(lanes) + place[i];
      where[i] = merge[i] < 0 ? -1 : static_cast<int>(i);
    }
    whole = b.CreateShuffleVector(whole, part, merge);
  }
  return where == each ? whole : b.CreateShuffleVector(whole, where);
}

llvm::Value* MemoryEmitter::LoadColumn(const Expr& load, const LaneAddress& address) {
  const BufferId buffer = load->id;
  const int lanes = state_.lanes;
  // All rows are read where the first column is asked for: before stores that come between, which
  // an input's elements must not know of, also where an output takes its place.
  const bool never_changes = state_.buffers[buffer].read_only ||
                             state_.program->buffers[buffer].role == BufferRole::kInput;
  if (state_.mask != nullptr || load->dtype == DType::kBool || !never_changes ||
      !IsSquareOfLanes(lanes, SizeBytes(load->dtype)) || *address.step < lanes) {
    return nullptr;
  }
  for (auto loop = state_.unrolled.rbegin(); loop != state_.unrolled.rend(); ++loop) {
    const VarId var = loop->node->var;
    const int64_t now = state_.vars[var].constant;
    const int64_t first = now / lanes * lanes;
    if (first + lanes > loop->extent) continue;
    bool same_step = true;
    const auto at_column = [&](int64_t column) {
      const int64_t value = first + column;
      const VarBinding here = std::exchange(
          state_.vars[var], {.bound = true, .constant = value, .range = {value, value}});
      LaneAddress at = addresses_.Of(buffer, load->operands);
      state_.vars[var] = here;
      same_step = same_step && at.step == address.step;
      return std::move(at.first);
    };
    const LinearForm begin = at_column(0);
    if (!same_step || !HaveSameTerms(begin, address.first)) continue;
    std::string key =
        absl::StrCat(buffer, " ", begin.constant, " ", *address.step, " ", lanes, " ", var, " ");
    const bool movable = AppendKey(begin, key);
    auto& squares = state_.scopes.back().squares;
    if (const auto found = squares.find(key); found != squares.end()) {
      return found->second[static_cast<size_t>(now - first)];
    }
    if (!movable) continue;
    const std::optional<LanePlaces> columns = PlacesOfLanes(lanes, at_column);
    if (!columns.has_value() || !same_step) continue;
    bool is_square = true;
    for (int64_t c = 0; c < lanes; ++c) is_square = is_square && columns->places[c] == c;
    if (!is_square || !IsUniform(*state_.program, *loop->node)) continue;
    std::vector<llvm::Value*> rows;
    for (int row = 0; row < lanes; ++row) {
      LinearForm at = begin;
      at.constant += row * *address.step;
      rows.push_back(LoadVector(buffer, at, lanes));
    }
    std::vector<llvm::Value*>& turned = squares[key];
    turned = TransposeSquare(*state_.builder, std::move(rows),
                             static_cast<int>(8 * SizeBytes(load->dtype)));
    return turned[static_cast<size_t>(now - first)];
  }
  return nullptr;
}

}  // namespace burnish
