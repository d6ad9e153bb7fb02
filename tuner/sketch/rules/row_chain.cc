#include "tuner/sketch/rules/row_chain.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

// Of so many steps a ragged reduction along a row is written out.
constexpr int64_t kUnrolledSteps = 64;

std::string Name(const Block& block, absl::string_view what) {
  return absl::StrCat(block.name, "_", what);
}

}  // namespace

RowChain::RowChain(const RuleContext& context, std::vector<const Block*> blocks)
    : context_(context),
      program_(context.program),
      blocks_(std::move(blocks)),
      last_(*blocks_.back()) {
  if (last_.spatial.empty()) return;
  length_ = Extent(program_, last_.spatial.back());
  // Two vectors at least: one would leave nothing to reduce before the lanes.
  lanes_ = context_.device.core.vector_bytes;
  for (const Block* block : blocks_) {
    lanes_ = std::min(lanes_, LanesOf(context_.device.core, program_, *block));
  }
  while (lanes_ > 1 && length_ < 2 * lanes_) lanes_ /= 2;
  vector_count_ = (length_ + lanes_ - 1) / lanes_;
  // One vector of sums waits for each addition before the next; each further one costs a tree at
  // the end.
  sum_count_ = lanes_;
  const bool ragged = length_ % lanes_ != 0;
  while (sum_count_ < 4 * lanes_ && (ragged || length_ % (2 * sum_count_) == 0) &&
         length_ >= 8 * 2 * sum_count_) {
    sum_count_ *= 2;
  }
  if (ragged && length_ > kUnrolledSteps * sum_count_) sum_count_ *= 2;
  sum_count_ = std::min(sum_count_, kVectorElementsMax);
}

int64_t RowChain::row_count() const {
  int64_t count = 1;
  for (size_t d = 0; d + 1 < last_.spatial.size(); ++d) {
    count *= Extent(program_, last_.spatial[d]);
  }
  return count;
}

bool RowChain::IsChain() const {
  const size_t rank = last_.spatial.size();
  if (blocks_.size() < 2 || rank < 2 || !last_.reduction.empty()) return false;
  if (lanes_ < 4) return false;
  bool reduces = false;
  for (const Block* block : blocks_) {
    const Buffer& output = program_.buffers[block->output];
    if (block->spatial.size() != rank) return false;
    for (size_t d = 0; d + 1 < rank; ++d) {
      if (Extent(program_, block->spatial[d]) != Extent(program_, last_.spatial[d])) return false;
    }
    if (block != &last_ && output.role != BufferRole::kTemp) return false;
    const int64_t columns = Extent(program_, block->spatial.back());
    const bool is_sum = block->reduction.size() == 1 && columns == 1 &&
                        Extent(program_, block->reduction[0]) == length_;
    const bool is_row = block->reduction.empty() && columns == length_;
    if (!is_sum && !is_row) return false;
    reduces = reduces || is_sum;
    const VarId axis = is_sum ? block->reduction[0] : block->spatial.back();
    if (!WalksByOne(program_, *block, axis)) return false;
  }
  return reduces;
}

void RowChain::SplitReductions(Schedule& s) const {
  const Tail tail = length_ % sum_count_ == 0 ? Tail::kRagged : Tail::kGuard;
  for (const Block* block : blocks_) {
    if (block->reduction.empty()) continue;
    const auto [outer, lane] =
        s.SplitSize(s.AxisLoop(block->reduction[0]), {Name(*block, "ko"), Name(*block, "ki")},
                    Int(sum_count_), tail);
    s.Rfactor(s.FindBlock(block->name), Name(*block, "lanes"), lane);
  }
}

void RowChain::Vectorize(LoopRef axis, const Block& block, Schedule& s) {
  if (width_ == nullptr) {
    Decision width{.name = "width"};
    for (int64_t v = 1; v <= 4; v *= 2) {
      if (vector_count_ % v == 0 && v * lanes_ <= length_) width.values.push_back(v * lanes_);
    }
    width_ = s.Decide(std::move(width));
  }
  // The last vector of a row that is no multiple begins early: one more store, not a narrower one
  // for each power of two that is left.
  const Tail tail = length_ % lanes_ == 0 ? Tail::kRagged : Tail::kShift;
  const auto [outer, vector] =
      s.SplitSize(axis, {Name(block, "vo"), Name(block, "vi")}, width_, tail);
  s.Vectorize(vector, lanes_);
}

int64_t RowChain::RowAlignment(const Block& block) const {
  const int64_t line_elements =
      context_.device.core.line_bytes / SizeBytes(program_.buffers[block.output].dtype);
  const bool across = block.reduction.empty() && length_ % line_elements != 0;
  return across ? line_elements : 1;
}

void RowChain::PlaceOthers(LoopRef inside, Schedule& s) {
  // Readers before what they read: a producer goes where its readers are.
  for (size_t i = blocks_.size() - 1; i-- > 0;) Place(*blocks_[i], inside, s);
}

void RowChain::Place(const Block& block, LoopRef inside, Schedule& s) {
  std::vector<std::string> names;
  for (size_t d = 0; d < block.spatial.size(); ++d) {
    names.push_back(Name(block, absl::StrCat("i", d)));
  }
  const BlockRef whole = s.FindBlock(block.name);
  const std::vector<LoopRef> loops = s.ComputeAt(whole, names, inside, RowAlignment(block));
  if (block.reduction.empty()) {
    Vectorize(loops.back(), block, s);
    return;
  }
  s.Stage(whole, Name(block, "sum"), loops.back(), Scope::kRegister);
  s.Vectorize(s.LoopsOf(whole).back(), lanes_);
  for (std::string& name : names) name += "l";
  names.push_back(Name(block, "kl"));
  const BlockRef partial = s.FindBlock(Name(block, "lanes"));
  const std::vector<LoopRef> local = s.ComputeAt(partial, names, inside);
  s.Stage(partial, Name(block, "acc"), local[local.size() - 2], Scope::kRegister);
  const LoopRef step = s.Find(Name(block, "ko"));
  s.Reorder({step, local.back()});
  // The end of a row that is no multiple is known once the steps are written out: the others have
  // no mask then.
  if (length_ % sum_count_ != 0 && length_ <= kUnrolledSteps * sum_count_) s.Unroll(step);
  s.Vectorize(local.back(), lanes_);
}

}  // namespace burnish
