#include "compiler/ir/space_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "compiler/ir/contract.h"
#include "compiler/ir/lowered.h"

namespace burnish {
namespace {

// Bytes from one set of a first-level cache to the same: 64 sets of 64 bytes, in every x86 CPU, as
// the set is chosen by address bits that a page leaves alone.
constexpr int64_t kSameSet = 4096, kLine = 64;
// Rows that lie half as far apart are in two sets. In four, nothing was gained (4 images of
// space_rows.h, 4.5 us; 8 of them took 13.9 and take 8.4, 16 39.2 and 16.6).
constexpr int64_t kFewSets = kSameSet / 2;
// Rows below are as many as a set holds in any of these CPUs.
constexpr int64_t kWays = 8;

class Spacer {
 public:
  explicit Spacer(Program& program) : program_(program), stays_(program.buffers.size()) {}

  void Run() {
    for (size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      const bool is_memory = buffer.role == BufferRole::kTemp &&
                             (buffer.scope == Scope::kScratch || buffer.scope == Scope::kGlobal);
      stays_[b] = !is_memory || !HasManyRows(buffer);
    }
    FindThoseThatStay(program_.root, /*in_instruction=*/false);
    for (size_t b = 0; b < program_.buffers.size(); ++b) Space(b);
  }

 private:
  // Most temporaries have not, and the walk is not for them.
  static bool HasManyRows(const Buffer& buffer) {
    return ElementCount(buffer.shape) * SizeBytes(buffer.dtype) > kWays * kSameSet &&
           SameStorage(buffer.storage, DenseStorage(buffer.shape));
  }

  void FindThoseThatStay(NodeId id, bool in_instruction) {
    const Node& node = program_.nodes[id];
    in_instruction =
        in_instruction || (node.kind == NodeKind::kLoop && node.loop_kind == LoopKind::kTensorized);
    if (node.kind == NodeKind::kStore || node.kind == NodeKind::kPrefetch) {
      Access(node.buffer, node.indices, in_instruction);
    }
    VisitLoads(node, [&](const ExprNode& load) { Access(load.id, load.operands, in_instruction); });
    for (const NodeId child : node.children) FindThoseThatStay(child, in_instruction);
  }

  void Access(BufferId buffer, const std::vector<Expr>& indices, bool in_instruction) {
    if (stays_[buffer]) return;
    std::set<VarId> inner;
    for (size_t d = indices.size(); d-- > 0;) {
      const std::vector<VarId> vars = FreeVars(ExpandDefs(program_, indices[d]));
      // A loop that is in this index and in one behind it goes from row to row.
      const bool goes_on =
          std::any_of(vars.begin(), vars.end(), [&](VarId var) { return inner.count(var) > 0; });
      if (in_instruction || goes_on) {
        stays_[buffer] = true;
        return;
      }
      inner.insert(vars.begin(), vars.end());
    }
  }

  void Space(size_t b) {
    if (stays_[b]) return;
    Buffer& buffer = program_.buffers[b];
    const int64_t size = SizeBytes(buffer.dtype);
    int64_t stride = 1, rows = ElementCount(buffer.shape);
    for (size_t d = buffer.shape.size(); d-- > 0;) {
      const bool is_inner = d + 1 == buffer.shape.size();
      if (!is_inner && rows > kWays && stride * size % kFewSets == 0) {
        stride += kLine / size;
      }
      if (!is_inner) buffer.storage.strides[d] = stride;
      stride *= buffer.shape[d];
      rows /= buffer.shape[d];
    }
  }

  Program& program_;
  std::vector<bool> stays_;  // By buffer.
};

}  // namespace

void SpaceRows(Program& lowered) { Spacer(lowered).Run(); }

}  // namespace burnish
