// Rules on what is declared: names, shapes, storage, variables, and expressions by themselves.
#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/ir/verify_rules.h"

namespace burnish {
namespace {

// Limits on what a text may claim. The runtime's tensors have 16 dimensions (tensor_info.h), and
// definitions split some of them. With 2^31 a dimension and 2^40 elements every offset, also times
// the size of an element, stays far within 64 bits.
constexpr size_t kRankMax = 24;
constexpr int64_t kExtentMax = int64_t{1} << 31;
constexpr int64_t kElementsMax = int64_t{1} << 40;
// Maps of maps double with each level: a text of a few hundred lines could stand for an expression
// that fills the memory.
// Of a variable's map and extent, written out over loop variables.
constexpr int64_t kExpandedNodesMax = 20000;

template <typename... Parts>
absl::Status Broken(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

template <typename T>
absl::Status UniqueNames(const std::vector<T>& all, const char* what) {
  absl::flat_hash_set<absl::string_view> names;
  for (const T& one : all) {
    if (!names.insert(one.name).second) return Broken("two ", what, " are named ", one.name);
  }
  return absl::OkStatus();
}

absl::Status VerifyStorage(const Buffer& buffer) {
  const Storage& storage = buffer.storage;
  const size_t rank = buffer.shape.size();
  if (storage.strides.size() != rank ||
      (!storage.border.empty() && storage.border.size() != rank)) {
    return Broken("buffer ", buffer.name, ": got ", storage.strides.size(), " strides and ",
                  storage.border.size(), " borders, want ", rank);
  }
  // Every operand is below 2^62: nothing overflows in 128 bits.
  __int128 first = storage.offset, last = storage.offset;
  for (size_t d = 0; d < rank; ++d) {
    const auto [below, above] = BorderOf(buffer, static_cast<int>(d));
    if (below < 0 || above < 0 || below > kExtentMax || above > kExtentMax) {
      return Broken("buffer ", buffer.name, ": got a border of ", below, " and ", above);
    }
    const __int128 stride = storage.strides[d];
    const __int128 low = -below * stride, high = (buffer.shape[d] - 1 + above) * stride;
    first += std::min(low, high);
    last += std::max(low, high);
  }
  if (first < 0 || last >= kElementsMax) {
    return Broken("buffer ", buffer.name,
                  ": its strides, border and offset reach before its allocation or beyond 2^40 "
                  "elements");
  }
  const int64_t alignment = storage.alignment_bytes;
  if (alignment < 1 || (alignment & (alignment - 1)) != 0) {
    return Broken("buffer ", buffer.name, ": got an alignment of ", alignment,
                  " bytes, want a power of two");
  }
  return absl::OkStatus();
}

absl::Status VerifyBuffer(const Buffer& buffer) {
  if (buffer.shape.size() > kRankMax) {
    return Broken("buffer ", buffer.name, ": got ", buffer.shape.size(),
                  " dimensions, want <= ", kRankMax);
  }
  int64_t count = 1;
  for (const int64_t extent : buffer.shape) {
    if (extent < 1 || extent > kExtentMax || extent > kElementsMax / count) {
      return Broken("buffer ", buffer.name, ": got a dimension of ", extent,
                    ", want 1 to 2^31 and fewer than 2^40 elements");
    }
    count *= extent;
  }
  if (buffer.role != BufferRole::kTemp && buffer.scope != Scope::kGlobal &&
      buffer.scope != Scope::kAuto) {
    return Broken("buffer ", buffer.name, ": only temporary buffers have a scope");
  }
  return VerifyStorage(buffer);
}

absl::Status VerifyVar(const Program& program, const Var& var) {
  for (const Expr& e : {var.extent, var.def}) {
    if (e == nullptr) continue;
    if (absl::Status status = VerifyExpr(program, e, std::nullopt); !status.ok()) {
      return Broken("variable ", var.name, ": ", status.message());
    }
    if (e->dtype != DType::kI64) {
      return Broken("variable ", var.name, ": got a map or extent of type ", DTypeName(e->dtype),
                    ", want i64");
    }
  }
  for (const Expr& e : {var.extent, var.def}) {
    bool reads = false, divides = false;
    VisitExpr(e, [&](const ExprNode& node) {
      reads |= node.kind == ExprKind::kLoad;
      divides |= (node.kind == ExprKind::kDiv || node.kind == ExprKind::kFloorDiv ||
                  node.kind == ExprKind::kMod) &&
                 !(IsConstInt(node.operands[1]) && node.operands[1]->int_value >= 1);
    });
    // What runs how often must not depend on data: nothing about it could be proved.
    if (reads) return Broken("variable ", var.name, ": its map or extent reads a buffer");
    // Whoever evaluates it does so at every point of a box, also where no iteration is.
    if (divides) return Broken("variable ", var.name, ": got a divisor that is no constant >= 1");
  }
  if (var.extent == nullptr) return Broken("variable ", var.name, ": no extent");
  if (IsConstInt(var.extent) && (var.extent->int_value < 1 || var.extent->int_value > kExtentMax)) {
    return Broken("variable ", var.name, ": got extent ", var.extent->int_value,
                  ", want 1 to 2^31");
  }
  if (var.def == nullptr && (var.guarded || var.repeats)) {
    return Broken("variable ", var.name, ": guarded or repeats without a map");
  }
  if (var.repeats && var.reduce) {
    return Broken("variable ", var.name, ": a reduction variable that repeats counts terms twice");
  }
  return absl::OkStatus();
}

// Depth-first over maps and extents: no variable may need itself, and none may be too long when it
// is written out.
class CycleFinder {
 public:
  explicit CycleFinder(const Program& program)
      : program_(program), nodes_(program.vars.size(), kUnknown) {}

  absl::Status Visit(VarId var, int depth) {
    constexpr int kDepthMax = 200;
    if (nodes_[var] > 0) return absl::OkStatus();
    const std::string& name = program_.vars[var].name;
    if (nodes_[var] == kOpen) return Broken("variable ", name, ": its map needs itself");
    if (depth > kDepthMax) return Broken("variable ", name, ": over ", kDepthMax, " nested maps");
    nodes_[var] = kOpen;
    int64_t count = 1;
    for (const Expr& e : {program_.vars[var].extent, program_.vars[var].def}) {
      std::vector<VarId> uses;
      VisitExpr(e, [&](const ExprNode& node) {
        ++count;
        if (node.kind == ExprKind::kVar) uses.push_back(node.id);
      });
      for (const VarId use : uses) {
        RETURN_IF_ERROR(Visit(use, depth + 1));
        count += nodes_[use];
        if (count > kExpandedNodesMax) {
          return Broken("variable ", name, ": its map has over ", kExpandedNodesMax, " nodes");
        }
      }
    }
    nodes_[var] = count;
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kUnknown = 0;
  static constexpr int64_t kOpen = -1;
  const Program& program_;
  std::vector<int64_t> nodes_;  // Of the written-out map and extent, or one of the above.
};

}  // namespace

absl::Status VerifyDeclarations(const Program& program) {
  RETURN_IF_ERROR(UniqueNames(program.buffers, "buffers"));
  RETURN_IF_ERROR(UniqueNames(program.vars, "variables"));
  RETURN_IF_ERROR(UniqueNames(program.blocks, "blocks"));
  for (const Buffer& buffer : program.buffers) RETURN_IF_ERROR(VerifyBuffer(buffer));
  for (const Var& var : program.vars) RETURN_IF_ERROR(VerifyVar(program, var));
  CycleFinder cycles(program);
  for (size_t i = 0; i < program.vars.size(); ++i) {
    RETURN_IF_ERROR(cycles.Visit(static_cast<VarId>(i), 0));
  }
  return absl::OkStatus();
}

}  // namespace burnish
