// DFT and STFT as products with constant matrices, and the windows and filters that go with them.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

// Of a matrix: 64 MiB of f32, a transform of 2,048 complex numbers. Beyond, a fast transform is
// worth an operator of its own.
constexpr int64_t kMatrixMax = 1 << 24;

struct Transform {
  int64_t in = 1;     // Numbers that there are of the signal, or the spectrum.
  int64_t parts = 1;  // 1: real, 2: real and imaginary parts.
  int64_t length = 1;
  bool inverse = false;
  bool onesided = false;

  int64_t bins() const { return length / 2 + 1; }
  int64_t out() const { return onesided && !inverse ? bins() : length; }
  int64_t out_parts() const { return onesided && inverse ? 1 : 2; }
};

// [in * parts, out * out_parts].
std::vector<double> MatrixOf(const Transform& t) {
  std::vector<double> matrix(t.in * t.parts * t.out() * t.out_parts(), 0);
  const int64_t used = std::min(t.in, t.onesided && t.inverse ? t.bins() : t.length);
  const int64_t row = t.out() * t.out_parts();
  for (int64_t n = 0; n < used; ++n) {
    // Of a one-sided spectrum a bin stands for its mirror image, too, where it has one.
    const bool twice = t.onesided && t.inverse && n > 0 && 2 * n != t.length;
    const double weight = t.inverse ? (twice ? 2.0 : 1.0) / static_cast<double>(t.length) : 1.0;
    for (int64_t k = 0; k < t.out(); ++k) {
      // Reduced first: the sine of a large number has fewer digits.
      const auto turn = static_cast<double>(n * k % t.length) / static_cast<double>(t.length);
      const double cosine = weight * std::cos(2 * M_PI * turn);
      const double sine = weight * (t.inverse ? 1 : -1) * std::sin(2 * M_PI * turn);
      for (int64_t part = 0; part < t.parts; ++part) {
        double* to = &matrix[(n * t.parts + part) * row + k * t.out_parts()];
        to[0] = part == 0 ? cosine : -sine;
        if (t.out_parts() == 2) to[1] = part == 0 ? sine : cosine;
      }
    }
  }
  return matrix;
}

absl::Status CheckTransform(const OnnxNode& node, const Transform& t) {
  if (t.length < 1 || t.in < 1 || t.length > kMatrixMax || t.in > kMatrixMax ||
      t.in * t.parts > kMatrixMax / (2 * t.length)) {
    return node.Unsupported(absl::StrCat("a transform of ", t.length, " numbers; want at most ",
                                         "2048, or 2^24 elements of its matrix"));
  }
  if (t.parts != 1 && t.parts != 2) return node.Invalid("want a last dimension of 1 or 2");
  if (t.onesided && !t.inverse && t.parts == 2) {
    return node.Invalid("a one-sided transform wants real numbers");
  }
  return absl::OkStatus();
}

// [rows.., in, parts] -> [rows.., out, out_parts]; `window`: factors of the `in` numbers, or empty.
ValueId EmitTransform(Composer& c, ValueId x, const Transform& t,
                      const std::vector<double>& window) {
  Shape shape = c.ShapeOf(x);
  if (!c.status().ok()) return -1;
  std::vector<double> matrix = MatrixOf(t);
  const int64_t row = t.out() * t.out_parts();
  for (size_t i = 0; i < matrix.size() && !window.empty(); ++i) {
    matrix[i] *= window[i / (t.parts * row)];
  }
  shape.pop_back();
  shape.back() = t.in * t.parts;
  // An inverse in double: of a real signal's spectrum the imaginary parts cancel, and what is left
  // of them would be nothing but rounding.
  const DType dtype = t.inverse ? DType::kF64 : c.DTypeOf(x);
  const ValueId rows = c.Cast(c.Reshape(x, shape), dtype);
  const ValueId y =
      c.Cast(c.MatMul(rows, c.Constant(dtype, {t.in * t.parts, row}, matrix)), c.DTypeOf(x));
  shape.back() = t.out();
  shape.push_back(t.out_parts());
  return c.Reshape(y, shape);
}

