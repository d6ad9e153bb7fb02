// Chains over columns: softmax, argmax and norms along an axis that is not the fastest, such as the
// channels of an image. Block by block each pass reads the whole tensor again; here all blocks go
// together for a few vectors of neighbouring columns, whose elements along the axis stay in the
// first cache from their first use to their last. Lanes are columns: nothing is added up across.
// Or block by block for a run of columns, vector by vector, while the next run is asked for.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"

namespace burnish {
namespace {

// Bytes of a run of columns: half a page at most, within which hardware's streams go on.
constexpr int64_t kRunBytesMin = 1024, kRunBytesMax = 2048;

// What is done at once, and whether the next of it is asked for meanwhile.
struct Form {
  bool runs = false;  // A run of columns block by block; else a few vectors of them.
  bool asks = false;
};

std::string Name(const Block& block, absl::string_view what) {
  return absl::StrCat(block.name, "_", what);
}

// The axes of the last block that sums and maxima do not have: it walks them for each column.
std::vector<VarId> InnerAxes(const Program& program) {
  const Block& last = program.blocks.back();
  std::vector<VarId> inner;
  for (VarId axis : last.spatial) {
    bool shared = Extent(program, axis) == 1;
    for (const Expr& load : DistinctLoads(last)) {
      const BlockId writer = WriterOf(program, load->id);
      const bool sums = writer >= 0 && !program.blocks[writer].reduction.empty();
      shared = shared || (sums && DependsOn(program, *load, axis));
    }
    if (!shared) inner.push_back(axis);
  }
  return inner;
}

bool IsChain(const Program& program) {
  const Block& last = program.blocks.back();
  if (program.blocks.size() < 2 || last.spatial.size() < 2 ||
      program.buffers[last.output].role != BufferRole::kOutput) {
    return false;
  }
  const int64_t columns = Extent(program, last.spatial.back());
  bool sums = false;
  for (const Block& block : program.blocks) {
    const bool is_last = &block == &last;
    if (block.spatial.empty() || block.reduction.size() > 1 ||
        Extent(program, block.spatial.back()) != columns || !WritesInAxisOrder(program, block) ||
        (!is_last && program.buffers[block.output].role != BufferRole::kTemp) ||
        !WalksByOne(program, block, block.spatial.back())) {
      return false;
    }
    sums = sums || (!is_last && !block.reduction.empty());
  }
  return sums && columns >= 2;
}

class ColumnChain {
 public:
  ColumnChain(const RuleContext& context, const Form& form)
      : context_(context),
        program_(context.program),
        last_(program_.blocks.back()),
        form_(form),
        s_(program_) {}

  // Nullopt: there is nothing to ask for, or no run.
  std::optional<Draft> Build() {
    if (form_.runs && !DecideRun()) return std::nullopt;
    Columns();
    // Readers before what they read: a producer goes where its readers are.
    for (size_t i = program_.blocks.size() - 1; i-- > 0;) Place(program_.blocks[i]);
    if (form_.asks && !AskAhead()) return std::nullopt;
    return Draft{
        absl::StrCat("column_chain", form_.runs ? "/runs" : "", form_.asks ? "/ahead" : ""),
        std::move(s_)};
  }

 private:
  int64_t LanesIn(const Block& block) const {
    return std::min<int64_t>(LanesOf(context_.device.core, program_, block),
                             FloorPowerOfTwo(Extent(program_, last_.spatial.back())));
  }

  bool DecideRun() {
    const int64_t bytes = SizeBytes(program_.buffers[program_.blocks[0].output].dtype);
    Decision run{.name = "run"};
    for (int64_t v = kRunBytesMin; v <= kRunBytesMax; v *= 2) {
      if (v / bytes <= Extent(program_, last_.spatial.back())) run.values.push_back(v / bytes);
    }
    if (run.values.empty()) return false;
    run_ = s_.Decide(std::move(run));
    return true;
  }

