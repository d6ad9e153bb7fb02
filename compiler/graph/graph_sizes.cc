#include "compiler/graph/graph_sizes.h"

#include <utility>
#include <vector>

namespace burnish {
namespace {

std::map<ValueId, SizeRange> RangesOf(const Graph& graph) {
  std::map<ValueId, SizeRange> ranges;
  for (size_t s = 0; s < graph.sizes.size(); ++s) {
    ranges[static_cast<ValueId>(s)] = {graph.sizes[s].least, graph.sizes[s].greatest};
  }
  return ranges;
}

// Of scalars that sizes are computed to.
std::map<ValueId, SizeTerm> TermsOf(const Graph& graph, SizeQuotients& quotients) {
  std::map<ValueId, SizeTerm> terms;
  for (size_t s = 0; s < graph.sizes.size(); ++s) {
    terms[graph.inputs[graph.shown_inputs() + s]] = SizeTerm::OfExtent(static_cast<ValueId>(s));
  }
  const auto find = [&](ValueId id) -> std::optional<SizeTerm> {
    const GraphValue& value = graph.value(id);
    if (const auto known = terms.find(id); known != terms.end()) return known->second;
    if (value.data == nullptr || value.type.dtype != DType::kI64 ||
        ElementCount(value.type.shape) != 1) {
      return std::nullopt;
    }
    return SizeTerm(ToInts(value.type, *value.data)[0]);
  };
  for (const GraphNode& node : graph.nodes) {
    if (node.inputs.empty() || node.outputs.size() != 1) continue;
    const std::optional<SizeTerm> a = find(node.inputs[0]);
    if (!a.has_value()) continue;
    std::optional<SizeTerm> result;
    if (node.op == OpId::kIdentity || node.op == OpId::kReshape) result = a;
    if (node.inputs.size() == 2) {
      const std::optional<SizeTerm> b = find(node.inputs[1]);
      if (b.has_value() && node.op == OpId::kAdd) result = a->Plus(*b);
      if (b.has_value() && node.op == OpId::kSub) result = a->Minus(*b);
      if (b.has_value() && node.op == OpId::kMul) result = a->Times(*b);
      // Rounds to zero, and a dividend below that has no term.
      if (b.has_value() && node.op == OpId::kDiv && b->IsNumber()) {
        result = quotients.Of(*a, b->number());
      }
    }
    if (result.has_value()) terms[node.outputs[0]] = *result;
  }
  return terms;
}

}  // namespace

GraphSizes::GraphSizes(const Graph& graph)
    : graph_(graph), quotients_(RangesOf(graph), static_cast<ValueId>(graph.sizes.size())) {
  known_.terms = TermsOf(graph, quotients_);
  known_.ranges = quotients_.ranges();
}

std::optional<SizeTerm> GraphSizes::TermOf(ValueId scalar) const {
  const auto known = known_.terms.find(scalar);
  return known == known_.terms.end() ? std::nullopt : std::optional(known->second);
}

std::optional<SizeMask> GraphSizes::MaskOf(ValueId condition) const {
  const std::vector<int64_t>& shape = graph_.value(condition).type.shape;
  // Which lies as a channels-last layout has it.
  const auto producer = [&] { return graph_.value(condition).producer; };
  while (producer() >= 0 && graph_.nodes[producer()].op == OpId::kReshape) {
    condition = graph_.nodes[producer()].inputs[0];
  }
  if (producer() < 0 || graph_.nodes[producer()].op != OpId::kLess) return std::nullopt;
  const GraphNode& less = graph_.nodes[producer()];
  const GraphValue& positions = graph_.value(less.inputs[0]);
  const std::optional<SizeTerm> size = TermOf(less.inputs[1]);
  if (positions.data == nullptr || !size.has_value() || IsFloat(positions.type.dtype) ||
      !graph_.value(less.inputs[1]).type.shape.empty() ||
      ElementCount(positions.type.shape) != ElementCount(shape)) {
    return std::nullopt;
  }
  const std::vector<int64_t> numbers = ToInts(positions.type, *positions.data);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<int64_t>(i)) return std::nullopt;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (shape[d] != static_cast<int64_t>(numbers.size())) return std::nullopt;
    return SizeMask{.axis = d, .holds = *size};
  }
  return std::nullopt;
}

AxisPart GraphSizes::OfSizes(const AxisPart& part) const {
  const AxisPart all{.holds = SizeTerm(part.bound), .bound = part.bound};
  const auto bound = quotients_.AtLeast(part.holds);
  if (!bound.has_value()) return all;
  const std::optional<SizeRange> range = RangeOf(bound->dividend, quotients_.ranges());
  int64_t end = 0;
  const bool is_full = !range.has_value() ||
                       __builtin_mul_overflow(part.bound, bound->divisor, &end) ||
                       range->least >= end;
  if (is_full) return all;
  return {.holds = bound->dividend, .bound = part.bound, .divisor = bound->divisor};
}

}  // namespace burnish
