#include "compiler/ir/lower_scopes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/launch.h"

namespace burnish {
namespace {

// Calls visit(buffer, is_store) for what a leaf touches: its loads, then its store.
template <typename Visit>
void VisitTouched(const Node& leaf, const Visit& visit) {
  if (leaf.kind != NodeKind::kStore) return;
  VisitExpr(leaf.value, [&](const ExprNode& node) {
    if (node.kind == ExprKind::kLoad) visit(node.id, false);
  });
  if (leaf.combiner != Combiner::kAssign) visit(leaf.buffer, false);
  visit(leaf.buffer, true);
}

// Who touches a buffer, in the kernel.
struct Users {
  std::set<NodeId> nests;  // Children of the root.
  bool has_loads = false;
  // Only of programs with bound loops: those over blocks around each touch, and those over blocks
  // and threads.
  std::set<std::vector<NodeId>> blocks, threads;

  // All in one block, or even in one thread.
  bool share_block() const { return blocks.size() == 1 && !blocks.begin()->empty(); }
  bool share_thread() const {
    return threads.size() == 1 && threads.begin()->size() > blocks.begin()->size();
  }
  bool is_bound() const {
    return std::any_of(threads.begin(), threads.end(),
                       [](const std::vector<NodeId>& loops) { return !loops.empty(); });
  }
};

class ScopeResolver {
 public:
  explicit ScopeResolver(Program& program) : program_(program), users_(program.buffers.size()) {
    has_bound_ = HasBoundLoops(program);
  }

  absl::Status Run() {
    for (const NodeId nest : program_.nodes[program_.root].children) {
      for (const NodeId id : Subtree(program_, nest)) AddLeaf(nest, id);
    }
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      Buffer& buffer = program_.buffers[i];
      // Parameters, and what only the pack function uses.
      if (buffer.role != BufferRole::kTemp || users_[i].nests.empty()) {
        if (buffer.scope == Scope::kAuto) buffer.scope = Scope::kGlobal;
        continue;
      }
      if (buffer.scope == Scope::kAuto) buffer.scope = Narrowest(users_[i]);
      RETURN_IF_ERROR(Check(buffer, users_[i]));
      // A serial nest is one worker's, who has nothing that the others could see: scratch and one
      // array for all are the same, and stored traces lower to the latter.
      if (buffer.scope == Scope::kScratch && !IsParallel(*users_[i].nests.begin())) {
        buffer.scope = Scope::kGlobal;
      }
    }
    return absl::OkStatus();
  }

 private:
  void AddLeaf(NodeId nest, NodeId id) {
    std::vector<NodeId> blocks, threads;
    if (has_bound_ && program_.nodes[id].kind == NodeKind::kStore) {
      for (const NodeId loop : LoopsAround(program_, id)) {
        if (program_.nodes[loop].loop_kind != LoopKind::kBound) continue;
        threads.push_back(loop);
        if (!IsThreadLoop(program_.nodes[loop])) blocks.push_back(loop);
      }
    }
    VisitTouched(program_.nodes[id], [&](BufferId buffer, bool is_store) {
      Users& users = users_[buffer];
      users.nests.insert(nest);
      users.has_loads = users.has_loads || !is_store;
      if (!has_bound_) return;
      users.blocks.insert(blocks);
      users.threads.insert(threads);
    });
  }

  bool IsParallel(NodeId nest) const {
    return program_.nodes[nest].loop_kind == LoopKind::kParallel;
  }

  // What is touched in one nest only is private to whoever runs an iteration of it; what crosses
  // nests must outlive them.
  Scope Narrowest(const Users& users) const {
    if (users.nests.size() > 1) return Scope::kGlobal;
    if (IsParallel(*users.nests.begin())) return Scope::kScratch;
    if (users.share_thread()) return Scope::kLocal;
    return users.share_block() ? Scope::kShared : Scope::kGlobal;
  }

  absl::Status Check(const Buffer& buffer, const Users& users) const {
    switch (buffer.scope) {
      case Scope::kAuto:
      case Scope::kRegister:
      case Scope::kTile:
        return absl::OkStatus();
      case Scope::kScratch:
        if (users.is_bound()) {
          return Refuse(buffer, "scratch of a worker and is touched by a GPU's threads");
        }
        if (users.nests.size() == 1) return absl::OkStatus();
        return Refuse(buffer, "scratch of a worker and is touched in more than one nest");
      case Scope::kShared:
        if (users.share_block()) return absl::OkStatus();
        return Refuse(buffer, "shared by a block and is touched outside of one loop over blocks");
      case Scope::kLocal:
        if (users.share_thread()) return absl::OkStatus();
        return Refuse(buffer, "local to a thread and is touched outside of one loop over threads");
      case Scope::kGlobal: {
        // One array for all who run an iteration: one would overwrite what another is to read.
        const bool crowded = IsParallel(*users.nests.begin()) || users.share_block();
        if (users.nests.size() > 1 || !crowded || !users.has_loads) return absl::OkStatus();
        return Refuse(buffer, "global and is written and read within one parallel nest");
      }
    }
    return absl::OkStatus();
  }

  static absl::Status Refuse(const Buffer& buffer, absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("buffer ", buffer.name, " is ", why));
  }

  Program& program_;
  std::vector<Users> users_;  // By BufferId.
  bool has_bound_ = false;
};

}  // namespace

absl::Status ResolveScopes(Program& program) { return ScopeResolver(program).Run(); }

}  // namespace burnish