absl::StatusOr<int64_t> ScalarInput(const OnnxNode& node, int i, const char* what) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.ConstantInts(i, what));
  if (values.size() != 1) return node.Invalid(absl::StrCat(what, " must be a scalar"));
  return values[0];
}

absl::Status Dft(OnnxNode& node) {
  Composer c(node);
  ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  const int64_t rank = c.Rank(x);
  if (rank < 2) return node.Invalid("want an input [.., 1 or 2]");
  int64_t axis = node.Int("axis", 1);
  if (node.opset() >= 20) {
    axis = -2;
    if (node.HasInput(2)) {
      ASSIGN_OR_RETURN(axis, ScalarInput(node, 2, "axis"));
    }
  }
  ASSIGN_OR_RETURN(axis, NormalizeAxis(node, axis, rank));
  if (axis == rank - 1) return node.Invalid("axis: the last dimension has the parts of numbers");
  Transform t{.in = c.ShapeOf(x)[axis],
              .parts = c.ShapeOf(x).back(),
              .inverse = node.Int("inverse", 0) != 0,
              .onesided = node.Int("onesided", 0) != 0};
  t.length = t.onesided && t.inverse ? 2 * (t.in - 1) : t.in;
  if (node.HasInput(1)) {
    ASSIGN_OR_RETURN(t.length, ScalarInput(node, 1, "dft_length"));
  }
  RETURN_IF_ERROR(CheckTransform(node, t));
  Shape perm, back(rank);
  for (int64_t d = 0; d < rank - 1; ++d) {
    if (d != axis) perm.push_back(d);
  }
  perm.insert(perm.end(), {axis, rank - 1});
  for (int64_t d = 0; d < rank; ++d) back[perm[d]] = d;
  c.Output(0, c.Transpose(EmitTransform(c, c.Transpose(x, perm), t, {}), back));
  return c.status();
}

absl::Status Stft(OnnxNode& node) {
  Composer c(node);
  ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(x);
  if (shape.size() != 2 && shape.size() != 3) {
    return node.Invalid("want a signal [batch, length, 1 or 2]");
  }
  if (shape.size() == 2) x = c.Reshape(x, {shape[0], shape[1], 1});
  ASSIGN_OR_RETURN(const int64_t step, ScalarInput(node, 1, "frame_step"));
  Transform t{.parts = shape.size() == 2 ? 1 : shape[2], .onesided = node.Int("onesided", 1) != 0};
  t.length = shape[1];
  std::vector<double> window;
  ValueId weights = -1;
  if (node.HasInput(2)) {
    weights = c.In(2);
    RETURN_IF_ERROR(c.status());
    t.length = ElementCount(c.ShapeOf(weights));
    if (c.IsConstant(weights)) {
      ASSIGN_OR_RETURN(window, node.ConstantFloats(2, "window"));
      weights = -1;
    }
  }
  if (node.HasInput(3)) {
    ASSIGN_OR_RETURN(const int64_t length, ScalarInput(node, 3, "frame_length"));
    if (node.HasInput(2) && length != t.length) {
      return node.Invalid("frame_length and window disagree");
    }
    t.length = length;
  }
  t.in = t.length;
  if (step < 1 || t.length < 1 || t.length > shape[1]) {
    return node.Invalid(
        absl::StrCat("frames of ", t.length, " each ", step, " in a signal of ", shape[1]));
  }
  RETURN_IF_ERROR(CheckTransform(node, t));
  const int64_t frames = (shape[1] - t.length) / step + 1;
  c.MayMake({frames, t.length});
  RETURN_IF_ERROR(c.status());
  std::vector<int64_t> at;
  for (int64_t f = 0; f < frames; ++f) {
    for (int64_t i = 0; i < t.length; ++i) at.push_back(f * step + i);
  }
  x = c.Gather(x, c.Ints({frames, t.length}, at), 1);  // [N, frames, length, parts]
  if (weights >= 0) x = c.Mul(x, c.Reshape(weights, {1, 1, t.length, 1}));
  c.Output(0, EmitTransform(c, x, t, window));
  return c.status();
}

