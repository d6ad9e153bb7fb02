// Dimensions of inputs that each run decides about: from what a person writes to sizes of the graph
// (docs/adr/0013-bounded-axes.md).
#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_graph_importer.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

// A dimension that is named after itself would never end; people write one or two deep.
constexpr int kDepthMax = 8;

std::string NameOf(const onnx::ValueInfoProto& input, int d) {
  const std::string& name = input.type().tensor_type().shape().dim(d).dim_param();
  return name.empty() ? absl::StrCat(input.name(), ".", d) : name;
}

bool IsFixed(const onnx::TensorShapeProto::Dimension& dimension) {
  return dimension.has_dim_value() && dimension.dim_value() > 0;
}

// "past_sequence_length + 1" has two.
std::vector<std::string> NamesIn(const std::string& text) {
  std::vector<std::string> names;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar("+*"))) {
    word = absl::StripAsciiWhitespace(word);
    int64_t number = 0;
    if (!absl::SimpleAtoi(word, &number)) names.emplace_back(word);
  }
  return names;
}

absl::Status Misfit(const std::string& name, const std::string& text, absl::string_view why) {
  return absl::OutOfRangeError(absl::StrCat("--dim ", name.substr(0, 60), "=", text.substr(0, 60),
                                            ": ", why, "; write --dim ", name.substr(0, 60),
                                            "=1..512, a number, or a sum such as past+seq"));
}

}  // namespace

absl::StatusOr<OnnxGraphImporter::GivenDim> OnnxGraphImporter::ParseSum(const std::string& name,
                                                                        const std::string& text,
                                                                        int depth) {
  if (depth > kDepthMax) return Misfit(name, text, "its names stand for each other");
  GivenDim sum;
  const auto add = [](int64_t& to, int64_t number) {
    return number >= 0 && !__builtin_add_overflow(to, number, &to);
  };
  for (absl::string_view addend : absl::StrSplit(text, '+')) {
    GivenDim product{.constant = 1, .greatest = 1};
    for (absl::string_view factor : absl::StrSplit(addend, '*')) {
      const std::string word(absl::StripAsciiWhitespace(factor));
      int64_t number = 0;
      GivenDim given;
      const auto known = context_->options->dims.find(word);
      if (absl::SimpleAtoi(word, &number)) {
        given = {.constant = number, .greatest = number};
      } else if (known != context_->options->dims.end()) {
        ASSIGN_OR_RETURN(given, ParseDim(word, known->second, depth + 1));
      } else {
        return Misfit(name, text, absl::StrCat("no --dim says what '", word, "' is"));
      }
      if (!product.parts.empty()) std::swap(product, given);
      if (!product.parts.empty()) return Misfit(name, text, "a product of two sizes");
      // Now `product` is a number.
      const int64_t by = product.constant;
      product = given;
      bool fits = !__builtin_mul_overflow(product.constant, by, &product.constant) &&
                  !__builtin_mul_overflow(product.greatest, by, &product.greatest);
      for (auto& [size, times] : product.parts) {
        fits = fits && !__builtin_mul_overflow(times, by, &times);
      }
      if (!fits || by < 0) return Misfit(name, text, "beyond 64 bits, or below 0");
    }
    bool fits = add(sum.constant, product.constant) && add(sum.greatest, product.greatest);
    for (const auto& [size, times] : product.parts) fits = fits && add(sum.parts[size], times);
    if (!fits) return Misfit(name, text, "beyond 64 bits, or below 0");
  }
  std::erase_if(sum.parts, [](const auto& part) { return part.second == 0; });
  return sum;
}

