// Loops of the output beside the vector one loop, or all but the last one: a register tile then has
// neighbours along a row that never leave it, or rows without a rest of their own.
//
//   fuse@1 (Y.i0,Y.i1,Y.i2)->Y_m   |   fuse@1 (Y.i0,Y.i1)->Y_m
#include <utility>

#include "tuner/sketch/generator/nest.h"

namespace burnish {
namespace {

// The loops of the output from `first` up to `end` become one.
Nest Fused(const Nest& nest, size_t first, size_t end, const char* trail) {
  Nest way = nest;
  way.is_flat = true;
  if (end < first + 2) return way;
  PutInOrder(way);
  std::vector<std::string> names;
  NestLoop fused{.name = way.New("m")};
  for (size_t i = first; i < end; ++i) {
    const NestLoop& loop = way.spatial[i];
    names.push_back(loop.name);
    fused.axes.insert(fused.axes.end(), loop.axes.begin(), loop.axes.end());
    fused.extent *= loop.extent;
  }
  way.schedule.Fuse(Refs(way.schedule, names), fused.name);
  const auto at = way.spatial.begin() + static_cast<int64_t>(first);
  way.spatial.erase(at + 1, way.spatial.begin() + static_cast<int64_t>(end));
  *at = std::move(fused);
  way.trail += trail;
  return way;
}

}  // namespace

std::vector<Nest> FlattenRule(const RuleContext&, const SketchRule&, const Nest& nest) {
  if (nest.is_flat || nest.is_inner || nest.tiled()) return {};
  // Parts of a sum stay apart: each is a worker's. So does the vector loop, and from the first loop
  // on that producers are computed for whole, all.
  const size_t first = nest.combined.empty() ? 0 : 1;
  size_t end = first;
  while (end + (nest.lanes > 1 ? 1 : 0) < nest.spatial.size() && !nest.spatial[end].is_whole) ++end;
  if (end < first + 2) return {};
  std::vector<Nest> ways = {Fused(nest, first, end, "/flat")};
  if (!nest.reduction.empty()) ways.push_back(Fused(nest, first, end - 1, ""));
  return ways;
}

}  // namespace burnish
