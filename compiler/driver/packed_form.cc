#include "compiler/driver/packed_form.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

bool Loads(const Expr& e, BufferId buffer) {
  bool found = false;
  if (e == nullptr) return found;
  VisitExpr(e, [&](const ExprNode& node) {
    found = found || (node.kind == ExprKind::kLoad && node.id == buffer);
  });
  return found;
}

// Positions in Program::blocks.
std::set<BlockId> ReadersOf(const Program& program, BufferId buffer) {
  std::set<BlockId> readers;
  for (size_t b = 0; b < program.blocks.size(); ++b) {
    const Block& block = program.blocks[b];
    if (NodeOf(program, static_cast<BlockId>(b)) < 0) continue;
    if (Loads(block.init, buffer) || Loads(block.step, buffer) || Loads(block.finish, buffer)) {
      readers.insert(static_cast<BlockId>(b));
    }
  }
  return readers;
}

bool IsInPack(const Program& program, BlockId block) {
  return program.pack_root >= 0 && IsInside(program, NodeOf(program, block), program.pack_root);
}

bool IsReadByKernel(const Program& program, BufferId buffer) {
  const std::set<BlockId> readers = ReadersOf(program, buffer);
  return std::any_of(readers.begin(), readers.end(),
                     [&](BlockId block) { return !IsInPack(program, block); });
}

// The load of a block that copies elements, zero where there is none; null of any other block.
Expr CopiedLoad(const Block& block, BufferId constant) {
  const bool is_assignment = block.combiner == Combiner::kAssign && block.reduction.empty() &&
                             (block.finish == nullptr || block.finish->kind == ExprKind::kSelf);
  if (!is_assignment) return nullptr;
  Expr load = block.step;
  // Tiles that are not full: relayout fills them with zeros.
  if (load->kind == ExprKind::kSelect) load = load->operands[1];
  const bool is_load = load->kind == ExprKind::kLoad && load->id == constant;
  return is_load ? load : nullptr;
}

// A term of an index: coefficient * axis.
struct Term {
  size_t axis = 0;
  int64_t coefficient = 0;
};

// The inverse of index = sum of the terms: each axis is a digit of the index. False where it is
// not.
bool InvertDimension(std::vector<Term> terms, int dimension, int64_t extent,
                     const std::vector<int64_t>& shape, std::vector<PackedForm::Axis>& axes) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return a.coefficient < b.coefficient; });
  int64_t reach = 1;  // Indices below it are told apart by the digits so far.
  for (size_t t = 0; t < terms.size(); ++t) {
    if (terms[t].coefficient != reach || axes[terms[t].axis].dimension >= 0) return false;
    const bool is_last = t + 1 == terms.size();
    axes[terms[t].axis] = {
        .dimension = dimension, .divisor = reach, .modulus = is_last ? 0 : shape[terms[t].axis]};
    reach *= shape[terms[t].axis];
  }
  return reach >= extent;
}

}  // namespace

std::optional<PackedForm> FindPackedForm(const Program& scheduled, BufferId constant) {
  const std::set<BlockId> readers = ReadersOf(scheduled, constant);
  if (readers.size() != 1 || !IsInPack(scheduled, *readers.begin())) return std::nullopt;
  const Block& block = scheduled.blocks[*readers.begin()];
  const Buffer& packed = scheduled.buffers[block.output];
  const Expr load = CopiedLoad(block, constant);
  if (load == nullptr || packed.role != BufferRole::kPacked ||
      !WritesInAxisOrder(scheduled, block) || !IsReadByKernel(scheduled, block.output)) {
    return std::nullopt;
  }
  PackedForm form{.shape = packed.shape};
  form.axes.resize(form.shape.size());
  const VarRanges ranges = [&](VarId var) -> std::optional<Range> {
    const auto found = std::find(block.spatial.begin(), block.spatial.end(), var);
    if (found == block.spatial.end()) return std::nullopt;
    return Range{0, packed.shape[found - block.spatial.begin()] - 1};
  };
  const std::vector<int64_t>& shape = scheduled.buffers[constant].shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const LinearForm index = ToLinear(load->operands[d], ranges);
    std::vector<Term> terms;
    for (const auto& [atom, coefficient] : index.terms) {
      const auto found = atom->kind == ExprKind::kVar
                             ? std::find(block.spatial.begin(), block.spatial.end(), atom->id)
                             : block.spatial.end();
      if (found == block.spatial.end()) return std::nullopt;
      terms.push_back({static_cast<size_t>(found - block.spatial.begin()), coefficient});
    }
    if (index.constant != 0 ||
        !InvertDimension(std::move(terms), static_cast<int>(d), shape[d], form.shape, form.axes)) {
      return std::nullopt;
    }
  }
  for (BufferId other = 0; other < block.output; ++other) {
    form.ordinal +=
        scheduled.buffers[other].role == BufferRole::kPacked && IsReadByKernel(scheduled, other);
  }
  return form;
}

void ReadPackedForm(const PackedForm& form, BufferId constant, Program& program) {
  Buffer& buffer = program.buffers[constant];
  const auto rewrite = [&](const Expr& node) -> Expr {
    if (node->kind != ExprKind::kLoad || node->id != constant) return nullptr;
    std::vector<Expr> indices;
    for (const PackedForm::Axis& axis : form.axes) {
      if (axis.dimension < 0) {
        indices.push_back(Int(0));
        continue;
      }
      Expr index = node->operands[axis.dimension];
      if (axis.divisor > 1) index = FloorDiv(std::move(index), axis.divisor);
      if (axis.modulus > 0) index = Mod(std::move(index), axis.modulus);
      indices.push_back(std::move(index));
    }
    return Load(constant, buffer.dtype, std::move(indices));
  };
  for (Block& block : program.blocks) RewriteBlock(block, rewrite);
  buffer.shape = form.shape;
  buffer.storage = DenseStorage(form.shape);
}

}  // namespace burnish