  // The last block by tiles of columns.
  void Columns() {
    int64_t most = 1, work = 1;
    for (const Block& block : program_.blocks) most = std::max(most, LanesIn(block));
    const int64_t columns = Extent(program_, last_.spatial.back());
    Decision width{.name = "width"};
    for (int64_t v = 1; v <= 4; v *= 2) {
      if (v == 1 || v * most <= columns) width.values.push_back(v * most);
    }
    std::vector<LoopRef> outer, inner;
    const std::vector<VarId> inner_axes = InnerAxes(program_);
    for (VarId axis : last_.spatial) {
      work *= Extent(program_, axis);
      if (axis == last_.spatial.back()) continue;
      const bool is_inner =
          std::find(inner_axes.begin(), inner_axes.end(), axis) != inner_axes.end();
      (is_inner ? inner : outer).push_back(s_.AxisLoop(axis));
    }
    // A run is many columns: fewer vectors at a time only cost more loops and addresses. 32 columns
    // for 64 take 445 us for 404 (argmax over 21 planes, two threads of a Zen 5).
    if (form_.runs) width.values = {width.values.back()};
    width_ = s_.Decide(std::move(width));
    LoopRef column = s_.AxisLoop(last_.spatial.back()), run;
    if (form_.runs) {
      std::tie(run, column) = s_.SplitSize(column, {Name(last_, "xo"), Name(last_, "xi")}, run_);
    }
    const auto [vectors, vector] =
        s_.SplitSize(column, {Name(last_, "vo"), Name(last_, "vi")}, width_);
    std::vector<LoopRef> order = outer;
    if (form_.runs) order.push_back(run);
    order.push_back(vectors);
    order.insert(order.end(), inner.begin(), inner.end());
    const std::vector<LoopRef> reduction = s_.AxisLoops(last_.reduction);
    order.insert(order.end(), reduction.begin(), reduction.end());
    order.push_back(vector);
    s_.Reorder(order);
    outer.push_back(form_.runs ? run : vectors);
    inside_ = s_.Fuse(outer, Name(last_, "r"));
    if (work >= kParallelMin) {
      inside_ =
          DealToWorkers(s_, inside_, {Name(last_, "p"), Name(last_, "r1")}, context_.threads());
    }
    step_ = !reduction.empty() ? reduction.back() : inner.empty() ? LoopRef{} : inner.back();
    if (!reduction.empty()) {
      const LoopRef around = !inner.empty() ? inner.back() : form_.runs ? vectors : inside_;
      s_.Stage(s_.FindBlock(last_.name), Name(last_, "acc"), around, Scope::kRegister);
    }
    s_.Vectorize(vector, LanesIn(last_));
  }

  void Place(const Block& block) {
    std::vector<std::string> names;
    for (size_t d = 0; d < block.spatial.size(); ++d) {
      names.push_back(Name(block, absl::StrCat("i", d)));
    }
    const BlockRef whole = s_.FindBlock(block.name);
    std::vector<LoopRef> loops = s_.ComputeAt(whole, names, inside_);
    if (form_.runs) {
      const auto [vectors, vector] =
          s_.SplitSize(loops.back(), {Name(block, "wo"), Name(block, "wi")}, width_);
      // Vectors outside of what else the block has of a column.
      loops.back() = vectors;
      loops.push_back(vector);
    }
    if (!block.reduction.empty()) {
      s_.Reorder({s_.AxisLoop(block.reduction[0]), loops.back()});
      if (loops.size() > 1) {
        s_.Stage(whole, Name(block, "acc"), loops[loops.size() - 2], Scope::kRegister);
      }
    }
    s_.Vectorize(loops.back(), LanesIn(block));
  }

  // A tile's elements lie in pieces of a line or a few, one for each step along the axis that is
  // reduced, far apart: more streams than hardware follows. The first block waits for each of them,
  // and the others find them in the first cache.
  bool AskAhead() {
    if (!step_) return false;
    for (const Expr& load : DistinctLoads(program_.blocks[0])) {
      const Buffer& buffer = program_.buffers[load->id];
      if (buffer.role != BufferRole::kInput) continue;
      // A run of each step is a good part of what the first cache holds.
      s_.PrefetchNext(s_.FindBuffer(buffer.name), inside_, step_, form_.runs ? 2 : 1);
      return true;
    }
    return false;
  }

  const RuleContext& context_;
  const Program& program_;
  const Block& last_;
  const Form form_;
  Schedule s_;
  Expr width_, run_;  // Decisions: columns of a vector loop, and of a run.
  LoopRef inside_;
  LoopRef step_;  // Of the last block along the axis that others reduce; null where there is none.
};

}  // namespace

std::vector<Draft> ColumnChainRule(const RuleContext& context, BlockId) {
  if (!IsChain(context.program)) return {};
  std::vector<Draft> drafts;
  constexpr Form kForms[] = {{}, {.asks = true}, {.runs = true, .asks = true}};
  for (const Form& form : kForms) {
    std::optional<Draft> draft = ColumnChain(context, form).Build();
    // What a block may read of others, `compute_at` knows; what a loop has room to ask for, the
    // prefetch.
    if (draft.has_value() && FirstPointApplies(*draft, context.program)) {
      drafts.push_back(*std::move(draft));
    }
  }
  return drafts;
}

}  // namespace burnish
