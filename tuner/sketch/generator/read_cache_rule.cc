// Constants in the order of use, laid out once when the model is built: where lanes would load them
// one by one always, else beside the nest that reads them where they lie.
//
//   relayout@1 W->Y_packed0 dims=(Y_s1_0,k,Y_s1_1)
//   precompute@1 Y_packed0
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/generator/nest.h"

namespace burnish {

std::vector<Nest> ReadCacheRule(const RuleContext& context, const SketchRule&, const Nest& nest) {
  if (!nest.tiled() || nest.is_packed || nest.is_inner || nest.lanes < 2) return {};
  const Program& program = context.program;
  const Block& block = program.blocks[nest.definition];
  const NestLoop& vector = nest.spatial.back();
  Nest way = nest;
  Schedule& s = way.schedule;
  bool must = false;
  int count = 0;
  VisitExpr(block.step, [&](const ExprNode& load) {
    if (load.kind != ExprKind::kLoad || !DependsOn(program, load, vector.axes.back())) return;
    const Buffer& source = program.buffers[load.id];
    if (source.role != BufferRole::kConstant) return;
    must |= StepOf(program, load, vector.axes.back()) != 1;
    s.Precompute(s.Relayout(s.FindBuffer(source.name), way.New(absl::StrCat("packed", count++)),
                            Refs(s, LayoutOf(program, nest, load))));
  });
  if (count == 0) return {};
  way.is_packed = true;
  way.trail += "/packed";
  // A table that is read at several places, or by indices that are data, is none that can be laid
  // out: the primitive knows.
  Nest in_place = nest;
  in_place.is_packed = true;
  in_place.loads_apart = must;
  if (!FirstPointApplies({way.trail, way.schedule}, s.program())) return {std::move(in_place)};
  std::vector<Nest> ways = {std::move(way)};
  if (!must) ways.push_back(std::move(in_place));
  return ways;
}

}  // namespace burnish
