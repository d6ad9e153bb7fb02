// 3x3 convolutions by Winograd's minimal filtering, as a further algorithm of the task.
//
// Tiles are split over the workers and each goes its whole way alone (transform, products,
// transform back), block by block, without a barrier; or output channels are split, with one
// barrier after the input's transform. The products of one point of a tile are a matrix product
// with a register tile.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/schedule/trace_text.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"

namespace burnish {
namespace {

// Of the convolution, as the primitive sees it.
struct Filtering {
  bool strided;  // Stride 2, not 1.
  int64_t channels;
  int64_t outputs_per_group;  // All of them where there are no groups.
};

class WinogradSketch {
 public:
  WinogradSketch(const RuleContext& context, BlockId block, Filtering filtering, bool split_tiles)
      : context_(context),
        program_(context.program),
        block_(program_.blocks[block]),
        name_(block_.name),
        filtering_(filtering),
        split_tiles_(split_tiles) {}

  Sketch Build() {
    sketch_.name = absl::StrCat("winograd/", split_tiles_ ? "tiles" : "channels");
    AddDecisions();
    for (const char* part : {"U", "V0", "V", "M", "T"}) parts_.push_back(New(part));
    Add(absl::StrCat("winograd@1 ", name_, "->", List(parts_), " m=$m"));
    SplitOutput();
    PlaceProducers();
    ScheduleInputTransform();
    ScheduleProduct();
    ScheduleOutputTransform();
    return std::move(sketch_);
  }

 private:
  void Add(const std::string& text) { sketch_.steps.push_back({.text = text}); }
  std::string New(absl::string_view what) const { return absl::StrCat(name_, "_", what); }
  std::string Axis(int d) const { return NameOf(program_, block_.spatial[d]); }
  int64_t Out(int d) const { return Extent(program_, block_.spatial[d]); }
  bool IsGrouped() const { return filtering_.outputs_per_group < Out(3); }

  void AddDecisions() {
    const IsaModel& isa = context_.isa;
    const int64_t outputs = filtering_.outputs_per_group;
    lanes_ = std::min<int64_t>(isa.float_lanes(), FloorPowerOfTwo(outputs));
    Decision m{.name = "m", .values = {2, 4}}, mr{.name = "mr"}, nr{.name = "nr"};
    // Of stride 2, weights for m = 6 are 19 times as many as the definition's, which saves nothing.
    if (!filtering_.strided) m.values.push_back(6);
    for (int64_t v : {2, 3, 4, 6, 8, 12}) {
      if (v <= std::max<int64_t>(isa.l1d.ways, 8)) mr.values.push_back(v);
    }
    for (int64_t v = 1; v <= 4; ++v) {
      // Only whole panels know which group they belong to.
      if (IsGrouped() ? outputs % (v * lanes_) == 0 : v == 1 || (v - 1) * lanes_ < outputs) {
        nr.values.push_back(v * lanes_);
      }
    }
    sketch_.decisions = {m, mr, nr};
    if (split_tiles_) sketch_.decisions.push_back({.name = "blocks", .values = {1, 2, 4, 8, 16}});
    const int64_t lanes = lanes_;
    const int64_t wanted = std::min<int64_t>(isa.accumulators_min(), 8);
    const int64_t height = Out(1), width = Out(2), threads = context_.threads;
    const int64_t batch = Out(0), l2_bytes = isa.l2.size_bytes;
    const bool by_tiles = split_tiles_;
    const Filtering filtering = filtering_;
    sketch_.valid = [=, isa = isa](const Point& p) {
      const int64_t rows = p[1], columns = p[2] / lanes;
      const int64_t tiles = batch * ((height + p[0] - 1) / p[0]) * ((width + p[0] - 1) / p[0]);
      const int64_t panels = (outputs + p[2] - 1) / p[2];
      if ((by_tiles ? tiles : panels) < threads) return false;
      if (by_tiles && p[3] > 1) {
        // Half as many blocks would do: their transformed input stays in L2 beside the weights.
        const int64_t points = filtering.strided ? 2 * p[0] + 1 : p[0] + 2;
        const int64_t bytes = points * points * filtering.channels * 4 * (tiles / threads) / p[3];
        // Blocks of more than two sizes would each transform the whole input.
        if (p[3] > 2 && tiles % (threads * p[3]) != 0) return false;
        if (tiles / threads < p[3] * 2 || 2 * bytes <= l2_bytes / 2) return false;
      }
      return TileFitsRegisters(isa, rows, columns) && rows * columns >= wanted;
    };
  }

