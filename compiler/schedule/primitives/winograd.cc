// winograd@1 Y->(U,V0,V,M,T) m=4: the 3x3 convolution Y of stride 1 or 2 is computed by minimal
// filtering F(m x m, 3 x 3), of stride 2 by its phases. For tile t of m x m outputs, with a and b
// counting the points of a tile:
//   U[a,b,c,o]  = G g Gt of the weights g = W[o,c]        V0, V [a,b,t,c] = Bt d B of the input
//   tile d M[a,b,t,o]  = sum over c of V * U                     T, Y = At M A, one side each
// Of a grouped convolution V has the channels of all groups, and M of a group's outputs sums over
// those of that group.
// weights=f16, m 2 or 4: U is stored in binary16, where the weights are 16-bit floats themselves.
// Its rows are brought near to the weights' own size by powers of two, and V by their reciprocals,
// so that small weights do not become subnormal.
// Changes rounding: the program's numerics become winograd(m) or winograd_half(m).
// Sources: those of winograd_matrices.h.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/winograd_matrices.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {
namespace {

constexpr int64_t kTaps = 3;

struct Convolution {
  BlockId block = -1;
  BufferId input = -1, weights = -1;
  std::vector<VarId> spatial;  // n, y, x, o
  VarId ky = -1, kx = -1, c = -1;
  int64_t outputs_per_group = 0;
  int64_t stride = 1;          // Of both axes.
  int64_t offset[2] = {0, 0};  // Of the first tap's row and column in the input: minus the border.
};

// `index - sum` where that is a constant; an axis of one element may be missing on either side.
std::optional<int64_t> OffsetFrom(const Program& program, const Expr& index, const Expr& sum) {
  const Expr rest = Simplify(index - sum, RangesOf(program));
  if (!IsConstInt(rest)) return std::nullopt;
  return rest->int_value;
}

bool Is(const Program& program, const Expr& index, VarId axis) {
  return OffsetFrom(program, index, VarRef(axis)) == 0;
}

// Outputs whose input channels are those that `index` gives, by c: all of them, or those of a
// group. 0: it is another index.
int64_t OutputsPerGroup(const Program& program, const Expr& index, VarId o, VarId c) {
  const int64_t outputs = program.vars[o].extent->int_value;
  if (Is(program, index, c)) return outputs;
  const int64_t channels = program.vars[c].extent->int_value;
  int64_t found = 0;
  VisitExpr(index, [&](const ExprNode& node) {
    if (node.kind != ExprKind::kFloorDiv || !IsConstInt(node.operands[1])) return;
    const int64_t per_group = node.operands[1]->int_value;
    const Expr grouped = FloorDiv(VarRef(o), per_group) * channels + VarRef(c);
    if (outputs % per_group == 0 && OffsetFrom(program, index, grouped) == 0) found = per_group;
  });
  return found;
}

// What is read of a tensor of 16-bit floats: the transforms, and all between them, are f32.
const Expr& Stored(const Expr& e) {
  const bool widens = e->kind == ExprKind::kCast && IsStorageFloat(e->operands[0]->dtype);
  return widens ? e->operands[0] : e;
}

absl::StatusOr<Convolution> Recognize(const Program& program, BlockId id) {
  const Block& block = program.blocks[id];
  const Expr& step = block.step;
  if (block.combiner != Combiner::kSum || block.spatial.size() != 4 ||
      block.reduction.size() != 3 || step->dtype != DType::kF32 || step->kind != ExprKind::kMul ||
      Stored(step->operands[0])->kind != ExprKind::kLoad ||
      Stored(step->operands[1])->kind != ExprKind::kLoad || !WritesInAxisOrder(program, block)) {
    return Refuse(block.name, " is no convolution over n, y, x, o with taps and channels");
  }
  for (VarId axis : block.spatial) {
    if (program.vars[axis].def != nullptr) return Refuse(block.name, " is scheduled already");
  }
  std::vector<VarId> reduction = block.reduction;
  std::sort(reduction.begin(), reduction.end());
  const std::vector<VarId>& s = block.spatial;
  do {
    for (int side = 0; side < 2; ++side) {
      const Expr &x = Stored(step->operands[side]), &w = Stored(step->operands[1 - side]);
      const VarId ky = reduction[0], kx = reduction[1], c = reduction[2];
      if (x->operands.size() != 4 || w->operands.size() != 4) continue;
      const int64_t outputs = OutputsPerGroup(program, x->operands[3], s[3], c);
      if (!Is(program, x->operands[0], s[0]) || outputs == 0 ||
          !Is(program, w->operands[0], s[3]) || !Is(program, w->operands[1], c) ||
          !Is(program, w->operands[2], ky) || !Is(program, w->operands[3], kx) ||
          !IsInt(program.vars[ky].extent, kTaps) || !IsInt(program.vars[kx].extent, kTaps)) {
        continue;
      }
      for (const int64_t stride : {1, 2}) {
        const auto row = OffsetFrom(program, x->operands[1], VarRef(s[1]) * stride + VarRef(ky));
        const auto column = OffsetFrom(program, x->operands[2], VarRef(s[2]) * stride + VarRef(kx));
        if (!row.has_value() || !column.has_value()) continue;
        return Convolution{id, x->id, w->id, s, ky, kx, c, outputs, stride, {*row, *column}};
      }
    }
  } while (std::next_permutation(reduction.begin(), reduction.end()));
  return Refuse(block.name, " is no 3x3 convolution of stride 1 or 2 with channels last");
}

// Exact: powers of two.
void BalanceRows(WinogradMatrices& matrices) {
  for (int i = 0; i < matrices.points; ++i) {
    double* const g = &matrices.g[i * kTaps];
    double* const bt = &matrices.bt[i * matrices.points];
    double largest = 0;
    for (int k = 0; k < kTaps; ++k) largest = std::max(largest, std::abs(g[k]));
    const int exponent = std::ilogb(largest);
    for (int k = 0; k < kTaps; ++k) g[k] = std::ldexp(g[k], -exponent);
    for (int j = 0; j < matrices.points; ++j) bt[j] = std::ldexp(bt[j], exponent);
  }
}

class Rewrite {
 public:
  Rewrite(Program& program, const Convolution& conv, const Step& step, int m, DType weights)
      : program_(program), conv_(conv), names_(step.outputs), m_(m), weights_(weights) {
    WinogradMatrices matrices = MakeWinogradMatrices(m, static_cast<int>(conv.stride));
    if (weights != DType::kF32) BalanceRows(matrices);
    size_ = matrices.points;
    at_ = Table({m, size_}, matrices.at);
    g_ = Table({size_, kTaps}, matrices.g);
    bt_ = Table({size_, size_}, matrices.bt);
    for (int d = 0; d < 4; ++d) out_[d] = program.vars[conv.spatial[d]].extent->int_value;
    channels_ = program.vars[conv.c].extent->int_value;
    for (int d = 0; d < 2; ++d) tiles_[d] = (out_[d + 1] + m - 1) / m;
    tile_count_ = out_[0] * tiles_[0] * tiles_[1];
  }

