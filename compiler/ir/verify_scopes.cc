// Rules on the memories of a lowered program: who may touch what, and that the threads of a block
// wait for each other where one needs what another stored. Apart from lower_scopes.cc, which places
// both, so that one can be wrong without the other.
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/launch.h"
#include "compiler/ir/owner_dims.h"
#include "compiler/ir/verify_rules.h"
#include "compiler/target/instruction.h"

namespace burnish {
namespace {

// The loops around one touch of a buffer that decide which copy of a memory it meets.
struct Place {
  NodeId nest = -1;
  std::vector<NodeId> blocks, threads;

  bool operator==(const Place&) const = default;
};

// Accesses of shared buffers, of a piece of a block's work: of what comes before its first barrier
// and of what comes after its last one. Without a barrier both are all accesses.
using Accesses = std::map<BufferId, int>;
struct Work {
  Accesses first, last;
  bool has_barrier = false;
};

class ScopeVerifier {
 public:
  explicit ScopeVerifier(const Program& program)
      : program_(program), places_(program.buffers.size()) {}

  absl::Status Run() {
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.role == BufferRole::kTemp && buffer.scope == Scope::kAuto) {
        return Broken("buffer ", buffer.name, " of a lowered program has no scope");
      }
      if (buffer.scope == Scope::kTile) RETURN_IF_ERROR(CheckTile(buffer));
    }
    for (const NodeId nest : program_.nodes[program_.root].children) {
      here_ = {.nest = nest};
      tiles_ = 0;
      RETURN_IF_ERROR(Walk(nest).status());
      // An instruction has its operands in such registers, too: one of each side at least.
      const int64_t registers = GreatestTiles().count;
      if (tiles_ > registers - 2) {
        return Broken("got ", tiles_, " tiles of sums in one nest, want at most ", registers - 2,
                      ": two of ", registers, " registers are operands'");
      }
    }
    return absl::OkStatus();
  }

 private:
  enum Access : int { kLoaded = 1, kStored = 2 };

  template <typename... Parts>
  static absl::Status Broken(const Parts&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  }

