// The block that adds up what workers summed: a short reduction over parts, in vectors along its
// output where that is long enough, dealt out again where it is large.
//
//   fuse@1 (Y_parts.m,Y_parts.n)->Y_cr
//   split@1 Y_cr->(Y_cv,Y_ci) size=16
//   reorder@1 (Y_cv,Y_parts.Y_w,Y_ci)
//   stage@1 Y->Y_total inside=Y_cv scope=register
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/generator/nest.h"

namespace burnish {

std::vector<Nest> CombineRule(const RuleContext& context, const SketchRule&, const Nest& nest) {
  if (nest.combined.empty() || !nest.is_written_out) return {};
  Nest way = nest;
  Schedule& s = way.schedule;
  const std::string name = std::exchange(way.combined, "");
  const Block& block = context.program.blocks[nest.definition];
  const int64_t elements = ProductOfExtents(context.program, block.spatial);
  const int64_t lanes =
      std::min(LanesOf(context.device.core, context.program, block), FloorPowerOfTwo(elements));
  std::vector<LoopRef> rows = s.LoopsOf(s.FindBlock(name));
  const LoopRef sum = rows.back();
  rows.pop_back();
  // A single element is summed up by one loop.
  if (lanes < 2) return {std::move(way)};
  const LoopRef row = s.Fuse(rows, absl::StrCat(name, "_cr"));
  const auto [vectors, vector] =
      s.SplitSize(row, {absl::StrCat(name, "_cv"), absl::StrCat(name, "_ci")}, Int(lanes));
  s.Reorder({vectors, sum, vector});
  s.Stage(s.FindBlock(name), absl::StrCat(name, "_total"), vectors, Scope::kRegister);
  if (elements >= kParallelMin) s.Parallel(vectors);
  s.Vectorize(vector, lanes);
  return {std::move(way)};
}

}  // namespace burnish