  absl::Status Run() {
    // First, while the block is still the convolution; each later step reads what the one before
    // has made.
    RETURN_IF_ERROR(WidenInput());
    const BufferId u = TransformWeights();
    const BufferId v = TransformInput();
    const BufferId t = TransformProduct(Multiply(u, v));
    TransformOutput(t);
    program_.numerics = {.kind = NumericsClass::kAlgorithm,
                         .algorithm = weights_ == DType::kF32 ? "winograd" : "winograd_half",
                         .parameter = static_cast<int32_t>(m_)};
    Prune(program_);
    return absl::OkStatus();
  }

 private:
  static std::shared_ptr<const ConstTable> Table(std::vector<int64_t> shape,
                                                 std::vector<double> values) {
    return std::make_shared<const ConstTable>(
        ConstTable{.dtype = DType::kF32, .shape = std::move(shape), .values = std::move(values)});
  }

  // From a tile's first input to the next one's.
  int64_t TileStep() const { return m_ * conv_.stride; }

  // Tiles reach beyond the last output: the padding block, or the border of an input, becomes wider
  // by as much.
  absl::Status WidenInput() {
    Buffer& buffer = program_.buffers[conv_.input];
    int64_t missing[2];
    for (int d = 0; d < 2; ++d) {
      const int64_t end = conv_.offset[d] + (tiles_[d] - 1) * TileStep() + size_;
      missing[d] = std::max<int64_t>(0, end - buffer.shape[d + 1] - BorderOf(buffer, d + 1).second);
    }
    if (missing[0] == 0 && missing[1] == 0) return absl::OkStatus();
    if (buffer.role == BufferRole::kInput) return WidenBorder(buffer, missing);
    const BlockId writer = WriterOf(program_, conv_.input);
    if (writer < 0) return Refuse(buffer.name, " is too small for whole tiles, and is no padding");
    Block& pad = program_.blocks[writer];
    if (!pad.reduction.empty() || pad.finish != nullptr || pad.step->kind != ExprKind::kSelect ||
        pad.step->operands[1]->kind != ExprKind::kLoad ||
        pad.step->operands[1]->operands.size() != buffer.shape.size() ||
        !WritesInAxisOrder(program_, pad) || ReadersOf(program_, conv_.input).size() != 1) {
      return Refuse(pad.name, " is no padding of ", program_.blocks[conv_.block].name, " alone");
    }
    for (int d = 0; d < 2; ++d) {
      Var& axis = program_.vars[pad.spatial[d + 1]];
      if (axis.def != nullptr) return Refuse(pad.name, " is scheduled already");
      buffer.shape[d + 1] += missing[d];
      axis.extent = Int(buffer.shape[d + 1]);
      // The condition may have left out what was always so.
      if (missing[d] == 0) continue;
      const Expr &e = pad.step, &source = e->operands[1];
      const Expr inside =
          Lt(source->operands[d + 1], Int(program_.buffers[source->id].shape[d + 1]));
      pad.step = Select(And(e->operands[0], inside), source, e->operands[2]);
    }
    buffer.storage = DenseStorage(buffer.shape);
    return absl::OkStatus();
  }

