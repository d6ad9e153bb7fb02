// Rules on blocks by themselves, and on who writes which buffer.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/index_space.h"
#include "compiler/ir/verify_rules.h"

namespace burnish {
namespace {

// Points that the proofs of injective outputs may take, over all blocks.
constexpr int64_t kInjectiveBudget = int64_t{1} << 21;

class BlockVerifier {
 public:
  BlockVerifier(const Program& program, std::vector<BlockId>& axis_owner)
      : program_(program), axis_owner_(axis_owner) {}

  absl::Status Check(BlockId id) {
    block_ = &program_.blocks[id];
    RETURN_IF_ERROR(CheckAxes(id));
    RETURN_IF_ERROR(CheckValues());
    return CheckInjective();
  }

 private:
  template <typename... Parts>
  absl::Status Broken(const Parts&... parts) const {
    return absl::InvalidArgumentError(absl::StrCat("block ", block_->name, ": ", parts...));
  }

  // Axes, and what their maps are made of: a block that reads relaid weights names the variables
  // that their layout was made from.
  void MarkKnown(VarId var) {
    if (known_[var]) return;
    known_[var] = true;
    if (program_.vars[var].def == nullptr) return;
    for (const VarId use : FreeVars(program_.vars[var].def)) MarkKnown(use);
  }

