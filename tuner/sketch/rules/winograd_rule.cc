// 3x3 convolutions by Winograd's minimal filtering, as a further algorithm of the task.
//
// Tiles are split over the workers and each goes its whole way alone (transform, products,
// transform back), block by block, without a barrier; or output channels are split, with one
// barrier after the input's transform. The products of one point of a tile are a matrix product
// with a register tile. For f32 alone, as winograd@1 is: transforms of integers need wider ones,
// and nothing in f64 was held to an error budget.
// Of weights that are stored in 16 bits there are sketches more, whose transformed weights are
// binary16: half of the bytes of what has four times (F4) the weights' numbers, for a conversion a
// vector of a panel.
#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"

namespace burnish {
namespace {

// Of the convolution, as the primitive sees it.
struct Filtering {
  bool strided;  // Stride 2, not 1.
  int64_t channels;
  int64_t outputs_per_group;  // All of them where there are no groups.
  bool narrow;                // Transformed weights are stored in binary16.
};

struct Parts {
  BlockRef weights, columns, input, product, tiles;
};

// The step winograd@1. Parts and axes as primitives/winograd.cc names them.
Parts Filter(Schedule& s, BlockRef block, const std::string& prefix, const Expr& m, bool narrow) {
  std::vector<Argument> arguments = {{"m", ValueOf(m)}};
  if (narrow) arguments.push_back({"weights", std::string("f16")});
  const std::vector<BlockRef> parts =
      s.Algorithm("winograd", block,
                  {{prefix + "U", {"a", "b", "c", "o"}, {"ky", "kx"}, {}},
                   {prefix + "V0", {"a", "j", "t", "c"}, {"i"}, {}},
                   {prefix + "V", {"a", "b", "t", "c"}, {"j"}, {1}},
                   {prefix + "M", {"a", "b", "t", "o"}, {"c"}, {0, 2}},
                   {prefix + "T", {"p", "b", "t", "o"}, {"a"}, {3}}},
                  "b", std::move(arguments));
  return {parts[0], parts[1], parts[2], parts[3], parts[4]};
}

class WinogradSketch {
 public:
  WinogradSketch(const RuleContext& context, BlockId block, Filtering filtering, bool split_tiles)
      : context_(context),
        program_(context.program),
        block_(program_.blocks[block]),
        name_(block_.name),
        filtering_(filtering),
        split_tiles_(split_tiles),
        s_(program_) {}

  Draft Build() {
    Decide();
    for (int d = 0; d < 4; ++d) axes_.push_back(s_.AxisLoop(block_.spatial[d]));
    parts_ = Filter(s_, s_.FindBlock(name_), absl::StrCat(name_, "_"), m_, filtering_.narrow);
    SplitOutput();
    PlaceProducers();
    ScheduleInputTransform();
    ScheduleProduct();
    ScheduleOutputTransform();
    return {absl::StrCat("winograd/", split_tiles_ ? "tiles" : "channels",
                         filtering_.narrow ? "/f16" : ""),
            std::move(s_)};
  }

 private:
  std::string New(absl::string_view what) const { return absl::StrCat(name_, "_", what); }
  Schedule::Names New(absl::string_view outer, absl::string_view inner) const {
    return {New(outer), New(inner)};
  }
  int64_t Out(int d) const { return Extent(program_, block_.spatial[d]); }
  bool IsGrouped() const { return filtering_.outputs_per_group < Out(3); }

  void Decide() {
    const IsaModel& isa = context_.device.core;
    const int64_t outputs = filtering_.outputs_per_group;
    lanes_ = std::min<int64_t>(isa.float_lanes(), FloorPowerOfTwo(outputs));
    Decision m{.name = "m", .kind = DecisionKind::kChoice, .values = {2, 4}};
    Decision rows{.name = "mr"}, columns{.name = "nr"};
    // Of stride 2, weights for m = 6 are 19 times as many as the definition's, which saves nothing.
    if (!filtering_.strided && !filtering_.narrow) m.values.push_back(6);
    for (int64_t v : {2, 3, 4, 6, 8, 12}) {
      if (v <= std::max<int64_t>(isa.l1d.ways, 8)) rows.values.push_back(v);
    }
    for (int64_t v = 1; v <= 4; ++v) {
      // Only whole panels know which group they belong to.
      if (IsGrouped() ? outputs % (v * lanes_) == 0 : v == 1 || (v - 1) * lanes_ < outputs) {
        columns.values.push_back(v * lanes_);
      }
    }
    m_ = s_.Decide(std::move(m));
    mr_ = s_.Decide(std::move(rows));
    nr_ = s_.Decide(std::move(columns));
    if (split_tiles_) blocks_ = s_.Decide({.name = "blocks", .values = {1, 2, 4, 8, 16}});
    Require();
  }