  static absl::Status WidenBorder(Buffer& buffer, const int64_t (&missing)[2]) {
    std::vector<std::pair<int64_t, int64_t>> border = buffer.storage.border;
    if (border.empty()) border.resize(buffer.shape.size());
    if (buffer.storage.border_value != 0) return Refuse("the border of ", buffer.name, " is not 0");
    if (buffer.storage.strides != DenseStorage(buffer.shape, border).strides) {
      return Refuse("the storage of ", buffer.name, " is a view: its border cannot grow");
    }
    for (int d = 0; d < 2; ++d) border[d + 1].second += missing[d];
    buffer.storage = DenseStorage(buffer.shape, border);
    return absl::OkStatus();
  }

  struct Axes {
    std::vector<Expr> spatial, reduction;
  };

  // A sum over new axes into a new private buffer, in front of the convolution.
  template <typename StepOf>
  BufferId Sum(const std::string& name, const std::vector<std::string>& axis_names,
               const std::vector<int64_t>& shape, const std::vector<std::string>& reduction_names,
               const std::vector<int64_t>& reduction_extents, const StepOf& step_of,
               DType stored = DType::kF32) {
    Block block{.name = name, .combiner = Combiner::kSum};
    Axes axes;
    for (size_t d = 0; d < shape.size(); ++d) {
      block.spatial.push_back(AddVar(
          program_, {.name = absl::StrCat(name, ".", axis_names[d]), .extent = Int(shape[d])}));
      axes.spatial.push_back(VarRef(block.spatial.back()));
    }
    for (size_t d = 0; d < reduction_names.size(); ++d) {
      block.reduction.push_back(
          AddVar(program_, {.name = absl::StrCat(name, ".", reduction_names[d]),
                            .extent = Int(reduction_extents[d]),
                            .reduce = true}));
      axes.reduction.push_back(VarRef(block.reduction.back()));
    }
    block.output_indices = axes.spatial;
    block.step = step_of(axes.spatial, axes.reduction);
    if (stored != DType::kF32) block.finish = Cast(stored, Self(DType::kF32));
    block.output = AddBuffer(
        program_, {.name = name, .dtype = stored, .shape = shape, .storage = DenseStorage(shape)});
    program_.blocks.push_back(block);
    const BlockId id = static_cast<BlockId>(program_.blocks.size()) - 1;
    const NodeId nest = AddDefaultNest(program_, id);
    auto& order = program_.nodes[program_.root].children;
    order.pop_back();
    const NodeId before = NestOf(program_, NodeOf(program_, conv_.block));
    order.insert(std::find(order.begin(), order.end(), before), nest);
    return block.output;
  }

