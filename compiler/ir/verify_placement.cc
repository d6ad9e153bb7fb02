// Rules on blocks in the tree: maps of axes, reductions and loop kinds, repeats, stages, pack.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/index_space.h"
#include "compiler/ir/verify_rules.h"

namespace burnish {
namespace {

// Points that the checks of repeating variables may take, over all blocks.
constexpr int64_t kRepeatsBudget = int64_t{1} << 21;

class PlacementVerifier {
 public:
  PlacementVerifier(const Program& program, const TreeFacts& facts)
      : program_(program), facts_(facts), space_(program, VarView::kExpanded) {}

  absl::Status Check(BlockId id) {
    block_ = &program_.blocks[id];
    place_ = &facts_.places[id];
    use_.assign(place_->loops.size(), kForeign);
    RETURN_IF_ERROR(MarkLoops(block_->spatial, kSpatial));
    RETURN_IF_ERROR(MarkLoops(block_->reduction, kReduction));
    RETURN_IF_ERROR(CheckReductionLoops());
    for (const VarId axis : block_->spatial) {
      if (!block_->reduction.empty()) RETURN_IF_ERROR(CheckRepeats(axis));
    }
    if (place_->in_pack) RETURN_IF_ERROR(CheckPack());
    if (!place_->in_pack && program_.buffers[block_->output].role == BufferRole::kPacked) {
      return Broken("writes ", program_.buffers[block_->output].name,
                    ", which only the pack function may");
    }
    return absl::OkStatus();
  }