absl::StatusOr<OnnxGraphImporter::GivenDim> OnnxGraphImporter::ParseDim(const std::string& name,
                                                                        const std::string& text,
                                                                        int depth) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return ParseSum(name, text, depth);
  int64_t least = 0, greatest = 0;
  if (!absl::SimpleAtoi(text.substr(0, dots), &least) ||
      !absl::SimpleAtoi(text.substr(dots + 2), &greatest) || least < 0) {
    return Misfit(name, text, "no range of numbers from 0 on");
  }
  if (least > greatest) return Misfit(name, text, "the lower end is above the upper one");
  if (least == greatest) return GivenDim{.constant = least, .greatest = least};
  // So that products of a few of them are numbers.
  if (greatest > context_->options->max_tensor_elements) {
    return Misfit(name, text,
                  absl::StrCat("above ", context_->options->max_tensor_elements, " elements"));
  }
  std::vector<GraphSize>& sizes = context_->graph.sizes;
  const auto found = std::find_if(sizes.begin(), sizes.end(),
                                  [&](const GraphSize& size) { return size.name == name; });
  const auto place = static_cast<int>(found - sizes.begin());
  if (found == sizes.end()) sizes.push_back({.name = name, .least = least, .greatest = greatest});
  return GivenDim{.greatest = greatest, .parts = {{place, 1}}};
}

absl::StatusOr<std::optional<OnnxGraphImporter::GivenDim>> OnnxGraphImporter::DimOf(
    const onnx::ValueInfoProto& input, int d) {
  const std::map<std::string, std::string>& dims = context_->options->dims;
  const std::string name = NameOf(input, d);
  for (const std::string& known : {name, absl::StrCat(input.name(), ".", d)}) {
    const auto found = dims.find(known);
    if (found == dims.end()) continue;
    ASSIGN_OR_RETURN(const GivenDim dim, ParseDim(known, found->second, 0));
    return std::optional(dim);
  }
  // A dimension that the exporter wrote as a sum of others.
  const std::vector<std::string> names = NamesIn(name);
  const bool is_known = std::all_of(names.begin(), names.end(),
                                    [&](const std::string& each) { return dims.contains(each); });
  if (names.empty() || !is_known) return std::optional<GivenDim>();
  ASSIGN_OR_RETURN(const GivenDim dim, ParseSum(name, name, 0));
  return std::optional(dim);
}

absl::Status OnnxGraphImporter::CheckDims(const onnx::GraphProto& graph) const {
  std::vector<std::string> shown;
  std::set<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const onnx::TensorShapeProto& shape = input.type().tensor_type().shape();
    for (int d = 0; d < shape.dim_size(); ++d) {
      if (IsFixed(shape.dim(d))) continue;
      const std::string name = NameOf(input, d);
      if (names.insert(name).second) shown.push_back(name);
      names.insert(absl::StrCat(input.name(), ".", d));
      for (std::string& part : NamesIn(name)) names.insert(std::move(part));
    }
  }
  // What a sum of the options names is of use, too.
  for (const auto& [name, text] : context_->options->dims) {
    if (!names.contains(name)) continue;
    for (std::string& part : NamesIn(text)) names.insert(std::move(part));
  }
  for (const auto& [name, text] : context_->options->dims) {
    if (names.contains(name)) continue;
    return absl::OutOfRangeError(absl::StrCat(
        "--dim ", name.substr(0, 60), ": the model has no such dimension; ",
        shown.empty() ? "all of its inputs' are fixed"
                      : absl::StrCat("its inputs have: ", absl::StrJoin(shown, ", "))));
  }
  return absl::OkStatus();
}

absl::Status OnnxGraphImporter::AddSizes() {
  Graph& graph = context_->graph;
  std::vector<bool> is_given(graph.sizes.size(), false);
  for (const GivenAxis& axis : given_axes_) {
    GraphInputAxis made{.axis = axis.axis, .constant = axis.dim.constant, .parts = {}};
    while (graph.value(graph.inputs[made.input]).name != axis.input) ++made.input;
    for (const auto& [size, factor] : axis.dim.parts) {
      made.parts.push_back({.size = size, .factor = factor});
    }
    if (made.GivesSize()) is_given[made.parts[0].size] = true;
    graph.input_axes.push_back(std::move(made));
  }
  for (size_t s = 0; s < graph.sizes.size(); ++s) {
    if (is_given[s]) continue;
    return absl::OutOfRangeError(absl::StrCat(
        "--dim ", graph.sizes[s].name,
        ": no input has a dimension of this size alone, by which a run could tell it"));
  }
  return AddSizeInputs(*context_);
}

}  // namespace burnish
