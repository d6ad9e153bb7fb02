// Chains over rows: softmax, layer normalization and the like. All blocks go together row by row,
// in one nest without a barrier, so that a row stays in the first cache from its first use to its
// last; or by a few rows, each block for all of them, so that sums along one row need not wait for
// those along another.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/row_chain.h"

namespace burnish {
namespace {

// Bytes of rows that a worker does at once: a share of the first cache, so that the rows of some
// blocks stay beside each other; and no more rows than hide the latency of a reduction's end.
constexpr int64_t kCacheShare = 4;
constexpr int64_t kRowsMax = 16;

// Nullopt: the program is no such chain.
std::optional<Draft> ChainSketch(const RuleContext& context) {
  const Program& program = context.program;
  std::vector<const Block*> blocks;
  for (const Block& block : program.blocks) blocks.push_back(&block);
  RowChain chain(context, blocks);
  const Block& last = *blocks.back();
  if (!chain.IsChain() || program.buffers[last.output].role != BufferRole::kOutput ||
      chain.row_count() < context.threads()) {
    return std::nullopt;
  }
  Schedule s(program);
  const auto name = [&](absl::string_view what) { return absl::StrCat(last.name, "_", what); };
  chain.SplitReductions(s);
  std::vector<LoopRef> rows = s.AxisLoops(last.spatial);
  const LoopRef column = rows.back();
  rows.pop_back();
  const auto [worker, of_worker] =
      s.SplitParts(s.Fuse(rows, name("r")), {name("p"), name("r1")}, Int(context.threads()));
  const int64_t row_bytes =
      SizeBytes(program.buffers[last.output].dtype) * Extent(program, last.spatial.back());
  const int64_t rows_max = context.device.core.l1d.size_bytes / kCacheShare / row_bytes;
  Decision at_once{.name = "rows", .values = {1}};
  if (rows_max > 1) at_once.values.push_back(std::min(rows_max, kRowsMax));
  const auto [tile, row] =
      s.SplitMax(of_worker, {name("rb"), name("r2")}, s.Decide(std::move(at_once)));
  chain.Vectorize(column, last, s);
  chain.PlaceOthers(tile, s);
  s.Parallel(worker);
  // What follows reads whole rows on every core, and the memory is used again in the next layer:
  // plain stores would wait for each line until the others have given it up.
  if (context.threads() > 1) s.Stream(s.OutputOf(s.FindBlock(last.name)));
  return Draft{"row_chain", std::move(s)};
}

}  // namespace

std::vector<Draft> RowChainRule(const RuleContext& context, BlockId block) {
  std::optional<Draft> draft = ChainSketch(context);
  // What a block may read of others, `compute_at` knows.
  if (!draft.has_value() || !FirstPointApplies(*draft, context.program)) return {};
  return {*std::move(draft)};
}

}  // namespace burnish
