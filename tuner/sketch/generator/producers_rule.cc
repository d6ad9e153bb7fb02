// Blocks in front of the last one are computed inside of its tiles, at '|' of the structure, so
// that what they write stays in a cache: all blocks of a softmax for a few rows, then for the next.
// A producer's lanes lie along its own output, or along its reduction (rfactor).
//
//   compute_at@1 E->(E_i0,E_i1) inside=Y_w1
//   split@1 E_i1->(E_vo,E_vi) size=$width
//   vectorize@1 E_vi lanes=16
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/generator/nest.h"

namespace burnish {
namespace {

// Of a producer's vectors, side by side.
constexpr int64_t kVectorsMax = 4;

class Producers {
 public:
  Producers(const RuleContext& context, Nest nest)
      : context_(context), nest_(std::move(nest)), s_(nest_.schedule) {
    lanes_ = context.device.core.vector_bytes;
    for (const Block& block : context.program.blocks) {
      lanes_ = std::min(lanes_, LanesOf(context.device.core, context.program, block));
    }
  }

  std::vector<Nest> Build() {
    const std::vector<std::string>& around = nest_.levels[nest_.location].loops;
    if (around.empty()) return {};
    inside_ = s_.Find(around.back());
    for (const std::string& name : nest_.producers) {
      if (!Place(context_.program.blocks[FindBlock(context_.program, name)])) return {};
    }
    nest_.producers.clear();
    return {std::move(nest_)};
  }

 private:
  std::string Name(const Block& block, absl::string_view what) const {
    return absl::StrCat(block.name, "_", what);
  }

  // Vectors of a producer and of partial sums: one decision for all, since they walk the same rows.
  Expr Width() {
    if (width_ == nullptr) {
      Decision width{.name = "width"};
      for (int64_t v = 1; v <= kVectorsMax; v *= 2) width.values.push_back(v * lanes_);
      width_ = s_.Decide(std::move(width));
    }
    return width_;
  }

  bool Place(const Block& block) {
    if (block.spatial.empty()) return false;
    const Program& program = context_.program;
    size_t fastest = block.spatial.size() - 1;
    while (fastest > 0 && Extent(program, block.spatial[fastest]) == 1) --fastest;
    const auto walks = [&](VarId axis) {
      const LoopWalk walk = WalkOf(program, block, {.axes = {axis}});
      return Extent(program, axis) >= lanes_ && walk.stride_count == 0 && !walk.diverges;
    };
    if (walks(block.spatial[fastest])) {
      PlaceAlongOutput(block, fastest);
      return true;
    }
    if (!block.reduction.empty() && walks(block.reduction.back())) {
      PlaceAlongReduction(block);
      return true;
    }
    // Element by element.
    s_.ComputeAt(s_.FindBlock(block.name), LocalNames(block, ""), inside_);
    return true;
  }

  std::vector<std::string> LocalNames(const Block& block, absl::string_view suffix) const {
    std::vector<std::string> names;
    for (size_t d = 0; d < block.spatial.size(); ++d) {
      names.push_back(Name(block, absl::StrCat("i", d, suffix)));
    }
    return names;
  }

  void PlaceAlongOutput(const Block& block, size_t fastest) {
    const BlockRef whole = s_.FindBlock(block.name);
    const std::vector<LoopRef> loops = s_.ComputeAt(whole, LocalNames(block, ""), inside_);
    const auto [vectors, vector] =
        s_.SplitSize(loops[fastest], {Name(block, "vo"), Name(block, "vi")}, Width());
    std::vector<LoopRef> order;
    for (size_t d = 0; d < loops.size(); ++d) {
      if (d != fastest) order.push_back(loops[d]);
    }
    order.push_back(vectors);
    for (const LoopRef reduction : s_.AxisLoops(block.reduction)) order.push_back(reduction);
    order.push_back(vector);
    s_.Reorder(order);
    if (!block.reduction.empty()) s_.Stage(whole, Name(block, "acc"), vectors, Scope::kRegister);
    s_.Vectorize(vector, lanes_);
  }

  void PlaceAlongReduction(const Block& block) {
    const VarId axis = block.reduction.back();
    const bool even = Extent(context_.program, axis) % (kVectorsMax * lanes_) == 0;
    const BlockRef whole = s_.FindBlock(block.name);
    const auto [step, lane] =
        s_.SplitSize(s_.AxisLoop(axis), {Name(block, "ko"), Name(block, "kl")}, Width(),
                     even ? Tail::kRagged : Tail::kGuard);
    const BlockRef partial = s_.Rfactor(whole, Name(block, "lanes"), lane);
    const std::vector<LoopRef> rows = s_.ComputeAt(whole, LocalNames(block, ""), inside_);
    s_.Stage(whole, Name(block, "sum"), rows.back(), Scope::kRegister);
    s_.Vectorize(s_.LoopsOf(whole).back(), lanes_);
    std::vector<std::string> names = LocalNames(block, "l");
    names.push_back(Name(block, "kv"));
    const std::vector<LoopRef> local = s_.ComputeAt(partial, names, inside_);
    s_.Stage(partial, Name(block, "acc"), local[local.size() - 2], Scope::kRegister);
    std::vector<LoopRef> order;
    for (const VarId each : block.reduction) {
      if (each != axis) order.push_back(s_.AxisLoop(each));
    }
    order.push_back(step);
    order.push_back(local.back());
    s_.Reorder(order);
    s_.Vectorize(local.back(), lanes_);
  }

  const RuleContext& context_;
  Nest nest_;
  Schedule& s_;
  LoopRef inside_;
  int64_t lanes_ = 1;
  Expr width_;
};

}  // namespace

std::vector<Nest> ProducersRule(const RuleContext& context, const SketchRule&, const Nest& nest) {
  if (!nest.tiled() || nest.producers.empty()) return {};
  return Producers(context, nest).Build();
}

}  // namespace burnish
