#include "compiler/te/canonicalize.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compiler/ir/expr_kinds.h"
#include "compiler/ir/simplify.h"
#include "compiler/te/rebuild.h"

namespace burnish {
namespace {

// A block is not folded or inlined where that leaves an expression of more nodes: x * sigmoid(x),
// put into itself, doubles with each step. No weight but a guard, and part of workload/2 like the
// rest: a chain of a dozen such gates reaches it, no task of the zoo comes near. Shared subtrees
// count once for each use.
constexpr int kNodesMax = 512;

int NodeCount(const Expr& e) {
  int count = 0;
  VisitExpr(e, [&](const ExprNode&) { ++count; });
  return count;
}

// What a value is made of, as far as the rule asks. Index arithmetic is no operation, but that of
// an index which is data itself (a gather) is one.
struct Form {
  int operations = 0;
  bool has_function = false;  // A quotient, or a function that is computed by a series.
  bool by_position = false;   // A select whose condition does not look at data: pad, concat.

  // An element of another buffer, or one operation on elements.
  bool is_single() const { return operations <= 1; }
};

bool LooksAtData(const Expr& e) {
  bool found = false;
  VisitExpr(e, [&](const ExprNode& node) {
    found = found || node.kind == ExprKind::kLoad || node.kind == ExprKind::kSelf;
  });
  return found;
}

void AddForm(const Expr& e, Form* form) {
  switch (e->kind) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kVar:
    case ExprKind::kSelf:
    case ExprKind::kTable:
      return;
    case ExprKind::kLoad:
      for (const Expr& index : e->operands) {
        VisitExpr(index, [&](const ExprNode& node) {
          if (node.kind == ExprKind::kBoundsCheck) ++form->operations;
        });
      }
      return;
    case ExprKind::kSelect:
      if (!LooksAtData(e->operands[0])) {
        form->by_position = true;
        AddForm(e->operands[1], form);
        AddForm(e->operands[2], form);
        return;
      }
      break;
    default:
      break;
  }
  form->has_function = form->has_function || InfoOf(e->kind).is_function;
  ++form->operations;
  for (const Expr& operand : e->operands) AddForm(operand, form);
}

Form FormOf(const Expr& value) {
  Form form;
  AddForm(value, &form);
  return form;
}

bool HasDivision(const Expr& e) {
  bool found = false;
  VisitExpr(e, [&](const ExprNode& node) {
    if (node.kind != ExprKind::kLoad) return;
    for (const Expr& index : node.operands) {
      VisitExpr(index, [&](const ExprNode& inner) {
        found = found || inner.kind == ExprKind::kFloorDiv || inner.kind == ExprKind::kMod;
      });
    }
  });
  return found;
}

bool Reads(const Expr& e, BufferId buffer) {
  bool found = false;
  VisitExpr(e, [&](const ExprNode& node) {
    found = found || (node.kind == ExprKind::kLoad && node.id == buffer);
  });
  return found;
}

bool Reads(const Block& block, BufferId buffer) {
  return Reads(block.init, buffer) || Reads(block.step, buffer) || Reads(block.finish, buffer);
}

// Each different list of indices at which `e` reads `buffer`, once.
std::vector<std::vector<Expr>> ReadsOf(const Expr& e, BufferId buffer) {
  std::vector<std::vector<Expr>> reads;
  VisitExpr(e, [&](const ExprNode& node) {
    if (node.kind != ExprKind::kLoad || node.id != buffer) return;
    const bool known = std::any_of(reads.begin(), reads.end(), [&](const auto& other) {
      return std::equal(other.begin(), other.end(), node.operands.begin(), &StructurallyEqual);
    });
    if (!known) reads.push_back(node.operands);
  });
  return reads;
}

Expr ReplaceSelf(const Expr& e, const Expr& with) {
  return RewriteExpr(
      e, [&](const Expr& node) -> Expr { return node->kind == ExprKind::kSelf ? with : nullptr; });
}

// The value that a block without reduction writes.
Expr ValueOf(const Block& block) {
  return block.finish == nullptr ? block.step : ReplaceSelf(block.finish, block.step);
}

class Canonicalizer {
 public:
  explicit Canonicalizer(Program program) : p_(std::move(program)) {
    for (Block& block : p_.blocks) SimplifyBlock(block);
  }

  Program Run() {
    while (FoldOne() || InlineOne()) {
    }
    std::vector<BufferId> outputs;
    for (size_t id = 0; id < p_.buffers.size(); ++id) {
      if (p_.buffers[id].role == BufferRole::kOutput) outputs.push_back(static_cast<int>(id));
    }
    return Rebuild(p_, outputs);
  }