  void Require() {
    const IsaModel& isa = context_.device.core;
    const int64_t threads = context_.threads();
    const Expr tiles = CeilDiv(Int(Out(1)), m_) * CeilDiv(Int(Out(2)), m_) * Out(0);
    const Expr panels = CeilDiv(Int(filtering_.outputs_per_group), nr_);
    // Whoever shares panels shares the tiles of the input's transform before.
    if (!split_tiles_) s_.Require(Le(Int(threads), panels));
    s_.Require(Le(Int(threads), tiles));
    if (split_tiles_) RequireBlocks(tiles);
    const Expr vectors = FloorDiv(nr_, lanes_);
    s_.Require(TileFitsRegisters(isa, isa.broadcast_operand, mr_, vectors));
    s_.Require(Le(Int(std::min<int64_t>(isa.accumulators_min(), kSumsMax)), mr_ * vectors));
  }

  // Tiles go in several blocks only where half as many would do: so that their transformed input
  // stays in L2 beside the weights.
  void RequireBlocks(const Expr& tiles) {
    const Expr one = Le(blocks_, Int(1)), few = Le(blocks_, Int(2));
    const Expr points = filtering_.strided ? m_ * 2 + 1 : m_ + 2;
    const Expr of_worker = FloorDiv(tiles, context_.threads());
    const Expr bytes = FloorDiv(
        points * points * (filtering_.channels * SizeBytes(DType::kF32)) * of_worker, blocks_);
    // Blocks of more than two sizes would each transform the whole input.
    s_.Require(Or(few, Eq(Mod(tiles, blocks_ * context_.threads()), Int(0))));
    s_.Require(Or(one, Le(blocks_ * 2, of_worker)));
    s_.Require(Or(one, Lt(Int(context_.device.core.l2.size_bytes / 2), bytes * 2)));
  }

  // Outputs in tiles of m x m, tiles in one flat loop, channels in panels.
  void SplitOutput() {
    const auto [tile_row, row] = s_.SplitSize(axes_[1], New("ty", "yi"), m_);
    const auto [tile_column, column] = s_.SplitSize(axes_[2], New("tx", "xi"), m_);
    row_ = row, column_ = column;
    s_.Reorder({axes_[0], tile_row, tile_column, row_, column_});
    const LoopRef tiles = s_.Fuse({axes_[0], tile_row, tile_column}, New("tile"));
    LoopRef channel = axes_[3], group;
    if (IsGrouped()) {
      std::tie(group, channel) =
          s_.SplitSize(channel, New("og", "o1"), Int(filtering_.outputs_per_group));
    }
    const auto [panels, vector] = s_.SplitSize(channel, New("op", "oi"), nr_);
    vector_ = vector;
    if (split_tiles_) {
      LoopRef of_worker;
      std::tie(worker_, of_worker) = s_.SplitParts(tiles, New("p", "pt"), Int(context_.threads()));
      std::tie(tile_block_, tile_) = s_.SplitParts(of_worker, New("tb", "t1"), blocks_);
      panel_ = panels;
      if (group) panel_dims_.push_back(group);
      panel_dims_.push_back(panels);
    } else {
      std::tie(worker_, panel_) = s_.SplitParts(panels, New("p", "oq"), Int(context_.threads()));
      tile_ = tiles;
      panel_dims_ = {worker_, panel_};
    }
    sum_ = s_.LoopsOf(s_.FindBlock(name_)).back();
    std::vector<LoopRef> order = {worker_};
    if (split_tiles_) order.push_back(tile_block_);
    if (group) order.push_back(group);
    order.insert(order.end(), {panel_, tile_, row_, column_, sum_, vector_});
    s_.Reorder(order);
  }

  // Names of a part's loops where it is computed.
  std::vector<std::string> Local(absl::string_view prefix) const {
    std::vector<std::string> names;
    for (const char* axis : {"a", "b", "t", "c"}) names.push_back(New(absl::StrCat(prefix, axis)));
    return names;
  }

  void PlaceProducers() {
    output_loops_ = s_.ComputeAt(parts_.tiles, Local("t_"), tile_);
    product_loops_ = s_.ComputeAt(parts_.product, Local("m_"), panel_);
    if (split_tiles_) input_loops_ = s_.ComputeAt(parts_.input, Local("v_"), tile_block_);
    s_.Precompute(parts_.weights);
    std::vector<LoopRef> dims = panel_dims_;
    dims.insert(dims.end(), {product_loops_[0], product_loops_[1],
                             s_.LoopsOf(parts_.product).back(), product_loops_[3]});
    packed_ = s_.Relayout(s_.OutputOf(parts_.weights), New("packed"), dims);
    s_.Precompute(packed_);
  }