// ---- Windows: a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N).

OnnxTranslator Window(double a0, double a1, double a2) {
  return [=](OnnxNode& node) -> absl::Status {
    Composer c(node);
    ASSIGN_OR_RETURN(const int64_t size, ScalarInput(node, 0, "size"));
    if (size < 1 || size > 1 << 24) return node.Invalid(absl::StrCat("size: got ", size));
    ASSIGN_OR_RETURN(const DType dtype,
                     DTypeOfOnnx(static_cast<int>(node.Int("output_datatype", 1)), node.Label()));
    const auto period = static_cast<double>(node.Int("periodic", 1) != 0 ? size : size - 1);
    std::vector<double> values;
    for (int64_t n = 0; n < size; ++n) {
      const double angle = period == 0 ? 0 : 2 * M_PI * static_cast<double>(n) / period;
      values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
    }
    c.Output(0, c.Constant(dtype, {size}, values));
    return c.status();
  };
}

// Triangles of equal width on the mel scale, 2595 log10(1 + f / 700).
absl::Status MelWeightMatrix(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(const int64_t bands, ScalarInput(node, 0, "num_mel_bins"));
  ASSIGN_OR_RETURN(const int64_t length, ScalarInput(node, 1, "dft_length"));
  ASSIGN_OR_RETURN(const int64_t rate, ScalarInput(node, 2, "sample_rate"));
  ASSIGN_OR_RETURN(const std::vector<double> lower, node.ConstantFloats(3, "lower_edge_hertz"));
  ASSIGN_OR_RETURN(const std::vector<double> upper, node.ConstantFloats(4, "upper_edge_hertz"));
  ASSIGN_OR_RETURN(const DType dtype,
                   DTypeOfOnnx(static_cast<int>(node.Int("output_datatype", 1)), node.Label()));
  if (bands < 1 || bands > 1 << 16 || length < 1 || length > 1 << 20 || rate < 1 ||
      lower.size() != 1 || upper.size() != 1 || !(lower[0] >= 0) || !(upper[0] >= lower[0])) {
    return node.Invalid("a size, rate or edge");
  }
  const int64_t bins = length / 2 + 1;
  c.MayMake({bins, bands});
  RETURN_IF_ERROR(c.status());
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(lower[0]);
  // ONNX divides by the number of edges, not of intervals.
  const double step = (mel(upper[0]) - low) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
    const double bin =
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(bin >= 0) || bin >= static_cast<double>(bins)) {
      return node.Invalid("upper_edge_hertz lies beyond half of the sample rate");
    }
    edges.push_back(static_cast<int64_t>(bin));
  }
  std::vector<double> matrix(bins * bands, 0);
  for (int64_t i = 0; i < bands; ++i) {
    const int64_t left = edges[i], centre = edges[i + 1], right = edges[i + 2];
    if (left == centre) matrix[centre * bands + i] = 1;
    for (int64_t j = left; left < centre && j <= centre; ++j) {
      matrix[j * bands + i] = static_cast<double>(j - left) / static_cast<double>(centre - left);
    }
    for (int64_t j = centre; j < right; ++j) {
      matrix[j * bands + i] = static_cast<double>(right - j) / static_cast<double>(right - centre);
    }
  }
  c.Output(0, c.Constant(dtype, {bins, bands}, matrix));
  return c.status();
}

}  // namespace

void AddSignalTranslators(OnnxTranslators& t) {
  t["DFT"] = Dft;
  t["STFT"] = Stft;
  t["HannWindow"] = Window(0.5, 0.5, 0);
  t["HammingWindow"] = Window(25.0 / 46, 21.0 / 46, 0);
  t["BlackmanWindow"] = Window(0.42, 0.5, 0.08);
  t["MelWeightMatrix"] = MelWeightMatrix;
}

}  // namespace burnish
