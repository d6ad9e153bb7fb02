// Operators that read an image between its pixels: GridSample, AffineGrid, RoiAlign, DeformConv.
//
// Positions are computed by elementwise operators; each tap is a gather that its reader takes in.
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

// In [0, extent - 1], also what is NaN or infinite: a position is an index then.
ValueId Inside(Composer& c, ValueId position, int64_t extent) {
  const ValueId positive = c.Op("greater", {position, c.NumberLike(position, 0)});
  const ValueId from_zero = c.Where(positive, position, c.NumberLike(position, 0));
  return c.Min(from_zero, static_cast<double>(extent - 1));
}

// One tap of one dimension.
struct Tap {
  ValueId index = -1;   // i64
  ValueId weight = -1;  // -1: 1.
  ValueId inside = -1;  // Bool; -1: always.
};

enum class Padding : uint8_t { kZeros, kBorder, kReflection };

struct Sampler {
  std::string mode;  // nearest, linear, cubic
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};

// Mirrored at [low, high] as often as needed: a wave of period 2 * (high - low).
ValueId Reflected(Composer& c, ValueId position, double low, double high) {
  const double range = high - low;
  if (range <= 0) return c.Mul(position, 0.0);
  Attributes as_c;
  as_c.Set("fmod", int64_t{1});
  const ValueId distance = c.Op("abs", {c.Sub(position, low)});
  const ValueId wave = c.Op("mod", {distance, c.NumberLike(distance, 2 * range)}, std::move(as_c));
  const ValueId back = c.Sub(c.NumberLike(wave, 2 * range), wave);
  const ValueId beyond = c.Op("greater", {wave, c.NumberLike(wave, range)});
  return c.Add(c.Where(beyond, back, wave), low);
}

// A whole position of the image or of its padding.
Tap TapAt(Composer& c, const Sampler& sampler, ValueId position, int64_t extent) {
  Tap tap;
  const double last = static_cast<double>(extent - 1);
  if (sampler.padding == Padding::kReflection) {
    const double edge = sampler.align_corners ? 0 : 0.5;
    position = Reflected(c, position, -edge, last + edge);
  }
  if (sampler.padding == Padding::kZeros) {
    const ValueId from = c.Op("greater_equal", {position, c.NumberLike(position, 0)});
    tap.inside = c.And(from, c.Op("less_equal", {position, c.NumberLike(position, last)}));
  }
  tap.index = c.Cast(Inside(c, position, extent), DType::kI64);
  return tap;
}

// Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -0.75 as
// PyTorch has it: weights of the four taps around a share t in [0, 1).
std::array<ValueId, 4> CubicWeights(Composer& c, ValueId t) {
  constexpr double a = -0.75;
  const auto near = [&](ValueId d) {  // d <= 1
    const ValueId inner = c.Sub(c.Mul(d, a + 2), a + 3);
    return c.Add(c.Mul(c.Mul(inner, d), d), 1.0);
  };
  const auto far = [&](ValueId d) {  // 1 <= d <= 2
    const ValueId inner = c.Add(c.Mul(c.Sub(c.Mul(d, a), 5 * a), d), 8 * a);
    return c.Sub(c.Mul(inner, d), 4 * a);
  };
  const ValueId rest = c.Sub(c.NumberLike(t, 1), t);
  return {far(c.Add(t, 1.0)), near(t), near(rest), far(c.Add(rest, 1.0))};
}

// Taps of one dimension at `position`, in pixels.
std::vector<Tap> TapsOf(Composer& c, const Sampler& sampler, ValueId position, int64_t extent) {
  if (sampler.mode == "nearest") {
    return {TapAt(c, sampler, c.Op("round", {position}), extent)};
  }
  const ValueId low = c.Op("floor", {position});
  const ValueId share = c.Sub(position, low);
  std::vector<Tap> taps;
  if (sampler.mode == "linear") {
    taps = {TapAt(c, sampler, low, extent), TapAt(c, sampler, c.Add(low, 1.0), extent)};
    taps[0].weight = c.Sub(c.NumberLike(share, 1), share);
    taps[1].weight = share;
    return taps;
  }
  const std::array<ValueId, 4> weights = CubicWeights(c, share);
  for (int i = 0; i < 4; ++i) {
    taps.push_back(TapAt(c, sampler, c.Add(low, i - 1.0), extent));
    taps.back().weight = weights[i];
  }
  return taps;
}

