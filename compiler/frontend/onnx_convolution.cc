// ONNX's convolutions and poolings: auto_pad and output_shape are resolved to pads here.
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"
#include "compiler/frontend/onnx_window.h"

namespace burnish {
namespace {

// The window of a convolution or pooling over spatial dimensions, attributes read and checked.
struct Window {
  int64_t rank = 0;  // Spatial dimensions.
  std::vector<int64_t> input;
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;  // [begin.., end..]
  std::string auto_pad;
};

// Beyond these, sizes are nonsense, and arithmetic on them could overflow.
constexpr int64_t kMaxWindow = int64_t{1} << 24;

absl::Status CheckRange(const OnnxNode& node, absl::string_view what,
                        const std::vector<int64_t>& values, size_t want_count, int64_t low) {
  if (values.size() != want_count) {
    return node.Invalid(absl::StrCat(what, ": got ", values.size(), " values, want ", want_count));
  }
  for (int64_t v : values) {
    if (v < low || v > kMaxWindow) return node.Invalid(absl::StrCat(what, ": got ", v));
  }
  return absl::OkStatus();
}

absl::StatusOr<Window> ReadWindow(OnnxNode& node, ValueId x,
                                  const std::vector<int64_t>& default_kernel) {
  Window w;
  const std::vector<int64_t>& shape = node.TypeOf(x).shape;
  if (shape.size() < 3) {
    return node.Invalid(absl::StrCat("got an input of rank ", shape.size(),
                                     ", want [N, C, spatial..] with 3 or more dimensions"));
  }
  w.rank = static_cast<int64_t>(shape.size()) - 2;
  w.input.assign(shape.begin() + 2, shape.end());
  w.kernel = node.Ints("kernel_shape", default_kernel);
  w.strides = node.Ints("strides", std::vector<int64_t>(w.rank, 1));
  w.dilations = node.Ints("dilations", std::vector<int64_t>(w.rank, 1));
  w.pads = node.Ints("pads", std::vector<int64_t>(2 * w.rank, 0));
  w.auto_pad = node.String("auto_pad", "NOTSET");
  if (w.auto_pad.empty()) w.auto_pad = "NOTSET";
  RETURN_IF_ERROR(CheckRange(node, "kernel_shape", w.kernel, w.rank, 1));
  RETURN_IF_ERROR(CheckRange(node, "strides", w.strides, w.rank, 1));
  RETURN_IF_ERROR(CheckRange(node, "dilations", w.dilations, w.rank, 1));
  RETURN_IF_ERROR(CheckRange(node, "pads", w.pads, 2 * w.rank, 0));
  if (w.auto_pad != "NOTSET" && w.auto_pad != "VALID" && w.auto_pad != "SAME_UPPER" &&
      w.auto_pad != "SAME_LOWER") {
    return node.Invalid(absl::StrCat("auto_pad: got '", w.auto_pad, "'"));
  }
  return w;
}

// Pads that differ from size to size are none of an operator that serves all.
absl::Status CheckPadsInRun(const OnnxNode& node, ValueId x, const Window& w) {
  const AxisExtents extents = node.ExtentsOf(x);
  for (int64_t d = 0; d < w.rank; ++d) {
    if (w.auto_pad == "VALID" || extents[d + 2] == kFullAxis || w.strides[d] == 1) continue;
    return node.Unsupported(absl::StrCat("auto_pad=", w.auto_pad, " with stride ", w.strides[d],
                                         " along dimension ", d + 2,
                                         ", whose extent only a run knows"));
  }
  return absl::OkStatus();
}

// pads of a forward window from auto_pad: SAME keeps ceil(input / stride) outputs.
absl::Status ResolveAutoPad(const OnnxNode& node, ValueId x, Window& w) {
  if (w.auto_pad == "NOTSET") return absl::OkStatus();
  RETURN_IF_ERROR(CheckPadsInRun(node, x, w));
  for (int64_t d = 0; d < w.rank; ++d) {
    int64_t begin = 0, end = 0;
    if (w.auto_pad != "VALID") {
      const int64_t output = (w.input[d] + w.strides[d] - 1) / w.strides[d];
      const int64_t reach = (w.kernel[d] - 1) * w.dilations[d] + 1;
      const int64_t total = std::max<int64_t>(0, (output - 1) * w.strides[d] + reach - w.input[d]);
      // An odd total has its one more at the end with SAME_UPPER, at the beginning with SAME_LOWER.
      begin = w.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    }
    w.pads[d] = begin;
    w.pads[w.rank + d] = end;
  }
  return absl::OkStatus();
}

// Pads at the end until the last window is whole. One that would begin behind the input is none.
// Without ceil_mode that is a first window alone, which reaches beyond the input.
absl::Status PadToWindows(OnnxNode& node, ValueId x, Window& w) {
  const bool ceils = node.Int("ceil_mode", 0) != 0;
  const AxisExtents extents = node.ExtentsOf(x);
  for (int64_t d = 0; d < w.rank; ++d) {
    if (ceils && extents[d + 2] != kFullAxis) {
      return node.Unsupported("ceil_mode=1 along a dimension whose extent only a run knows");
    }
    const int64_t reach = (w.kernel[d] - 1) * w.dilations[d] + 1;
    int64_t& end = w.pads[w.rank + d];
    const int64_t room = w.input[d] + w.pads[d] + end - reach;
    if (!ceils && room >= 0) continue;
    const int64_t last = (room + w.strides[d] - 1) / w.strides[d] * w.strides[d];
    if (room > -w.strides[d] && last < w.input[d] + w.pads[d]) end += last - room;
  }
  return absl::OkStatus();
}

void SetWindow(const Window& w, Attributes& attributes) {
  attributes.Set("strides", w.strides);
  attributes.Set("pads", w.pads);
  attributes.Set("dilations", w.dilations);
}

absl::StatusOr<std::vector<ValueId>> ConvInputs(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  ASSIGN_OR_RETURN(const ValueId w, node.Input(1));
  if (node.TypeOf(w).shape.size() != node.TypeOf(x).shape.size()) {
    return node.Invalid(absl::StrCat("got weights of rank ", node.TypeOf(w).shape.size(), ", want ",
                                     node.TypeOf(x).shape.size()));
  }
  std::vector<ValueId> inputs = {x, w};
  if (node.HasInput(2)) {
    ASSIGN_OR_RETURN(const ValueId bias, node.Input(2));
    inputs.push_back(bias);
  }
  return inputs;
}

}  // namespace

absl::StatusOr<Attributes> ReadConvolution(OnnxNode& node, ValueId x, ValueId w) {
  const std::vector<int64_t>& weights = node.TypeOf(w).shape;
  if (weights.size() != node.TypeOf(x).shape.size()) {
    return node.Invalid(absl::StrCat("got weights of rank ", weights.size(), ", want ",
                                     node.TypeOf(x).shape.size()));
  }
  if (weights.size() < 3) return node.Invalid("weights have no spatial dimension");
  const std::vector<int64_t> kernel(weights.begin() + 2, weights.end());
  ASSIGN_OR_RETURN(Window window, ReadWindow(node, x, kernel));
  if (window.kernel != kernel) return node.Invalid("kernel_shape and the weights' shape disagree");
  RETURN_IF_ERROR(ResolveAutoPad(node, x, window));
  Attributes attributes;
  SetWindow(window, attributes);
  attributes.Set("group", node.Int("group", 1));
  return attributes;
}

absl::StatusOr<Attributes> ReadPooling(OnnxNode& node, ValueId x) {
  if (!node.HasAttribute("kernel_shape")) return node.Invalid("kernel_shape is missing");
  ASSIGN_OR_RETURN(Window w, ReadWindow(node, x, {}));
  RETURN_IF_ERROR(ResolveAutoPad(node, x, w));
  // Averages count nothing of what lies beyond the pads any more.
  const bool counts_beyond = node.opset() < 19 || node.is_microsoft();
  if (node.Int("ceil_mode", 0) == 0 && (counts_beyond || node.IsBounded(x))) {
    RETURN_IF_ERROR(PadToWindows(node, x, w));
  }
  Attributes attributes;
  SetWindow(w, attributes);
  attributes.Set("kernel_shape", w.kernel);
  attributes.Set("ceil_mode", node.Int("ceil_mode", 0));
  return attributes;
}

namespace {

absl::Status Conv(OnnxNode& node) {
  ASSIGN_OR_RETURN(std::vector<ValueId> inputs, ConvInputs(node));
  ASSIGN_OR_RETURN(Attributes attributes, ReadConvolution(node, inputs[0], inputs[1]));
  return node.Finish("conv", std::move(inputs), std::move(attributes));
}

absl::Status ConvTranspose(OnnxNode& node) {
  ASSIGN_OR_RETURN(std::vector<ValueId> inputs, ConvInputs(node));
  const std::vector<int64_t>& weights = node.TypeOf(inputs[1]).shape;
  if (weights.size() < 3) return node.Invalid("weights have no spatial dimension");
  const std::vector<int64_t> kernel(weights.begin() + 2, weights.end());
  ASSIGN_OR_RETURN(Window w, ReadWindow(node, inputs[0], kernel));
  if (w.kernel != kernel) return node.Invalid("kernel_shape and the weights' shape disagree");
  std::vector<int64_t> extra = node.Ints("output_padding", std::vector<int64_t>(w.rank, 0));
  RETURN_IF_ERROR(CheckRange(node, "output_padding", extra, w.rank, 0));
  std::vector<int64_t> output = node.Ints("output_shape", {});
  if (static_cast<int64_t>(output.size()) == w.rank + 2) {  // Some exporters give N and C as well.
    output.erase(output.begin(), output.begin() + 2);
  }
  const bool same = w.auto_pad == "SAME_UPPER" || w.auto_pad == "SAME_LOWER";
  if (output.empty() && same) {
    // ONNX: SAME of a transposed convolution gives input times stride.
    for (int64_t d = 0; d < w.rank; ++d) output.push_back(w.input[d] * w.strides[d]);
  }
  if (w.auto_pad == "VALID") w.pads.assign(2 * w.rank, 0);
  if (!output.empty()) {
    RETURN_IF_ERROR(CheckRange(node, "output_shape", output, w.rank, 1));
    const AxisExtents extents = node.ExtentsOf(inputs[0]);
    for (int64_t d = 0; d < w.rank && !same; ++d) {
      if (extents[d + 2] == kFullAxis) continue;
      return node.Unsupported(
          absl::StrCat("output_shape along dimension ", d + 2, ", whose extent only a run knows"));
    }
    for (int64_t d = 0; d < w.rank; ++d) {
      const int64_t reach = (w.kernel[d] - 1) * w.dilations[d] + 1;
      // ONNX's equation of output_shape, solved for the pads. kMaxWindow keeps it far from
      // overflow.
      int64_t total = w.strides[d] * (w.input[d] - 1) + extra[d] + reach - output[d];
      if (total < 0) {  // The output is larger than what the window reaches: zeros at the end.
        extra[d] -= total;
        total = 0;
      }
      const int64_t half = total / 2;
      w.pads[d] = w.auto_pad == "SAME_UPPER" ? half : total - half;
      w.pads[w.rank + d] = total - w.pads[d];
    }
  }
  Attributes attributes;
  SetWindow(w, attributes);
  attributes.Set("group", node.Int("group", 1));
  attributes.Set("output_padding", extra);
  return node.Finish("conv_transpose", std::move(inputs), std::move(attributes));
}

// What each window of a pooling reads, [taps, windows]: elements of an image by their place, and by
// the number that ONNX gives them. A tap in the padding has no place: -1.
struct Taps {
  std::vector<int64_t> places, numbers;
};
Taps TapsOf(const Attributes& pooling, const Shape& image, const Shape& windows, bool by_columns) {
  const Shape kernel = pooling.Ints("kernel_shape", {}), strides = pooling.Ints("strides", {}),
              dilations = pooling.Ints("dilations", {}), pads = pooling.Ints("pads", {});
  const size_t rank = image.size();
  Taps taps;
  for (int64_t tap = 0; tap < ElementCount(kernel); ++tap) {
    for (int64_t window = 0; window < ElementCount(windows); ++window) {
      Shape at(rank);
      bool is_inside = true;
      int64_t k = tap, w = window, place = 0, by_column = 0;
      for (size_t d = rank; d-- > 0; k /= kernel[d], w /= windows[d]) {
        at[d] = w % windows[d] * strides[d] - pads[d] + k % kernel[d] * dilations[d];
        is_inside = is_inside && at[d] >= 0 && at[d] < image[d];
      }
      for (size_t d = 0; d < rank; ++d) {
        place = place * image[d] + at[d];
        by_column = by_column * image[rank - 1 - d] + at[rank - 1 - d];
      }
      taps.places.push_back(is_inside ? place : -1);
      taps.numbers.push_back(by_columns ? by_column : place);
    }
  }
  return taps;
}

// Where each maximum lies in the whole tensor: the first tap that has it.
absl::StatusOr<ValueId> EmitIndices(OnnxNode& node, ValueId x, const Attributes& pooling,
                                    const Shape& windows) {
  Composer c(node);
  const Shape shape = c.ShapeOf(x), image(shape.begin() + 2, shape.end()),
              out(windows.begin() + 2, windows.end());
  const int64_t taps = ElementCount(pooling.Ints("kernel_shape", {})), count = ElementCount(out),
                pixels = ElementCount(image), images = shape[0] * shape[1];
  if (count * images == 0) return node.EmitEmpty({DType::kI64, windows});
  if (!c.MayMake({images, taps, count})) return c.status();
  const Taps at = TapsOf(pooling, image, out, node.Int("storage_order", 0) != 0);
  std::vector<int64_t> places = at.places;
  std::vector<double> inside;
  for (int64_t& place : places) {
    inside.push_back(place >= 0 ? 1 : 0);
    place = std::max<int64_t>(place, 0);
  }
  // Bytes as f32, in which -infinity is below all of them.
  const ValueId flat = c.Reshape(x, {images, pixels});
  const ValueId wide = IsFloat(c.DTypeOf(x)) ? flat : c.Cast(flat, DType::kF32);
  const ValueId read = c.Where(c.Constant(DType::kBool, {taps, count}, inside),
                               c.Gather(wide, c.Ints({taps, count}, places), 1),
                               c.NumberLike(wide, -std::numeric_limits<double>::infinity()));
  Attributes along;
  along.Set("axis", int64_t{1});
  along.Set("keepdims", int64_t{0});
  const ValueId first = c.Op("argmax", {read}, std::move(along));
  const ValueId entry = c.Add(c.Mul(first, static_cast<double>(count)), c.Iota(0, count));
  const ValueId number = c.Gather(c.Ints({taps * count}, at.numbers), entry, 0);
  const ValueId begin =
      c.Mul(c.Reshape(c.Iota(0, images), {images, 1}), static_cast<double>(pixels));
  const ValueId indices = c.Reshape(c.Add(number, begin), windows);
  RETURN_IF_ERROR(c.status());
  return indices;
}

absl::Status Pool(OnnxNode& node, absl::string_view op) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  ASSIGN_OR_RETURN(Attributes attributes, ReadPooling(node, x));
  if (op == "average_pool") {
    attributes.Set("count_include_pad", node.Int("count_include_pad", 0));
  }
  if (!node.OutputUsed(1)) return node.Finish(op, {x}, std::move(attributes));
  if (node.IsBounded(x)) return node.Unsupported("Indices of what a run sizes");
  ASSIGN_OR_RETURN(const ValueId y, node.Emit(op, {x}, attributes));
  node.SetOutput(0, y);
  const Shape windows = node.TypeOf(y).shape;
  ASSIGN_OR_RETURN(const ValueId indices, EmitIndices(node, x, attributes, windows));
  node.SetOutput(1, indices);
  return absl::OkStatus();
}

// The p-norm of each window: the mean of powers times the window's size, pads counting 0.
absl::Status LpPool(OnnxNode& node) {
  Composer c(node);
  ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  if (!node.HasAttribute("kernel_shape")) return node.Invalid("kernel_shape is missing");
  ASSIGN_OR_RETURN(Window w, ReadWindow(node, x, {}));
  RETURN_IF_ERROR(ResolveAutoPad(node, x, w));
  RETURN_IF_ERROR(PadToWindows(node, x, w));
  const auto p = static_cast<double>(node.Int("p", 2));
  if (!(p >= 1)) return node.Invalid(absl::StrCat("p: got ", p));
  Attributes attributes;
  SetWindow(w, attributes);
  attributes.Set("kernel_shape", w.kernel);
  attributes.Set("ceil_mode", int64_t{0});
  attributes.Set("count_include_pad", int64_t{1});
  const ValueId size = c.Op("abs", {x});
  const ValueId powers = p == 1   ? size
                         : p == 2 ? c.Mul(x, x)
                                  : c.Op("pow", {size, c.NumberLike(x, p)});
  const ValueId mean = c.Op("average_pool", {powers}, std::move(attributes));
  const ValueId sum = c.Mul(mean, static_cast<double>(ElementCount(w.kernel)));
  c.Output(0, p == 1   ? sum
              : p == 2 ? c.Op("sqrt", {sum})
                       : c.Op("pow", {sum, c.NumberLike(sum, 1 / p)}));
  return c.status();
}

// Of a block's elements at all its places, which ones each element of the image is the sum of: by
// term, then by element. What is missing is `none`. `places`: how many along each dimension.
std::vector<int64_t> TermsOfImage(const Window& w, const Shape& image, const Shape& places,
                                  int64_t none) {
  const int64_t pixels = ElementCount(image), columns = ElementCount(places);
  std::vector<int64_t> terms(pixels, none), count(pixels, 0);
  for (int64_t element = 0; element < ElementCount(w.kernel); ++element) {
    for (int64_t column = 0; column < columns; ++column) {
      int64_t in_block = element, at = column, pixel = 0, stride = 1;
      bool is_inside = true;
      for (int64_t d = w.rank; d-- > 0;) {
        const int64_t place =
            at % places[d] * w.strides[d] + in_block % w.kernel[d] * w.dilations[d] - w.pads[d];
        is_inside = is_inside && place >= 0 && place < image[d];
        pixel += place * stride;
        stride *= image[d];
        at /= places[d];
        in_block /= w.kernel[d];
      }
      if (!is_inside) continue;
      const int64_t term = count[pixel]++;
      if (std::ssize(terms) == term * pixels) terms.resize(terms.size() + pixels, none);
      terms[term * pixels + pixel] = element * columns + column;
    }
  }
  return terms;
}

// Each column of the input is a block of the image, and blocks add up. No product with 0 says which
// elements meet: an infinity would make NaN of the others.
absl::Status Col2Im(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const Shape image, node.ConstantInts(1, "image_shape"));
  ASSIGN_OR_RETURN(const Shape block, node.ConstantInts(2, "block_shape"));
  const auto dims = static_cast<int64_t>(block.size());
  const Shape shape = c.ShapeOf(x);
  if (dims < 1 || dims > 3 || image.size() != block.size() || shape.size() != 3) {
    return node.Invalid("want an input of 3 dimensions, and 1 to 3 of the image");
  }
  Window w{.rank = dims, .kernel = block};
  w.strides = node.Ints("strides", Shape(dims, 1));
  w.dilations = node.Ints("dilations", Shape(dims, 1));
  w.pads = node.Ints("pads", Shape(2 * dims, 0));
  RETURN_IF_ERROR(CheckRange(node, "image_shape", image, dims, 1));
  RETURN_IF_ERROR(CheckRange(node, "block_shape", block, dims, 1));
  RETURN_IF_ERROR(CheckRange(node, "strides", w.strides, dims, 1));
  RETURN_IF_ERROR(CheckRange(node, "dilations", w.dilations, dims, 1));
  RETURN_IF_ERROR(CheckRange(node, "pads", w.pads, 2 * dims, 0));
  Shape columns;
  for (int64_t d = 0; d < dims; ++d) {
    const int64_t room =
        image[d] + w.pads[d] + w.pads[dims + d] - w.dilations[d] * (block[d] - 1) - 1;
    if (room < 0) return node.Invalid("a block is larger than the image");
    columns.push_back(room / w.strides[d] + 1);
  }
  c.MayMake(block);
  c.MayMake(image);
  c.MayMake(columns);
  RETURN_IF_ERROR(c.status());
  const int64_t size = ElementCount(block), channels = shape[1] / size;
  if (channels * size != shape[1] || ElementCount(columns) != shape[2]) {
    return node.Invalid("the input's columns are not those of the image");
  }
  if (c.DTypeOf(x) == DType::kBool) return node.Unsupported("sums of bools");
  if (!c.MayMake({size, shape[2]}) || !c.MayMake({size, ElementCount(image)})) return c.status();
  const std::vector<int64_t> terms = TermsOfImage(w, image, columns, size * shape[2]);
  const int64_t pixels = ElementCount(image), count = std::ssize(terms) / pixels;
  const ValueId elements =
      c.Pad(c.Reshape(x, {shape[0], channels, size * shape[2]}), {0, 0, 0, 0, 0, 1});
  const ValueId each = c.Gather(elements, c.Ints({count * pixels}, terms), 2);
  const ValueId sum =
      c.Reduce("reduce_sum", c.Reshape(each, {shape[0], channels, count, pixels}), {2}, false);
  Shape result = {shape[0], channels};
  result.insert(result.end(), image.begin(), image.end());
  c.Output(0, c.Reshape(sum, result));
  return c.status();
}