  absl::Status CheckAxes(BlockId id) {
    known_.assign(program_.vars.size(), false);
    for (const std::vector<VarId>* axes : {&block_->spatial, &block_->reduction}) {
      for (const VarId axis : *axes) {
        if (axis < 0 || axis >= static_cast<VarId>(program_.vars.size())) {
          return Broken("got axis ", axis, ", want one of ", program_.vars.size(), " variables");
        }
        const Var& var = program_.vars[axis];
        // An axis belongs to one block: its map says how that block's iterations lie in the loops.
        if (axis_owner_[axis] >= 0) return Broken("axis ", var.name, " is an axis twice");
        axis_owner_[axis] = id;
        MarkKnown(axis);
        if (!IsConstInt(var.extent)) return Broken("axis ", var.name, " has no constant extent");
        if (var.reduce != (axes == &block_->reduction)) {
          return Broken("axis ", var.name, " is ", var.reduce ? "" : "not ",
                        "marked as reduction and is used as ",
                        var.reduce ? "spatial" : "reduction");
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckExpr(const Expr& e, const char* what, std::optional<DType> self_type,
                         DType want) const {
    if (e == nullptr) return absl::OkStatus();
    if (absl::Status status = VerifyExpr(program_, e, self_type); !status.ok()) {
      return Broken(what, ": ", status.message());
    }
    if (e->dtype != want) {
      return Broken(what, " of type ", DTypeName(e->dtype), ", want ", DTypeName(want));
    }
    for (const VarId var : FreeVars(e)) {
      if (!known_[var]) {
        return Broken(what, " uses ", program_.vars[var].name,
                      ", which is no axis of the block and not in the map of one");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckValues() const {
    const Block& block = *block_;
    if (block.output < 0 || block.output >= static_cast<BufferId>(program_.buffers.size())) {
      return Broken("got output ", block.output, ", want one of ", program_.buffers.size());
    }
    const Buffer& output = program_.buffers[block.output];
    if (output.role == BufferRole::kInput || output.role == BufferRole::kConstant) {
      return Broken("writes ", output.name, ", which is an input");
    }
    if (block.output_indices.size() != output.shape.size()) {
      return Broken("got ", block.output_indices.size(), " indices of ", output.name, ", want ",
                    output.shape.size());
    }
    for (const Expr& index : block.output_indices) {
      if (index == nullptr) return Broken("a missing index of ", output.name);
      RETURN_IF_ERROR(CheckExpr(index, "an index of the output", std::nullopt, DType::kI64));
      for (const VarId var : FreeVars(index)) {
        if (program_.vars[var].reduce) {
          return Broken("an index of the output uses reduction axis ", program_.vars[var].name);
        }
      }
    }
    if (block.step == nullptr) return Broken("no step");
    const DType type = block.step->dtype;
    RETURN_IF_ERROR(CheckExpr(block.step, "step", std::nullopt, type));
    RETURN_IF_ERROR(CheckSpatialOnly(block.init, "init"));
    RETURN_IF_ERROR(CheckSpatialOnly(block.finish, "finish"));
    RETURN_IF_ERROR(CheckExpr(block.init, "init", std::nullopt, type));
    RETURN_IF_ERROR(CheckExpr(block.finish, "finish", type, output.dtype));
    if (block.finish == nullptr && type != output.dtype) {
      return Broken("step of type ", DTypeName(type), ", want ", DTypeName(output.dtype));
    }
    const bool reduces = !block.reduction.empty();
    if (reduces && IsStorageFloat(type)) {
      return Broken("a reduction in ", DTypeName(type), ", want it in f32");
    }
    if (reduces != (block.combiner != Combiner::kAssign)) {
      return Broken(reduces ? "reduction axes without a combiner"
                            : "a combiner without reduction axes");
    }
    if (!reduces && block.init != nullptr) return Broken("init without reduction axes");
    if (type == DType::kBool &&
        (block.combiner == Combiner::kSum || block.combiner == Combiner::kProd)) {
      return Broken("a sum or product of bools");
    }
    return absl::OkStatus();
  }

  // init runs before the first step and finish after the last: no reduction axis has a value then.
  absl::Status CheckSpatialOnly(const Expr& e, const char* what) const {
    if (e == nullptr) return absl::OkStatus();
    absl::Status status;
    VisitExpr(e, [&](const ExprNode& node) {
      const bool known = node.kind == ExprKind::kVar && node.id >= 0 &&
                         node.id < static_cast<VarId>(program_.vars.size());
      if (known && program_.vars[node.id].reduce) {
        status = Broken(what, " uses reduction axis ", program_.vars[node.id].name);
      }
    });
    return status;
  }

  // No two points of the spatial domain write one element. Axes and dimensions that share no
  // expression are looked at apart.
  absl::Status CheckInjective() {
    for (const Expr& index : block_->output_indices) {
      for (const VarId var : FreeVars(index)) {
        if (axis_owner_[var] >= 0) continue;
        // A window: its elements are written again in each iteration of the loops around it. The
        // rules of order look at who reads it when.
        if (program_.buffers[block_->output].role == BufferRole::kTemp) return absl::OkStatus();
        return Broken("an index of the output uses ", program_.vars[var].name,
                      ", which is no axis: only a temporary buffer may be a window");
      }
    }
    std::vector<VarId> axes;
    for (const VarId axis : block_->spatial) {
      // An axis of one value writes nothing twice, named or not.
      if (!IsInt(program_.vars[axis].extent, 1)) axes.push_back(axis);
    }
    const std::vector<Expr>& indices = block_->output_indices;
    std::vector<bool> dim_done(indices.size());
    std::vector<VarId> covered;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (dim_done[d]) continue;
      // All dimensions that are tied to this one by shared axes. Groups are independent: elements
      // differ if they differ in one group, and the points of the groups add up instead of
      // multiplying.
      std::vector<VarId> vars = FreeVars(indices[d]);
      std::vector<Expr> group = {indices[d]};
      dim_done[d] = true;
      for (bool grew = true; grew;) {
        grew = false;
        for (size_t other = d + 1; other < indices.size(); ++other) {
          if (dim_done[other]) continue;
          const std::vector<VarId> more = FreeVars(indices[other]);
          if (std::find_first_of(vars.begin(), vars.end(), more.begin(), more.end()) ==
              vars.end()) {
            continue;
          }
          dim_done[other] = grew = true;
          group.push_back(indices[other]);
          vars.insert(vars.end(), more.begin(), more.end());
          std::sort(vars.begin(), vars.end());
          vars.erase(std::unique(vars.begin(), vars.end()), vars.end());
        }
      }
      RETURN_IF_ERROR(CheckGroup(vars, group));
      covered.insert(covered.end(), vars.begin(), vars.end());
    }
    for (const VarId axis : axes) {
      if (std::find(covered.begin(), covered.end(), axis) == covered.end()) {
        return Broken("writes elements of its output twice: no index uses axis ",
                      program_.vars[axis].name);
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckGroup(const std::vector<VarId>& vars, const std::vector<Expr>& group) {
    // The usual case, an axis by itself, needs no points.
    if (vars.empty() || (vars.size() == 1 && group[0]->kind == ExprKind::kVar)) {
      return absl::OkStatus();
    }
    IndexSpace space(program_, VarView::kOwnRange);
    std::vector<std::vector<int64_t>> points;
    const IndexSpace::Walk walk = space.Enumerate(vars, &budget_, [&] {
      std::vector<int64_t> point;
      for (const Expr& index : group) {
        const std::optional<int64_t> value = space.Eval(index);
        if (!value.has_value()) return false;
        point.push_back(*value);
      }
      points.push_back(std::move(point));
      return true;
    });
    // Not proved is refused: two writers of one element may be two workers.
    if (walk != IndexSpace::Walk::kDone) {
      return Broken("cannot prove that it writes each element once");
    }
    std::sort(points.begin(), points.end());
    if (std::adjacent_find(points.begin(), points.end()) != points.end()) {
      return Broken("writes elements of its output twice");
    }
    return absl::OkStatus();
  }

  const Program& program_;
  std::vector<BlockId>& axis_owner_;  // By VarId; -1: no axis (yet).
  const Block* block_ = nullptr;
  std::vector<bool> known_;  // By VarId: what the block's expressions may use.
  int64_t budget_ = kInjectiveBudget;
};

}  // namespace

absl::Status VerifyBlocks(const Program& program) {
  std::vector<BlockId> axis_owner(program.vars.size(), -1);
  BlockVerifier verifier(program, axis_owner);
  std::vector<BlockId> writer(program.buffers.size(), -1);
  for (size_t i = 0; i < program.blocks.size(); ++i) {
    RETURN_IF_ERROR(verifier.Check(static_cast<BlockId>(i)));
    BlockId& first = writer[program.blocks[i].output];
    if (first >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("buffer ", program.buffers[program.blocks[i].output].name,
                       " is written twice: by blocks ", program.blocks[first].name, " and ",
                       program.blocks[i].name));
    }
    first = static_cast<BlockId>(i);
  }
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].role == BufferRole::kOutput && writer[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", program.buffers[i].name, " is written by no block"));
    }
  }
  return absl::OkStatus();
}

}  // namespace burnish