 private:
  int64_t ExtentOf(VarId var) const { return p_.vars[var].extent->int_value; }

  int64_t DomainSize(const std::vector<VarId>& axes) const {
    int64_t size = 1;
    for (const VarId axis : axes) size *= ExtentOf(axis);
    return size;
  }

  Expr SimplifyIndices(const Expr& e) const {
    return Simplify(e, [this](VarId var) { return Range{0, ExtentOf(var) - 1}; });
  }

  void SimplifyBlock(Block& block) const {
    block.init = SimplifyIndices(block.init);
    block.step = SimplifyIndices(block.step);
    block.finish = SimplifyIndices(block.finish);
  }

  std::vector<size_t> ReadersOf(BufferId buffer) const {
    std::vector<size_t> readers;
    for (size_t b = 0; b < p_.blocks.size(); ++b) {
      if (Reads(p_.blocks[b], buffer)) readers.push_back(b);
    }
    return readers;
  }

  // ---- Folding into finish.

  bool FoldOne() {
    for (size_t c = 0; c < p_.blocks.size(); ++c) {
      if (!p_.blocks[c].reduction.empty()) continue;
      // The nearest reduction first: what others computed is then read in its finish.
      for (size_t r = c; r-- > 0;) {
        if (Fold(r, c)) return true;
      }
    }
    return false;
  }

  // For each axis of `consumer` the expression over `reduction`'s axes that it equals, if the
  // consumer reads each element of the reduction exactly at its own element.
  std::optional<std::vector<Expr>> MatchElementwise(const Block& reduction, const Block& consumer,
                                                    const std::vector<Expr>& indices) const {
    std::vector<Expr> of_axis(consumer.spatial.size());
    for (size_t d = 0; d < indices.size(); ++d) {
      const Expr& want = reduction.output_indices[d];
      if (IsConstInt(indices[d])) {
        const bool single =
            IsConstInt(want) || (want->kind == ExprKind::kVar && ExtentOf(want->id) == 1);
        if (!IsInt(indices[d], 0) || !single) return std::nullopt;
        continue;
      }
      if (indices[d]->kind != ExprKind::kVar || want->kind != ExprKind::kVar) return std::nullopt;
      const auto axis = std::find(consumer.spatial.begin(), consumer.spatial.end(), indices[d]->id);
      CHECK(axis != consumer.spatial.end());
      Expr& slot = of_axis[axis - consumer.spatial.begin()];
      if (slot != nullptr || ExtentOf(*axis) != ExtentOf(want->id)) return std::nullopt;
      slot = want;
    }
    for (size_t a = 0; a < of_axis.size(); ++a) {
      if (of_axis[a] != nullptr) continue;
      if (ExtentOf(consumer.spatial[a]) != 1) return std::nullopt;  // The consumer broadcasts.
      of_axis[a] = Int(0);
    }
    return of_axis;
  }

  bool Fold(size_t r, size_t c) {
    Block& reduction = p_.blocks[r];
    Block& consumer = p_.blocks[c];
    const BufferId between = reduction.output;
    if (reduction.reduction.empty() || !Reads(consumer, between)) return false;
    if (p_.buffers[between].role != BufferRole::kTemp || ReadersOf(between).size() != 1) {
      return false;
    }
    if (!MayEndIn(p_.buffers[between].dtype, p_.buffers[consumer.output].dtype)) return false;
    const Expr value = ValueOf(consumer);
    const auto reads = ReadsOf(value, between);
    if (reads.size() != 1) return false;
    const auto of_axis = MatchElementwise(reduction, consumer, reads[0]);
    if (!of_axis.has_value()) return false;
    const auto translate = [&](const Expr& e) {
      return SubstituteVars(e, [&](VarId var) -> Expr {
        const auto axis = std::find(consumer.spatial.begin(), consumer.spatial.end(), var);
        return axis == consumer.spatial.end() ? nullptr
                                              : (*of_axis)[axis - consumer.spatial.begin()];
      });
    };
    const Expr self = reduction.finish != nullptr ? reduction.finish : Self(reduction.step->dtype);
    const Expr finish = RewriteExpr(value, [&](const Expr& e) -> Expr {
      if (e->kind == ExprKind::kLoad && e->id == between) return self;
      if (e->kind != ExprKind::kVar) return nullptr;
      return translate(e);
    });
    if (NodeCount(finish) > kNodesMax) return false;
    Forget(reduction);
    Forget(consumer);
    for (Expr& index : consumer.output_indices) index = translate(index);
    Block folded = std::move(reduction);
    folded.finish = SimplifyIndices(finish);
    folded.output = consumer.output;
    folded.output_indices = std::move(consumer.output_indices);
    // At the consumer's place: what its other inputs are computed by comes before it.
    p_.blocks[c] = std::move(folded);
    p_.blocks.erase(p_.blocks.begin() + static_cast<std::ptrdiff_t>(r));
    return true;
  }

