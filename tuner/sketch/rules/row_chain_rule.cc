// Chains over rows: softmax, layer normalization and the like. All blocks go together row by row,
// in one nest without a barrier, so that a row stays in the first cache from its first use to its
// last. Reductions along the row run in lanes, which a short second reduction adds up.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"

namespace burnish {
namespace {

class RowChainSketch {
 public:
  explicit RowChainSketch(const RuleContext& context)
      : context_(context), program_(context.program), last_(program_.blocks.back()) {}

  // Nullopt: the program is no such chain.
  std::optional<Sketch> Build() {
    if (!IsChain()) return std::nullopt;
    sketch_.name = "row_chain";
    for (const Block& block : program_.blocks) {
      if (!block.reduction.empty()) SplitReduction(block);
    }
    ScheduleLast();
    // Readers before what they read: a producer goes where its readers are.
    for (size_t i = program_.blocks.size() - 1; i-- > 0;) Place(program_.blocks[i]);
    Add(absl::StrCat("parallel@1 ", Loop(last_, "p")));
    return std::move(sketch_);
  }

 private:
  bool IsChain() {
    const size_t rank = last_.spatial.size();
    if (program_.blocks.size() < 2 || rank < 2 || !last_.reduction.empty()) return false;
    if (program_.buffers[last_.output].role != BufferRole::kOutput) return false;
    length_ = Extent(program_, last_.spatial.back());
    lanes_ = std::min<int64_t>(context_.isa.float_lanes(), FloorPowerOfTwo(length_));
    if (lanes_ < 4 || length_ % lanes_ != 0 || length_ < 2 * lanes_) return false;
    int64_t row_count = 1;
    for (size_t d = 0; d + 1 < rank; ++d) row_count *= Extent(program_, last_.spatial[d]);
    if (row_count < context_.threads) return false;
    bool reduces = false;
    for (const Block& block : program_.blocks) {
      if (block.spatial.size() != rank || program_.buffers[block.output].dtype != DType::kF32) {
        return false;
      }
      for (size_t d = 0; d + 1 < rank; ++d) {
        if (Extent(program_, block.spatial[d]) != Extent(program_, last_.spatial[d])) return false;
      }
      const bool is_temp = program_.buffers[block.output].role == BufferRole::kTemp;
      if (&block != &program_.blocks.back() && !is_temp) return false;
      const bool is_sum = block.reduction.size() == 1 &&
                          Extent(program_, block.spatial.back()) == 1 &&
                          Extent(program_, block.reduction[0]) == length_;
      const bool is_row =
          block.reduction.empty() && Extent(program_, block.spatial.back()) == length_;
      if (!is_sum && !is_row) return false;
      reduces = reduces || is_sum;
      if (!WalksTheRow(block, is_sum ? block.reduction[0] : block.spatial.back())) return false;
    }
    return reduces;
  }

  // Every load that moves with the row's axis goes along it element by element.
  bool WalksTheRow(const Block& block, VarId axis) const {
    for (const Expr& load : DistinctLoads(block)) {
      if (!DependsOn(program_, *load, axis)) continue;
      const LinearForm address = AddressOf(program_, *load);
      if (address.HidesVar(axis) || address.CoefficientOf(axis) != 1) return false;
    }
    return true;
  }

  void Add(const std::string& text) { sketch_.steps.push_back({.text = text}); }
  static std::string Loop(const Block& block, absl::string_view what) {
    return absl::StrCat(block.name, "_", what);
  }

  void SplitReduction(const Block& block) {
    Add(absl::StrCat("split@1 ", NameOf(program_, block.reduction[0]), "->(", Loop(block, "ko"),
                     ",", Loop(block, "ki"), ") size=", lanes_));
    Add(absl::StrCat("rfactor@1 ", block.name, "->", Loop(block, "lanes"),
                     " loop=", Loop(block, "ki")));
  }

  void ScheduleLast() {
    std::vector<std::string> rows;
    for (size_t d = 0; d + 1 < last_.spatial.size(); ++d) {
      rows.push_back(NameOf(program_, last_.spatial[d]));
    }
    std::string row = rows[0];
    if (rows.size() > 1) {
      row = Loop(last_, "r");
      Add(absl::StrCat("fuse@1 ", List(rows), "->", row));
    }
    Add(absl::StrCat("split@1 ", row, "->(", Loop(last_, "p"), ",", Loop(last_, "r1"),
                     ") parts=", context_.threads));
    row_ = Loop(last_, "r1");
    Vectorize(NameOf(program_, last_.spatial.back()), last_);
  }

  // A row in vectors of $width elements.
  void Vectorize(const std::string& axis, const Block& block) {
    if (sketch_.decisions.empty()) {
      Decision width{.name = "width"};
      for (int64_t v = 1; v <= 4; v *= 2) {
        if (length_ % (v * lanes_) == 0) width.values.push_back(v * lanes_);
      }
      sketch_.decisions.push_back(width);
    }
    Add(absl::StrCat("split@1 ", axis, "->(", Loop(block, "vo"), ",", Loop(block, "vi"),
                     ") size=$width"));
    Add(absl::StrCat("vectorize@1 ", Loop(block, "vi"), " lanes=", lanes_));
  }

  void Place(const Block& block) {
    std::vector<std::string> loops;
    for (size_t d = 0; d < block.spatial.size(); ++d) {
      loops.push_back(Loop(block, absl::StrCat("i", d)));
    }
    Add(absl::StrCat("compute_at@1 ", block.name, "->", List(loops), " inside=", row_));
    if (block.reduction.empty()) {
      Vectorize(loops.back(), block);
      return;
    }
    Add(absl::StrCat("stage@1 ", block.name, "->", Loop(block, "sum"), " inside=", loops.back(),
                     " scope=register"));
    Add(absl::StrCat("unroll@1 ", Loop(block, "lanes"), ".", Loop(block, "ki")));
    for (std::string& loop : loops) loop = absl::StrCat(loop, "l");
    loops.push_back(Loop(block, "kl"));
    Add(absl::StrCat("compute_at@1 ", Loop(block, "lanes"), "->", List(loops), " inside=", row_));
    Add(absl::StrCat("stage@1 ", Loop(block, "lanes"), "->", Loop(block, "acc"),
                     " inside=", loops[loops.size() - 2], " scope=register"));
    Add(absl::StrCat("reorder@1 ", List({Loop(block, "ko"), Loop(block, "kl")})));
    Add(absl::StrCat("vectorize@1 ", Loop(block, "kl"), " lanes=", lanes_));
  }

  const RuleContext& context_;
  const Program& program_;
  const Block& last_;
  Sketch sketch_;
  int64_t length_ = 0, lanes_ = 0;
  std::string row_;
};

}  // namespace

std::vector<Sketch> RowChainRule(const RuleContext& context) {
  std::optional<Sketch> sketch = RowChainSketch(context).Build();
  if (!sketch.has_value()) return {};
  // What a block may read of others, `compute_at` knows.
  Point point;
  for (const Decision& decision : sketch->decisions) point.push_back(decision.values.front());
  const absl::StatusOr<Trace> trace = Bind(*sketch, point);
  if (!trace.ok() || !ApplyTrace(*trace, context.program).ok()) return {};
  return {*std::move(sketch)};
}

}  // namespace burnish
