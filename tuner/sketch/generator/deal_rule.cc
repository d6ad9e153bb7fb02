// The tiles of the outermost level are dealt out to the workers: as many parts of them as there are
// workers, which keep a worker's tiles together, or several times as many, so that one that is late
// leaves less to wait for. Tiles of several loops are a grid of as many dimensions.
//
//   fuse@1 (Y_s0_0,Y_s1_0)->Y_p
//   split@1 Y_p->(Y_w0,Y_w1) parts=$parts
//   parallel@1 Y_w0
#include <utility>

#include "tuner/sketch/generator/nest.h"

namespace burnish {
namespace {

constexpr int64_t kPartsOfWorker[] = {1, 2, 4, 8};

}  // namespace

std::vector<Nest> DealRule(const RuleContext& context, const SketchRule&, const Nest& nest) {
  const int threads = context.threads();
  if (!nest.tiled() || nest.is_dealt || nest.is_inner || threads == 1) return {};
  int64_t work = 1, tiles_max = 1;
  for (const NestLoop& loop : nest.spatial) work *= loop.extent;
  for (const NestLoop& loop : nest.reduction) work *= loop.extent;
  for (const NestLoop& loop : nest.spatial) {
    if (!loop.is_whole) tiles_max *= loop.extent;
  }
  if (work < kParallelMin || tiles_max < threads || nest.levels[0].loops.empty()) return {};
  Nest way = nest;
  Schedule& s = way.schedule;
  const LoopRef tiles = s.Fuse(Refs(s, way.levels[0].loops), way.New("p"));
  Decision parts{.name = "parts"};
  for (const int64_t of_worker : kPartsOfWorker) {
    if (of_worker * threads <= tiles_max) parts.values.push_back(of_worker * threads);
  }
  const Expr count = s.Decide(std::move(parts));
  if (s.ExtentOf(tiles) != nullptr) s.Require(Le(count, s.ExtentOf(tiles)));
  const auto [worker, of_worker] = s.SplitParts(tiles, {way.New("w0"), way.New("w1")}, count);
  s.Parallel(worker);
  way.levels[0].loops = {s.NameOf(of_worker)};
  way.is_dealt = true;
  return {std::move(way)};
}

}  // namespace burnish
