#include "compiler/schedule/test_programs.h"

#include <memory>
#include <utility>

#include "base/rng.h"
#include "compiler/te/builder.h"

namespace burnish {
namespace {

Expr Relu(const Expr& x) { return Max(x, Float(0)); }

// X with a border of zeros; X itself where there is none.
Tensor Padded(TeBuilder& te, const Tensor& x, int64_t below, int64_t above) {
  if (below == 0 && above == 0) return x;
  TensorType type = x.type;
  type.shape[1] += below + above;
  type.shape[2] += below + above;
  return te.Compute("P", type,
                    [&](const Indices& i) {
                      const Expr h = i[1] - below, w = i[2] - below;
                      const Expr inside = And(And(Le(Int(0), h), Lt(h, Int(x.dim(1)))),
                                              And(Le(Int(0), w), Lt(w, Int(x.dim(2)))));
                      return Select(inside, x({i[0], h, w, i[3]}), Float(0));
                    },
                    {"n", "h", "w", "c"});
}

std::shared_ptr<const ConstTable> Table(std::vector<int64_t> shape, std::vector<double> values) {
  return std::make_shared<const ConstTable>(
      ConstTable{.dtype = DType::kF32, .shape = std::move(shape), .values = std::move(values)});
}

}  // namespace

Program ConvProgram(const TestConvShape& s) {
  TeBuilder te("conv");
  const Tensor x = te.Parameter("X", {DType::kF32, {s.n, s.h, s.w, s.ci}}, BufferRole::kInput);
  const int64_t out_h = (s.h + 2 * s.pad - s.k) / s.stride + 1;
  const int64_t out_w = (s.w + 2 * s.pad - s.k) / s.stride + 1;
  const TensorType type{DType::kF32, {s.n, out_h, out_w, s.co}};
  Tensor r;
  if (s.residual) r = te.Parameter("R", type, BufferRole::kInput);
  const Tensor w = te.Parameter("W", {DType::kF32, {s.co, s.ci, s.k, s.k}}, BufferRole::kConstant);
  const Tensor b = te.Parameter("B", {DType::kF32, {s.co}}, BufferRole::kConstant);
  const Tensor p = Padded(te, x, s.pad, s.pad);
  const Tensor y =
      te.Reduce("Y", type,
                {.axis_names = {"n", "y", "x", "o"},
                 .reduction_names = {"ky", "kx", "c"},
                 .reduction_extents = {s.k, s.k, s.ci},
                 .init = [&](const Indices& i) { return b({i[3]}); },
                 .step =
                     [&](const Indices& i, const Indices& k) {
                       return p({i[0], i[1] * s.stride + k[0], i[2] * s.stride + k[1], k[2]}) *
                              w({i[3], k[2], k[0], k[1]});
                     },
                 .finish =
                     [&](const Indices& i, const Expr& self) {
                       return Relu(s.residual ? self + r({i[0], i[1], i[2], i[3]}) : self);
                     }});
  te.Output("Out", y);
  return te.Build();
}

Program DenseProgram(int64_t n, int64_t k, int64_t o) {
  TeBuilder te("dense");
  const Tensor x = te.Parameter("X", {DType::kF32, {n, k}}, BufferRole::kInput);
  const Tensor w = te.Parameter("W", {DType::kF32, {o, k}}, BufferRole::kConstant);
  const Tensor b = te.Parameter("B", {DType::kF32, {o}}, BufferRole::kConstant);
  const Tensor y =
      te.Reduce("Y", {DType::kF32, {n, o}},
                {.axis_names = {"n", "o"},
                 .reduction_names = {"k"},
                 .reduction_extents = {k},
                 .init = [&](const Indices& i) { return b({i[1]}); },
                 .step = [&](const Indices& i,
                             const Indices& r) { return x({i[0], r[0]}) * w({i[1], r[0]}); }});
  te.Output("Out", y);
  return te.Build();
}

// The matrices of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016,
// section 4.3: points 0, 1, -1, 2, -2 and infinity.
Program WinogradProgram(const TestConvShape& s) {
  const auto bt = Table({6, 6}, {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
                                 0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1});
  const auto g =
      Table({6, 3}, {1.0 / 4, 0, 0, -1.0 / 6, -1.0 / 6, -1.0 / 6, -1.0 / 6, 1.0 / 6, -1.0 / 6,
                     1.0 / 24, 1.0 / 12, 1.0 / 6, 1.0 / 24, -1.0 / 12, 1.0 / 6, 0, 0, 1});
  const auto at =
      Table({4, 6}, {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0, 0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1});
  const int64_t th = (s.h + 3) / 4, tw = (s.w + 3) / 4;
  TeBuilder te("winograd");
  const Tensor x = te.Parameter("X", {DType::kF32, {s.n, s.h, s.w, s.ci}}, BufferRole::kInput);
  const Tensor w = te.Parameter("W", {DType::kF32, {s.co, s.ci, 3, 3}}, BufferRole::kConstant);
  const Tensor b = te.Parameter("B", {DType::kF32, {s.co}}, BufferRole::kConstant);
  const Tensor p = [&] {
    TensorType type{DType::kF32, {s.n, th * 4 + 2, tw * 4 + 2, s.ci}};
    return te.Compute("P", type,
                      [&](const Indices& i) {
                        const Expr h = i[1] - 1, ww = i[2] - 1;
                        const Expr inside = And(And(Le(Int(0), h), Lt(h, Int(s.h))),
                                                And(Le(Int(0), ww), Lt(ww, Int(s.w))));
                        return Select(inside, x({i[0], h, ww, i[3]}), Float(0));
                      },
                      {"n", "h", "w", "c"});
  }();
  const Tensor u = te.Reduce("U", {DType::kF32, {6, 6, s.ci, s.co}},
                             {.axis_names = {"a", "b", "c", "o"},
                              .reduction_names = {"i", "j"},
                              .reduction_extents = {3, 3},
                              .step = [&](const Indices& i, const Indices& k) {
                                return TableLoad(g, {i[0], k[0]}) * TableLoad(g, {i[1], k[1]}) *
                                       w({i[3], i[2], k[0], k[1]});
                              }});
  const auto row = [&](const Expr& t) { return Mod(FloorDiv(t, tw), th) * 4; };
  const auto column = [&](const Expr& t) { return Mod(t, tw) * 4; };
  const Tensor v =
      te.Reduce("V", {DType::kF32, {6, 6, s.n * th * tw, s.ci}},
                {.axis_names = {"a", "b", "t", "c"},
                 .reduction_names = {"i", "j"},
                 .reduction_extents = {6, 6},
                 .step = [&](const Indices& i, const Indices& k) {
                   return TableLoad(bt, {i[0], k[0]}) * TableLoad(bt, {i[1], k[1]}) *
                          p({FloorDiv(i[2], th * tw), row(i[2]) + k[0], column(i[2]) + k[1], i[3]});
                 }});
  const Tensor m = te.Reduce("M", {DType::kF32, {6, 6, s.n * th * tw, s.co}},
                             {.axis_names = {"a", "b", "t", "o"},
                              .reduction_names = {"c"},
                              .reduction_extents = {s.ci},
                              .step = [&](const Indices& i, const Indices& k) {
                                return v({i[0], i[1], i[2], k[0]}) * u({i[0], i[1], k[0], i[3]});
                              }});
  const Tensor y =
      te.Reduce("Y", {DType::kF32, {s.n, s.h, s.w, s.co}},
                {.axis_names = {"n", "y", "x", "o"},
                 .reduction_names = {"a", "b"},
                 .reduction_extents = {6, 6},
                 .init = [&](const Indices& i) { return b({i[3]}); },
                 .step =
                     [&](const Indices& i, const Indices& k) {
                       const Expr t = (i[0] * th + FloorDiv(i[1], 4)) * tw + FloorDiv(i[2], 4);
                       return TableLoad(at, {Mod(i[1], 4), k[0]}) *
                              TableLoad(at, {Mod(i[2], 4), k[1]}) * m({k[0], k[1], t, i[3]});
                     },
                 .finish = [](const Indices&, const Expr& self) { return Relu(self); }});
  te.Output("Out", y);
  Program program = te.Build();
  program.numerics = {.kind = NumericsClass::kAlgorithm, .algorithm = "winograd", .parameter = 4};
  return program;
}

std::vector<TensorValue> RandomArguments(const Program& program, uint64_t seed) {
  std::vector<TensorValue> arguments;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role != BufferRole::kInput && buffer.role != BufferRole::kConstant) continue;
    TensorValue value{.dtype = buffer.dtype, .shape = buffer.shape};
    Rng rng(RngStream{.seed = seed, .purpose = "argument", .task = buffer.name});
    for (int64_t i = 0; i < ElementCount(buffer.shape); ++i) {
      if (IsFloat(buffer.dtype)) {
        value.floats.push_back(static_cast<float>(rng.Normal()));
      } else {
        value.integers.push_back(rng.Between(-100, 100));
      }
    }
    arguments.push_back(std::move(value));
  }
  return arguments;
}

}  // namespace burnish