  void Split(const std::string& loop, absl::string_view outer, absl::string_view inner,
             const std::string& how) {
    Add(absl::StrCat("split@1 ", loop, "->(", New(outer), ",", New(inner), ") ", how));
  }

  // Outputs in tiles of m x m, tiles in one flat loop, channels in panels.
  void SplitOutput() {
    const std::string parts = absl::StrCat("parts=", context_.threads);
    Split(Axis(1), "ty", "yi", "size=$m");
    Split(Axis(2), "tx", "xi", "size=$m");
    Add(absl::StrCat("reorder@1 ", List({Axis(0), New("ty"), New("tx"), New("yi"), New("xi")})));
    Add(absl::StrCat("fuse@1 ", List({Axis(0), New("ty"), New("tx")}), "->", New("tile")));
    std::string channel = Axis(3);
    if (IsGrouped()) {
      Split(channel, "og", "o1", absl::StrCat("size=", filtering_.outputs_per_group));
      channel = New("o1");
    }
    Split(channel, "op", "oi", "size=$nr");
    if (split_tiles_) {
      Split(New("tile"), "p", "pt", parts);
      Split(New("pt"), "tb", "t1", "parts=$blocks");
      tile_ = New("t1");
      panel_ = New("op");
      if (IsGrouped()) panel_dims_.push_back(New("og"));
      panel_dims_.push_back(New("op"));
    } else {
      Split(New("op"), "p", "oq", parts);
      tile_ = New("tile");
      panel_ = New("oq");
      panel_dims_ = {New("p"), New("oq")};
    }
    std::vector<std::string> order = {New("p")};
    if (split_tiles_) order.push_back(New("tb"));
    if (IsGrouped()) order.push_back(New("og"));
    order.insert(order.end(),
                 {panel_, tile_, New("yi"), New("xi"), absl::StrCat(name_, ".b"), New("oi")});
    Add(absl::StrCat("reorder@1 ", List(order)));
  }

  std::string Loops(absl::string_view prefix) const {
    return List({New(absl::StrCat(prefix, "a")), New(absl::StrCat(prefix, "b")),
                 New(absl::StrCat(prefix, "t")), New(absl::StrCat(prefix, "c"))});
  }

  void PlaceProducers() {
    Add(absl::StrCat("compute_at@1 ", parts_[4], "->", Loops("t_"), " inside=", tile_));
    Add(absl::StrCat("compute_at@1 ", parts_[3], "->", Loops("m_"), " inside=", panel_));
    if (split_tiles_) {
      Add(absl::StrCat("compute_at@1 ", parts_[2], "->", Loops("v_"), " inside=", New("tb")));
    }
    Add(absl::StrCat("precompute@1 ", parts_[0]));
    std::vector<std::string> dims = panel_dims_;
    dims.insert(dims.end(), {New("m_a"), New("m_b"), absl::StrCat(parts_[3], ".c"), New("m_c")});
    Add(absl::StrCat("relayout@1 ", parts_[0], "->", New("packed"), " dims=", List(dims)));
    Add(absl::StrCat("precompute@1 ", New("packed")));
  }

  // Lanes along channels; matrices unrolled, so that their zeros and ones disappear.
  void ScheduleInputTransform() {
    const std::string v = parts_[2], v0 = parts_[1];
    std::string a = New("v_a"), b = New("v_b"), t = New("v_t"), c = New("v_c");
    if (!split_tiles_) {
      a = absl::StrCat(v, ".a"), b = absl::StrCat(v, ".b"), c = absl::StrCat(v, ".c");
      Split(absl::StrCat(v, ".t"), "vp", "v_t", absl::StrCat("parts=", context_.threads));
    }
    Split(c, "v_co", "v_ci", absl::StrCat("size=", lanes_));
    std::vector<std::string> order;
    if (!split_tiles_) order.push_back(New("vp"));
    order.insert(order.end(), {New("v_t"), New("v_co"), a, b, absl::StrCat(v, ".j"), New("v_ci")});
    Add(absl::StrCat("reorder@1 ", List(order)));
    Add(absl::StrCat("compute_at@1 ", v0, "->", Loops("w_"), " inside=", New("v_co")));
    Add(absl::StrCat("reorder@1 ", List({New("w_b"), New("w_t"), New("w_a"), absl::StrCat(v0, ".i"),
                                         New("w_c")})));
    Add(absl::StrCat("stage@1 ", v0, "->", New("wacc"), " inside=", New("w_a"), " scope=register"));
    Add(absl::StrCat("stage@1 ", v, "->", New("vacc"), " inside=", b, " scope=register"));
    for (const std::string& loop : {New("w_a"), absl::StrCat(v0, ".i"), b, absl::StrCat(v, ".j")}) {
      Add(absl::StrCat("unroll@1 ", loop));
    }
    Add(absl::StrCat("vectorize@1 ", New("w_c"), " lanes=", lanes_));
    Add(absl::StrCat("vectorize@1 ", New("v_ci"), " lanes=", lanes_));
    if (!split_tiles_) Add(absl::StrCat("parallel@1 ", New("vp")));
  }

