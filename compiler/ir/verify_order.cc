// What a block reads has been written: by the pack function, by an earlier nest, or, where both
// blocks stand in common loops, earlier in the same iteration of these loops.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/index_space.h"
#include "compiler/ir/verify_rules.h"

namespace burnish {
namespace {

// Points of one comparison and of all. Beyond them a read is taken to be right: the memory of a
// temporary buffer is its own, so that a mistake here gives wrong numbers, never a stray access.
constexpr int64_t kCompareBudget = int64_t{1} << 14;
constexpr int64_t kTotalBudget = int64_t{1} << 21;

class OrderVerifier {
 public:
  OrderVerifier(const Program& program, const TreeFacts& facts)
      : program_(program), facts_(facts), space_(program, VarView::kExpanded) {}

  absl::Status Check(BlockId reader) {
    const Block& block = program_.blocks[reader];
    absl::Status status;
    for (const Expr& e : {block.init, block.step, block.finish}) {
      VisitAccesses(e, {}, [&](const ExprNode& access, const Guards& guards) {
        if (status.ok() && access.kind == ExprKind::kLoad) {
          status = CheckRead(reader, access, guards);
        }
      });
      RETURN_IF_ERROR(status);
    }
    return status;
  }

 private:
  absl::Status CheckRead(BlockId reader, const ExprNode& load, const Guards& guards) {
    const Buffer& buffer = program_.buffers[load.id];
    if (buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant) {
      return absl::OkStatus();
    }
    const std::string who =
        absl::StrCat("block ", program_.blocks[reader].name, " reads ", buffer.name);
    const BlockId writer = WriterOf(program_, load.id);
    if (writer < 0) return Broken(who, ", which no block writes");
    if (writer == reader) return Broken(who, ", which it writes itself");
    const BlockPlace& to = facts_.places[reader];
    const BlockPlace& from = facts_.places[writer];
    // The pack function is over when the kernel starts; only packed buffers outlive it.
    if (from.in_pack && !to.in_pack) {
      if (buffer.role == BufferRole::kPacked) return absl::OkStatus();
      return Broken(who, " of the pack function, which is not packed");
    }
    if (facts_.position[from.node] > facts_.position[to.node]) {
      return Broken(who, " before block ", program_.blocks[writer].name, " writes it");
    }
    std::vector<VarId> shared;
    for (size_t i = 0; i < std::min(from.path.size(), to.path.size()); ++i) {
      // The common part of both paths: within it one iteration is followed by the next, and the
      // writer must be ahead of the reader in each.
      if (from.path[i] != to.path[i]) break;
      const Node& node = program_.nodes[from.path[i]];
      if (node.kind == NodeKind::kLoop) shared.push_back(node.var);
    }
    RETURN_IF_ERROR(CheckWindow(program_.blocks[writer], shared, who));
    if (shared.empty()) return absl::OkStatus();
    for (const VarId axis : program_.blocks[writer].reduction) {
      for (const VarId var : space_.VarsOf({VarRef(axis)})) {
        if (std::find(shared.begin(), shared.end(), var) != shared.end()) {
          return Broken(who, " inside reduction loop ", program_.vars[var].name, " of block ",
                        program_.blocks[writer].name, ", before its sums are complete");
        }
      }
    }
    for (size_t d = 0; d < load.operands.size(); ++d) {
      if (!Covers(shared, program_.blocks[writer].output_indices[d], load.operands[d], guards,
                  buffer.shape[d])) {
        return Broken(who, ": in an iteration of loop ", program_.vars[shared.back()].name,
                      ", block ", program_.blocks[writer].name,
                      " has not written all that it reads along dimension ", d);
      }
    }
    return absl::OkStatus();
  }