// Elements of `flat` [M, C, P] at the positions that `dims` dimensions' taps [M, 1, Q] make.
ValueId Interpolated(Composer& c, ValueId flat, const Shape& extents,
                     const std::vector<std::vector<Tap>>& taps, size_t d, const Tap& outer) {
  if (d == extents.size()) {
    Attributes attributes;
    attributes.Set("axis", int64_t{2});
    attributes.Set("broadcast", int64_t{1});
    const ValueId pixel = c.Op("gather_elements", {flat, outer.index}, std::move(attributes));
    return outer.inside < 0 ? pixel : c.Where(outer.inside, pixel, c.NumberLike(pixel, 0));
  }
  ValueId sum = -1;
  for (const Tap& tap : taps[d]) {
    Tap inner = tap;
    if (outer.index >= 0) {
      inner.index = c.Add(c.Mul(outer.index, static_cast<double>(extents[d])), tap.index);
      if (outer.inside >= 0) inner.inside = c.And(outer.inside, tap.inside);
    }
    ValueId value = Interpolated(c, flat, extents, taps, d + 1, inner);
    if (tap.weight >= 0) value = c.Mul(value, tap.weight);
    sum = sum < 0 ? value : c.Add(sum, value);
  }
  return sum;
}

// x [M, C, extents..] at `positions` [M, 1, Q], one a dimension -> [M, C, Q].
ValueId Sample(Composer& c, ValueId x, const std::vector<ValueId>& positions,
               const Sampler& sampler) {
  const Shape shape = c.ShapeOf(x);
  const Shape extents(shape.begin() + 2, shape.end());
  std::vector<std::vector<Tap>> taps;
  for (size_t d = 0; d < extents.size(); ++d) {
    taps.push_back(TapsOf(c, sampler, positions[d], extents[d]));
  }
  const ValueId flat = c.Reshape(x, {shape[0], shape[1], ElementCount(extents)});
  return Interpolated(c, flat, extents, taps, 0, {});
}

absl::StatusOr<Sampler> ReadSampler(OnnxNode& node) {
  Sampler sampler;
  sampler.mode = node.String("mode", node.opset() < 20 ? "bilinear" : "linear");
  if (sampler.mode == "bilinear") sampler.mode = "linear";
  if (sampler.mode == "bicubic") sampler.mode = "cubic";
  if (sampler.mode != "nearest" && sampler.mode != "linear" && sampler.mode != "cubic") {
    return node.Invalid(absl::StrCat("mode: got '", sampler.mode, "'"));
  }
  const std::string padding = node.String("padding_mode", "zeros");
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    return node.Invalid(absl::StrCat("padding_mode: got '", padding, "'"));
  }
  sampler.padding = padding == "zeros"    ? Padding::kZeros
                    : padding == "border" ? Padding::kBorder
                                          : Padding::kReflection;
  sampler.align_corners = node.Int("align_corners", 0) != 0;
  return sampler;
}

absl::Status GridSample(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  ValueId grid = c.In(1);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const Sampler sampler, ReadSampler(node));
  if (IsFloat(c.DTypeOf(x))) {
    grid = c.Cast(grid, c.DTypeOf(x));
  } else if (sampler.mode != "nearest") {
    return node.Unsupported("integers between pixels, which nobody says how to round");
  }
  const Shape shape = c.ShapeOf(x), places = c.ShapeOf(grid);
  const auto dims = static_cast<int64_t>(shape.size()) - 2;
  // Every dimension doubles, or with cubic taps quadruples, the taps.
  if (dims < 1 || dims > 3 || places.size() != shape.size() || places.back() != dims ||
      places[0] != shape[0]) {
    return node.Invalid("want X [N, C, 1 to 3 dimensions] and a grid [N, .., dimensions]");
  }
  const int64_t count = ElementCount(places) / (shape[0] * dims);
  const ValueId list = c.Reshape(grid, {shape[0], count, dims});
  std::vector<ValueId> positions;
  for (int64_t d = 0; d < dims; ++d) {
    const auto extent = static_cast<double>(shape[2 + d]);
    // The grid has the last dimension first, from -1 to 1.
    const ValueId part = c.Slice(list, 2, dims - 1 - d, dims - d);
    const ValueId share = c.Add(c.Reshape(part, {shape[0], 1, count}), 1.0);
    ValueId position = sampler.align_corners ? c.Mul(share, (extent - 1) / 2)
                                             : c.Mul(c.Sub(c.Mul(share, extent), 1.0), 0.5);
    if (sampler.mode == "nearest") position = c.Op("round", {position});
    // ONNX moves positions beyond the edges before it interpolates.
    const double edge = sampler.align_corners ? 0 : 0.5;
    if (sampler.padding == Padding::kReflection) {
      position = Reflected(c, position, -edge, extent - 1 + edge);
    } else if (sampler.padding == Padding::kBorder && sampler.mode != "cubic") {
      // Of cubic taps each is moved by itself, as PyTorch and ONNX Runtime do it.
      const ValueId out =
          c.Op("or", {c.Less(position, -edge),
                      c.Op("greater", {position, c.NumberLike(position, extent - 1 + edge)})});
      position = c.Where(out, Inside(c, position, shape[2 + d]), position);
    }
    positions.push_back(position);
  }
  const ValueId sampled = Sample(c, x, positions, sampler);
  Shape result = {shape[0], shape[1]};
  result.insert(result.end(), places.begin() + 1, places.end() - 1);
  c.Output(0, c.Reshape(sampled, result));
  return c.status();
}

