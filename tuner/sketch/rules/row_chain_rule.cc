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
// Rows that the second cache holds where all is asked for: what is read and written, of this row
// and of the next, and what passes leave each other.
constexpr int64_t kRowsInCache = 5;

// What is asked for while rows are computed.
enum class Ahead : uint8_t {
  kNothing,
  kReads,  // The next rows that are read.
  kAll,    // The next rows that are read and the next that are written.
};

// The variants of a chain.
struct Form {
  bool streams = false;
  Ahead ahead = Ahead::kNothing;
};

// What is read along rows of the output's length from outside of the chain, and the blocks that
// read such rows or what was made of them, in order.
struct Passes {
  const Buffer* rows = nullptr;
  std::vector<const Block*> blocks;
};

Passes PassesOver(const Program& program, const std::vector<const Block*>& blocks) {
  const std::vector<int64_t>& shape = program.buffers[blocks.back()->output].shape;
  Passes passes;
  for (const Block* block : blocks) {
    bool reads = false;
    for (const Expr& load : DistinctLoads(*block)) {
      const Buffer& buffer = program.buffers[load->id];
      if (buffer.shape != shape) continue;
      reads = true;
      if (buffer.role == BufferRole::kInput && passes.rows == nullptr) passes.rows = &buffer;
    }
    if (reads) passes.blocks.push_back(block);
  }
  return passes;
}

// While rows are computed the next ones are asked for: a nest that goes over rows several times
// waits for memory in the first pass only, and the other passes leave it idle. Of long rows the
// last pass waits for the lines that it writes, too. Rows that the first cache holds are written by
// stores that need not wait: asked for, they cost a softmax of 4,608 rows of 384 on a Granite
// Rapids 1.15 of its time, whereas the rows that are read bring it to 0.85 (docs/performance.md,
// "Passes over rows"). False: workers have what would be asked for, or it is too long to stay in
// the second cache.
bool AskAhead(const RuleContext& context, const std::vector<const Block*>& blocks, Ahead ahead,
              LoopRef tile, Schedule& s) {
  const Block& last = *blocks.back();
  const Passes passes = PassesOver(context.program, blocks);
  if (passes.rows == nullptr || passes.blocks.size() < 2) return false;
  const int64_t row_bytes =
      SizeBytes(passes.rows->dtype) * Extent(context.program, last.spatial.back());
  const bool is_short = row_bytes <= context.device.core.l1d.size_bytes;
  if (is_short && (ahead == Ahead::kAll || StaysWithWorkers(context, *passes.rows))) return false;
  const int level = is_short ? 1 : 2;
  const Block& second = *passes.blocks[1];
  const char* const steps = second.reduction.empty() ? "_vo" : "_ko";
  const LoopRef at = s.Find(absl::StrCat(second.name, steps));
  s.PrefetchNext(s.FindBuffer(passes.rows->name), tile, at, level);
  if (ahead == Ahead::kReads) return true;
  if (kRowsInCache * row_bytes > context.device.core.l2.size_bytes) return false;
  s.PrefetchNext(s.OutputOf(s.FindBlock(last.name)), tile, at, level);
  return true;
}

// Rows along the innermost of their axes.
int64_t RowsOfOneAxis(const Program& program, const Block& last) {
  for (size_t d = last.spatial.size() - 1; d-- > 0;) {
    if (const int64_t extent = Extent(program, last.spatial[d]); extent > 1) return extent;
  }
  return 1;
}

// Nullopt: the program is no such chain.
std::optional<Draft> ChainSketch(const RuleContext& context, const Form& form) {
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
  // Rows of two axes that begin anywhere are a box of whole inner axes: 15 of 12 x 197 are 2 x 197.
  int64_t rows_at_once = std::clamp<int64_t>(rows_max, 1, kRowsMax);
  const int64_t of_one_axis = RowsOfOneAxis(program, last);
  if (of_one_axis < chain.row_count()) {
    while (of_one_axis % rows_at_once != 0) --rows_at_once;
  }
  if (rows_at_once > 1) at_once.values.push_back(rows_at_once);
  const auto [tile, row] =
      s.SplitMax(of_worker, {name("rb"), name("r2")}, s.Decide(std::move(at_once)));
  chain.Vectorize(column, last, s);
  chain.PlaceOthers(tile, s);
  if (form.ahead != Ahead::kNothing && !AskAhead(context, blocks, form.ahead, tile, s)) {
    return std::nullopt;
  }
  s.Parallel(worker);
  if (form.streams) s.Stream(s.OutputOf(s.FindBlock(last.name)));
  const bool has_name = form.streams || context.threads() == 1;
  constexpr const char* kNames[] = {"", "/ahead", "/ahead/all"};
  return Draft{
      absl::StrCat("row_chain", has_name ? "" : "/cached", kNames[static_cast<size_t>(form.ahead)]),
      std::move(s)};
}

}  // namespace

std::vector<Draft> RowChainRule(const RuleContext& context, BlockId block) {
  std::vector<Draft> drafts;
  const auto add = [&](const Form& form) {
    std::optional<Draft> draft = ChainSketch(context, form);
    // What a block may read of others, `compute_at` knows.
    if (draft.has_value() && FirstPointApplies(*draft, context.program)) {
      drafts.push_back(*std::move(draft));
    }
  };
  const bool is_shared = context.threads() > 1;
  // The analytic model sees no difference: of two that are alike the first is the default.
  // Where the output stays with the workers plain stores would wait for each line until the one
  // that has it gives it up; streaming stores would pass the last cache, which has what is larger.
  const Buffer& output = context.program.buffers[context.program.blocks.back().output];
  std::vector<bool> stores = {is_shared};
  if (is_shared && !StaysWithWorkers(context, output)) stores = {false, true};
  for (const bool streams : stores) {
    // Stores past the caches need no lines.
    if (!streams) add({.streams = streams, .ahead = Ahead::kAll});
    for (const Ahead ahead : {Ahead::kReads, Ahead::kNothing}) {
      add({.streams = streams, .ahead = ahead});
    }
  }
  return drafts;
}

}  // namespace burnish
