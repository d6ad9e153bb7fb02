#include "compiler/ir/owner_dims.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/launch.h"
#include "compiler/ir/lowered.h"

namespace burnish {
namespace {

struct Touch {
  std::vector<NodeId> loops;  // Bound ones around, outermost first.
  const std::vector<Expr>* indices;
};

class OwnerFinder {
 public:
  explicit OwnerFinder(const Program& program) : program_(program) {}

  absl::StatusOr<std::vector<WindowOwners>> Run() {
    std::vector<WindowOwners> owners(program_.buffers.size());
    touches_.resize(program_.buffers.size());
    Walk(program_.root);
    for (size_t i = 0; i < touches_.size(); ++i) {
      const bool bound = std::any_of(touches_[i].begin(), touches_[i].end(),
                                     [](const Touch& touch) { return !touch.loops.empty(); });
      if (bound) RETURN_IF_ERROR(Find(static_cast<BufferId>(i), owners[i]));
    }
    return owners;
  }

 private:
  void Walk(NodeId id) {
    const Node& node = program_.nodes[id];
    const bool bound = TagOf(node) >= 0;
    if (bound) loops_.push_back(id);
    if (node.kind == NodeKind::kStore) Touched(node.buffer, node.indices);
    VisitLoads(node, [&](const ExprNode& load) { Touched(load.id, load.operands); });
    for (const NodeId child : node.children) Walk(child);
    if (bound) loops_.pop_back();
  }

  template <typename Indices>
  void Touched(BufferId id, const Indices& indices) {
    const Scope scope = program_.buffers[id].scope;
    if (scope != Scope::kRegister && scope != Scope::kTile) return;
    touches_[id].push_back({loops_, &indices});
  }

  template <typename... Parts>
  absl::Status Refuse(BufferId id, const Parts&... parts) const {
    return absl::InvalidArgumentError(absl::StrCat("window ", program_.buffers[id].name, parts...));
  }

  // The loop over threads around the touch whose variable `index` is; -1: none.
  NodeId OwnerLoop(const Touch& touch, const Expr& index) const {
    if (index->kind != ExprKind::kVar) return -1;
    for (const NodeId loop : touch.loops) {
      if (program_.nodes[loop].var == index->id && IsThreadLoop(program_.nodes[loop])) return loop;
    }
    return -1;
  }

  absl::Status Find(BufferId id, WindowOwners& owners) const {
    const Buffer& window = program_.buffers[id];
    for (const Expr& index : *touches_[id][0].indices) {
      const NodeId loop = OwnerLoop(touches_[id][0], index);
      owners.tags.push_back(loop < 0 ? -1 : TagOf(program_.nodes[loop]));
    }
    for (const NodeId loop : touches_[id][0].loops) {
      const bool everywhere =
          std::all_of(touches_[id].begin(), touches_[id].end(), [&](const Touch& touch) {
            return std::find(touch.loops.begin(), touch.loops.end(), loop) != touch.loops.end();
          });
      if (everywhere) owners.loops.push_back(loop);
    }
    // Whose slices a dimension tells apart is nobody else's.
    std::erase_if(owners.loops, [&](NodeId loop) {
      const int tag = TagOf(program_.nodes[loop]);
      return std::find(owners.tags.begin(), owners.tags.end(), tag) != owners.tags.end();
    });
    for (const Touch& touch : touches_[id]) {
      for (size_t d = 0; d < touch.indices->size(); ++d) {
        const Expr& index = (*touch.indices)[d];
        const NodeId loop = OwnerLoop(touch, index);
        if (loop < 0) {
          RETURN_IF_ERROR(CheckPlain(id, touch, index));
        } else if (MaxExtent(program_, program_.nodes[loop].var) != window.shape[d]) {
          return Refuse(id, ": dimension ", d, " has ", window.shape[d], " places, and ",
                        program_.vars[index->id].name, " has other iterations");
        }
        const int tag = loop < 0 ? -1 : TagOf(program_.nodes[loop]);
        if (tag == owners.tags[d]) continue;
        return Refuse(id, ": dimension ", d, " belongs to ", TagName(std::max(tag, owners.tags[d])),
                      " in some places alone");
      }
      RETURN_IF_ERROR(CheckLoops(id, touch, owners));
    }
    return absl::OkStatus();
  }

  static absl::string_view TagName(int tag) { return kThreadTags[static_cast<size_t>(tag)]; }

  // Of an index that is no owner's: the same in all threads.
  absl::Status CheckPlain(BufferId id, const Touch& touch, const Expr& index) const {
    for (const NodeId loop : touch.loops) {
      if (!MentionsVar(index, program_.nodes[loop].var)) continue;
      return Refuse(id, " is indexed by ", program_.vars[program_.nodes[loop].var].name,
                    ", and not by it alone");
    }
    return absl::OkStatus();
  }

  absl::Status CheckLoops(BufferId id, const Touch& touch, const WindowOwners& owners) const {
    for (const NodeId loop : touch.loops) {
      const int tag = TagOf(program_.nodes[loop]);
      const auto has = [&](const auto& list, auto value) {
        return std::find(list.begin(), list.end(), value) != list.end();
      };
      if (has(owners.tags, tag) || has(owners.loops, loop)) continue;
      return Refuse(id, " has no dimension for the threads of ",
                    program_.vars[program_.nodes[loop].var].name,
                    ", and is touched outside of that loop");
    }
    // A dimension of a tag whose loop is not around at all has failed before.
    return absl::OkStatus();
  }

  const Program& program_;
  std::vector<NodeId> loops_;
  std::vector<std::vector<Touch>> touches_;  // By BufferId.
};

}  // namespace

absl::StatusOr<std::vector<WindowOwners>> FindOwners(const Program& lowered) {
  return OwnerFinder(lowered).Run();
}

}  // namespace burnish