absl::Status AffineGrid(OnnxNode& node) {
  Composer c(node);
  const ValueId theta = c.In(0);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const std::vector<int64_t> size, node.ConstantInts(1, "size"));
  const int64_t dims = static_cast<int64_t>(size.size()) - 2;
  if (dims != 2 && dims != 3) return node.Invalid("size: want [N, C, H, W] or [N, C, D, H, W]");
  if (c.ShapeOf(theta) != Shape{size[0], dims, dims + 1}) {
    return node.Invalid("theta: want [N, 2, 3] or [N, 3, 4]");
  }
  const Shape extents(size.begin() + 2, size.end());
  Shape made = extents;
  made.push_back(dims + 1);
  c.MayMake(made);
  RETURN_IF_ERROR(c.status());
  const int64_t count = ElementCount(extents);
  const bool align = node.Int("align_corners", 0) != 0;
  std::vector<double> points;
  points.reserve(count * (dims + 1));
  for (int64_t p = 0; p < count; ++p) {
    int64_t left = p;
    // The last dimension comes first.
    for (int64_t d = dims; d-- > 0; left /= extents[d]) {
      const double at = static_cast<double>(left % extents[d]);
      const auto extent = static_cast<double>(extents[d]);
      if (align && extents[d] == 1)
        return node.Unsupported(
            "align_corners with an extent of 1: runtimes differ in where that is");
      points.push_back(align ? -1 + 2 * at / (extent - 1) : (2 * at + 1) / extent - 1);
    }
    points.push_back(1);
  }
  const ValueId grid = c.Constant(c.DTypeOf(theta), {count, dims + 1}, points);
  Shape result = {size[0]};
  result.insert(result.end(), extents.begin(), extents.end());
  result.push_back(dims);
  c.Output(0, c.Reshape(c.MatMul(grid, c.Transpose(theta, {0, 2, 1})), result));
  return c.status();
}

// ---- RoiAlign.

struct RoiAxis {
  ValueId low, high, share;  // [R, samples]
  ValueId inside;            // Bool.
};

// Samples along one axis: `per_bin` in each of `bins` bins of [begin, end].
RoiAxis RoiPositions(Composer& c, ValueId begin, ValueId end, bool half_pixel, int64_t bins,
                     int64_t per_bin, int64_t extent) {
  ValueId length = c.Sub(end, begin);
  if (!half_pixel) length = c.Max(length, 1);  // ONNX: malformed regions are 1 wide.
  std::vector<double> shares;
  for (int64_t i = 0; i < bins * per_bin; ++i) {
    shares.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(bins * per_bin));
  }
  const ValueId step = c.Constant(c.DTypeOf(begin), {1, bins * per_bin}, shares);
  const ValueId at = c.Add(begin, c.Mul(length, step));
  RoiAxis axis;
  const ValueId above = c.Op("greater_equal", {at, c.NumberLike(at, -1)});
  axis.inside =
      c.And(above, c.Op("less_equal", {at, c.NumberLike(at, static_cast<double>(extent))}));
  const ValueId kept = Inside(c, at, extent);
  const ValueId low = c.Op("floor", {kept});
  axis.share = c.Sub(kept, low);
  axis.low = c.Cast(low, DType::kI64);
  axis.high = c.Cast(c.Min(c.Add(low, 1.0), static_cast<double>(extent - 1)), DType::kI64);
  return axis;
}

