// Reductions along the fastest axis of their input, where no output axis runs in vectors: softmax's
// maxima and sums, means of rows. The reduction axis is split, its inner part becomes lanes
// (rfactor), and a second, short reduction adds the lanes up.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"

namespace burnish {

std::vector<Sketch> RowReductionRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  if (block.reduction.empty() || program.buffers[block.output].dtype != DType::kF32) return {};
  const VarId axis = block.reduction.back();
  // Every load that moves with the axis must walk it element by element, and none may walk an
  // output axis that way: then that one would be the vector.
  bool walks = false;
  for (const Expr& load : DistinctLoads(block)) {
    if (!DependsOn(program, *load, axis)) continue;
    const LinearForm address = AddressOf(program, *load);
    if (address.HidesVar(axis) || address.CoefficientOf(axis) != 1) return {};
    walks = true;
  }
  const int64_t extent = Extent(program, axis);
  int64_t lanes = context.isa.float_lanes();
  while (lanes > 1 && extent % lanes != 0) lanes /= 2;
  if (!walks || lanes < 4 || extent < 2 * lanes) return {};

  const std::string name = block.name;
  const auto loop = [&](absl::string_view what) { return absl::StrCat(name, "_", what); };
  Sketch sketch{.name = "row_reduction"};
  const auto add = [&](const std::string& text) { sketch.steps.push_back({.text = text}); };
  std::vector<std::string> rows;
  int64_t row_count = 1;
  for (VarId spatial : block.spatial) {
    rows.push_back(NameOf(program, spatial));
    row_count *= Extent(program, spatial);
  }
  std::string row = rows.empty() ? "" : rows[0];
  if (rows.size() > 1) {
    add(absl::StrCat("fuse@1 ", List(rows), "->", loop("r")));
    row = loop("r");
  }
  add(absl::StrCat("split@1 ", NameOf(program, axis), "->(", loop("ko"), ",", loop("ki"),
                   ") size=", lanes));
  add(absl::StrCat("rfactor@1 ", name, "->", loop("lanes"), " loop=", loop("ki")));
  if (!row.empty()) {
    add(absl::StrCat("stage@1 ", loop("lanes"), "->", loop("acc"), " inside=", row,
                     " scope=register"));
    if (row_count * extent >= 16384 && row_count >= context.threads) {
      add(absl::StrCat("split@1 ", row, "->(", loop("p"), ",", loop("r1"),
                       ") parts=", context.threads));
      add(absl::StrCat("parallel@1 ", loop("p")));
    }
  }
  add(absl::StrCat("vectorize@1 ", loop("ki"), " lanes=", lanes));
  return {sketch};
}

}  // namespace burnish
