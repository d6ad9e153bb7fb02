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

// Whether the output is in some worker's own cache when others read it, or when the memory is
// written again in the next layer: plain stores would wait for each line until that one has given
// it up. What is larger has gone to the last cache by then, which streaming would pass.
bool StaysWithWorkers(const RuleContext& context, const Buffer& output) {
  return StorageElementCount(output) * SizeBytes(output.dtype) <=
         context.threads() * context.device.core.l2.size_bytes;
}

// Nullopt: the program is no such chain.
std::optional<Draft> ChainSketch(const RuleContext& context, bool streams) {
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
  if (streams) s.Stream(s.OutputOf(s.FindBlock(last.name)));
  return Draft{streams || context.threads() == 1 ? "row_chain" : "row_chain/cached", std::move(s)};
}

}  // namespace

std::vector<Draft> RowChainRule(const RuleContext& context, BlockId block) {
  std::vector<Draft> drafts;
  const auto add = [&](bool streams) {
    std::optional<Draft> draft = ChainSketch(context, streams);
    // What a block may read of others, `compute_at` knows.
    if (draft.has_value() && FirstPointApplies(*draft, context.program)) {
      drafts.push_back(*std::move(draft));
    }
  };
  const bool is_shared = context.threads() > 1;
  // The analytic model sees no difference: of two that are alike the first is the default.
  const Buffer& output = context.program.buffers[context.program.blocks.back().output];
  if (is_shared && !StaysWithWorkers(context, output)) add(/*streams=*/false);
  add(is_shared);
  return drafts;
}

}  // namespace burnish