absl::Status RoiAlign(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0), rois = c.In(1), batch = c.In(2);
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(x), boxes = c.ShapeOf(rois);
  const int64_t per_bin = node.Int("sampling_ratio", 0);
  const int64_t rows = node.Int("output_height", 1), columns = node.Int("output_width", 1);
  if (shape.size() != 4 || boxes.size() != 2 || boxes[1] != 4 ||
      c.ShapeOf(batch) != Shape{boxes[0]}) {
    return node.Invalid("want X [N, C, H, W], rois [R, 4], batch_indices [R]");
  }
  if (per_bin == 0)
    return node.Unsupported("sampling_ratio=0: as many samples as a region is large");
  constexpr int64_t kMost = 1 << 10;  // Of samples a side; sizes in use are 7 and 14 times 2.
  if (per_bin < 1 || rows < 1 || columns < 1 || per_bin > kMost || rows > kMost / per_bin ||
      columns > kMost / per_bin) {
    return node.Invalid("sampling_ratio, output_height or output_width");
  }
  const bool half_pixel =
      node.String("coordinate_transformation_mode",
                  node.opset() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  const ValueId scaled = c.Sub(c.Mul(rois, node.Float("spatial_scale", 1)), half_pixel ? 0.5 : 0.0);
  const auto side = [&](int64_t i) { return c.Slice(scaled, 1, i, i + 1); };
  const RoiAxis h = RoiPositions(c, side(1), side(3), half_pixel, rows, per_bin, shape[2]);
  const RoiAxis w = RoiPositions(c, side(0), side(2), half_pixel, columns, per_bin, shape[3]);
  const int64_t count = boxes[0], high = rows * per_bin, wide = columns * per_bin;
  const auto down = [&](ValueId v) { return c.Reshape(v, {count, high, 1}); };
  const auto across = [&](ValueId v) { return c.Reshape(v, {count, 1, wide}); };
  // Channels last: a tap is a run of them.
  const ValueId pixels =
      c.Reshape(c.Transpose(x, {0, 2, 3, 1}), {shape[0] * shape[2] * shape[3], shape[1]});
  const ValueId image =
      c.Mul(c.Reshape(c.Cast(batch, DType::kI64), {count, 1, 1}), static_cast<double>(shape[2]));
  const ValueId inside =
      c.Cast(c.And(down(h.inside), across(w.inside)), c.DTypeOf(x));  // [R, high, wide]
  const bool maximum = node.String("mode", "avg") == "max";
  ValueId sum = -1;
  for (const bool below : {false, true}) {
    for (const bool right : {false, true}) {
      const ValueId row = c.Add(image, down(below ? h.high : h.low));
      const ValueId at =
          c.Add(c.Mul(row, static_cast<double>(shape[3])), across(right ? w.high : w.low));
      const auto share = [&](ValueId s, bool upper) {
        return upper ? s : c.Sub(c.NumberLike(s, 1), s);
      };
      const ValueId weight =
          c.Mul(c.Mul(share(down(h.share), below), share(across(w.share), right)), inside);
      const ValueId tap = c.Mul(c.Gather(pixels, at, 0), c.Reshape(weight, {count, high, wide, 1}));
      // ONNX: the maximum of the weighted taps, not of their sums.
      sum = sum < 0 ? tap : maximum ? c.Op("max", {sum, tap}) : c.Add(sum, tap);
    }
  }
  const ValueId bins = c.Reshape(sum, {count, rows, per_bin, columns, per_bin, shape[1]});
  const ValueId pooled = c.Reduce(maximum ? "reduce_max" : "reduce_mean", bins, {2, 4}, false);
  c.Output(0, c.Transpose(pooled, {0, 3, 1, 2}));
  return c.status();
}

// ---- DeformConv: samples at moved positions, then a product with the weights.

// One spatial dimension is a row of an image, whose samples move by 0 in the other one.
struct DeformInputs {
  ValueId x, weight, offset;
  Shape strides, dilations, pads;
};
void MakeImage(Composer& c, DeformInputs& in) {
  const auto row = [&](ValueId v) {
    Shape shape = c.ShapeOf(v);
    shape.insert(shape.begin() + 2, 1);
    return c.Reshape(v, shape);
  };
  in.x = row(in.x);
  in.weight = row(in.weight);
  Shape moves = c.ShapeOf(in.offset);
  // In pairs: first the move between rows.
  const ValueId pairs = c.Pad(row(in.offset), {0, 0, 1, 0, 0, 0, 0, 0});
  in.offset = c.Reshape(pairs, {moves[0], 2 * moves[1], 1, moves[2]});
  in.strides.insert(in.strides.begin(), 1);
  in.dilations.insert(in.dilations.begin(), 1);
  if (in.pads.size() == 2) in.pads = {0, in.pads[0], 0, in.pads[1]};
}

