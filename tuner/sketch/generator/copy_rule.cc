// Operands that are made at run time and that lanes would load one by one, in the order of use:
// where rows read them again and again, copied whole in front, or tile by tile by the worker whose
// tiles read them.
//
//   relayout@1 B->Y_copy0 dims=(Y_s1_0,k,Y_s1_1)
//   parallel@1 Y_copy0.Y_s1_0                    | compute_at@1 Y_copy0->(..) inside=Y_w1
//   vectorize@1 Y_copy0.Y_s1_1 lanes=16
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/generator/nest.h"

namespace burnish {
namespace {

// The innermost level with two levels of tiles inside: what is copied there is read by several
// register tiles; -1: none.
int LevelOfCopies(const Nest& nest) {
  int tiles = 0;
  for (auto level = static_cast<int>(nest.levels.size()) - 1; level >= 0; --level) {
    if (tiles >= 2 && !nest.levels[level].loops.empty()) return level;
    tiles += nest.levels[level].kind == 'S';
  }
  return -1;
}

// Laid out; where and how the copies are made the second rule says. `level`: -1 for a nest in
// front.
Nest WithCopies(const RuleContext& context, const Nest& nest, const std::vector<Expr>& loads,
                int level) {
  const Program& program = context.program;
  Nest way = nest;
  Schedule& s = way.schedule;
  for (const Expr& load : loads) {
    way.copies.push_back(way.New(absl::StrCat("copy", way.copies.size())));
    s.Relayout(s.FindBuffer(program.buffers[load->id].name), way.copies.back(),
               Refs(s, LayoutOf(program, nest, *load)));
  }
  way.copy_level = level;
  way.is_copied = true;
  way.needs_copies = false;
  way.trail += level < 0 ? "/copied" : "/copied_tiles";
  return way;
}

}  // namespace

std::vector<Nest> CopyRule(const RuleContext& context, const SketchRule&, const Nest& nest) {
  if (!nest.tiled() || nest.is_copied || nest.is_inner || nest.lanes < 2 ||
      nest.reduction.empty()) {
    return {};
  }
  const Program& program = context.program;
  const std::vector<Expr> loads = LoadsToCopy(program, nest, nest.spatial.back());
  if (loads.empty()) return {};
  std::vector<Nest> ways = {WithCopies(context, nest, loads, -1)};
  // What the primitive alone knows: a window's copy may be several times as large.
  if (!FirstPointApplies({ways[0].trail, ways[0].schedule}, ways[0].schedule.program())) return {};
  if (const int level = LevelOfCopies(nest); level >= 0) {
    ways.push_back(WithCopies(context, nest, loads, level));
  }
  return ways;
}

std::vector<Nest> PlaceCopiesRule(const RuleContext&, const SketchRule&, const Nest& nest) {
  if (nest.copies.empty()) return {};
  Nest way = nest;
  Schedule& s = way.schedule;
  for (const std::string& name : std::exchange(way.copies, {})) {
    const BlockRef copy = s.FindBlock(name);
    std::vector<LoopRef> loops = s.LoopsOf(copy);
    if (way.copy_level < 0) {
      s.Parallel(loops[0]);
    } else {
      std::vector<std::string> names;
      for (size_t d = 0; d < loops.size(); ++d) names.push_back(absl::StrCat(name, "_", d));
      loops = s.ComputeAt(copy, names, s.Find(way.levels[way.copy_level].loops.back()));
    }
    // Of what may lie far apart: loads of single elements, but one store for all of them.
    s.Vectorize(loops.back(), way.lanes);
  }
  return {std::move(way)};
}

}  // namespace burnish