  void ScheduleProduct() {
    const std::string m = parts_[3], depth = absl::StrCat(m, ".c");
    Split(New("m_t"), "m_to", "m_ti", "max=$mr");
    Split(depth, "m_qo", "m_qi", "size=4");
    Add(absl::StrCat("reorder@1 ", List({New("m_a"), New("m_b"), New("m_to"), New("m_qo"),
                                         New("m_qi"), New("m_ti"), New("m_c")})));
    Add(absl::StrCat("stage@1 ", m, "->", New("macc"), " inside=", New("m_to"), " scope=register"));
    Add(absl::StrCat("unroll@1 ", New("m_qi")));
    Add(absl::StrCat("unroll@1 ", New("m_ti")));
    Add(absl::StrCat("vectorize@1 ", New("m_c"), " lanes=", lanes_));
    Add(absl::StrCat("prefetch@1 ", New("packed"), " next=", New("m_b"), " at=", New("m_qo"),
                     " to=L2"));
  }

  void ScheduleOutputTransform() {
    const std::string t = parts_[4], sum = absl::StrCat(t, ".a");
    Add(absl::StrCat("reorder@1 ", List({New("t_b"), New("t_t"), New("t_a"), sum, New("t_c")})));
    Add(absl::StrCat("stage@1 ", t, "->", New("tacc"), " inside=", New("t_a"), " scope=register"));
    Add(absl::StrCat("unroll@1 ", New("t_a")));
    Add(absl::StrCat("unroll@1 ", sum));
    Add(absl::StrCat("vectorize@1 ", New("t_c"), " lanes=", lanes_));
    Add(absl::StrCat("stage@1 ", name_, "->", New("acc"), " inside=", New("xi"),
                     " scope=register"));
    Add(absl::StrCat("unroll@1 ", New("xi")));
    Add(absl::StrCat("unroll@1 ", name_, ".b"));
    Add(absl::StrCat("vectorize@1 ", New("oi"), " lanes=", lanes_));
    Add(absl::StrCat("parallel@1 ", New("p")));
  }

  const RuleContext& context_;
  const Program& program_;
  const Block& block_;
  const std::string name_;
  const Filtering filtering_;
  const bool split_tiles_;
  Sketch sketch_;
  int64_t lanes_ = 0;
  std::vector<std::string> parts_, panel_dims_;
  std::string tile_, panel_;
};

}  // namespace

std::vector<Sketch> WinogradRule(const RuleContext& context, BlockId id) {
  const Block& block = context.program.blocks[id];
  if (block.spatial.size() != 4 || block.reduction.size() != 3) return {};
  // The primitive knows which convolutions it takes.
  const int m = 4;
  const absl::StatusOr<Trace> trace =
      ParseTrace(absl::StrCat("winograd@1 ", block.name, "->(w_U,w_V0,w_V,w_M,w_T) m=", m));
  if (!trace.ok()) return {};
  const absl::StatusOr<Program> rewritten = ApplyTrace(*trace, context.program);
  if (!rewritten.ok()) return {};
  const BlockId products = FindBlock(*rewritten, "w_M");
  Filtering filtering = {
      .strided = Extent(*rewritten, rewritten->blocks[products].spatial[0]) > m + 2,
      .channels = rewritten->buffers[FindBuffer(*rewritten, "w_V")].shape[3],
      .outputs_per_group = Extent(context.program, block.spatial[3])};
  // Of groups, both sides of the product depend on the output channel.
  const int64_t depth = Extent(*rewritten, rewritten->blocks[products].reduction[0]);
  const bool grouped = depth < filtering.channels;
  filtering.outputs_per_group /= filtering.channels / depth;
  std::vector<Sketch> sketches;
  for (const bool split_tiles : {true, false}) {
    if (grouped && (!split_tiles || filtering.outputs_per_group % context.isa.float_lanes() != 0)) {
      continue;
    }
    sketches.push_back(WinogradSketch(context, id, filtering, split_tiles).Build());
  }
  return sketches;
}

}  // namespace burnish
