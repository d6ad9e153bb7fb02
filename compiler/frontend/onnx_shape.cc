// Operators that only give a tensor another shape: all become reshape, transpose or expand.
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_import_context.h"

namespace burnish {
namespace {

std::string Text(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

absl::Status FinishReshape(OnnxNode& node, ValueId x, std::vector<int64_t> shape) {
  ASSIGN_OR_RETURN(const ValueId result, node.EmitReshape(x, std::move(shape)));
  node.SetOutput(0, result);
  return absl::OkStatus();
}

// To what a shape says in every run: numbers, sizes, and ONNX's 0 and -1.
absl::Status ReshapeToTerms(OnnxNode& node, ValueId x, const std::vector<SizeTerm>& terms) {
  const size_t rank = node.TypeOf(x).shape.size();
  const bool keeps_zero = node.Int("allowzero", 0) != 0;
  std::vector<std::optional<SizeTerm>> to(terms.begin(), terms.end());
  int unknown = 0;
  for (size_t d = 0; d < terms.size(); ++d) {
    if (!terms[d].IsNumber()) continue;
    const int64_t number = terms[d].number();
    if (number == 0 && !keeps_zero && d < rank) to[d] = node.SizeOf(x, static_cast<int64_t>(d));
    if (number == -1) to[d] = std::nullopt;
    unknown += number == -1 ? 1 : 0;
    if (number < -1 || (number == 0 && (keeps_zero || d >= rank)) || unknown > 1) {
      return node.Invalid(absl::StrCat("dimension ", d, " of the shape is ", number));
    }
  }
  ASSIGN_OR_RETURN(const ValueId result, node.ReshapeInRun(x, to));
  node.SetOutput(0, result);
  return absl::OkStatus();
}

absl::Status Reshape(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  std::vector<int64_t> shape = node.Ints("shape", {});
  if (node.HasInput(1)) {
    ASSIGN_OR_RETURN(const BoundedShape given, node.ShapeInput(1, "shape"));
    const bool in_run = std::any_of(given.terms.begin(), given.terms.end(),
                                    [](const SizeTerm& t) { return !t.IsNumber(); });
    if (in_run || node.IsBounded(x)) return ReshapeToTerms(node, x, given.terms);
    shape = given.bound;
  } else if (node.IsBounded(x)) {
    return ReshapeToTerms(node, x, {shape.begin(), shape.end()});
  }
  const std::vector<int64_t> from = node.TypeOf(x).shape;
  const int64_t limit = node.context().options->max_tensor_elements;
  const bool keeps_zero = node.Int("allowzero", 0) != 0;
  int64_t known = 1;
  int unknown = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    // ONNX: 0 keeps the input's extent, unless allowzero makes it an extent.
    if (shape[d] == 0 && !keeps_zero) {
      if (d >= from.size()) return node.Invalid(absl::StrCat("shape ", Text(shape)));
      shape[d] = from[d];
    }
    if (shape[d] == -1) {
      if (unknown >= 0) return node.Invalid(absl::StrCat("two -1 in shape ", Text(shape)));
      unknown = static_cast<int>(d);
      continue;
    }
    // By division: the numbers are the file's, and their product may wrap.
    if (shape[d] < 0 || (shape[d] > 0 && known > limit / shape[d])) {
      return node.Invalid(absl::StrCat("shape ", Text(shape)));
    }
    known *= shape[d];
  }
  const int64_t count = ElementCount(from);
  if (unknown >= 0 && known > 0 && count % known == 0) shape[unknown] = count / known;
  if (unknown >= 0 ? known <= 0 || count % known != 0 : count != known) {
    return node.Invalid(absl::StrCat("cannot reshape ", Text(from), " to ", Text(shape)));
  }
  return FinishReshape(node, x, std::move(shape));
}

absl::Status Flatten(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const std::vector<int64_t> from = node.TypeOf(x).shape;
  const auto rank = static_cast<int64_t>(from.size());
  int64_t axis = node.Int("axis", 1);
  if (axis < -rank || axis > rank) return node.Invalid(absl::StrCat("axis ", axis));
  if (axis < 0) axis += rank;
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < rank; ++d) (d < axis ? rows : columns) *= from[d];
  return FinishReshape(node, x, {rows, columns});
}

absl::Status Squeeze(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const std::vector<int64_t> from = node.TypeOf(x).shape;
  std::vector<int64_t> axes = node.Ints("axes", {});
  // An empty list squeezes nothing; no list, every dimension of extent 1. An input from opset 13
  // on.
  bool given = node.HasAttribute("axes");
  if (node.HasInput(1)) {
    ASSIGN_OR_RETURN(axes, node.ConstantInts(1, "axes"));
    given = true;
  }
  ASSIGN_OR_RETURN(axes, NormalizeAxes(node, std::move(axes), from.size()));
  std::vector<bool> drop(from.size(), false);
  for (size_t d = 0; d < from.size() && !given; ++d) {
    // The rank would be another in each run.
    const std::optional<SizeRange> range = node.RangeOf(node.SizeOf(x, static_cast<int64_t>(d)));
    if (from[d] != 1 && (!range.has_value() || (range->least <= 1 && range->greatest >= 1))) {
      return node.Unsupported(
          absl::StrCat("dimension ", d, " of ", Text(from),
                       " may be 1 in some runs and not in others; want axes that say which go"));
    }
    drop[d] = from[d] == 1;
  }
  for (int64_t axis : axes) {
    if (from[axis] != 1) {
      if (node.ExtentsOf(x)[axis] != kFullAxis) {
        return node.Unsupported(absl::StrCat("dimension ", axis, " of ", Text(from),
                                             ", whose extent only a run knows, as one of 1"));
      }
      return node.Invalid(absl::StrCat("dimension ", axis, " of ", Text(from), " is not 1"));
    }
    drop[axis] = true;
  }
  std::vector<int64_t> shape;
  for (size_t d = 0; d < from.size(); ++d) {
    if (!drop[d]) shape.push_back(from[d]);
  }
  return FinishReshape(node, x, std::move(shape));
}

absl::Status Unsqueeze(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const std::vector<int64_t> from = node.TypeOf(x).shape;
  std::vector<int64_t> axes = node.Ints("axes", {});
  if (node.HasInput(1)) {
    ASSIGN_OR_RETURN(axes, node.ConstantInts(1, "axes"));
  }
  // Before memory is taken for them. Far above any rank that is supported.
  if (axes.size() > 64) return node.Invalid("over 64 axes");
  const size_t rank = from.size() + axes.size();
  ASSIGN_OR_RETURN(axes, NormalizeAxes(node, std::move(axes), rank));
  std::vector<int64_t> shape(rank, -1);
  for (int64_t axis : axes) shape[axis] = 1;
  auto next = from.begin();
  for (int64_t& extent : shape) {
    if (extent == -1) extent = *next++;
  }
  return FinishReshape(node, x, std::move(shape));
}

absl::Status FinishTranspose(OnnxNode& node, ValueId x, std::vector<int64_t> perm) {
  Attributes attributes;
  attributes.Set("perm", std::move(perm));
  return node.Finish("transpose", {x}, std::move(attributes));
}

absl::Status Transpose(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const auto rank = static_cast<int64_t>(node.TypeOf(x).shape.size());
  std::vector<int64_t> reversed(rank);
  for (int64_t d = 0; d < rank; ++d) reversed[d] = rank - 1 - d;
  std::vector<int64_t> perm = node.Ints("perm", reversed);
  if (static_cast<int64_t>(perm.size()) != rank) {
    return node.Invalid(absl::StrCat("perm ", Text(perm), " for rank ", rank));
  }
  ASSIGN_OR_RETURN(perm, NormalizeAxes(node, std::move(perm), rank));
  if (rank == 0) {
    node.SetOutput(0, x);
    return absl::OkStatus();
  }
  return FinishTranspose(node, x, std::move(perm));
}

}  // namespace