  using Exprs = const std::vector<Expr>&;
  Expr F32(BufferId buffer, std::vector<Expr> indices) const {
    return Cast(DType::kF32, Load(buffer, program_.buffers[buffer].dtype, std::move(indices)));
  }

  BufferId TransformWeights() {
    // Both sides of G g Gt in one sum of nine terms: it runs once, in the pack function. The
    // input's transform runs in every call and is split into rows and columns, 2 n terms instead of
    // n^2.
    return Sum(
        names_[0], {"a", "b", "c", "o"}, {size_, size_, channels_, out_[3]}, {"ky", "kx"},
        {kTaps, kTaps},
        [&](Exprs i, Exprs k) {
          return TableLoad(g_, {i[0], k[0]}) * TableLoad(g_, {i[1], k[1]}) *
                 F32(conv_.weights, {i[3], i[2], k[0], k[1]});
        },
        weights_);
  }

  BufferId TransformInput() {
    const int64_t groups = out_[3] / conv_.outputs_per_group;
    const std::vector<int64_t> shape = {size_, size_, tile_count_, groups * channels_};
    const BufferId columns =
        Sum(names_[1], {"a", "j", "t", "c"}, shape, {"i"}, {size_}, [&](Exprs i, Exprs k) {
          const Expr n = FloorDiv(i[2], tiles_[0] * tiles_[1]);
          const Expr y =
              Mod(FloorDiv(i[2], tiles_[1]), tiles_[0]) * TileStep() + k[0] + conv_.offset[0];
          const Expr x = Mod(i[2], tiles_[1]) * TileStep() + i[1] + conv_.offset[1];
          return TableLoad(bt_, {i[0], k[0]}) * F32(conv_.input, {n, y, x, i[3]});
        });
    return Sum(names_[2], {"a", "b", "t", "c"}, shape, {"j"}, {size_}, [&](Exprs i, Exprs k) {
      return TableLoad(bt_, {i[1], k[0]}) * F32(columns, {i[0], k[0], i[2], i[3]});
    });
  }

  BufferId Multiply(BufferId u, BufferId v) {
    return Sum(names_[3], {"a", "b", "t", "o"}, {size_, size_, tile_count_, out_[3]}, {"c"},
               {channels_}, [&](Exprs i, Exprs k) {
                 const bool grouped = conv_.outputs_per_group < out_[3];
                 const Expr first =
                     grouped ? FloorDiv(i[3], conv_.outputs_per_group) * channels_ : Int(0);
                 return F32(v, {i[0], i[1], i[2], first + k[0]}) * F32(u, {i[0], i[1], k[0], i[3]});
               });
  }

