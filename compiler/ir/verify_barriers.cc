// Proof that the threads of a block wait for each other where one needs what another stored in
// shared memory: no two threads touch one element between two barriers, one of them storing. Apart
// from lower_barriers.cc, which places barriers, so that one can be wrong without the other.
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/index_space.h"
#include "compiler/ir/launch.h"
#include "compiler/ir/verify_rules.h"

namespace burnish {
namespace {

// Places on the axes x, y and z. All threads of an axis that do an instruction together have the
// place -1 on it.
using Thread = std::tuple<int64_t, int64_t, int64_t>;

// Up to two of the threads that did something: a third tells nothing more.
class Threads {
 public:
  bool empty() const { return !first_.has_value(); }
  bool several() const { return several_; }
  void Add(const Thread& thread) {
    if (!first_.has_value()) first_ = thread;
    several_ = several_ || *first_ != thread;
  }
  void AddAny() {
    first_.emplace();
    several_ = true;
  }
  void Add(const Threads& other) {
    if (other.empty()) return;
    Add(*other.first_);
    several_ = several_ || other.several_;
  }
  // Whether two threads, one of each, are not the same.
  bool IsApartFrom(const Threads& other) const {
    if (empty() || other.empty()) return false;
    return several_ || other.several_ || *first_ != *other.first_;
  }

 private:
  std::optional<Thread> first_;
  bool several_ = false;
};

struct Access {
  Threads loading, storing;

  void Add(const Access& other) {
    loading.Add(other.loading);
    storing.Add(other.storing);
  }
  bool RacesWith(const Access& other) const {
    return storing.IsApartFrom(other.storing) || storing.IsApartFrom(other.loading) ||
           loading.IsApartFrom(other.storing);
  }
};

// By buffer and place in it. Place -1: all of the buffer, where its elements were not looked at.
using Place = std::pair<BufferId, int64_t>;
constexpr int64_t kWhole = -1;

struct Accesses {
  absl::flat_hash_map<Place, Access> at;
  std::map<BufferId, Access> of_buffer;  // The same, all places together.

  void Add(const Place& place, const Access& access) {
    at[place].Add(access);
    of_buffer[place.first].Add(access);
  }
  void Add(const Accesses& other) {
    for (const auto& [place, access] : other.at) Add(place, access);
  }
  void Clear() { *this = Accesses(); }
};

// Of a piece of a block's work: what comes before its first barrier and what after its last one.
// Without a barrier both are all accesses.
struct Work {
  Accesses first, last;
  bool has_barrier = false;
};

class BarrierVerifier {
 public:
  explicit BarrierVerifier(const Program& program)
      : program_(program), space_(program, VarView::kExpanded) {}

  absl::Status Run() {
    for (const NodeId nest : program_.nodes[program_.root].children) {
      RETURN_IF_ERROR(Walk(nest).status());
    }
    return absl::OkStatus();
  }

 private:
  template <typename... Parts>
  static absl::Status Broken(const Parts&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  }

  absl::StatusOr<Work> Walk(NodeId id) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::kBarrier) {
      if (thread_loops_ > 0) return Broken("a barrier inside a loop over threads");
      return Work{.has_barrier = true};
    }
    if (node.kind == NodeKind::kStore) return Store(node);
    if (node.kind == NodeKind::kIf) return WalkBranches(node);
    if (node.kind != NodeKind::kLoop) return WalkChildren(node);
    const bool is_thread_loop = IsThreadLoop(node);
    loops_.push_back(id);
    thread_loops_ += is_thread_loop ? 1 : 0;
    ASSIGN_OR_RETURN(Work work, WalkChildren(node));
    thread_loops_ -= is_thread_loop ? 1 : 0;
    loops_.pop_back();
    if (is_thread_loop && thread_loops_ == 0) {
      // All its threads are at work at once.
      RETURN_IF_ERROR(CheckWithin(work.first));
    } else if (TagOf(node) < 0 && thread_loops_ == 0 && space_.RangeOf(Extent(node)).max > 1) {
      // The next iteration of a loop that all threads of a block go through together.
      RETURN_IF_ERROR(CheckMeeting(work.last, work.first));
    }
    return work;
  }

  const Expr& Extent(const Node& loop) const { return program_.vars[loop.var].extent; }

  absl::StatusOr<Work> WalkChildren(const Node& node) {
    Work all;
    for (const NodeId child : node.children) {
      ASSIGN_OR_RETURN(const Work next, Walk(child));
      // What one thread does in turn needs no barrier.
      if (thread_loops_ == 0) RETURN_IF_ERROR(CheckMeeting(all.last, next.first));
      if (!all.has_barrier) all.first.Add(next.first);
      if (next.has_barrier) all.last.Clear();
      all.last.Add(next.last);
      all.has_barrier = all.has_barrier || next.has_barrier;
    }
    return all;
  }

  // Either branch, or none, after the condition.
  absl::StatusOr<Work> WalkBranches(const Node& node) {
    Work asked;
    all_ask_ = thread_loops_ == 0;
    Loads(node.cond, asked.first);
    all_ask_ = false;
    asked.last = asked.first;
    Work either = asked;
    for (size_t side = 0; side < node.children.size(); ++side) {
      const size_t known = guards_.size();
      AddGuard(node.cond, side == 0, guards_);
      ASSIGN_OR_RETURN(const Work work, Walk(node.children[side]));
      guards_.resize(known);
      if (thread_loops_ == 0) RETURN_IF_ERROR(CheckMeeting(asked.last, work.first));
      either.first.Add(work.first);
      either.last.Add(work.last);
    }
    return either;
  }