  // Lanes along channels; matrices unrolled, so that their zeros and ones disappear.
  void ScheduleInputTransform() {
    const std::vector<LoopRef> axes = s_.LoopsOf(parts_.input);
    const LoopRef sum = axes.back();
    LoopRef workers;
    if (!split_tiles_) {
      input_loops_ = {axes[0], axes[1], axes[2], axes[3]};
      std::tie(workers, input_loops_[2]) =
          s_.SplitParts(axes[2], New("vp", "v_t"), Int(context_.threads()));
    }
    const LoopRef a = input_loops_[0], b = input_loops_[1], tile = input_loops_[2];
    const auto [channels, vector] = s_.SplitSize(input_loops_[3], New("v_co", "v_ci"), Int(lanes_));
    std::vector<LoopRef> order;
    if (!split_tiles_) order.push_back(workers);
    order.insert(order.end(), {tile, channels, a, b, sum, vector});
    s_.Reorder(order);
    const std::vector<LoopRef> columns = s_.ComputeAt(parts_.columns, Local("w_"), channels);
    const LoopRef column_sum = s_.LoopsOf(parts_.columns).back();
    s_.Reorder({columns[1], columns[2], columns[0], column_sum, columns[3]});
    s_.Stage(parts_.columns, New("wacc"), columns[0], Scope::kRegister);
    s_.Stage(parts_.input, New("vacc"), b, Scope::kRegister);
    for (LoopRef loop : {columns[0], column_sum, b, sum}) s_.Unroll(loop);
    s_.Vectorize(columns[3], lanes_);
    s_.Vectorize(vector, lanes_);
    if (!split_tiles_) s_.Parallel(workers);
  }

  void ScheduleProduct() {
    const std::vector<LoopRef>& loops = product_loops_;
    const auto [tile, row] = s_.SplitMax(loops[2], New("m_to", "m_ti"), mr_);
    const auto [step, unrolled] =
        s_.SplitSize(s_.LoopsOf(parts_.product).back(), New("m_qo", "m_qi"), Int(kDepthUnroll));
    s_.Reorder({loops[0], loops[1], tile, step, unrolled, row, loops[3]});
    s_.Stage(parts_.product, New("macc"), tile, Scope::kRegister);
    s_.Unroll(unrolled);
    s_.Unroll(row);
    s_.Vectorize(loops[3], lanes_);
    s_.PrefetchNext(s_.OutputOf(packed_), loops[1], step, 2);
  }

  void ScheduleOutputTransform() {
    const std::vector<LoopRef>& loops = output_loops_;
    const LoopRef sum = s_.LoopsOf(parts_.tiles).back();
    s_.Reorder({loops[1], loops[2], loops[0], sum, loops[3]});
    s_.Stage(parts_.tiles, New("tacc"), loops[0], Scope::kRegister);
    s_.Unroll(loops[0]);
    s_.Unroll(sum);
    s_.Vectorize(loops[3], lanes_);
    s_.Stage(s_.FindBlock(name_), New("acc"), column_, Scope::kRegister);
    s_.Unroll(column_);
    s_.Unroll(sum_);
    s_.Vectorize(vector_, lanes_);
    s_.Parallel(worker_);
  }

  const RuleContext& context_;
  const Program& program_;
  const Block& block_;
  const std::string name_;
  const Filtering filtering_;
  const bool split_tiles_;
  Schedule s_;
  int64_t lanes_ = 0;
  Expr m_, mr_, nr_, blocks_;
  Parts parts_;
  BlockRef packed_;
  // Of the output: its axes, the loops of a tile, and around it.
  std::vector<LoopRef> axes_, panel_dims_;
  LoopRef row_, column_, sum_, vector_, worker_, tile_block_, tile_, panel_;
  std::vector<LoopRef> input_loops_, product_loops_, output_loops_;  // a, b, tile, channel.
};

}  // namespace

std::vector<Draft> WinogradRule(const RuleContext& context, BlockId id) {
  const Block& block = context.program.blocks[id];
  if (block.spatial.size() != 4 || block.reduction.size() != 3) return {};
  // The primitive knows which convolutions it takes. Any tile shows what they are like.
  const int m = 4;
  Schedule s(context.program);
  Filter(s, s.FindBlock(block.name), "w_", Int(m), /*narrow=*/false);
  const absl::StatusOr<Program> rewritten = ApplyTrace(StepsAt(s.steps(), {}), context.program);
  if (!rewritten.ok()) return {};
  bool may_narrow = false;
  VisitExpr(rewritten->blocks[FindBlock(*rewritten, "w_U")].step, [&](const ExprNode& node) {
    may_narrow |= node.kind == ExprKind::kLoad && IsStorageFloat(node.dtype);
  });
  const BlockId products = FindBlock(*rewritten, "w_M");
  Filtering filtering = {
      .strided = Extent(*rewritten, rewritten->blocks[products].spatial[0]) > m + 2,
      .channels = rewritten->buffers[FindBuffer(*rewritten, "w_V")].shape[3],
      .outputs_per_group = Extent(context.program, block.spatial[3])};
  // Of groups, both sides of the product depend on the output channel.
  const int64_t depth = Extent(*rewritten, rewritten->blocks[products].reduction[0]);
  const bool grouped = depth < filtering.channels;
  filtering.outputs_per_group /= filtering.channels / depth;
  std::vector<Draft> drafts;
  // Lanes lie along the output's channels.
  if (filtering.outputs_per_group < 2) return drafts;
  for (const bool narrow : {false, true}) {
    if (narrow && !may_narrow) continue;
    filtering.narrow = narrow;
    for (const bool split_tiles : {true, false}) {
      if (grouped &&
          (!split_tiles || filtering.outputs_per_group % context.device.core.float_lanes() != 0)) {
        continue;
      }
      drafts.push_back(WinogradSketch(context, id, filtering, split_tiles).Build());
    }
  }
  return drafts;
}

}  // namespace burnish