  absl::Status CheckTile(const Buffer& buffer) const {
    const size_t rank = buffer.shape.size();
    if (rank < 2) return Broken("tile buffer ", buffer.name, " has no rows and columns");
    const int64_t bytes = buffer.shape[rank - 1] * SizeBytes(buffer.dtype);
    const TileFile& most = GreatestTiles();
    if (buffer.shape[rank - 2] > most.rows || bytes > most.row_bytes) {
      return Broken("tile buffer ", buffer.name, ": got ", buffer.shape[rank - 2], " rows of ",
                    bytes, " bytes, want at most ", most.rows, " of ", most.row_bytes);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Work> Walk(NodeId id) {
    const Node& node = program_.nodes[id];
    switch (node.kind) {
      case NodeKind::kBarrier:
        if (!here_.threads.empty()) return Broken("a barrier inside a loop over threads");
        return Work{.has_barrier = true};
      case NodeKind::kStore:
        return Touch(node);
      case NodeKind::kIf:
        return WalkBranches(node);
      case NodeKind::kLoop:
        return WalkLoop(id);
      default:
        return WalkChildren(node);
    }
  }

  absl::StatusOr<Work> WalkLoop(NodeId id) {
    const Node& node = program_.nodes[id];
    const bool bound = node.loop_kind == LoopKind::kBound;
    std::vector<NodeId>* const around = !bound ? nullptr
                                        : absl::StartsWith(node.thread_tag, "thread.")
                                            ? &here_.threads
                                            : &here_.blocks;
    if (around != nullptr) around->push_back(id);
    const bool in_nest =
        std::exchange(in_nest_, in_nest_ || node.loop_kind == LoopKind::kTensorized);
    ASSIGN_OR_RETURN(Work work, WalkChildren(node));
    in_nest_ = in_nest;
    if (around != nullptr) around->pop_back();
    // The next iteration of a loop that all threads of a block go through together.
    if (!bound && here_.threads.empty()) RETURN_IF_ERROR(CheckMeeting(work.last, work.first));
    return work;
  }

  absl::StatusOr<Work> WalkChildren(const Node& node) {
    Work all;
    for (const NodeId child : node.children) {
      ASSIGN_OR_RETURN(const Work next, Walk(child));
      // What one thread does in turn needs no barrier.
      if (here_.threads.empty()) RETURN_IF_ERROR(CheckMeeting(all.last, next.first));
      if (!all.has_barrier) Add(next.first, all.first);
      if (next.has_barrier) all.last.clear();
      Add(next.last, all.last);
      all.has_barrier = all.has_barrier || next.has_barrier;
    }
    return all;
  }

  absl::StatusOr<Work> WalkBranches(const Node& node) {
    Work either;
    for (const NodeId branch : node.children) {
      ASSIGN_OR_RETURN(const Work work, Walk(branch));
      Add(work.first, either.first);
      Add(work.last, either.last);
    }
    return either;
  }

  static void Add(const Accesses& from, Accesses& into) {
    for (const auto& [buffer, access] : from) into[buffer] |= access;
  }

  absl::Status CheckMeeting(const Accesses& before, const Accesses& after) const {
    for (const auto& [buffer, access] : after) {
      const auto found = before.find(buffer);
      if (found == before.end() || ((found->second | access) & kStored) == 0) continue;
      return Broken("no barrier between loops over threads that touch ",
                    program_.buffers[buffer].name);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Work> Touch(const Node& store) {
    Work work;
    absl::Status status;
    const auto loads = [&](const Expr& e) {
      VisitExpr(e, [&](const ExprNode& node) {
        if (status.ok() && node.kind == ExprKind::kLoad) status = TouchOne(node.id, kLoaded, work);
      });
    };
    loads(store.value);
    for (const Expr& index : store.indices) loads(index);
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(TouchOne(store.buffer, kStored, work));
    work.last = work.first;
    return work;
  }

  absl::Status TouchOne(BufferId id, Access access, Work& work) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.role != BufferRole::kTemp) return absl::OkStatus();
    std::optional<Place>& first = places_[id];
    if (!first.has_value()) {
      first = here_;
      if (buffer.scope == Scope::kTile) {
        tiles_ +=
            ElementCount(buffer.shape) / *buffer.shape.rbegin() / *(buffer.shape.rbegin() + 1);
      }
    }
    switch (buffer.scope) {
      case Scope::kScratch:
        if (here_.nest == first->nest) return absl::OkStatus();
        return Broken("scratch buffer ", buffer.name, " is touched in more than one nest");
      case Scope::kLocal:
        if (here_ == *first && !here_.threads.empty()) return absl::OkStatus();
        return Broken("local buffer ", buffer.name, " is not touched by one thread alone");
      case Scope::kTile:
        if (!in_nest_) {
          return Broken("tile buffer ", buffer.name,
                        " is touched outside of an instruction's nest");
        }
        if (here_.nest == first->nest) return absl::OkStatus();
        return Broken("tile buffer ", buffer.name, " is touched in more than one nest");
      case Scope::kShared:
        work.first[id] |= access;
        if (here_.blocks == first->blocks && !here_.blocks.empty()) return absl::OkStatus();
        return Broken("shared buffer ", buffer.name, " is not touched by one block alone");
      default:
        return absl::OkStatus();
    }
  }

  const Program& program_;
  std::vector<std::optional<Place>> places_;  // By BufferId: of the first touch.
  Place here_;
  bool in_nest_ = false;  // Of an instruction.
  int64_t tiles_ = 0;     // Of sums, of the nest so far.
};

}  // namespace

absl::Status VerifyScopes(const Program& program) {
  RETURN_IF_ERROR(ScopeVerifier(program).Run());
  return HasBoundLoops(program) ? FindOwners(program).status() : absl::OkStatus();
}

}  // namespace burnish
