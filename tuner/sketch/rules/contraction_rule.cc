// Sums of products with a register tile: matrix products, convolutions, batched and grouped ones.
//
// One operand (the vector operand) runs along the last output axis; the other is broadcast. Rows
// are the output axes that only the broadcast operand has, fused into one flat axis; panels are
// pieces of the vector axis. Accumulators stay in registers over the whole reduction, the vector
// operand is laid out in the order of use. Register tiles are all that the IsaModel allows. Source
// of the loop structure: Goto and van de Geijn, "Anatomy of high-performance matrix
// multiplication", TOMS 2008; of the flat reduction segments: Georganas et al., "High-performance
// deep learning via a single building block", 2019, arXiv 1906.06440.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/rules/contraction.h"

namespace burnish {
namespace {

// Up to so many workers one dimension shares out well enough.
constexpr int kGridThreads = 4;

// Rows of a worker that keep a register tile busy.
constexpr int64_t kRowsOfOwn = 8;

int64_t BytesOf(const Program& program, const Expr& load) {
  const Buffer& buffer = program.buffers[load->id];
  return ElementCount(buffer.shape) * SizeBytes(buffer.dtype);
}

// Whether so much of the input fits into L2 beside a panel, and not several times.
bool WorthAChunk(int64_t bytes, const IsaModel& isa) {
  return bytes <= isa.l2.size_bytes / 2 && bytes > isa.l2.size_bytes / 16;
}

// How the loops around a tile are built.
struct Form {
  bool split_rows = false;       // Workers share rows, not panels.
  bool block_reduction = false;  // The segment goes in blocks, partial sums are parked.
  bool chunk_rows = false;       // All panels for some rows, which stay in L2, then the next rows.
  bool panels_inside = false;    // All panels for each tile of rows; with split_rows only.
  bool grid = false;             // Workers share rows and vectors, in two dimensions.
};

class ContractionSketch {
 public:
  // `first_step`: what the program went through before it came to this form; empty: nothing.
  ContractionSketch(const RuleContext& context, const Contraction& c, const Form& form,
                    const std::string& first_step)
      : context_(context),
        program_(context.program),
        c_(c),
        name_(program_.blocks[c.block].name),
        form_(form) {
    if (!first_step.empty()) Add(first_step);
  }

  Sketch Build() {
    sketch_.name =
        absl::StrCat("contraction/",
                     form_.grid         ? "grid"
                     : form_.split_rows ? "rows"
                                        : "panels",
                     form_.block_reduction ? "/blocked" : "", form_.chunk_rows ? "/chunks" : "",
                     form_.panels_inside ? "/tiles" : "");
    AddDecisions();
    Flatten();
    Tile();
    Pack();
    Annotate();
    return std::move(sketch_);
  }

 private:
  void Add(const std::string& text, const std::string& when = "") {
    sketch_.steps.push_back({.text = text, .when = when});
  }
  std::string New(absl::string_view what) const { return absl::StrCat(name_, "_", what); }

  int64_t Product(const std::vector<VarId>& axes) const {
    int64_t product = 1;
    for (VarId axis : axes) product *= Extent(program_, axis);
    return product;
  }

