#include "compiler/ir/lower_barriers.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/launch.h"
#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

// A thread of a block as one number: its places on the three axes. Beside them: nobody, and more
// than one.
using Thread = int64_t;
constexpr Thread kNobody = -1, kSeveral = -2;
constexpr int64_t kAxis = int64_t{1} << 20;  // More places than any axis has.

Thread Both(Thread a, Thread b) { return a == kNobody || a == b ? b : b == kNobody ? a : kSeveral; }
// Whether a thread of the one is another than a thread of the other.
bool Differ(Thread a, Thread b) {
  return a != kNobody && b != kNobody && (a != b || a == kSeveral);
}

// Who touches one element, or those of a whole buffer.
struct Users {
  Thread loads = kNobody, stores = kNobody;

  void Add(const Users& next) {
    loads = Both(loads, next.loads);
    stores = Both(stores, next.stores);
  }
  bool Meets(const Users& next) const {
    return Differ(stores, next.stores) || Differ(stores, next.loads) || Differ(loads, next.stores);
  }
};

// Who touches a buffer in shared memory.
struct Touched {
  Users all;                    // Of elements that were not looked at.
  std::vector<Users> elements;  // By place in the allocation; empty: none.

  void Add(const Touched& next) {
    all.Add(next.all);
    if (elements.size() < next.elements.size()) elements.resize(next.elements.size());
    for (size_t i = 0; i < next.elements.size(); ++i) elements[i].Add(next.elements[i]);
  }
  Users Together() const {
    Users together = all;
    for (const Users& users : elements) together.Add(users);
    return together;
  }
  bool Meets(const Touched& next) const {
    if (all.Meets(next.Together()) || Together().Meets(next.all)) return true;
    for (size_t i = 0; i < std::min(elements.size(), next.elements.size()); ++i) {
      if (elements[i].Meets(next.elements[i])) return true;
    }
    return false;
  }
};

struct Memory {
  std::map<BufferId, Touched> buffers;

  void Add(const Memory& next) {
    for (const auto& [id, touched] : next.buffers) buffers[id].Add(touched);
  }
  bool Meets(const Memory& next) const {
    return std::any_of(next.buffers.begin(), next.buffers.end(), [&](const auto& entry) {
      const auto found = buffers.find(entry.first);
      return found != buffers.end() && found->second.Meets(entry.second);
    });
  }
};

// What a piece of a block's work touches before its first and after its last barrier; without one,
// both are all that it touches.
struct Span {
  Memory head, tail;
  bool has_barrier = false;

  void Append(const Span& next) {
    if (!has_barrier) head.Add(next.head);
    if (next.has_barrier) tail = {};
    tail.Add(next.tail);
    has_barrier = has_barrier || next.has_barrier;
  }
};

// A condition that holds, or does not, where something is touched.
struct Condition {
  Expr cond;
  bool holds;
};

// Taken apart at `&&`, `||` and `!`, as far as each part must hold or must not.
void AddCondition(const Expr& e, bool holds, std::vector<Condition>& conditions) {
  if (e->kind == ExprKind::kNot) return AddCondition(e->operands[0], !holds, conditions);
  if (e->kind == (holds ? ExprKind::kAnd : ExprKind::kOr)) {
    for (const Expr& part : e->operands) AddCondition(part, holds, conditions);
  } else {
    conditions.push_back({e, holds});
  }
}

// Finds who touches shared memory, going through the values of the variables that say so.
class TouchFinder {
 public:
  explicit TouchFinder(const Program& program) : program_(program) {}

  // What the stores under `id` touch, all their iterations together.
  Memory Under(NodeId id, std::vector<NodeId>& loops) {
    Memory memory;
    Walk(id, loops, memory);
    return memory;
  }