absl::Status DeformConv(OnnxNode& node) {
  Composer c(node);
  DeformInputs d = {.x = c.In(0), .weight = c.In(1), .offset = c.In(2)};
  RETURN_IF_ERROR(c.status());
  const int64_t rank = c.Rank(d.x);
  if (rank < 3 || c.Rank(d.weight) != rank || c.Rank(d.offset) != rank) {
    return node.Invalid("want X, W and offset with as many dimensions, 3 or 4");
  }
  if (rank > 4) return node.Unsupported("three spatial dimensions");
  d.strides = node.Ints("strides", Shape(rank - 2, 1));
  d.dilations = node.Ints("dilations", Shape(rank - 2, 1));
  d.pads = node.Ints("pads", Shape(2 * (rank - 2), 0));
  if (rank == 3) MakeImage(c, d);
  RETURN_IF_ERROR(c.status());
  const ValueId x = d.x, weight = d.weight, offset = d.offset;
  const Shape &strides = d.strides, &dilations = d.dilations, &pads = d.pads;
  const Shape in = c.ShapeOf(x), kernel = c.ShapeOf(weight), moves = c.ShapeOf(offset);
  const int64_t group = node.Int("group", 1), sets = node.Int("offset_group", 1);
  const int64_t taps = kernel[2] * kernel[3];
  const int64_t n = in[0], rows = moves[2], columns = moves[3];
  if (group < 1 || sets < 1 || in[1] % sets != 0 || in[1] != kernel[1] * group ||
      kernel[0] % group != 0 || moves[0] != n || moves[1] != 2 * sets * taps ||
      strides.size() != 2 || dilations.size() != 2 || pads.size() != 4) {
    return node.Invalid("weights, offsets, groups and attributes disagree");
  }
  // Per axis: where a tap lies without its offset, [1, taps, rows, columns].
  const auto grid = [&](int axis) {
    std::vector<double> at;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t k = axis == 0 ? tap / kernel[3] : tap % kernel[3];
      for (int64_t p = 0; p < rows * columns; ++p) {
        const int64_t o = axis == 0 ? p / columns : p % columns;
        at.push_back(static_cast<double>(o * strides[axis] - pads[axis] + k * dilations[axis]));
      }
    }
    return c.Constant(c.DTypeOf(x), {1, taps, rows * columns}, at);
  };
  c.MayMake({taps, rows, columns});
  RETURN_IF_ERROR(c.status());
  const ValueId pairs = c.Reshape(offset, {n * sets, taps, 2, rows * columns});
  std::vector<ValueId> positions;
  for (int axis = 0; axis < 2; ++axis) {
    const ValueId moved =
        c.Reshape(c.Slice(pairs, 2, axis, axis + 1), {n * sets, taps, rows * columns});
    positions.push_back(c.Reshape(c.Add(moved, grid(axis)), {n * sets, 1, taps * rows * columns}));
  }
  const ValueId by_set = c.Reshape(x, {n * sets, in[1] / sets, in[2], in[3]});
  ValueId sampled = Sample(c, by_set, positions, {.mode = "linear"});
  if (node.HasInput(4)) {
    sampled = c.Mul(sampled, c.Reshape(c.In(4), {n * sets, 1, taps * rows * columns}));
  }
  const ValueId patches = c.Reshape(sampled, {n, group, kernel[1] * taps, rows * columns});
  const ValueId matrix = c.Reshape(weight, {group, kernel[0] / group, kernel[1] * taps});
  ValueId y = c.Reshape(c.MatMul(matrix, patches), {n, kernel[0], rows, columns});
  if (node.HasInput(3)) y = c.Add(y, c.Reshape(c.In(3), {1, kernel[0], 1, 1}));
  c.Output(0, rank == 3 ? c.Reshape(y, {n, kernel[0], columns}) : y);
  return c.status();
}

}  // namespace

void AddSamplingTranslators(OnnxTranslators& t) {
  t["GridSample"] = GridSample;
  t["AffineGrid"] = AffineGrid;
  t["RoiAlign"] = RoiAlign;
  t["DeformConv"] = DeformConv;
}

}  // namespace burnish