  void AddDecisions() {
    const IsaModel& isa = context_.isa;
    const int64_t vector_extent = Extent(program_, c_.vector_axis);
    lanes_ =
        std::max<int64_t>(2, std::min<int64_t>(isa.float_lanes(), FloorPowerOfTwo(vector_extent)));
    const int64_t row_count = Product(c_.rows);
    Decision mr{.name = "mr"}, nr{.name = "nr"};
    // Rows may lie a multiple of 4 KiB apart, in one set of the first cache: no more than its ways.
    const int64_t rows_max = std::max<int64_t>(isa.l1d.ways, 8);
    for (int64_t v = 1; v <= std::min(row_count, rows_max); ++v) mr.values.push_back(v);
    for (int64_t v = 1; v <= (isa.vector_register_count > 16 ? 6 : 4); ++v) {
      // A panel that is wider than the axis is waste.
      if (v > 1 && (v - 1) * lanes_ >= vector_extent) break;
      nr.values.push_back(v * lanes_);
    }
    const int64_t depth = Extent(program_, c_.reduction.back()) * FusedInner();
    Decision ku{.name = "ku", .values = {1}};
    for (int64_t v : {2, 4, 8}) {
      if (v <= depth) ku.values.push_back(v);
    }
    sketch_.decisions = {mr,
                         nr,
                         ku,
                         {.name = "prefetch", .values = {0, 1}},
                         {.name = "rows_inside", .values = {0, 1}}};
    if (form_.block_reduction) {
      Decision kb{.name = "kb"};
      for (int64_t v : {128, 256, 512, 1024}) {
        if (2 * v <= depth) kb.values.push_back(v);
      }
      sketch_.decisions.push_back(kb);
    }
    if (form_.grid) {
      Decision row_parts{.name = "row_parts"}, column_parts{.name = "column_parts"};
      for (int64_t v = 2; v * 2 <= context_.threads; ++v) {
        if (context_.threads % v != 0) continue;
        row_parts.values.push_back(v);
        column_parts.values.push_back(v);
      }
      sketch_.decisions.push_back(row_parts);
      sketch_.decisions.push_back(column_parts);
    }
    if (form_.chunk_rows) {
      sketch_.decisions.push_back({.name = "chunks", .values = {2, 4, 8, 16, 32}});
    }
    const int64_t lanes = lanes_;
    const int64_t wanted = std::min<int64_t>(isa.accumulators_min(), 8);
    const int64_t most_columns = nr.values.back() / lanes;
    const int64_t outer = Product(c_.outer);
    const auto panels = [=](int64_t width) {
      return outer * ((vector_extent + width - 1) / width);
    };
    parts_ =
        form_.split_rows ? context_.threads : std::min<int64_t>(context_.threads, panels(lanes_));
    even_ = !form_.split_rows && !form_.grid && c_.outer.empty() &&
            vector_extent % (parts_ * lanes_) == 0;
    const int64_t parts = form_.split_rows || form_.grid ? 1 : parts_;
    const int64_t share = even_ ? vector_extent / parts_ : vector_extent;
    const bool chunked = form_.chunk_rows, grid = form_.grid;
    const int64_t threads = context_.threads;
    const int64_t input_bytes = BytesOf(program_, c_.broadcast_load);
    sketch_.valid = [=](const Point& p) {
      const int64_t m = p[0], n = p[1] / lanes;
      if (!TileFitsRegisters(isa, m, n) || panels(p[1]) < parts) return false;
      if (n > 1 && (n - 1) * lanes >= share) return false;
      if (grid) {
        const int64_t row_parts = p[p.size() - 2], column_parts = p.back();
        if (row_parts * column_parts != threads || row_parts > row_count ||
            (n - 1) * lanes * column_parts >= vector_extent) {
          return false;
        }
      }
      if (chunked && !WorthAChunk(input_bytes / (threads * p.back()), isa)) return false;
      // Too few independent sums leave the FMA units waiting; small problems have no choice.
      if (m * n < wanted && m < row_count && n < most_columns) return false;
      // Few rows: they are broadcast once and the panel streams; else the other way round.
      return (p[4] == 1) == (m < n);
    };
  }

  int64_t FusedInner() const {
    int64_t product = 1;
    for (size_t i = c_.fused_from; i + 1 < c_.reduction.size(); ++i) {
      product *= Extent(program_, c_.reduction[i]);
    }
    return product;
  }

  std::vector<std::string> Names(const std::vector<VarId>& axes) const {
    std::vector<std::string> names;
    for (VarId axis : axes) names.push_back(NameOf(program_, axis));
    return names;
  }

  // Rows, outer axes and the reduction segment become one loop each.
  void Flatten() {
    std::vector<std::string> order = Names(c_.outer);
    const std::vector<std::string> rows = Names(c_.rows);
    order.insert(order.end(), rows.begin(), rows.end());
    order.push_back(NameOf(program_, c_.vector_axis));
    const std::vector<std::string> reduction = Names(c_.reduction);
    order.insert(order.end(), reduction.begin(), reduction.end());
    if (order.size() > 1) Add(absl::StrCat("reorder@1 ", List(order)));
    row_ = FuseAll(rows, "m");
    outer_ = FuseAll(Names(c_.outer), "g");
    for (int i = 0; i < c_.fused_from; ++i) taps_.push_back(reduction[i]);
    segment_ = FuseAll({reduction.begin() + c_.fused_from, reduction.end()}, "q");
  }

