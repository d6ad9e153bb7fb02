// What the register tile computes stays in registers while the reduction inside of it runs: under
// the innermost level of tiles that still has a reduction loop inside. Where reduction loops lie
// outside too, partial sums are parked in the output between them.
//
//   stage@1 Y->Y_acc inside=Y_s1_0 scope=register
#include <utility>

#include "tuner/sketch/generator/nest.h"

namespace burnish {

std::vector<Nest> WriteCacheRule(const RuleContext&, const SketchRule&, const Nest& nest) {
  if (!nest.tiled() || nest.reduction.empty() || nest.is_cached) return {};
  auto level = static_cast<int>(nest.levels.size()) - 1;
  while (level >= 0 && nest.levels[level].kind == 'S') --level;
  while (level >= 0 && (nest.levels[level].kind != 'S' || nest.levels[level].loops.empty())) {
    --level;
  }
  if (level < 0) return {};
  Nest way = nest;
  Schedule& s = way.schedule;
  s.Stage(s.FindBlock(way.block), way.New("acc"), s.Find(way.levels[level].loops.back()),
          Scope::kRegister);
  way.is_cached = true;
  return {std::move(way)};
}

}  // namespace burnish