 private:
  void Walk(NodeId id, std::vector<NodeId>& loops, Memory& memory) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::kStore) {
      Loads(node.value, loops, memory);
      Touch(node.buffer, node.indices, /*stores=*/true, loops, memory);
    }
    const bool is_loop = node.kind == NodeKind::kLoop;
    if (is_loop) loops.push_back(id);
    for (size_t i = 0; i < node.children.size(); ++i) {
      const size_t known = conditions_.size();
      if (node.kind == NodeKind::kIf) AddCondition(node.cond, i == 0, conditions_);
      Walk(node.children[i], loops, memory);
      conditions_.resize(known);
    }
    if (is_loop) loops.pop_back();
  }

  void Loads(const Expr& e, const std::vector<NodeId>& loops, Memory& memory) {
    if (e->kind == ExprKind::kLoad) Touch(e->id, e->operands, /*stores=*/false, loops, memory);
    for (size_t i = 0; i < e->operands.size(); ++i) {
      // Only the chosen branch is evaluated.
      const size_t known = conditions_.size();
      const bool branch = e->kind == ExprKind::kSelect && i > 0;
      if (branch) AddCondition(e->operands[0], i == 1, conditions_);
      Loads(e->operands[i], loops, memory);
      conditions_.resize(known);
    }
  }

  template <typename Indices>
  void Touch(BufferId id, const Indices& indices, bool stores, const std::vector<NodeId>& loops,
             Memory& memory) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.scope != Scope::kShared) return;
    Touched& touched = memory.buffers[id];
    Expr address = Int(buffer.storage.offset);
    for (size_t d = 0; d < indices.size(); ++d) {
      address = address + indices[d] * buffer.storage.strides[d];
    }
    const auto add = [&](Users& users, Thread thread) {
      Thread& who = stores ? users.stores : users.loads;
      who = Both(who, thread);
    };
    const int64_t size = StorageElementCount(buffer);
    const std::optional<Walker> walker =
        size > kAxis || DependsOnData(address) ? std::nullopt : WalkerOf(address, loops);
    if (!walker.has_value()) return add(touched.all, kSeveral);
    touched.elements.resize(static_cast<size_t>(size));
    EnumerateBox(
        walker->extents, std::numeric_limits<int64_t>::max(),
        [&](const std::vector<int64_t>& values) {
          const auto value = [&](VarId var) -> std::optional<int64_t> {
            const auto at = std::find(walker->vars.begin(), walker->vars.end(), var);
            if (at == walker->vars.end()) return std::nullopt;
            return values[static_cast<size_t>(at - walker->vars.begin())];
          };
          if (!MayHold(*walker, value)) return;
          const int64_t place = EvalInt(walker->address, [&](VarId var) { return *value(var); });
          // Beyond the buffer: a condition that was not looked at does not hold.
          if (place < 0 || place >= size) return;
          Thread thread = 0;
          for (const auto& [var, shared_by_all] : walker->threads) {
            thread = thread * kAxis + (var >= 0 ? *value(var) : shared_by_all);
          }
          add(touched.elements[static_cast<size_t>(place)], walker->several ? kSeveral : thread);
        });
  }

  static bool DependsOnData(const Expr& e) {
    bool depends = false;
    VisitExpr(e, [&](const ExprNode& node) {
      depends = depends || node.kind == ExprKind::kLoad || node.kind == ExprKind::kBoundsCheck;
    });
    return depends;
  }

  // The variables to go through for one touch.
  struct Walker {
    Expr address;
    std::vector<VarId> vars;
    std::vector<int64_t> extents;
    // By axis: the variable that says which thread; -1: none, and the number stands for it.
    std::array<std::pair<VarId, int64_t>, 3> threads;
    bool several = false;  // Threads that nothing tells apart touch the same.
    std::vector<Condition> conditions;
    std::map<VarId, Range> ranges;
  };

  // Nothing where that would be more points than are left.
  std::optional<Walker> WalkerOf(const Expr& address, const std::vector<NodeId>& loops) {
    Walker walker;
    std::array<VarId, 3> axes = {-1, -1, -1};
    bool in_nest = false;
    for (const NodeId loop : loops) {
      const Node& node = program_.nodes[loop];
      walker.ranges[node.var] = {0, MaxExtent(program_, node.var) - 1};
      if (IsThreadLoop(node)) axes[static_cast<size_t>(TagOf(node) - kFirstThreadTag)] = node.var;
      in_nest = in_nest || node.loop_kind == LoopKind::kTensorized;
    }
    walker.address = Simplify(address, RangesOf(walker.ranges));
    std::set<VarId> wanted;
    for (const VarId var : FreeVars(walker.address)) wanted.insert(var);
    for (const Condition& condition : conditions_) {
      for (const VarId var : axes) {
        if (var >= 0 && MentionsVar(condition.cond, var)) wanted.insert(var);
      }
    }
    for (const Condition& condition : conditions_) {
      const std::vector<VarId> free = FreeVars(condition.cond);
      const bool known =
          std::any_of(free.begin(), free.end(), [&](VarId var) { return wanted.count(var) > 0; });
      if (known) walker.conditions.push_back(condition);
    }
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      const VarId var = axes[axis];
      const bool tells = var >= 0 && wanted.count(var) > 0;
      // All threads of the axis do an instruction together: as one that is none of them.
      walker.threads[2 - axis] = {tells ? var : -1, var < 0 && in_nest ? kAxis - 1 : 0};
      walker.several = walker.several || (var >= 0 && !tells && walker.ranges[var].max > 0);
    }
    int64_t points = 1;
    for (const VarId var : wanted) {
      walker.vars.push_back(var);
      walker.extents.push_back(walker.ranges.at(var).max + 1);
      if (walker.extents.back() > budget_ / points) return std::nullopt;
      points *= walker.extents.back();
    }
    budget_ -= points;
    return walker;
  }

  static VarRanges RangesOf(const std::map<VarId, Range>& ranges) {
    return [&ranges](VarId var) -> std::optional<Range> {
      const auto found = ranges.find(var);
      return found == ranges.end() ? std::nullopt : std::optional<Range>(found->second);
    };
  }

  // Whether no condition surely fails where the variables have these values.
  template <typename Value>
  static bool MayHold(const Walker& walker, const Value& value) {
    const VarRanges ranges = [&](VarId var) -> std::optional<Range> {
      if (const auto fixed = value(var); fixed.has_value()) return Range{*fixed, *fixed};
      return RangesOf(walker.ranges)(var);
    };
    return std::all_of(walker.conditions.begin(), walker.conditions.end(),
                       [&](const Condition& condition) { return MayBe(condition, ranges); });
  }

  static bool MayBe(const Condition& condition, const VarRanges& ranges) {
    const Expr& e = condition.cond;
    if (e->operands.size() != 2 || IsFloat(e->operands[0]->dtype)) return true;
    const auto left = RangeOf(e->operands[0], ranges), right = RangeOf(e->operands[1], ranges);
    if (!left.has_value() || !right.has_value()) return true;
    const bool holds = condition.holds;
    switch (e->kind) {
      case ExprKind::kLt:
        return holds ? left->min < right->max : left->max >= right->min;
      case ExprKind::kLe:
        return holds ? left->min <= right->max : left->max > right->min;
      case ExprKind::kEq:
        return !holds || (left->min <= right->max && right->min <= left->max);
      default:
        return true;
    }
  }

  const Program& program_;
  int64_t budget_ = int64_t{1} << 22;  // Points of the program.
  std::vector<Condition> conditions_;
};