  std::string FuseAll(const std::vector<std::string>& names, absl::string_view what) {
    if (names.empty()) return "";
    if (names.size() == 1) return names[0];
    Add(absl::StrCat("fuse@1 ", List(names), "->", New(what)));
    return New(what);
  }

  void Split(const std::string& loop, absl::string_view outer, absl::string_view inner,
             const std::string& how) {
    Add(absl::StrCat("split@1 ", loop, "->(", New(outer), ",", New(inner), ") ", how));
  }

  // The loops around a tile, outermost first, ending with the one that moves from tile to tile.
  void Tile() {
    std::string axis = NameOf(program_, c_.vector_axis);
    const std::string parts = absl::StrCat("parts=", parts_);
    if (form_.grid) {
      Split(axis, "pc", "v1", "parts=$column_parts");
      axis = New("v1");
    } else if (even_) {
      Split(axis, "p", "v1", parts);
      axis = New("v1");
    }
    Split(axis, "vp", "vi", "size=$nr");
    std::vector<std::string> loops;
    std::string panel = New("vp"), row = row_;
    if (form_.grid) {
      Split(row_, "pr", "m1", "parts=$row_parts");
      row = New("m1");
      Add(absl::StrCat("reorder@1 ", List({New("pr"), New("pc"), New("vp"), row})));
      Add(absl::StrCat("fuse@1 ", List({New("pr"), New("pc")}), "->", New("p")));
      loops = {New("p"), New("vp")};
      panel_dims_ = {New("pc"), New("vp")};
    } else if (form_.split_rows) {
      Split(row_, "p", "m1", parts);
      row = New("m1");
      loops = {New("p")};
      if (form_.chunk_rows) {
        Split(row, "mc", "m2", "parts=$chunks");
        row = New("m2");
        loops.push_back(New("mc"));
      }
      if (!outer_.empty()) loops.push_back(outer_);
      loops.push_back(New("vp"));
      panel_dims_ = outer_.empty() ? std::vector<std::string>{New("vp")}
                                   : std::vector<std::string>{outer_, New("vp")};
    } else if (even_) {
      // Whole panels may not share out evenly, vectors do: each worker has a narrow last panel.
      loops = {New("p"), New("vp")};
      panel_dims_ = {New("p"), New("vp")};
    } else {
      if (!outer_.empty()) {
        if (!row_.empty()) Add(absl::StrCat("reorder@1 ", List({outer_, New("vp"), row_})));
        Add(absl::StrCat("fuse@1 ", List({outer_, New("vp")}), "->", New("gp")));
        panel = New("gp");
      }
      Split(panel, "p", "pq", parts);
      loops = {New("p"), New("pq")};
      panel_dims_ = {panel};
    }
    next_ = loops.back();
    std::string segment = segment_;
    if (form_.block_reduction) {
      Split(segment_, "kb", "q1", "size=$kb");
      segment = New("q1");
    }
    Split(segment, "qo", "qi", "size=$ku");
    std::vector<std::string> inner = taps_;
    if (form_.block_reduction) {
      // Taps and blocks go outside the rows: partial sums are parked in the output between them.
      loops.insert(loops.end(), inner.begin(), inner.end());
      loops.push_back(New("kb"));
      inner.clear();
    }
    if (!row.empty()) {
      Split(row, "mt", "mi", "max=$mr");
      loops.insert(form_.panels_inside ? loops.begin() + 1 : loops.end(), New("mt"));
    }
    tile_ = loops.back();
    inner.push_back(New("qo"));
    inner.push_back(New("qi"));
    if (!row.empty()) inner.push_back(New("mi"));
    inner.push_back(New("vi"));
    loops.insert(loops.end(), inner.begin(), inner.end());
    Add(absl::StrCat("reorder@1 ", List(loops)));
    if (!row.empty()) {
      Add(absl::StrCat("reorder@1 ", List({New("vi"), New("mi")})), "rows_inside");
    }
    Add(absl::StrCat("stage@1 ", name_, "->", New("acc"), " inside=", tile_, " scope=register"));
  }