// To a shape that a run decides: dimensions of one element that become an extent, and such that are
// that extent.
absl::Status ExpandInRun(OnnxNode& node, ValueId x, std::vector<int64_t> shape,
                         const std::vector<SizeTerm>& terms) {
  const std::vector<int64_t> from = node.TypeOf(x).shape;
  const size_t skipped = shape.size() - from.size();
  const SizeTerm one(1);
  std::vector<SizeTerm> made = terms;  // Of dimensions that x has not, or has once.
  std::optional<SizeTerm> unknown;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!terms[d].IsNumber()) unknown = terms[d];
    if (d < skipped) continue;
    const auto axis = static_cast<int64_t>(d - skipped);
    if (node.SizeOf(x, axis) == one) continue;
    if (terms[d] != one && node.SizeOf(x, axis) != terms[d]) {
      return node.Unsupported(
          absl::StrCat("dimension ", d, " of the shape is not what a run fills of that one"));
    }
    shape[d] = from[axis];
    made[d] = SizeTerm(shape[d]);  // What it holds, x brings along.
  }
  if (node.context().graph.IsConstant(x) && unknown.has_value()) {
    ASSIGN_OR_RETURN(const ValueId extent, node.EmitTerm(*unknown));
    ASSIGN_OR_RETURN(x, node.EmitUnknown(x, extent));
  }
  Attributes attributes;
  attributes.Set("shape", shape);
  ASSIGN_OR_RETURN(ValueId result, node.Emit("expand", {x}, std::move(attributes)));
  ASSIGN_OR_RETURN(result, node.HoldTerms(result, made));
  node.SetOutput(0, result);
  return absl::OkStatus();
}