class BarrierInserter {
 public:
  explicit BarrierInserter(Program& program) : program_(program), finder_(program) {}

  // All threads of a block pass where a barrier is put: outside of the loops over them.
  absl::StatusOr<Span> Visit(NodeId id) {
    if (program_.nodes[id].children.empty() || IsThreadLoop(program_.nodes[id])) {
      const Memory memory = finder_.Under(id, loops_);
      for (const auto& [buffer, touched] : memory.buffers) {
        RETURN_IF_ERROR(CheckWithin(buffer, touched));
      }
      return Span{.head = memory, .tail = memory};
    }
    if (program_.nodes[id].kind == NodeKind::kIf) return VisitBranches(id);
    const bool is_loop = program_.nodes[id].kind == NodeKind::kLoop;
    if (is_loop) loops_.push_back(id);
    Span span;
    const std::vector<NodeId> children = std::move(program_.nodes[id].children);
    program_.nodes[id].children.clear();
    for (const NodeId child : children) {
      ASSIGN_OR_RETURN(const Span next, Visit(child));
      if (span.tail.Meets(next.head)) AppendBarrier(id, span);
      program_.nodes[id].children.push_back(child);
      span.Append(next);
    }
    if (is_loop) loops_.pop_back();
    // The end of an iteration meets the beginning of the next, but for that of another block.
    const bool repeats =
        is_loop && TagOf(program_.nodes[id]) < 0 && MaxExtent(program_, program_.nodes[id].var) > 1;
    if (repeats && span.tail.Meets(span.head)) {
      AppendBarrier(id, span);
    }
    return span;
  }

 private:
  // Either branch, or none.
  absl::StatusOr<Span> VisitBranches(NodeId id) {
    Span either;
    for (const NodeId branch : std::vector<NodeId>(program_.nodes[id].children)) {
      ASSIGN_OR_RETURN(const Span span, Visit(branch));
      either.head.Add(span.head);
      either.tail.Add(span.tail);
    }
    return either;
  }

  absl::Status CheckWithin(BufferId buffer, const Touched& touched) const {
    const auto meet = [](const Users& users) {
      return users.stores == kSeveral || Differ(users.stores, users.loads);
    };
    if (!meet(touched.all) &&
        std::none_of(touched.elements.begin(), touched.elements.end(), meet)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("threads of one loop would store elements of ",
                                                   program_.buffers[buffer].name,
                                                   " that others of them touch"));
  }

  void AppendBarrier(NodeId parent, Span& span) {
    AppendChild(program_, parent, AddNode(program_, {.kind = NodeKind::kBarrier}));
    span.Append({.has_barrier = true});
  }

  Program& program_;
  TouchFinder finder_;
  std::vector<NodeId> loops_;
};

}  // namespace

absl::Status InsertBarriers(Program& lowered) {
  // Most programs are for CPUs.
  const bool shares = std::any_of(lowered.buffers.begin(), lowered.buffers.end(),
                                  [](const Buffer& b) { return b.scope == Scope::kShared; });
  if (!shares) return absl::OkStatus();
  BarrierInserter inserter(lowered);
  const std::vector<NodeId> nests = lowered.nodes[lowered.root].children;
  for (const NodeId nest : nests) RETURN_IF_ERROR(inserter.Visit(nest).status());
  return absl::OkStatus();
}

}  // namespace burnish
