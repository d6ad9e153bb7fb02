// Einsum: sums of products over labelled dimensions, as transposes, reductions and matrix products.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

// Dimensions of an ellipsis have labels of their own, '0' for the last one, '1' before it ..
constexpr char kEllipsis = '0';
constexpr size_t kEllipsisMax = 10;

// A tensor with a label for each dimension, none twice.
struct Labelled {
  ValueId value = -1;
  std::string labels;
};

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

// "b...ij" for a tensor of `rank` dimensions -> "b10ij"; without one where `rank` is -1, and then
// as many as `ellipsis` says.
absl::StatusOr<std::string> Expanded(const OnnxNode& node, absl::string_view term, int64_t rank,
                                     size_t ellipsis) {
  std::string labels;
  const size_t dots = term.find("...");
  size_t letters = 0;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      labels += '.';
      i += 2;
    } else if (absl::ascii_isalpha(term[i])) {
      labels += term[i];
      ++letters;
    } else {
      return node.Invalid(absl::StrCat("equation: got '", std::string(term), "'"));
    }
  }
  if (rank >= 0) {
    const auto size = static_cast<size_t>(rank);
    if (size < letters || (dots == absl::string_view::npos && size != letters) ||
        size - letters > kEllipsisMax) {
      return node.Invalid(absl::StrCat("equation: '", std::string(term), "' for rank ", rank));
    }
    ellipsis = size - letters;
  }
  std::string inner;
  for (size_t i = ellipsis; i-- > 0;) inner += static_cast<char>(kEllipsis + i);
  const size_t at = labels.find('.');
  if (at != std::string::npos) labels.replace(at, 1, inner);
  return labels;
}

class Contraction {
 public:
  Contraction(OnnxNode& node, Composer& c) : node_(node), c_(c) {}

  absl::Status Run() {
    RETURN_IF_ERROR(ReadEquation());
    while (operands_.size() > 1) {
      const Labelled left = operands_[0], right = operands_[1];
      operands_.erase(operands_.begin(), operands_.begin() + 2);
      operands_.insert(operands_.begin(), Product(left, right));
      RETURN_IF_ERROR(c_.status());
    }
    Labelled result = Summed(operands_[0], output_);
    // A label that only the output has: with extent 1 nothing, else a mistake.
    for (const char label : output_) {
      if (!Has(result.labels, label)) return node_.Invalid("equation: an output label is nowhere");
    }
    c_.Output(0, Arranged(result, output_));
    return c_.status();
  }

