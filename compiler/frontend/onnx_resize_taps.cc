// Resize by more than two taps: cubic interpolation, and antialiased kernels.
//
// Interpolation is separable: one dimension after another is the sum of a few of its elements,
// whose positions and weights are constants. Formulas: ONNX's reference of Resize.
#include "compiler/frontend/onnx_resize_taps.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace burnish {
namespace {

// Above it a product with a matrix costs no more than that many gathers.
constexpr int64_t kTapsMax = 8;

double CubicKernel(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double SourcePosition(const ResizeAxis& axis, int64_t at) {
  const auto x = static_cast<double>(at), in = static_cast<double>(axis.in),
             out = static_cast<double>(axis.out);
  if (axis.coordinates == "align_corners") return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (axis.coordinates == "asymmetric") return x / axis.scale;
  if (axis.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (axis.coordinates == "tf_crop_and_resize") {
    const double length = axis.crop_end - axis.crop_begin;
    if (axis.out == 1) return (axis.crop_begin + axis.crop_end) * (in - 1) / 2;
    return axis.crop_begin * (in - 1) + x * length * (in - 1) / (out - 1);
  }
  if (axis.coordinates == "pytorch_half_pixel" && axis.out == 1) return 0;
  const double position = (x + 0.5) / axis.scale - 0.5;
  if (axis.coordinates != "half_pixel_symmetric") return position;
  return in / 2 * (1 - out / (axis.scale * in)) + position;
}

// Positions before and behind a tap's own that its kernel reaches, from first to 1 - first.
int64_t FirstTap(const ResizeAxis& axis, const ResizeKernel& kernel) {
  // Antialias widens the kernel where the image shrinks.
  const double stretch = kernel.antialias ? std::min(axis.scale, 1.0) : 1.0;
  return static_cast<int64_t>(std::floor(-(kernel.cubic ? 2 : 1) / stretch)) + 1;
}

struct Row {
  std::vector<int64_t> positions;
  std::vector<double> weights;
};

Row RowOf(const ResizeAxis& axis, const ResizeKernel& kernel, int64_t at) {
  const double position = SourcePosition(axis, at);
  // ONNX prefers the element on the left of a whole position; the share is in (0, 1].
  const double floor = std::ceil(position) - 1;
  const double share = position - floor;
  const double stretch = kernel.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const int64_t first = FirstTap(axis, kernel);
  Row row;
  double sum = 0;
  for (int64_t i = first; i < 2 - first; ++i) {
    const double distance = (static_cast<double>(i) - share) * stretch;
    double weight = kernel.cubic ? CubicKernel(distance, kernel.cubic_a)
                                 : std::max(0.0, 1 - std::abs(distance));
    const int64_t tap = static_cast<int64_t>(floor) + i;
    if (kernel.exclude_outside && (tap < 0 || tap >= axis.in)) weight = 0;
    row.positions.push_back(std::clamp<int64_t>(tap, 0, axis.in - 1));
    row.weights.push_back(weight);
    sum += weight;
  }
  const bool normalise = kernel.antialias || kernel.exclude_outside;
  for (double& weight : row.weights) weight /= normalise && sum != 0 ? sum : 1;
  return row;
}

ValueId ByGathers(Composer& c, ValueId x, int64_t d, const std::vector<Row>& rows) {
  const auto out = static_cast<int64_t>(rows.size());
  Shape along(c.ShapeOf(x).size(), 1);
  along[d] = out;
  ValueId sum = -1;
  for (size_t tap = 0; tap < rows[0].positions.size(); ++tap) {
    std::vector<int64_t> positions;
    std::vector<double> weights;
    for (const Row& row : rows) {
      positions.push_back(row.positions[tap]);
      weights.push_back(row.weights[tap]);
    }
    const ValueId taken = c.Gather(x, c.Ints({out}, positions), d);
    const ValueId term = c.Mul(taken, c.Constant(c.DTypeOf(x), along, weights));
    sum = sum < 0 ? term : c.Add(sum, term);
  }
  return sum;
}

ValueId ByMatrix(Composer& c, ValueId x, int64_t d, const std::vector<Row>& rows) {
  const int64_t rank = c.Rank(x), in = c.ShapeOf(x)[d], out = static_cast<int64_t>(rows.size());
  std::vector<double> matrix(in * out, 0);
  for (int64_t i = 0; i < out; ++i) {
    for (size_t tap = 0; tap < rows[i].positions.size(); ++tap) {
      matrix[rows[i].positions[tap] * out + i] += rows[i].weights[tap];
    }
  }
  Shape perm;
  for (int64_t k = 0; k < rank; ++k) perm.push_back(k);
  std::swap(perm[d], perm[rank - 1]);
  const ValueId moved = c.Transpose(x, perm);
  return c.Transpose(c.MatMul(moved, c.Constant(c.DTypeOf(x), {in, out}, matrix)), perm);
}

}  // namespace

ValueId EmitResizeAxis(Composer& c, ValueId x, int64_t d, const ResizeAxis& axis,
                       const ResizeKernel& kernel) {
  // A scale of nearly 0 would have taps without end.
  const int64_t taps = 2 - 2 * FirstTap(axis, kernel);
  if (!c.MayMake({axis.out, taps}) || (taps > kTapsMax && !c.MayMake({axis.out, axis.in})))
    return -1;
  std::vector<Row> rows;
  std::vector<double> outside;
  for (int64_t i = 0; i < axis.out; ++i) {
    rows.push_back(RowOf(axis, kernel, i));
    const double at = SourcePosition(axis, i);
    outside.push_back(at < 0 || at > static_cast<double>(axis.in - 1) ? 1 : 0);
  }
  const ValueId y = taps > kTapsMax ? ByMatrix(c, x, d, rows) : ByGathers(c, x, d, rows);
  const bool crops = axis.coordinates == "tf_crop_and_resize";
  if (!crops || std::count(outside.begin(), outside.end(), 1) == 0) return y;
  Shape along(c.ShapeOf(x).size(), 1);
  along[d] = axis.out;
  return c.Where(c.Constant(DType::kBool, along, outside), c.NumberLike(y, kernel.extrapolation),
                 y);
}

}  // namespace burnish