  BufferId TransformProduct(BufferId product) {
    return Sum(names_[4], {"p", "b", "t", "o"}, {m_, size_, tile_count_, out_[3]}, {"a"}, {size_},
               [&](Exprs i, Exprs k) {
                 return TableLoad(at_, {i[0], k[0]}) * F32(product, {k[0], i[1], i[2], i[3]});
               });
  }

  // Y keeps its axes, init and finish; it sums over the points of a row of T.
  void TransformOutput(BufferId t) {
    const std::string name = absl::StrCat(program_.blocks[conv_.block].name, ".b");
    const VarId b = AddVar(
        program_, {.name = UniqueVarName(program_, name), .extent = Int(size_), .reduce = true});
    const NodeId old_nest = NestOf(program_, NodeOf(program_, conv_.block));
    Block& block = program_.blocks[conv_.block];
    const Expr n = VarRef(conv_.spatial[0]), y = VarRef(conv_.spatial[1]);
    const Expr x = VarRef(conv_.spatial[2]), o = VarRef(conv_.spatial[3]);
    const Expr tile = (n * tiles_[0] + FloorDiv(y, m_)) * tiles_[1] + FloorDiv(x, m_);
    block.reduction = {b};
    block.step = TableLoad(at_, {Mod(x, m_), VarRef(b)}) * F32(t, {Mod(y, m_), VarRef(b), tile, o});
    const NodeId nest = AddDefaultNest(program_, conv_.block);
    program_.nodes[program_.root].children.pop_back();
    ReplaceChild(program_, old_nest, nest);
  }

  Program& program_;
  const Convolution& conv_;
  const std::vector<std::string>& names_;
  const int64_t m_;
  const DType weights_;  // As U has them.
  int64_t size_ = 0;     // Points of a tile along one side, and its inputs.
  std::shared_ptr<const ConstTable> at_, g_, bt_;
  int64_t out_[4] = {}, channels_ = 0, tiles_[2] = {}, tile_count_ = 0;
};

// In which type U is stored.
absl::StatusOr<DType> WeightsOf(const Step& step, int64_t m, DType given) {
  if (!step.Has("weights")) return DType::kF32;
  ASSIGN_OR_RETURN(const std::string type, step.GetWord("weights"));
  if (type != "f16") return Refuse("got weights=", type, ", want f16");
  if (!IsStorageFloat(given)) return Refuse("the weights are not stored in 16 bits");
  // F(6 x 6) loses twice of what bfloat16 weights are off by.
  if (m > 4) return Refuse("got m=", absl::StrCat(m), " with weights=f16, want 2 or 4");
  return DType::kF16;
}

}  // namespace

absl::Status ApplyWinograd(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 5));
  ASSIGN_OR_RETURN(const BlockId block, FindBlockArg(program, step.inputs[0]));
  ASSIGN_OR_RETURN(const int64_t m, step.GetInt("m"));
  // The errors of these three are known (docs/performance.md: up to 8e-7, 6.4e-6 and 1.8e-5 of
  // single layers). The transforms of larger tiles lose more digits with each step.
  if (m != 2 && m != 4 && m != 6) return Refuse("got m=", absl::StrCat(m), ", want 2, 4 or 6");
  for (const std::string& name : step.outputs) {
    RETURN_IF_ERROR(WantNewBuffer(program, name));
    if (FindBlock(program, name) >= 0) return Refuse("there is a block '", name, "' already");
  }
  ASSIGN_OR_RETURN(const Convolution conv, Recognize(program, block));
  ASSIGN_OR_RETURN(const DType weights, WeightsOf(step, m, program.buffers[conv.weights].dtype));
  const NodeId nest = NestOf(program, NodeOf(program, block));
  if (program.nodes[nest].parent != program.root || BlocksUnder(program, nest).size() != 1) {
    return Refuse(step.inputs[0], " has no nest of its own");
  }
  return Rewrite(program, conv, step, static_cast<int>(m), weights).Run();
}

}  // namespace burnish
