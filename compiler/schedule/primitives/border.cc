// border@1 P->X: P is X with a border of one value. The border becomes part of X's storage, P
// disappears, and its readers read X, border included. Who writes X writes the border.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/expr_kinds.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {
namespace {

// What a padding block says: P[i] = inside ? X[i - below] : value.
struct Padding {
  std::vector<std::pair<int64_t, int64_t>> border;
  double value = 0;
};

// Whether EvalInt knows the condition: a choice by what a tensor holds is no padding, whatever it
// chooses from.
bool IsOfIndices(const Expr& condition) {
  bool is_known = true;
  VisitExpr(condition, [&is_known](const ExprNode& e) {
    const bool is_leaf = e.kind == ExprKind::kIntImm || e.kind == ExprKind::kVar;
    const bool is_exact =
        !DividesIntegers(e.kind) || (IsConstInt(e.operands[1]) && !IsInt(e.operands[1], 0));
    is_known =
        is_known && !IsFloat(e.dtype) && is_exact &&
        (is_leaf || e.kind == ExprKind::kNot || e.kind == ExprKind::kNeg || IsBinary(e.kind));
  });
  return is_known;
}

absl::StatusOr<Padding> Recognize(const Program& program, const Block& block, BufferId source) {
  const Expr& e = block.step;
  if (!block.reduction.empty() || block.finish != nullptr || e->kind != ExprKind::kSelect ||
      !IsOfIndices(e->operands[0]) || e->operands[1]->kind != ExprKind::kLoad ||
      e->operands[1]->id != source ||
      (e->operands[2]->kind != ExprKind::kFloatImm && e->operands[2]->kind != ExprKind::kIntImm)) {
    return Refuse(block.name, " is not (inside ? ", program.buffers[source].name, "[..] : value)");
  }
  if (program.buffers[source].shape.size() != program.buffers[block.output].shape.size()) {
    return Refuse(block.name, " has other dimensions than ", program.buffers[source].name);
  }
  const Expr& value = e->operands[2];
  Padding padding{.value = value->kind == ExprKind::kFloatImm
                               ? value->float_value
                               : static_cast<double>(value->int_value)};
  const Buffer& from = program.buffers[source];
  const Buffer& to = program.buffers[block.output];
  if (!WritesInAxisOrder(program, block)) {
    return Refuse(block.name, " does not write its elements in order of its axes");
  }
  Expr inside = Bool(true);
  for (size_t d = 0; d < from.shape.size(); ++d) {
    const LinearForm index = ToLinear(e->operands[1]->operands[d], RangesOf(program));
    LinearForm axis = ToLinear(VarRef(block.spatial[d]), RangesOf(program));
    if (index.terms.size() != axis.terms.size() ||
        (!axis.terms.empty() && index.StepOf(block.spatial[d]) != 1) || index.constant > 0) {
      return Refuse(block.name, " does not read one element further on a step");
    }
    const int64_t below = -index.constant;
    const int64_t above = to.shape[d] - from.shape[d] - below;
    if (above < 0) return Refuse(block.name, " cuts elements off");
    padding.border.emplace_back(below, above);
    const Expr i = e->operands[1]->operands[d];
    inside = And(inside, And(Le(Int(0), i), Lt(i, Int(from.shape[d]))));
  }
  // The condition must say exactly: inside. Each dimension alone, the others in the middle.
  for (size_t d = 0; d < from.shape.size(); ++d) {
    for (int64_t at = 0; at < to.shape[d]; ++at) {
      const auto point = [&](VarId var) {
        for (size_t k = 0; k < block.spatial.size(); ++k) {
          if (block.spatial[k] == var) return k == d ? at : padding.border[k].first;
        }
        return int64_t{0};
      };
      if (EvalInt(e->operands[0], point) != EvalInt(inside, point)) {
        return Refuse("the condition of ", block.name, " is not: inside ", from.name);
      }
    }
  }
  return padding;
}

}  // namespace

absl::Status ApplyBorder(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 1));
  ASSIGN_OR_RETURN(const BlockId padder, FindBlockArg(program, step.inputs[0]));
  ASSIGN_OR_RETURN(const BufferId source, FindBufferArg(program, step.outputs[0]));
  const Block block = program.blocks[padder];
  Buffer& buffer = program.buffers[source];
  if (buffer.role != BufferRole::kInput && buffer.role != BufferRole::kConstant) {
    return Refuse(buffer.name, " is written here: its border would be unset");
  }
  if (program.buffers[block.output].role != BufferRole::kTemp) {
    return Refuse("output of ", block.name, " is not private");
  }
  ASSIGN_OR_RETURN(const Padding padding, Recognize(program, block, source));
  bool wide_enough = buffer.storage.border_value == padding.value;
  for (size_t d = 0; d < padding.border.size(); ++d) {
    const auto have = BorderOf(buffer, static_cast<int>(d));
    wide_enough = wide_enough && have.first >= padding.border[d].first &&
                  have.second >= padding.border[d].second;
  }
  if (!wide_enough) {
    if (!buffer.storage.border.empty()) {
      return Refuse("the storage of ", buffer.name, " has another border already");
    }
    buffer.storage = DenseStorage(buffer.shape, padding.border, padding.value);
  }
  for (BlockId reader : ReadersOf(program, block.output)) {
    RewriteBlock(program.blocks[reader], [&](const Expr& node) -> Expr {
      if (node->kind != ExprKind::kLoad || node->id != block.output) return nullptr;
      std::vector<Expr> indices;
      for (size_t d = 0; d < node->operands.size(); ++d) {
        indices.push_back(node->operands[d] - padding.border[d].first);
      }
      return Load(source, node->dtype, indices);
    });
  }
  RemoveBlock(program, padder);
  return absl::OkStatus();
}

}  // namespace burnish
