// Chains over rows: softmax, layer normalization and the like. All blocks go together row by row,
// in one nest without a barrier, so that a row stays in the first cache from its first use to its
// last; or by a few rows, each block for all of them, so that sums along one row need not wait for
// those along another.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/row_chain.h"

namespace burnish {
namespace {

// Nullopt: the program is no such chain.
std::optional<Sketch> ChainSketch(const RuleContext& context) {
  const Program& program = context.program;
  std::vector<const Block*> blocks;
  for (const Block& block : program.blocks) blocks.push_back(&block);
  const RowChain chain(context, blocks);
  const Block& last = *blocks.back();
  if (!chain.IsChain() || program.buffers[last.output].role != BufferRole::kOutput ||
      chain.row_count() < context.threads) {
    return std::nullopt;
  }
  Sketch sketch{.name = "row_chain"};
  const auto add = [&](const std::string& text) { sketch.steps.push_back({.text = text}); };
  const auto loop = [&](absl::string_view what) { return absl::StrCat(last.name, "_", what); };
  chain.SplitReductions(sketch);
  std::vector<std::string> rows;
  for (size_t d = 0; d + 1 < last.spatial.size(); ++d) {
    rows.push_back(NameOf(program, last.spatial[d]));
  }
  std::string row = rows[0];
  if (rows.size() > 1) {
    row = loop("r");
    add(absl::StrCat("fuse@1 ", List(rows), "->", row));
  }
  add(absl::StrCat("split@1 ", row, "->(", loop("p"), ",", loop("r1"),
                   ") parts=", context.threads));
  const int64_t row_bytes = 4 * Extent(program, last.spatial.back());
  const int64_t rows_max = context.isa.l1d.size_bytes / 4 / row_bytes;
  Decision block{.name = "rows", .values = {1}};
  if (rows_max > 1) block.values.push_back(std::min<int64_t>(rows_max, 16));
  sketch.decisions.push_back(block);
  add(absl::StrCat("split@1 ", loop("r1"), "->(", loop("rb"), ",", loop("r2"), ") max=$rows"));
  chain.Vectorize(NameOf(program, last.spatial.back()), last, sketch);
  chain.PlaceOthers(loop("rb"), sketch);
  add(absl::StrCat("parallel@1 ", loop("p")));
  // What follows reads whole rows on every core, and the memory is used again in the next layer:
  // plain stores would wait for each line until the others have given it up.
  if (context.threads > 1) {
    add(absl::StrCat("stream@1 ", program.buffers[last.output].name));
  }
  return sketch;
}

}  // namespace

std::vector<Sketch> RowChainRule(const RuleContext& context) {
  std::optional<Sketch> sketch = ChainSketch(context);
  if (!sketch.has_value()) return {};
  // What a block may read of others, `compute_at` knows.
  Point point;
  for (const Decision& decision : sketch->decisions) point.push_back(decision.values.front());
  const absl::StatusOr<Trace> trace = Bind(*sketch, point);
  if (!trace.ok() || !ApplyTrace(*trace, context.program).ok()) return {};
  return {*std::move(sketch)};
}

}  // namespace burnish
