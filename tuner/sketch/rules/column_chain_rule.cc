// Chains over columns: softmax, argmax and norms along an axis that is not the fastest, such as the
// channels of an image. Block by block each pass reads the whole tensor again; here all blocks go
// together for a few vectors of neighbouring columns, whose elements along the axis stay in the
// first cache from their first use to their last. Lanes are columns: nothing is added up across.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"

namespace burnish {
namespace {

std::string Name(const Block& block, absl::string_view what) {
  return absl::StrCat(block.name, "_", what);
}

// Whether every load of the block that moves with its last axis walks it element by element.
bool LanesLieSideBySide(const Program& program, const Block& block) {
  for (const Expr& load : DistinctLoads(block)) {
    if (!DependsOn(program, *load, block.spatial.back())) continue;
    const LinearForm address = AddressOf(program, *load);
    if (address.HidesVar(block.spatial.back()) ||
        address.CoefficientOf(block.spatial.back()) != 1) {
      return false;
    }
  }
  return true;
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
        !LanesLieSideBySide(program, block)) {
      return false;
    }
    sums = sums || (!is_last && !block.reduction.empty());
  }
  return sums && columns >= 2;
}

class ColumnChain {
 public:
  // `asks`: for what the next tile of columns reads, while the last block does one.
  ColumnChain(const RuleContext& context, bool asks)
      : context_(context),
        program_(context.program),
        last_(program_.blocks.back()),
        asks_(asks),
        s_(program_) {}

  // Nullopt: there is nothing to ask for.
  std::optional<Draft> Build() {
    Columns();
    // Readers before what they read: a producer goes where its readers are.
    for (size_t i = program_.blocks.size() - 1; i-- > 0;) Place(program_.blocks[i]);
    if (asks_ && !AskAhead()) return std::nullopt;
    return Draft{asks_ ? "column_chain/ahead" : "column_chain", std::move(s_)};
  }

 private:
  int64_t LanesIn(const Block& block) const {
    return std::min<int64_t>(LanesOf(context_.device.core, program_, block),
                             FloorPowerOfTwo(Extent(program_, last_.spatial.back())));
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
    const auto [tiles, vector] =
        s_.SplitSize(s_.AxisLoop(last_.spatial.back()), {Name(last_, "vo"), Name(last_, "vi")},
                     s_.Decide(std::move(width)));
    std::vector<LoopRef> order = outer;
    order.push_back(tiles);
    order.insert(order.end(), inner.begin(), inner.end());
    const std::vector<LoopRef> reduction = s_.AxisLoops(last_.reduction);
    order.insert(order.end(), reduction.begin(), reduction.end());
    order.push_back(vector);
    s_.Reorder(order);
    outer.push_back(tiles);
    inside_ = s_.Fuse(outer, Name(last_, "r"));
    if (work >= kParallelMin) {
      inside_ =
          DealToWorkers(s_, inside_, {Name(last_, "p"), Name(last_, "r1")}, context_.threads());
    }
    step_ = !reduction.empty() ? reduction.back() : inner.empty() ? LoopRef{} : inner.back();
    if (!reduction.empty()) {
      const LoopRef around = inner.empty() ? inside_ : inner.back();
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
    const std::vector<LoopRef> loops = s_.ComputeAt(whole, names, inside_);
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
      s_.PrefetchNext(s_.FindBuffer(buffer.name), inside_, step_, 1);
      return true;
    }
    return false;
  }

  const RuleContext& context_;
  const Program& program_;
  const Block& last_;
  const bool asks_;
  Schedule s_;
  LoopRef inside_;
  LoopRef step_;  // Of the last block along the axis that others reduce; null where there is none.
};

}  // namespace

std::vector<Draft> ColumnChainRule(const RuleContext& context, BlockId) {
  if (!IsChain(context.program)) return {};
  std::vector<Draft> drafts;
  for (const bool asks : {false, true}) {
    std::optional<Draft> draft = ColumnChain(context, asks).Build();
    // What a block may read of others, `compute_at` knows; what a loop has room to ask for, the
    // prefetch.
    if (draft.has_value() && FirstPointApplies(*draft, context.program)) {
      drafts.push_back(*std::move(draft));
    }
  }
  return drafts;
}

}  // namespace burnish