namespace {

absl::Status Expand(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  ASSIGN_OR_RETURN(BoundedShape given, node.ShapeInput(1, "shape"));
  std::vector<int64_t> shape = std::move(given.bound);
  const std::vector<int64_t> from = node.TypeOf(x).shape;
  if (shape.size() < from.size()) {
    given.terms.insert(given.terms.begin(), from.size() - shape.size(), SizeTerm(1));
    shape.insert(shape.begin(), from.size() - shape.size(), 1);
  }
  const bool in_run = std::any_of(given.terms.begin(), given.terms.end(),
                                  [](const SizeTerm& term) { return !term.IsNumber(); });
  if (in_run || node.IsBounded(x)) return ExpandInRun(node, x, std::move(shape), given.terms);
  const size_t skipped = shape.size() - from.size();
  // A 1 in the wanted shape keeps the input's extent.
  for (size_t d = 0; d < from.size(); ++d) {  // Broadcasting goes both ways.
    int64_t& to = shape[skipped + d];
    if (to == 1) to = from[d];
    if (from[d] != 1 && from[d] != to) {
      return node.Invalid(absl::StrCat("cannot expand ", Text(from), " to ", Text(shape)));
    }
  }
  RETURN_IF_ERROR(
      CheckedElementCount(shape, node.context().options->max_tensor_elements, node.Label())
          .status());
  if (shape == from) {
    node.SetOutput(0, x);
    return absl::OkStatus();
  }
  Attributes attributes;
  attributes.Set("shape", std::move(shape));
  return node.Finish("expand", {x}, std::move(attributes));
}

// As often as a run says: of dimensions of one element.
absl::Status TileInRun(OnnxNode& node, ValueId x, const BoundedShape& repeats) {
  const std::vector<int64_t> from = node.TypeOf(x).shape;
  if (repeats.terms.size() != from.size()) return node.Invalid("repeats of another rank");
  std::vector<SizeTerm> terms = repeats.terms;
  for (size_t d = 0; d < from.size(); ++d) {
    const auto axis = static_cast<int64_t>(d);
    if (node.SizeOf(x, axis) == SizeTerm(1)) continue;
    if (terms[d] != SizeTerm(1)) {
      return node.Unsupported(
          absl::StrCat("repeats dimension ", d, " as often as only a run knows"));
    }
    terms[d] = node.SizeOf(x, axis);
  }
  return ExpandInRun(node, x, repeats.bound, terms);
}

// Dimension d repeated r times: [.., 1, d, ..] expanded to [.., r, d, ..]. What is not repeated
// joins the dimension before it, so that a tensor of many dimensions does not get twice as many.
absl::Status Tile(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const std::vector<int64_t> from = node.TypeOf(x).shape;
  ASSIGN_OR_RETURN(const BoundedShape given, node.ShapeInput(1, "repeats"));
  if (std::any_of(given.terms.begin(), given.terms.end(),
                  [](const SizeTerm& term) { return !term.IsNumber(); })) {
    return TileInRun(node, x, given);
  }
  const std::vector<int64_t>& repeats = given.bound;
  if (repeats.size() != from.size()) {
    return node.Invalid(absl::StrCat("repeats ", Text(repeats), " for shape ", Text(from)));
  }
  std::vector<int64_t> split, wide, to;
  bool joins = false;  // Whether the last dimension of `wide` is that of `split`.
  for (size_t d = 0; d < from.size(); ++d) {
    if (repeats[d] < 0 || repeats[d] > node.context().options->max_tensor_elements) {
      return node.Invalid(absl::StrCat("repeats ", Text(repeats)));
    }
    if (repeats[d] != 1) {
      split.push_back(1);
      wide.push_back(repeats[d]);
      joins = false;
      if (from[d] == 1) continue;
    } else if (joins && !node.IsBounded(x)) {
      split.back() *= from[d];
      wide.back() *= from[d];
      continue;
    }
    split.push_back(from[d]);
    wide.push_back(from[d]);
    joins = true;
  }
  RETURN_IF_ERROR(
      CheckedElementCount(wide, node.context().options->max_tensor_elements, node.Label())
          .status());
  for (size_t d = 0; d < from.size(); ++d) to.push_back(repeats[d] * from[d]);
  if (to == from) {
    node.SetOutput(0, x);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const ValueId column, node.EmitReshape(x, split));
  Attributes attributes;
  attributes.Set("shape", wide);
  ASSIGN_OR_RETURN(const ValueId tiled, node.Emit("expand", {column}, std::move(attributes)));
  return FinishReshape(node, tiled, std::move(to));
}

absl::StatusOr<int64_t> BlockSize(OnnxNode& node, ValueId x) {
  const int64_t block = node.Int("blocksize", 0);
  if (node.TypeOf(x).shape.size() != 4) return node.Invalid("want an input [N, C, H, W]");
  // So that its square, by which channels are divided, does not overflow.
  if (block < 1 || block > 1 << 20) return node.Invalid(absl::StrCat("blocksize ", block));
  return block;
}

absl::Status DepthToSpace(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  ASSIGN_OR_RETURN(const int64_t b, BlockSize(node, x));
  const std::vector<int64_t> s = node.TypeOf(x).shape;
  if (s[1] % (b * b) != 0) return node.Invalid(absl::StrCat("blocksize ", b, " for ", Text(s)));
  const int64_t c = s[1] / (b * b);
  const bool columns_first = node.String("mode", "DCR") == "CRD";
  // The channels are [b, b, c] in mode DCR and [c, b, b] in mode CRD.
  const std::vector<int64_t> split = columns_first
                                         ? std::vector<int64_t>{s[0], c, b, b, s[2], s[3]}
                                         : std::vector<int64_t>{s[0], b, b, c, s[2], s[3]};
  ASSIGN_OR_RETURN(const ValueId parts, node.EmitReshape(x, split));
  Attributes attributes;
  attributes.Set("perm", columns_first ? std::vector<int64_t>{0, 1, 4, 2, 5, 3}
                                       : std::vector<int64_t>{0, 3, 4, 1, 5, 2});
  ASSIGN_OR_RETURN(const ValueId moved, node.Emit("transpose", {parts}, std::move(attributes)));
  return FinishReshape(node, moved, {s[0], c, s[2] * b, s[3] * b});
}

absl::Status SpaceToDepth(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  ASSIGN_OR_RETURN(const int64_t b, BlockSize(node, x));
  const std::vector<int64_t> s = node.TypeOf(x).shape;
  if (s[2] % b != 0 || s[3] % b != 0) {
    return node.Invalid(absl::StrCat("blocksize ", b, " for ", Text(s)));
  }
  ASSIGN_OR_RETURN(const ValueId parts,
                   node.EmitReshape(x, {s[0], s[1], s[2] / b, b, s[3] / b, b}));
  Attributes attributes;
  // CRD (from opset 28 on): the block's positions vary faster than the channel.
  attributes.Set("perm", node.String("mode", "DCR") == "CRD"
                             ? std::vector<int64_t>{0, 1, 3, 5, 2, 4}
                             : std::vector<int64_t>{0, 3, 5, 1, 2, 4});
  ASSIGN_OR_RETURN(const ValueId moved, node.Emit("transpose", {parts}, std::move(attributes)));
  return FinishReshape(node, moved, {s[0], s[1] * b * b, s[2] / b, s[3] / b});
}

}  // namespace

void AddShapeTranslators(OnnxTranslators& t) {
  t["Reshape"] = Reshape;
  t["Flatten"] = Flatten;
  t["Squeeze"] = Squeeze;
  t["Unsqueeze"] = Unsqueeze;
  t["Transpose"] = Transpose;
  t["Expand"] = Expand;
  t["Tile"] = Tile;
  t["DepthToSpace"] = DepthToSpace;
  t["SpaceToDepth"] = SpaceToDepth;
}

}  // namespace burnish
