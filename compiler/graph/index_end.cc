#include "compiler/graph/index_end.h"

#include <algorithm>
#include <vector>

namespace burnish {
namespace {

// Of nodes from an index back to what it is made of; chains that somebody writes are short.
constexpr int kDepthMax = 16;

class Walk {
 public:
  Walk(const Graph& graph, const KnownSizes& sizes, int64_t bound)
      : graph_(graph), sizes_(sizes), bound_(bound) {}

  bool IsNatural(ValueId id, int depth) const {
    if (const auto term = sizes_.terms.find(id); term != sizes_.terms.end()) {
      const std::optional<SizeRange> range = RangeOf(term->second, sizes_.ranges);
      return range.has_value() && range->least >= 0;
    }
    const GraphValue& value = graph_.value(id);
    if (const auto numbers = NumbersOf(value)) {
      return *std::min_element(numbers->begin(), numbers->end()) >= 0;
    }
    if (value.producer < 0 || depth >= kDepthMax) return false;
    const GraphNode& node = graph_.nodes[value.producer];
    const auto is_natural = [&](size_t i) { return IsNatural(node.inputs[i], depth + 1); };
    if (node.op == OpId::kReshape || node.op == OpId::kIdentity) return is_natural(0);
    if (node.op == OpId::kMin || node.op == OpId::kAdd) return is_natural(0) && is_natural(1);
    if (node.op == OpId::kMax) return is_natural(0) || is_natural(1);
    if (node.op != OpId::kWhere || !is_natural(1)) return false;
    // where(x < 0, a, x)
    return is_natural(2) || IsBelow(node.inputs[0], node.inputs[2]) == SizeTerm();
  }

  std::optional<SizeTerm> End(ValueId id, int depth) const {
    if (const auto term = sizes_.terms.find(id); term != sizes_.terms.end()) {
      return term->second.Plus(SizeTerm(1));
    }
    const GraphValue& value = graph_.value(id);
    if (const auto numbers = NumbersOf(value)) {
      int64_t end = 0;
      for (const int64_t number : *numbers) {
        if (number < bound_) end = std::max(end, number + 1);
      }
      return SizeTerm(end);
    }
    if (value.producer < 0 || depth >= kDepthMax) return std::nullopt;
    const GraphNode& node = graph_.nodes[value.producer];
    const auto end = [&](size_t i) { return End(node.inputs[i], depth + 1); };
    if (node.op == OpId::kReshape || node.op == OpId::kIdentity) return end(0);
    if (node.op == OpId::kMin) {
      // Both are true; of a run's sizes the one that speaks of them says more.
      const std::optional<SizeTerm> one = end(0), other = end(1);
      return one.has_value() && (!other.has_value() || !one->IsNumber()) ? one : other;
    }
    if (node.op == OpId::kMax) return Greater(end(0), end(1));
    if (node.op != OpId::kWhere) return std::nullopt;
    // where(x < size, x, a)
    const std::optional<SizeTerm> size = IsBelow(node.inputs[0], node.inputs[1]);
    return Greater(size.has_value() ? size : end(1), end(2));
  }

 private:
  static std::optional<std::vector<int64_t>> NumbersOf(const GraphValue& value) {
    if (value.data == nullptr || IsFloat(value.type.dtype)) return std::nullopt;
    std::vector<int64_t> numbers = ToInts(value.type, *value.data);
    if (numbers.empty()) return std::nullopt;
    return numbers;
  }

  // The size that `condition` asks `x` to be below.
  std::optional<SizeTerm> IsBelow(ValueId condition, ValueId x) const {
    const GraphNodeId producer = graph_.value(condition).producer;
    if (producer < 0) return std::nullopt;
    const GraphNode& less = graph_.nodes[producer];
    if (less.op != OpId::kLess || less.inputs[0] != x) return std::nullopt;
    const auto term = sizes_.terms.find(less.inputs[1]);
    if (term != sizes_.terms.end()) return term->second;
    const GraphValue& value = graph_.value(less.inputs[1]);
    const auto numbers = NumbersOf(value);
    if (!numbers.has_value() || numbers->size() != 1) return std::nullopt;
    return SizeTerm(numbers->front());
  }

  // The one that is in all runs.
  std::optional<SizeTerm> Greater(const std::optional<SizeTerm>& a,
                                  const std::optional<SizeTerm>& b) const {
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    const std::optional<SizeRange> range = RangeOfDifference(*a, *b, sizes_.ranges);
    if (!range.has_value()) return std::nullopt;
    if (range->least >= 0) return a;
    return range->greatest <= 0 ? b : std::nullopt;
  }

  const Graph& graph_;
  const KnownSizes& sizes_;
  const int64_t bound_;
};

}  // namespace

std::optional<SizeTerm> EndOfIndices(const Graph& graph, const KnownSizes& sizes, ValueId indices,
                                     int64_t bound) {
  const Walk walk(graph, sizes, bound);
  if (!walk.IsNatural(indices, 0)) return std::nullopt;
  const std::optional<SizeTerm> end = walk.End(indices, 0);
  if (!end.has_value()) return std::nullopt;
  const std::optional<SizeRange> range = RangeOf(*end, sizes.ranges);
  return range.has_value() && range->least >= 0 && range->greatest <= bound ? end : std::nullopt;
}

}  // namespace burnish
