#include "compiler/te/ops/winograd.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "compiler/ir/winograd_matrices.h"
#include "compiler/te/ops/conv_shape.h"

namespace burnish::ops {
namespace {

constexpr int kTaps = 3;

using Table = std::shared_ptr<const ConstTable>;

Table MakeTable(int rows, int columns, std::vector<double> values) {
  return std::make_shared<ConstTable>(ConstTable{DType::kF32, {rows, columns}, std::move(values)});
}

bool Applies(const Attributes& attributes, Types inputs) {
  const absl::StatusOr<ConvShape> s = ConvShapeOf(attributes, inputs);
  if (!s.ok()) return false;
  const auto all = [](const std::vector<int64_t>& values, int64_t want) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == want; });
  };
  return s->dims == 2 && s->channels_last && s->group == 1 && all(s->kernel, kTaps) &&
         all(s->strides, 1) && all(s->dilations, 1) && inputs[0].dtype == DType::kF32;
}

// The blocks of F(m x m, 3 x 3).
class Winograd {
 public:
  Winograd(TeBuilder& te, const ConvShape& s, int m, Tensors inputs)
      : te_(te), s_(s), m_(m), size_(m + kTaps - 1), inputs_(inputs) {
    const WinogradMatrices matrices = MakeWinogradMatrices(m);
    at_ = MakeTable(m, size_, matrices.at);
    g_ = MakeTable(size_, kTaps, matrices.g);
    bt_ = MakeTable(size_, size_, matrices.bt);
    for (int d = 0; d < 2; ++d) tiles_[d] = (s.out[d] + m - 1) / m;
    tile_count_ = s.batch * tiles_[0] * tiles_[1];
  }

  std::vector<Tensor> Define() {
    const Tensor padded = Pad();
    const Tensor u = TransformWeights();
    const Tensor v = TransformInput(padded);
    return {TransformOutput(Multiply(u, v))};
  }

 private:
  static TensorType F32(std::vector<int64_t> shape) { return {DType::kF32, std::move(shape)}; }

  // P: the input with its padding, and zeros until the last tile is whole.
  Tensor Pad() {
    std::vector<std::pair<int64_t, int64_t>> pads = {{0, 0}};
    for (int d = 0; d < 2; ++d) {
      const int64_t below = s_.pads_begin[d];
      pads.emplace_back(below, tiles_[d] * m_ + kTaps - 1 - s_.in[d] - below);
    }
    pads.emplace_back(0, 0);
    return PadWith(te_, "P", inputs_[0], pads, Float(0), {"n", "h", "w", "c"});
  }

  Tensor TransformWeights() {
    TeBuilder::ReduceSpec spec;
    spec.axis_names = {"a", "b", "c", "o"};
    spec.reduction_names = {"ky", "kx"};
    spec.reduction_extents = {kTaps, kTaps};
    spec.step = [&](const Indices& i, const Indices& k) {
      return TableLoad(g_, {i[0], k[0]}) * TableLoad(g_, {i[1], k[1]}) *
             inputs_[1]({i[3], i[2], k[0], k[1]});
    };
    return te_.Reduce("U", F32({size_, size_, s_.in_channels, s_.out_channels}), spec);
  }

  // V0[a,j,t,c] transforms the columns of a tile, V[a,b,t,c] its rows.
  Tensor TransformInput(const Tensor& padded) {
    const TensorType type = F32({size_, size_, tile_count_, s_.in_channels});
    TeBuilder::ReduceSpec spec;
    spec.axis_names = {"a", "j", "t", "c"};
    spec.reduction_names = {"i"};
    spec.reduction_extents = {size_};
    spec.step = [&](const Indices& i, const Indices& k) {
      const Expr n = FloorDiv(i[2], tiles_[0] * tiles_[1]);
      const Expr y = Mod(FloorDiv(i[2], tiles_[1]), tiles_[0]) * m_ + k[0];
      const Expr x = Mod(i[2], tiles_[1]) * m_ + i[1];
      return TableLoad(bt_, {i[0], k[0]}) * padded({n, y, x, i[3]});
    };
    const Tensor columns = te_.Reduce("V0", type, spec);
    spec.axis_names = {"a", "b", "t", "c"};
    spec.reduction_names = {"j"};
    spec.step = [&](const Indices& i, const Indices& k) {
      return TableLoad(bt_, {i[1], k[0]}) * columns({i[0], k[0], i[2], i[3]});
    };
    return te_.Reduce("V", type, spec);
  }

  Tensor Multiply(const Tensor& u, const Tensor& v) {
    TeBuilder::ReduceSpec spec;
    spec.axis_names = {"a", "b", "t", "o"};
    spec.reduction_names = {"c"};
    spec.reduction_extents = {s_.in_channels};
    spec.step = [&](const Indices& i, const Indices& k) {
      return v({i[0], i[1], i[2], k[0]}) * u({i[0], i[1], k[0], i[3]});
    };
    return te_.Reduce("M", F32({size_, size_, tile_count_, s_.out_channels}), spec);
  }

  // T[p,b,t,o] transforms the columns of a tile, Y its rows, of the outputs that exist.
  Tensor TransformOutput(const Tensor& product) {
    TeBuilder::ReduceSpec spec;
    spec.axis_names = {"p", "b", "t", "o"};
    spec.reduction_names = {"a"};
    spec.reduction_extents = {size_};
    spec.step = [&](const Indices& i, const Indices& k) {
      return TableLoad(at_, {i[0], k[0]}) * product({k[0], i[1], i[2], i[3]});
    };
    const Tensor columns = te_.Reduce("T", F32({m_, size_, tile_count_, s_.out_channels}), spec);
    spec.axis_names = {"n", "y", "x", "o"};
    spec.reduction_names = {"b"};
    spec.step = [&](const Indices& i, const Indices& k) {
      const Expr t = (i[0] * tiles_[0] + FloorDiv(i[1], m_)) * tiles_[1] + FloorDiv(i[2], m_);
      return TableLoad(at_, {Mod(i[2], m_), k[0]}) * columns({Mod(i[1], m_), k[0], t, i[3]});
    };
    if (inputs_.size() > 2) {
      spec.init = [&](const Indices& i) { return inputs_[2]({i[3]}); };
    }
    return te_.Reduce("Y", F32(s_.Shape(s_.out_channels, s_.out)), spec);
  }

  TeBuilder& te_;
  const ConvShape& s_;
  const int64_t m_;
  const int64_t size_;  // Of an input tile: m + 2.
  const Tensors inputs_;
  Table at_, g_, bt_;
  std::array<int64_t, 2> tiles_;
  int64_t tile_count_ = 0;
};

}  // namespace

std::vector<Variant> ConvVariants(const Attributes& attributes, Types inputs) {
  std::vector<Variant> variants;
  if (!Applies(attributes, inputs)) return variants;
  const ConvShape shape = *ConvShapeOf(attributes, inputs);
  for (const int m : {2, 4, 6}) {
    variants.push_back({.name = absl::StrCat("winograd_m", m),
                        .numerics = NumericsKind::kWinograd,
                        .winograd_m = m,
                        .define = [shape, m](TeBuilder& te, Tensors tensors) {
                          te.SetNumerics(NumericsKind::kWinograd, m);
                          return Winograd(te, shape, m, tensors).Define();
                        }});
  }
  return variants;
}

}  // namespace burnish::ops