  absl::Status CheckMeeting(const Accesses& before, const Accesses& after) const {
    for (const auto& [place, access] : after.at) {
      const auto& [buffer, element] = place;
      bool races = false;
      for (const int64_t other : {element, kWhole}) {
        const auto found = before.at.find({buffer, other});
        races = races || (found != before.at.end() && found->second.RacesWith(access));
      }
      if (const auto all = before.of_buffer.find(buffer);
          element == kWhole && all != before.of_buffer.end()) {
        races = races || all->second.RacesWith(access);
      }
      if (!races) continue;
      return Broken("no barrier between loops over threads that touch ",
                    program_.buffers[buffer].name);
    }
    return absl::OkStatus();
  }

  absl::Status CheckWithin(const Accesses& accesses) const {
    for (const auto& [place, access] : accesses.at) {
      if (!access.storing.several() && !access.storing.IsApartFrom(access.loading)) continue;
      return Broken("threads of one loop meet at an element of ",
                    program_.buffers[place.first].name, " that one of them stores");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Work> Store(const Node& store) {
    Work work;
    Loads(store.value, work.first);
    for (const Expr& index : store.indices) Loads(index, work.first);
    Touch(store.buffer, store.indices, /*stores=*/true, guards_, work.first);
    work.last = work.first;
    return work;
  }

  void Loads(const Expr& e, Accesses& accesses) {
    VisitAccesses(e, guards_, [&](const ExprNode& access, const Guards& guards) {
      if (access.kind != ExprKind::kLoad) return;
      Touch(access.id, access.operands, /*stores=*/false, guards, accesses);
    });
  }

  template <typename Indices>
  void Touch(BufferId id, const Indices& indices, bool stores, const Guards& guards,
             Accesses& accesses) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.scope != Scope::kShared) return;
    std::vector<Expr> wanted(indices.begin(), indices.end());
    const std::vector<VarId> threads = ThreadsOf(guards, wanted);
    std::vector<std::pair<int64_t, Access>> found;
    const auto walk = space_.Enumerate(space_.VarsOf(wanted), &budget_, [&] {
      if (IsExcluded(guards)) return true;
      int64_t place = 0;
      for (size_t d = 0; d < indices.size(); ++d) {
        const std::optional<int64_t> index = space_.Eval(indices[d]);
        if (!index.has_value()) return false;
        // Nothing runs there: the rules of bounds have seen that it cannot.
        if (*index < 0 || *index >= buffer.shape[d]) return true;
        place = place * buffer.shape[d] + *index;
      }
      Access access;
      AddThreads(threads, stores ? access.storing : access.loading);
      found.emplace_back(place, access);
      return true;
    });
    if (walk != IndexSpace::Walk::kDone) {
      Access any;
      (stores ? any.storing : any.loading).AddAny();
      return accesses.Add({id, kWhole}, any);
    }
    for (const auto& [place, access] : found) accesses.Add({id, place}, access);
  }

  // The variables that say which thread it is, where one of `wanted` or of the guards mentions
  // them, which are then wanted, too. -1: that loop is not around. -2: all threads do it alike.
  std::vector<VarId> ThreadsOf(const Guards& guards, std::vector<Expr>& wanted) const {
    std::vector<VarId> threads(3, -1);
    for (const NodeId loop : loops_) {
      const Node& node = program_.nodes[loop];
      if (!IsThreadLoop(node)) continue;
      bool mentioned = false;
      for (const Expr& e : wanted) mentioned = mentioned || MentionsVar(e, node.var);
      for (const auto& [cond, holds] : guards) mentioned = mentioned || MentionsVar(cond, node.var);
      const bool alone = space_.RangeOf(Extent(node)).max <= 1;
      if (mentioned) wanted.push_back(VarRef(node.var));
      threads[static_cast<size_t>(TagOf(node) - kFirstThreadTag)] =
          mentioned || alone ? node.var : -2;
    }
    return threads;
  }

  void AddThreads(const std::vector<VarId>& vars, Threads& threads) const {
    if (all_ask_) return threads.AddAny();
    bool in_nest = false;
    for (const NodeId loop : loops_) {
      in_nest = in_nest || program_.nodes[loop].loop_kind == LoopKind::kTensorized;
    }
    int64_t places[3] = {};
    for (size_t axis = 0; axis < vars.size(); ++axis) {
      if (vars[axis] == -2) return threads.AddAny();
      places[axis] = vars[axis] < 0 ? (in_nest ? -1 : 0) : space_.RangeOfVar(vars[axis]).min;
    }
    threads.Add(Thread(places[0], places[1], places[2]));
  }

  // Whether a guard surely fails at the present values.
  bool IsExcluded(const Guards& guards) const {
    for (const auto& [cond, holds] : guards) {
      const Interval truth = space_.RangeOf(cond);
      if (holds ? truth.max == 0 : truth.min == 1) return true;
    }
    return false;
  }

  const Program& program_;
  IndexSpace space_;
  int64_t budget_ = int64_t{1} << 22;  // Points of the program.
  std::vector<NodeId> loops_;          // Around, outermost first.
  int thread_loops_ = 0;               // Of these.
  bool all_ask_ = false;               // A condition outside of loops over threads.
  Guards guards_;
};

}  // namespace

absl::Status VerifyBarriers(const Program& program) {
  return HasBoundLoops(program) ? BarrierVerifier(program).Run() : absl::OkStatus();
}

}  // namespace burnish
