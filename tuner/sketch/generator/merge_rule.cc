// Loops that every access of the block walks as one become one: the pixels of an image under an
// elementwise block, the taps and channels of a segment of a sum. One long loop has fewer tails
// than two short ones, and decisions only once.
//
//   fuse@1 (Y.i2,Y.i3)->Y_s2
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/generator/nest.h"

namespace burnish {
namespace {

// Variables outside of what loads and the output are indexed by: conditions, values of axes.
void CollectBare(const Expr& e, std::vector<VarId>& bare) {
  if (e == nullptr || e->kind == ExprKind::kLoad) return;
  if (e->kind == ExprKind::kVar) bare.push_back(e->id);
  for (const Expr& operand : e->operands) CollectBare(operand, bare);
}

// Whether `outer` and `inner`, side by side, are one walk for every access.
bool AreOneWalk(const Program& program, const Block& block, const NestLoop& outer,
                const NestLoop& inner) {
  std::vector<VarId> bare;
  for (const Expr& e : {block.init, block.step, block.finish}) CollectBare(e, bare);
  const VarId slow = outer.axes.back(), fast = inner.axes.back();
  for (const VarId axis : {slow, fast}) {
    if (std::find(bare.begin(), bare.end(), axis) != bare.end()) return false;
  }
  std::vector<Expr> accesses = DistinctLoads(block);
  accesses.push_back(OutputAccess(program, block));
  return WalkAsOne(program, accesses, slow, fast, inner.extent);
}

// True where some were merged. Loops stand directly in each other.
bool MergeRuns(const Program& program, Nest& nest, std::vector<NestLoop>& loops, char tag) {
  const Block& block = program.blocks[nest.definition];
  bool merged = false;
  for (size_t at = loops.size(); at-- > 1;) {
    NestLoop &outer = loops[at - 1], &inner = loops[at];
    if (outer.is_whole != inner.is_whole || !AreOneWalk(program, block, outer, inner)) continue;
    const std::string name = nest.New(absl::StrCat(std::string(1, tag), at - 1, loops.size()));
    Schedule& s = nest.schedule;
    s.Fuse({s.Find(outer.name), s.Find(inner.name)}, name);
    outer.name = name;
    outer.extent *= inner.extent;
    outer.axes.insert(outer.axes.end(), inner.axes.begin(), inner.axes.end());
    loops.erase(loops.begin() + static_cast<int64_t>(at));
    merged = true;
  }
  return merged;
}

}  // namespace

std::vector<Nest> MergeRule(const RuleContext& context, const SketchRule&, const Nest& nest) {
  if (nest.lanes != 0 || nest.is_flat) return {};
  Nest merged = nest;
  // Loops of one iteration would stand between them.
  if (!merged.trivial_spatial.empty() || !merged.trivial_reduction.empty()) PutInOrder(merged);
  const bool spatial = MergeRuns(context.program, merged, merged.spatial, 's');
  const bool reduction = MergeRuns(context.program, merged, merged.reduction, 'r');
  if (!spatial && !reduction) return {};
  return {std::move(merged)};
}

}  // namespace burnish
