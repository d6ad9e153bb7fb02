// The innermost levels: steps of the reduction and rows of the register tile are written out, its
// last loop runs in vectors. How much is written out is bounded, and the tile fits the registers.
// Few rows are broadcast once and the vectors go by; else the other way round.
//
//   unroll@1 Y_r0_1
//   unroll@1 Y_s0_1
//   vectorize@1 Y_s1_1 lanes=16
#include <algorithm>
#include <utility>

#include "tuner/sketch/generator/nest.h"
#include "tuner/sketch/rules/contraction.h"

namespace burnish {
namespace {

// Instances of the step that are written out: some 8 KiB of code, a quarter of the first cache.
constexpr int64_t kWrittenOutMax = 512;

}  // namespace

std::vector<Nest> RegistersRule(const RuleContext& context, const SketchRule&, const Nest& nest) {
  if (!nest.tiled() || nest.is_written_out) return {};
  Nest way = nest;
  Schedule& s = way.schedule;
  way.is_written_out = true;
  Expr rows = Int(1), vectors = Int(1), steps = Int(1);
  LoopRef row, vector;
  for (const NestLevel& level : way.levels) {
    if (level.kind != 'U') continue;
    for (const std::string& name : level.loops) {
      const LoopRef step = s.Find(name);
      if (s.ExtentOf(step) != nullptr) steps = steps * s.ExtentOf(step);
      s.Unroll(step);
    }
  }
  for (const std::string& name : way.levels.back().loops) {
    const LoopRef loop = s.Find(name);
    const bool is_vector = way.lanes > 1 && name == way.levels.back().loops.back();
    if (is_vector) {
      // The region of an inner nest is as long as what reads it: its rule bounds it.
      if (s.ExtentOf(loop) != nullptr) vectors = CeilDiv(s.ExtentOf(loop), Int(way.lanes));
      vector = loop;
      s.Vectorize(loop, way.lanes);
    } else {
      rows = rows * s.ExtentOf(loop);
      row = loop;
      s.Unroll(loop);
    }
  }
  const IsaModel& isa = context.device.core;
  // What no decision changes holds, or the task has no such tile.
  const auto require = [&](const Expr& condition) {
    if (!IsConstInt(condition)) s.Require(condition);
  };
  require(nest.reduction.empty()
              ? Le(rows * vectors, Int(isa.vector_register_count))
              : TileFitsRegisters(isa, /*broadcasts_from_memory=*/false, rows, vectors));
  require(Le(rows * vectors * steps, Int(kWrittenOutMax)));
  // Sums of a product that wait for each other leave the units idle; what is smaller has no choice.
  const bool is_product = RecognizeContraction(context.program, nest.definition).has_value();
  if (is_product && vector && !nest.is_inner) {
    const NestLoop& columns = nest.spatial.back();
    Expr whole = Le(Int(columns.extent), s.ExtentOf(vector));
    if (row) whole = Or(whole, Le(Int(nest.spatial[nest.spatial.size() - 2].extent), rows));
    const int64_t wanted = std::min<int64_t>(isa.accumulators_min(), kSumsMax);
    require(Or(Le(Int(wanted), rows * vectors), whole));
  }
  if (row && vector && !nest.reduction.empty()) {
    s.If(Lt(rows, vectors), [&] { s.Reorder({vector, row}); });
  }
  return {std::move(way)};
}

}  // namespace burnish