  // A window is overwritten in the next iteration of each loop that its indices leave out.
  absl::Status CheckWindow(const Block& writer, const std::vector<VarId>& shared,
                           const std::string& who) {
    const std::vector<VarId> kept = space_.VarsOf(writer.output_indices);
    for (const VarId axis : writer.spatial) {
      // One element along it: further iterations are skipped.
      if (MaxExtent(program_, axis) == 1) continue;
      for (const VarId var : space_.VarsOf({VarRef(axis)})) {
        if (std::find(kept.begin(), kept.end(), var) != kept.end() ||
            std::find(shared.begin(), shared.end(), var) != shared.end() ||
            MaxExtent(program_, var) == 1) {
          continue;
        }
        return Broken(who, " outside of loop ", program_.vars[var].name,
                      ", whose iterations overwrite it");
      }
    }
    return absl::OkStatus();
  }

  template <typename... Parts>
  static absl::Status Broken(const Parts&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  }

  // Along one dimension: whether for each iteration of the shared loops what is read lies within
  // what is written in it.
  bool Covers(const std::vector<VarId>& shared, const Expr& written, const Expr& read,
              const Guards& guards, int64_t extent) {
    if (budget_ <= 0) return true;
    std::vector<VarId> outer, written_inner, read_inner;
    const auto split = [&](const Expr& e, std::vector<VarId>& inner) {
      for (const VarId var : space_.VarsOf({e})) {
        const bool is_shared = std::find(shared.begin(), shared.end(), var) != shared.end();
        std::vector<VarId>& list = is_shared ? outer : inner;
        if (std::find(list.begin(), list.end(), var) == list.end()) list.push_back(var);
      }
    };
    split(written, written_inner);
    split(read, read_inner);
    // Extents mention outer loops, and shared loops are in the order of nesting.
    std::sort(outer.begin(), outer.end(), [&](VarId a, VarId b) {
      return std::find(shared.begin(), shared.end(), a) <
             std::find(shared.begin(), shared.end(), b);
    });
    int64_t budget = std::min(kCompareBudget, budget_);
    const int64_t before = budget;
    bool covered = true;
    space_.Enumerate(outer, &budget, [&] {
      Interval need = space_.RangeOf(read);
      // The border is there without being written.
      need = {std::max<int64_t>(need.min, 0), std::min(need.max, extent - 1)};
      // Intervals first, which settle nearly all. They may contain values that are never written:
      // such a mistake gives wrong numbers, as one beyond the budget does.
      if (need.min > need.max || space_.RangeOf(written).Contains(need)) return true;
      covered = CoversExactly(written, written_inner, read, read_inner, guards, extent, &budget);
      return covered;
    });
    budget_ -= before - budget;
    return covered;
  }

  bool CoversExactly(const Expr& written, const std::vector<VarId>& written_inner, const Expr& read,
                     const std::vector<VarId>& read_inner, const Guards& guards, int64_t extent,
                     int64_t* budget) {
    std::vector<int64_t> has;
    const auto writes = space_.Enumerate(written_inner, budget, [&] {
      const auto value = space_.Eval(written);
      if (value.has_value() && !space_.IsSkipped(written)) has.push_back(*value);
      return true;
    });
    if (writes != IndexSpace::Walk::kDone) return true;
    std::sort(has.begin(), has.end());
    const auto reads = space_.Enumerate(read_inner, budget, [&] {
      for (const auto& [condition, expected] : guards) {
        const Interval value = space_.RangeOf(condition);
        if (value.IsPoint() && (value.min != 0) != expected) return true;
      }
      const auto value = space_.Eval(read);
      if (space_.IsSkipped(read) || !value.has_value() || *value < 0 || *value >= extent)
        return true;
      return std::binary_search(has.begin(), has.end(), *value);
    });
    return reads != IndexSpace::Walk::kStopped;
  }

  const Program& program_;
  const TreeFacts& facts_;
  IndexSpace space_;
  int64_t budget_ = kTotalBudget;
};

}  // namespace

absl::Status VerifyOrder(const Program& program, const TreeFacts& facts) {
  OrderVerifier verifier(program, facts);
  for (size_t i = 0; i < program.blocks.size(); ++i) {
    RETURN_IF_ERROR(verifier.Check(static_cast<BlockId>(i)));
  }
  return absl::OkStatus();
}

}  // namespace burnish
