#include "compiler/codegen/kernel_layout.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

// Both areas and all their parts start on a cache line.
constexpr int64_t kAlignment = 64;

int64_t AlignUp(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Root children that use a temporary, first to last. Positions of the pack function's children
// follow those of the kernel's: the two never run at the same time.
struct Lifetime {
  int first = std::numeric_limits<int>::max();
  int last = -1;
};

std::vector<Lifetime> FindLifetimes(const Program& program) {
  std::vector<Lifetime> lifetimes(program.buffers.size());
  int position = 0;
  const auto use = [&](BufferId buffer) {
    lifetimes[buffer].first = std::min(lifetimes[buffer].first, position);
    lifetimes[buffer].last = std::max(lifetimes[buffer].last, position);
  };
  const auto visit = [&](const ExprNode& node) {
    if (node.kind == ExprKind::kLoad) use(node.id);
  };
  for (NodeId root : {program.root, program.pack_root}) {
    if (root < 0) continue;
    for (NodeId child : program.nodes[root].children) {
      for (NodeId id : Subtree(program, child)) {
        const Node& node = program.nodes[id];
        if (node.buffer >= 0) use(node.buffer);
        for (const Expr& index : node.indices) VisitExpr(index, visit);
        VisitExpr(node.value, visit);
        VisitExpr(node.cond, visit);
      }
      ++position;
    }
  }
  return lifetimes;
}

// Quadratic, for the few temporaries that a kernel has.
// First fit in the order of the buffers. Returns the size of the area.
int64_t Place(const Program& program, Scope scope, const std::vector<Lifetime>& lifetimes,
              std::vector<int64_t>& offsets) {
  std::vector<BufferId> placed;
  int64_t area = 0;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    const Lifetime& life = lifetimes[i];
    if (buffer.role != BufferRole::kTemp || buffer.scope != scope || life.last < 0) continue;
    const int64_t size = AlignUp(StorageBytes(buffer));
    int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (BufferId other : placed) {
        const int64_t start = offsets[other];
        const int64_t end = start + AlignUp(StorageBytes(program.buffers[other]));
        const bool alive =
            life.first <= lifetimes[other].last && lifetimes[other].first <= life.last;
        if (alive && offset < end && start < offset + size) {
          // Behind the one in the way, and all others are asked again: a later one may be in the
          // way there. Offsets only grow, so this ends.
          offset = end;
          moved = true;
        }
      }
    }
    offsets[i] = offset;
    area = std::max(area, offset + size);
    placed.push_back(static_cast<BufferId>(i));
  }
  return area;
}

}  // namespace

int64_t StorageBytes(const Buffer& buffer) {
  return StorageElementCount(buffer) * SizeBytes(buffer.dtype);
}

KernelInfo InfoOf(const KernelSource& source, const KernelLayout& layout) {
  const Program& program = *source.program;
  KernelInfo info{.symbol = source.symbol,
                  .has_pack = program.pack_root >= 0,
                  .scratch_bytes = layout.scratch_bytes,
                  .shared_scratch_bytes = layout.shared_scratch_bytes};
  for (BufferId buffer : layout.kernel_parameters) {
    info.buffer_names.push_back(program.buffers[buffer].name);
    info.buffer_bytes.push_back(StorageBytes(program.buffers[buffer]));
  }
  return info;
}

absl::StatusOr<KernelLayout> PlanLayout(const Program& program) {
  KernelLayout layout;
  const auto add = [&](BufferRole role, std::vector<BufferId>& parameters) {
    for (size_t i = 0; i < program.buffers.size(); ++i) {
      if (program.buffers[i].role == role) parameters.push_back(static_cast<BufferId>(i));
    }
  };
  for (BufferRole role :
       // The order of the call, which manifest, runner and session go by.
       {BufferRole::kInput, BufferRole::kConstant, BufferRole::kPacked, BufferRole::kOutput}) {
    add(role, layout.kernel_parameters);
  }
  add(BufferRole::kConstant, layout.pack_parameters);
  add(BufferRole::kPacked, layout.pack_parameters);
  for (const Buffer& buffer : program.buffers) {
    if (buffer.scope == Scope::kShared || buffer.scope == Scope::kLocal) {
      return absl::InvalidArgumentError(
          absl::StrCat("buffer ", buffer.name, " is in a memory that CPUs do not have"));
    }
    if (buffer.storage.strides.size() != buffer.shape.size()) {
      return absl::InvalidArgumentError(absl::StrCat("buffer ", buffer.name, " has no storage"));
    }
  }
  layout.temp_offset.assign(program.buffers.size(), -1);
  const std::vector<Lifetime> lifetimes = FindLifetimes(program);
  layout.scratch_bytes = Place(program, Scope::kScratch, lifetimes, layout.temp_offset);
  layout.shared_scratch_bytes = Place(program, Scope::kGlobal, lifetimes, layout.temp_offset);
  return layout;
}

}  // namespace burnish