  // The vector operand in the order of use; for constants once, when the model is built.
  void Pack() {
    const Buffer& source = program_.buffers[c_.vector_load->id];
    std::vector<std::string> dims = panel_dims_;
    dims.insert(dims.end(), taps_.begin(), taps_.end());
    dims.push_back(segment_);
    dims.push_back(New("vi"));
    Add(absl::StrCat("relayout@1 ", source.name, "->", New("packed"), " dims=", List(dims)));
    if (source.role == BufferRole::kConstant) {
      Add(absl::StrCat("precompute@1 ", New("packed")));
      return;
    }
    // Vectors of what may lie far apart: loads of single elements, but one store for all of them.
    Add(absl::StrCat("vectorize@1 ", New("packed"), ".", New("vi"), " lanes=", lanes_));
    Add(absl::StrCat("parallel@1 ", New("packed"), ".", dims[0]));
  }

  void Annotate() {
    Add(absl::StrCat("parallel@1 ", New("p")));
    Add(absl::StrCat("unroll@1 ", New("qi")));
    if (!row_.empty()) Add(absl::StrCat("unroll@1 ", New("mi")));
    Add(absl::StrCat("vectorize@1 ", New("vi"), " lanes=", lanes_));
    Add(absl::StrCat("prefetch@1 ", New("packed"), " next=", next_, " at=", New("qo"), " to=L2"),
        "prefetch");
    // What the epilogue reads at the output's own elements: a residual.
    const Block& block = program_.blocks[c_.block];
    if (block.finish == nullptr || row_.empty()) return;
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.role != BufferRole::kInput ||
          buffer.shape != program_.buffers[block.output].shape) {
        continue;
      }
      bool read = false;
      VisitExpr(block.finish, [&](const ExprNode& node) {
        read = read || (node.kind == ExprKind::kLoad && &program_.buffers[node.id] == &buffer);
      });
      if (read)
        Add(absl::StrCat("prefetch@1 ", buffer.name, " this=", tile_, " to=L1"), "prefetch");
    }
  }

  const RuleContext& context_;
  const Program& program_;
  const Contraction& c_;
  const std::string name_;
  const Form form_;
  bool even_ = false;  // Panels are split by vectors, and then into panels.
  Sketch sketch_;
  int64_t lanes_ = 0, parts_ = 1;
  std::string row_, outer_, segment_, next_, tile_;
  std::vector<std::string> taps_, panel_dims_;
};

}  // namespace

std::vector<Sketch> ContractionRule(const RuleContext& original, BlockId id) {
  const std::optional<GroupedProgram> grouped = SplitGroups(original.program, id);
  const RuleContext context{.program = grouped.has_value() ? grouped->program : original.program,
                            .isa = original.isa,
                            .threads = original.threads,
                            .options = original.options};
  const std::optional<Contraction> c = RecognizeContraction(context.program, id);
  if (!c.has_value()) return {};
  int64_t rows = 1, depth = 1;
  for (VarId axis : c->rows) rows *= Extent(context.program, axis);
  for (size_t i = c->fused_from; i < c->reduction.size(); ++i) {
    depth *= Extent(context.program, c->reduction[i]);
  }
  const bool shares_rows = !c->rows.empty() && rows >= context.threads;
  const int64_t l2_share = context.isa.l2.size_bytes / 2;
  std::vector<Sketch> sketches;
  const auto add = [&](const Form& form) {
    sketches.push_back(
        ContractionSketch(context, *c, form, grouped.has_value() ? grouped->step : "").Build());
  };
  for (const bool blocked : {false, true}) {
    if (blocked && depth < 256) continue;
    // Groups dealt out would each read channels of pixels that all workers wrote; rows stay where
    // the task before left them.
    if (!grouped.has_value() || rows < kRowsOfOwn * context.threads) {
      add({.block_reduction = blocked});
    }
    if (shares_rows) {
      // A group's panels are few and its rows' channels a part of a line: all groups at once, as
      // long as their weights stay in L2.
      add({.split_rows = true,
           .block_reduction = blocked,
           .panels_inside = grouped.has_value() && !blocked &&
                            BytesOf(context.program, c->vector_load) <= l2_share});
    }
  }
  // Where a worker's part of the input is more than L2, and there is more than a panel to read it.
  if (shares_rows && c->outer.empty() &&
      BytesOf(context.program, c->broadcast_load) / context.threads > l2_share) {
    add({.split_rows = true, .chunk_rows = true});
  }
  if (context.threads > kGridThreads && c->outer.empty() && !c->rows.empty()) add({.grid = true});
  return sketches;
}

}  // namespace burnish
