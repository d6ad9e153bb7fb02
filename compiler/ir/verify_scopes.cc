// Rules on the memories of a lowered program: who may touch what. Apart from lower_scopes.cc, which
// places them, so that one can be wrong without the other.
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/launch.h"
#include "compiler/ir/lowered.h"
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

class ScopeVerifier {
 public:
  explicit ScopeVerifier(const Program& program)
      : program_(program), places_(program.buffers.size()) {}

  absl::Status Run() {
    owners_.resize(program_.buffers.size());
    has_owners_ = HasBoundLoops(program_);
    if (has_owners_) {
      ASSIGN_OR_RETURN(owners_, FindOwners(program_));
    }
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.role == BufferRole::kTemp && buffer.scope == Scope::kAuto) {
        return Broken("buffer ", buffer.name, " of a lowered program has no scope");
      }
      if (buffer.scope == Scope::kTile) RETURN_IF_ERROR(CheckTile(buffer));
    }
    for (const NodeId nest : program_.nodes[program_.root].children) {
      here_ = {.nest = nest};
      tiles_ = 0;
      RETURN_IF_ERROR(Walk(nest));
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

  absl::Status Walk(NodeId id) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::kStore) {
      absl::Status status;
      VisitLoads(node, [&](const ExprNode& load) {
        if (status.ok()) status = Touch(load.id);
      });
      RETURN_IF_ERROR(status);
      return Touch(node.buffer);
    }
    const int tag = TagOf(node);
    std::vector<NodeId>& around = tag >= kFirstThreadTag ? here_.threads : here_.blocks;
    if (tag >= 0) around.push_back(id);
    const bool in_nest =
        std::exchange(in_nest_, in_nest_ || node.loop_kind == LoopKind::kTensorized);
    for (const NodeId child : node.children) RETURN_IF_ERROR(Walk(child));
    in_nest_ = in_nest;
    if (tag >= 0) around.pop_back();
    return absl::OkStatus();
  }

  absl::Status Touch(BufferId id) {
    const Buffer& buffer = program_.buffers[id];
    if (buffer.role != BufferRole::kTemp) return absl::OkStatus();
    std::optional<Place>& first = places_[id];
    if (!first.has_value()) {
      first = here_;
      if (buffer.scope == Scope::kTile) tiles_ += TilesOf(id);
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
      case Scope::kRegister:
        if (!has_owners_ || here_.nest == first->nest) return absl::OkStatus();
        return Broken("register buffer ", buffer.name, " is touched in more than one launch");
      case Scope::kShared:
        if (here_.blocks == first->blocks && !here_.blocks.empty()) return absl::OkStatus();
        return Broken("shared buffer ", buffer.name, " is not touched by one block alone");
      default:
        return absl::OkStatus();
    }
  }

  // Tiles of one thread, or of threads that hold them together.
  int64_t TilesOf(BufferId id) const {
    const std::vector<int64_t>& shape = program_.buffers[id].shape;
    int64_t tiles = 1;
    for (size_t d = 0; d + 2 < shape.size(); ++d) {
      if (owners_[id].tags.empty() || owners_[id].tags[d] < 0) tiles *= shape[d];
    }
    return tiles;
  }

  const Program& program_;
  std::vector<std::optional<Place>> places_;  // By BufferId: of the first touch.
  std::vector<WindowOwners> owners_;          // By BufferId.
  bool has_owners_ = false;                   // Loops are bound.
  Place here_;
  bool in_nest_ = false;  // Of an instruction.
  int64_t tiles_ = 0;     // Of sums, of the nest so far.
};

}  // namespace

absl::Status VerifyScopes(const Program& program) { return ScopeVerifier(program).Run(); }

}  // namespace burnish
