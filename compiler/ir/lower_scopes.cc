#include "compiler/ir/lower_scopes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

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

bool IsThreadLoop(const Node& node) {
  return node.kind == NodeKind::kLoop && node.loop_kind == LoopKind::kBound &&
         absl::StartsWith(node.thread_tag, "thread.");
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
    has_bound_ = std::any_of(program.nodes.begin(), program.nodes.end(),
                             [](const Node& node) { return node.loop_kind == LoopKind::kBound; });
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

// Buffers in shared memory.
struct Touched {
  std::set<BufferId> loaded, stored;

  bool Conflicts(const Touched& next) const {
    const auto meet = [](const std::set<BufferId>& a, const std::set<BufferId>& b) {
      return std::any_of(a.begin(), a.end(), [&](BufferId id) { return b.count(id) > 0; });
    };
    return meet(stored, next.loaded) || meet(stored, next.stored) || meet(loaded, next.stored);
  }
  void Add(const Touched& next) {
    loaded.insert(next.loaded.begin(), next.loaded.end());
    stored.insert(next.stored.begin(), next.stored.end());
  }
};

// What a piece of a block's work touches before its first and after its last barrier; without one,
// both are all that it touches.
struct Span {
  Touched head, tail;
  bool has_barrier = false;

  void Append(const Span& next) {
    if (!has_barrier) head.Add(next.head);
    if (next.has_barrier) tail = {};
    tail.Add(next.tail);
    has_barrier = has_barrier || next.has_barrier;
  }
};

class BarrierInserter {
 public:
  explicit BarrierInserter(Program& program) : program_(program) {}

  // All threads of a block pass where a barrier is put: outside of the loops over them.
  Span Visit(NodeId id) {
    if (program_.nodes[id].children.empty() || IsThreadLoop(program_.nodes[id])) {
      const Touched touched = TouchedUnder(id);
      return {.head = touched, .tail = touched};
    }
    if (program_.nodes[id].kind == NodeKind::kIf) return VisitBranches(id);
    Span span;
    const std::vector<NodeId> children = std::move(program_.nodes[id].children);
    program_.nodes[id].children.clear();
    for (const NodeId child : children) {
      const Span next = Visit(child);
      if (span.tail.Conflicts(next.head)) AppendBarrier(id, span);
      program_.nodes[id].children.push_back(child);
      span.Append(next);
    }
    // The end of an iteration meets the beginning of the next, but for that of another block.
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::kLoop && node.loop_kind != LoopKind::kBound &&
        span.tail.Conflicts(span.head)) {
      AppendBarrier(id, span);
    }
    return span;
  }

 private:
  // Either branch, or none.
  Span VisitBranches(NodeId id) {
    Span either;
    for (const NodeId branch : std::vector<NodeId>(program_.nodes[id].children)) {
      const Span span = Visit(branch);
      either.head.Add(span.head);
      either.tail.Add(span.tail);
    }
    return either;
  }

  void AppendBarrier(NodeId parent, Span& span) {
    AppendChild(program_, parent, AddNode(program_, {.kind = NodeKind::kBarrier}));
    span.Append({.has_barrier = true});
  }

  Touched TouchedUnder(NodeId id) const {
    Touched touched;
    for (const NodeId leaf : Subtree(program_, id)) {
      VisitTouched(program_.nodes[leaf], [&](BufferId buffer, bool is_store) {
        if (program_.buffers[buffer].scope != Scope::kShared) return;
        (is_store ? touched.stored : touched.loaded).insert(buffer);
      });
    }
    return touched;
  }

  Program& program_;
};

}  // namespace

absl::Status ResolveScopes(Program& program) { return ScopeResolver(program).Run(); }

void InsertBarriers(Program& program) {
  // Most programs are for CPUs.
  const bool shares = std::any_of(program.buffers.begin(), program.buffers.end(),
                                  [](const Buffer& b) { return b.scope == Scope::kShared; });
  if (!shares) return;
  const std::vector<NodeId> nests = program.nodes[program.root].children;
  for (const NodeId nest : nests) BarrierInserter(program).Visit(nest);
}

}  // namespace burnish