 private:
  absl::Status ReadEquation() {
    std::string equation = node_.String("equation", "");
    equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
    const std::vector<std::string> sides = absl::StrSplit(equation, "->");
    const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
    if (sides.size() > 2 || static_cast<int>(terms.size()) != node_.input_count()) {
      return node_.Invalid(absl::StrCat("equation: got '", equation.substr(0, 80), "' for ",
                                        node_.input_count(), " inputs"));
    }
    std::map<char, int> uses;
    size_t ellipsis = 0;
    for (int i = 0; i < node_.input_count(); ++i) {
      Labelled operand{.value = c_.In(i)};
      RETURN_IF_ERROR(c_.status());
      ASSIGN_OR_RETURN(operand.labels, Expanded(node_, terms[i], c_.Rank(operand.value), 0));
      for (const char label : operand.labels) {
        ++uses[label];
        if (label <= '9') ellipsis = std::max<size_t>(ellipsis, label - kEllipsis + 1);
      }
      RETURN_IF_ERROR(NoteExtents(operand));
      operands_.push_back(WithoutRepeats(operand));
    }
    if (sides.size() == 2) {
      ASSIGN_OR_RETURN(output_, Expanded(node_, sides[1], -1, ellipsis));
    } else {
      // The ellipsis first, then what is there once, by the alphabet.
      ASSIGN_OR_RETURN(output_, Expanded(node_, "...", -1, ellipsis));
      for (const auto& [label, count] : uses) {
        if (count == 1 && label > '9') output_ += label;
      }
    }
    std::string sorted = output_;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return node_.Invalid("equation: an output label is there twice");
    }
    return c_.status();
  }

  absl::Status NoteExtents(const Labelled& operand) {
    const Shape shape = c_.ShapeOf(operand.value);
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t& extent = extents_.try_emplace(operand.labels[d], 1).first->second;
      if (extent != 1 && shape[d] != 1 && extent != shape[d]) {
        return node_.Invalid(absl::StrCat("equation: label ", std::string(1, operand.labels[d]),
                                          " has the extents ", extent, " and ", shape[d]));
      }
      extent = std::max(extent, shape[d]);
    }
    return absl::OkStatus();
  }

  // Of "ii" the diagonal: what is off it becomes 0, and one of the two is summed.
  Labelled WithoutRepeats(Labelled x) {
    for (size_t d = 0; d < x.labels.size(); ++d) {
      const size_t first = x.labels.find(x.labels[d]);
      if (first == d) continue;
      const Shape shape = c_.ShapeOf(x.value);
      Shape row(shape.size(), 1), column(shape.size(), 1);
      row[first] = shape[first];
      column[d] = shape[d];
      const ValueId on = c_.Op("equal", {c_.Reshape(c_.Iota(0, shape[first]), row),
                                         c_.Reshape(c_.Iota(0, shape[d]), column)});
      const ValueId kept = c_.Where(on, x.value, c_.NumberLike(x.value, 0));
      x.value = c_.Reduce("reduce_sum", kept, {static_cast<int64_t>(d)}, false);
      x.labels.erase(d, 1);
      --d;
    }
    return x;
  }

  // Summed over the labels that `kept` has not.
  Labelled Summed(Labelled x, const std::string& kept) {
    Shape axes;
    std::string labels;
    for (size_t d = 0; d < x.labels.size(); ++d) {
      if (Has(kept, x.labels[d])) {
        labels += x.labels[d];
      } else {
        axes.push_back(static_cast<int64_t>(d));
      }
    }
    if (axes.empty()) return x;
    return {c_.Reduce("reduce_sum", x.value, axes, false), labels};
  }

  // With dimensions in the order of `labels`; those that x has not get extent 1.
  ValueId Arranged(const Labelled& x, const std::string& labels) {
    Shape perm, shape;
    for (const char label : labels) {
      const size_t at = x.labels.find(label);
      if (at != std::string::npos) perm.push_back(static_cast<int64_t>(at));
      shape.push_back(at == std::string::npos ? 1 : c_.ShapeOf(x.value)[at]);
    }
    return c_.Reshape(c_.Transpose(x.value, perm), shape);
  }

  // Both expanded to the extents that the labels have, of which one operand may have 1.
  ValueId Full(const Labelled& x, const std::string& labels) {
    Shape shape;
    for (const char label : labels) shape.push_back(extents_[label]);
    return c_.Expand(Arranged(x, labels), shape);
  }

  int64_t Extent(const std::string& labels) {
    int64_t product = 1;
    for (const char label : labels) product *= extents_[label];
    return product;
  }

  Labelled Product(Labelled left, Labelled right) {
    std::string wanted = output_;
    for (const Labelled& other : operands_) wanted += other.labels;
    left = Summed(left, wanted + right.labels);
    right = Summed(right, wanted + left.labels);
    std::string batch, summed, rows, columns;
    for (const char label : left.labels) {
      const bool both = Has(right.labels, label);
      (both ? Has(wanted, label) ? batch : summed : rows) += label;
    }
    for (const char label : right.labels) {
      if (!Has(left.labels, label)) columns += label;
    }
    const std::string labels = batch + rows + columns;
    if (summed.empty()) {  // No product of matrices, but one of elements.
      return {c_.Mul(Arranged(left, labels), Arranged(right, labels)), labels};
    }
    const int64_t m = Extent(rows), k = Extent(summed), n = Extent(columns);
    // What a run sizes stays a dimension of its own: joined, it could not be told from the others.
    Shape a_shape = {Extent(batch)};
    if (node_.IsBounded(left.value) || node_.IsBounded(right.value)) {
      a_shape.clear();
      for (const char label : batch) a_shape.push_back(extents_[label]);
    }
    Shape w_shape = a_shape;
    a_shape.insert(a_shape.end(), {m, k});
    w_shape.insert(w_shape.end(), {k, n});
    const ValueId a = c_.Reshape(Full(left, batch + rows + summed), std::move(a_shape));
    const ValueId w = c_.Reshape(Full(right, batch + summed + columns), std::move(w_shape));
    Shape shape;
    for (const char label : labels) shape.push_back(extents_[label]);
    return {c_.Reshape(c_.MatMul(a, w), shape), labels};
  }

  OnnxNode& node_;
  Composer& c_;
  std::vector<Labelled> operands_;
  std::string output_;
  std::map<char, int64_t> extents_;
};

absl::Status Einsum(OnnxNode& node) {
  Composer c(node);
  return Contraction(node, c).Run();
}

// By the first row; what is larger wants a factorisation.
ValueId Determinant(Composer& c, ValueId x, const std::vector<int64_t>& columns, int64_t row) {
  const int64_t rank = c.Rank(x);
  if (!c.status().ok()) return -1;
  const auto element = [&](int64_t column) {
    return c.Slice(c.Slice(x, rank - 2, row, row + 1), rank - 1, column, column + 1);
  };
  if (columns.size() == 1) return element(columns[0]);
  ValueId sum = -1;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<int64_t> rest = columns;
    rest.erase(rest.begin() + static_cast<int64_t>(i));
    const ValueId term = c.Mul(element(columns[i]), Determinant(c, x, rest, row + 1));
    sum = sum < 0 ? term : i % 2 == 0 ? c.Add(sum, term) : c.Sub(sum, term);
  }
  return sum;
}

absl::Status Det(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  Shape shape = c.ShapeOf(x);
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2]) {
    return node.Invalid("want square matrices");
  }
  const int64_t size = shape.back();
  if (size > 4)
    return node.Unsupported(absl::StrCat("matrices of ", size, " rows, want at most 4"));
  std::vector<int64_t> columns;
  for (int64_t i = 0; i < size; ++i) columns.push_back(i);
  shape.resize(shape.size() - 2);
  c.Output(0, c.Reshape(Determinant(c, x, columns, 0), shape));
  return c.status();
}

}  // namespace

void AddEinsumTranslators(OnnxTranslators& t) {
  t["Einsum"] = Einsum;
  t["Det"] = Det;
}

}  // namespace burnish
