#include "compiler/te/layout.h"

#include <algorithm>
#include <string>
#include <variant>

#include "base/check.h"

namespace burnish {
namespace {

using Order = std::vector<int64_t>;

// An empty list says the same in any order: that the attribute is not used (resize's roi).
template <typename T>
std::vector<T> Permuted(const std::vector<T>& values, const Order& order) {
  if (values.empty()) return values;
  CHECK_EQ(values.size(), order.size());
  std::vector<T> result;
  for (const int64_t d : order) result.push_back(values[d]);
  return result;
}

// Begins of all dimensions, then ends of all dimensions: each half is turned by itself.
template <typename T>
std::vector<T> PermutedPairs(const std::vector<T>& values, const Order& order) {
  if (values.empty()) return values;
  CHECK_EQ(values.size(), 2 * order.size());
  const auto middle = values.begin() + static_cast<int64_t>(order.size());
  std::vector<T> result = Permuted(std::vector<T>(values.begin(), middle), order);
  const std::vector<T> ends = Permuted(std::vector<T>(middle, values.end()), order);
  result.insert(result.end(), ends.begin(), ends.end());
  return result;
}

AttributeValue Turned(const DimensionAttribute& attribute, const AttributeValue& value,
                      const Order& order) {
  const Order place = InversePermutation(order);  // Where each dimension went.
  const auto rank = static_cast<int64_t>(order.size());
  const auto place_of = [&](int64_t axis) { return place[axis < 0 ? axis + rank : axis]; };
  switch (attribute.kind) {
    case DimensionAttribute::Kind::kAxis:
      return place_of(std::get<int64_t>(value));
    case DimensionAttribute::Kind::kAxes: {
      Order axes = std::get<Order>(value);
      for (int64_t& axis : axes) axis = place_of(axis);
      return axes;
    }
    case DimensionAttribute::Kind::kValues:
    case DimensionAttribute::Kind::kPairs:
      break;
  }
  const bool pairs = attribute.kind == DimensionAttribute::Kind::kPairs;
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
    return pairs ? PermutedPairs(*integers, order) : Permuted(*integers, order);
  }
  const auto& floats = std::get<std::vector<double>>(value);
  return pairs ? PermutedPairs(floats, order) : Permuted(floats, order);
}

}  // namespace

std::vector<int64_t> ChannelsLastOrder(int64_t rank) {
  CHECK_GE(rank, 2);
  Order order = {0};
  for (int64_t d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

std::vector<int64_t> InversePermutation(const std::vector<int64_t>& order) {
  Order inverse(order.size());
  for (size_t d = 0; d < order.size(); ++d) inverse[order[d]] = static_cast<int64_t>(d);
  return inverse;
}

bool FollowsChannelsLast(const OperatorDef& op, int64_t rank,
                         absl::Span<const TensorType> results) {
  // Below that channels are the last dimension anyway.
  if (rank < 3 || op.layout == LayoutRule::kFixed) return false;
  return std::all_of(results.begin(), results.end(), [&](const TensorType& type) {
    return static_cast<int64_t>(type.shape.size()) == rank;
  });
}

Attributes AttributesInOrder(const OperatorDef& op, const Attributes& attributes,
                             const std::vector<int64_t>& order) {
  CHECK(op.layout != LayoutRule::kFixed) << op.name();
  Attributes turned = attributes;
  for (const DimensionAttribute& attribute : op.traits.dimension_attributes) {
    const auto found = attributes.values().find(attribute.name);
    if (found != attributes.values().end()) {
      turned.Set(attribute.name, Turned(attribute, found->second, order));
    } else if (attribute.kind == DimensionAttribute::Kind::kAxis) {
      turned.Set(attribute.name, Turned(attribute, attribute.fallback, order));
    }
  }
  if (op.layout != LayoutRule::kAnyOrder) {
    CHECK(order == ChannelsLastOrder(static_cast<int64_t>(order.size()))) << op.name();
    turned.Set("channels_last", int64_t{1});
  }
  return turned;
}

}  // namespace burnish