  absl::Status CheckStages() {
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      if (node.kind != NodeKind::kStage || facts_.position[i] < 0) continue;
      block_ = &program_.blocks[node.block];
      place_ = &facts_.places[node.block];
      const auto& path = place_->path;
      if (std::find(path.begin(), path.end(), static_cast<NodeId>(i)) == path.end()) {
        return Broken("is not inside its stage");
      }
      if (WriterOf(program_, node.buffer) >= 0) {
        return Broken("its stage's buffer ", program_.buffers[node.buffer].name,
                      " is written by a block");
      }
      for (size_t other = 0; other < i; ++other) {
        if (program_.nodes[other].kind == NodeKind::kStage && facts_.position[other] >= 0 &&
            program_.nodes[other].buffer == node.buffer) {
          return Broken("its stage's buffer ", program_.buffers[node.buffer].name,
                        " has two stages");
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  enum LoopUse : uint8_t { kForeign, kSpatial, kReduction };

  template <typename... Parts>
  absl::Status Broken(const Parts&... parts) const {
    return absl::InvalidArgumentError(absl::StrCat("block ", block_->name, ": ", parts...));
  }

  absl::Status MarkLoops(const std::vector<VarId>& axes, LoopUse use) {
    for (const VarId axis : axes) {
      for (const VarId var : space_.VarsOf({VarRef(axis)})) {
        const auto loop = std::find(place_->loops.begin(), place_->loops.end(), var);
        if (loop == place_->loops.end()) {
          return Broken("axis ", program_.vars[axis].name, " needs variable ",
                        program_.vars[var].name, ", which is no loop around it");
        }
        // A loop that only gives another one its extent is marked too: it is no foreign loop.
        LoopUse& mark = use_[loop - place_->loops.begin()];
        if (mark != kForeign && mark != use) {
          return Broken("loop ", program_.vars[var].name, " feeds both spatial and reduction axes");
        }
        mark = use;
      }
    }
    return absl::OkStatus();
  }

  // Elements that are computed more than once start over each time: among the iterations of the
  // loops inside a reduction loop none is met twice.
  absl::Status CheckRepeats(VarId var) {
    const Var& v = program_.vars[var];
    if (v.def == nullptr) return absl::OkStatus();
    for (const VarId use : FreeVars(v.def)) RETURN_IF_ERROR(CheckRepeats(use));
    if (!v.repeats) return absl::OkStatus();
    const auto reduction = std::find(use_.begin(), use_.end(), kReduction);
    std::vector<VarId> outer, inner;
    for (const VarId loop : space_.VarsOf({VarRef(var)})) {
      const auto at = std::find(place_->loops.begin(), place_->loops.end(), loop);
      // Outside of the reduction an element may be computed twice: the second time begins with
      // init. Inside it, the second visit would find sums that are half done.
      (at - place_->loops.begin() < reduction - use_.begin() ? outer : inner).push_back(loop);
    }
    if (inner.empty()) return absl::OkStatus();
    std::vector<int64_t> values;
    const IndexSpace::Walk walk = space_.Enumerate(outer, &budget_, [&] {
      values.clear();
      const auto inside = space_.Enumerate(inner, &budget_, [&] {
        values.push_back(space_.Eval(v.def).value_or(0));
        return true;
      });
      std::sort(values.begin(), values.end());
      return inside == IndexSpace::Walk::kDone &&
             std::adjacent_find(values.begin(), values.end()) == values.end();
    });
    if (walk == IndexSpace::Walk::kDone) return absl::OkStatus();
    return Broken("variable ", v.name, " repeats values inside a reduction loop");
  }

  // Every term of a reduction is added once, and by one worker.
  absl::Status CheckReductionLoops() const {
    bool in_reduction = false;
    for (size_t i = 0; i < use_.size(); ++i) {
      const std::string& name = program_.vars[place_->loops[i]].name;
      in_reduction = in_reduction || use_[i] == kReduction;
      // Each of its iterations would add all terms again.
      if (in_reduction && use_[i] == kForeign) {
        return Broken("loop ", name, " is no loop of the block and stands inside a reduction loop");
      }
      if (use_[i] != kReduction) continue;
      switch (KindOf(place_->loops[i])) {
        // Two workers would add to one element.
        case LoopKind::kParallel:
          return Broken("reduction loop ", name, " is parallel");
        case LoopKind::kBound:
          return Broken("reduction loop ", name, " is bound to a thread axis");
        default:
          break;
      }
    }
    return absl::OkStatus();
  }

  LoopKind KindOf(VarId var) const {
    for (const NodeId id : place_->path) {
      const Node& node = program_.nodes[id];
      if (node.kind == NodeKind::kLoop && node.var == var) return node.loop_kind;
    }
    return LoopKind::kSerial;
  }

  absl::Status CheckPack() const {
    const Buffer& output = program_.buffers[block_->output];
    if (output.role != BufferRole::kPacked && output.role != BufferRole::kTemp) {
      return Broken("is in the pack function and writes ", output.name);
    }
    absl::Status status;
    for (const Expr& e : {block_->init, block_->step, block_->finish}) {
      VisitExpr(e, [&](const ExprNode& node) {
        if (node.kind != ExprKind::kLoad) return;
        const Buffer& buffer = program_.buffers[node.id];
        const BlockId writer = WriterOf(program_, node.id);
        const bool constant =
            buffer.role == BufferRole::kConstant || (writer >= 0 && facts_.places[writer].in_pack);
        if (!constant) {
          status = Broken("is in the pack function and reads ", buffer.name,
                          ", which depends on more than constants");
        }
      });
    }
    return status;
  }

  const Program& program_;
  const TreeFacts& facts_;
  IndexSpace space_;
  const Block* block_ = nullptr;
  const BlockPlace* place_ = nullptr;
  std::vector<LoopUse> use_;  // Of place_->loops.
  int64_t budget_ = kRepeatsBudget;
};

}  // namespace

absl::Status VerifyPlacement(const Program& program, const TreeFacts& facts) {
  PlacementVerifier verifier(program, facts);
  for (size_t i = 0; i < program.blocks.size(); ++i) {
    RETURN_IF_ERROR(verifier.Check(static_cast<BlockId>(i)));
  }
  return verifier.CheckStages();
}

}  // namespace burnish