  // ---- Inlining producers.

  bool InlineOne() {
    for (size_t a = 0; a < p_.blocks.size(); ++a) {
      const BufferId between = p_.blocks[a].output;
      if (kept_.contains(between)) continue;
      if (Inline(a)) return true;
      kept_.insert(between);
    }
    return false;
  }

  // Of a block that changes: what was found of it, of what it reads and of its readers is open
  // again.
  void Forget(const Block& block) {
    kept_.erase(block.output);
    for (const Expr& e : {block.init, block.step, block.finish}) {
      VisitExpr(e, [&](const ExprNode& node) {
        if (node.kind == ExprKind::kLoad) kept_.erase(node.id);
      });
    }
  }

  bool Inline(size_t a) {
    const Block producer = p_.blocks[a];
    const BufferId between = producer.output;
    if (!producer.reduction.empty() || p_.buffers[between].role != BufferRole::kTemp) return false;
    const Expr value = ValueOf(producer);
    const Form form = FormOf(value);
    const std::vector<size_t> readers = ReadersOf(between);
    const bool moves = value->kind == ExprKind::kLoad && form.operations == 0;
    if (readers.empty() || (readers.size() > 1 && !moves)) return false;
    std::vector<Block> inlined;
    for (const size_t c : readers) {
      Block consumer = p_.blocks[c];
      if (!MayRead(consumer, producer, form, value)) return false;
      RewriteBlock(consumer, [&](const Expr& e) -> Expr {
        if (e->kind != ExprKind::kLoad || e->id != between) return nullptr;
        return AtIndices(producer, value, e->operands);
      });
      SimplifyBlock(consumer);
      if (NodeCount(consumer.step) > kNodesMax || NodeCount(consumer.finish) > kNodesMax) {
        return false;
      }
      inlined.push_back(std::move(consumer));
    }
    for (size_t k = 0; k < readers.size(); ++k) {
      Forget(p_.blocks[readers[k]]);
      p_.blocks[readers[k]] = std::move(inlined[k]);
      Forget(p_.blocks[readers[k]]);
    }
    p_.blocks.erase(p_.blocks.begin() + static_cast<std::ptrdiff_t>(a));
    return true;
  }

  // The producer's value of the element at `indices`.
  static Expr AtIndices(const Block& producer, const Expr& value,
                        const std::vector<Expr>& indices) {
    return SubstituteVars(value, [&](VarId var) -> Expr {
      for (size_t d = 0; d < indices.size(); ++d) {
        if (producer.spatial[d] == var) return indices[d];
      }
      return nullptr;
    });
  }

  // Whether `consumer` computes the producer's value where it reads it, instead of a buffer. What
  // is read once is computed once either way. What is read more often is a choice that belongs to
  // schedules where the two ways differ in more than loads: so a block stays that holds a function,
  // or a reduction's operand that is more than one operation, chooses by position or is found by a
  // division.
  bool MayRead(const Block& consumer, const Block& producer, const Form& form,
               const Expr& value) const {
    const int64_t elements = ElementCount(p_.buffers[producer.output].shape);
    const int64_t spatial = DomainSize(consumer.spatial);
    const auto in_step = ReadsOf(consumer.step, producer.output);
    const auto count = [&](const Expr& e) {
      return e == nullptr ? 0 : static_cast<int64_t>(ReadsOf(e, producer.output).size());
    };
    const int64_t step_reads =
        static_cast<int64_t>(in_step.size()) * spatial * DomainSize(consumer.reduction);
    const int64_t reads = step_reads + (count(consumer.init) + count(consumer.finish)) * spatial;
    const bool reduces = !consumer.reduction.empty() && !in_step.empty();
    // Also where it is read once: a pad may become the border of what it pads.
    if (reduces && form.by_position) return false;
    if (reads <= elements) return true;
    if (form.has_function) return false;
    if (!reduces) return true;
    return form.is_single() &&
           std::none_of(in_step.begin(), in_step.end(), [&](const std::vector<Expr>& indices) {
             return HasDivision(SimplifyIndices(AtIndices(producer, value, indices)));
           });
  }

  Program p_;
  // Outputs of blocks that were not inlined, while neither they nor their readers have changed: of
  // a chain whose expressions have come to the most nodes each try builds them once more.
  std::set<BufferId> kept_;
};

}  // namespace

Program Canonicalize(Program program) { return Canonicalizer(std::move(program)).Run(); }

}  // namespace burnish