absl::Status GlobalLpPool(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  Shape axes;
  for (int64_t d = 2; d < c.Rank(x); ++d) axes.push_back(d);
  if (axes.empty()) return node.Invalid("got no spatial dimension, want [N, C, spatial..]");
  const auto p = static_cast<double>(node.Int("p", 2));
  if (!(p >= 1)) return node.Invalid(absl::StrCat("p: got ", p));
  if (p <= 2) {
    c.Output(0, c.Reduce(p == 1 ? "reduce_l1" : "reduce_l2", x, axes));
    return c.status();
  }
  const ValueId powers = c.Op("pow", {c.Op("abs", {x}), c.NumberLike(x, p)});
  const ValueId sum = c.Reduce("reduce_sum", powers, axes);
  c.Output(0, c.Op("pow", {sum, c.NumberLike(sum, 1 / p)}));
  return c.status();
}

// No operator of its own: a reduction over all spatial dimensions is the same.
absl::Status GlobalPool(OnnxNode& node, absl::string_view op) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const auto rank = static_cast<int64_t>(node.TypeOf(x).shape.size());
  if (rank < 3) return node.Invalid("got no spatial dimension, want [N, C, spatial..]");
  std::vector<int64_t> axes;
  for (int64_t d = 2; d < rank; ++d) axes.push_back(d);
  Attributes attributes;
  attributes.Set("axes", axes);
  attributes.Set("keepdims", int64_t{1});
  return node.Finish(op, {x}, std::move(attributes));
}

}  // namespace

void AddConvolutionTranslators(OnnxTranslators& t) {
  t["Conv"] = Conv;
  t["ConvTranspose"] = ConvTranspose;
  t["MaxPool"] = [](OnnxNode& node) { return Pool(node, "max_pool"); };
  t["AveragePool"] = [](OnnxNode& node) { return Pool(node, "average_pool"); };
  t["Col2Im"] = Col2Im;
  t["LpPool"] = LpPool;
  t["GlobalLpPool"] = GlobalLpPool;
  t["GlobalAveragePool"] = [](OnnxNode& node) { return GlobalPool(node, "reduce_mean"); };
  t["GlobalMaxPool"] = [](OnnxNode& node) { return GlobalPool(node, "reduce_max"); };
}

}  // namespace burnish
