#include "compiler/driver/precision_plan.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>

#include "base/status_macros.h"

namespace burnish {

absl::StatusOr<std::vector<DType>> TakeBack(const std::vector<LayerGain>& layers, double budget,
                                            const ErrorOfTypes& error_of,
                                            const std::function<void(int, int)>& progress) {
  std::vector<DType> types;
  std::vector<size_t> order;  // Of narrow layers.
  for (size_t l = 0; l < layers.size(); ++l) {
    types.push_back(layers[l].type);
    if (layers[l].type != DType::kF32) order.push_back(l);
  }
  const auto total = static_cast<int>(order.size() + std::bit_width(order.size()) + 1);
  int done = 0;
  const auto ask = [&](const std::vector<DType>& asked, bool fast) {
    absl::StatusOr<double> error = error_of(asked, fast);
    if (progress != nullptr) progress(std::min(++done, total), total);
    return error;
  };
  ASSIGN_OR_RETURN(const double of_all, ask(types, /*fast=*/false));
  if (of_all <= budget) return types;
  // Of each layer alone. On the first examples: it is asked for an order, not for a bound.
  std::vector<double> price(layers.size(), 0), alone_error(layers.size(), 0);
  for (const size_t l : order) {
    std::vector<DType> alone(layers.size(), DType::kF32);
    alone[l] = layers[l].type;
    ASSIGN_OR_RETURN(const double error, ask(alone, /*fast=*/true));
    alone_error[l] = error;
    // A layer that gains nothing is the first to go if it costs anything at all.
    price[l] = layers[l].gain_ns > 0 ? error * error / layers[l].gain_ns
               : error > 0           ? std::numeric_limits<double>::infinity()
                                     : 0;
  }
  const auto rank = [&](size_t l) { return std::tuple(-price[l], -alone_error[l], l); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });
  const auto without = [&](size_t count) {
    std::vector<DType> some = types;
    for (size_t i = 0; i < count; ++i) some[order[i]] = DType::kF32;
    return some;
  };
  // The fewest: what is known to be too few, and what is enough.
  size_t few = 0, enough = order.size();
  while (enough - few > 1) {
    const size_t middle = few + (enough - few) / 2;
    ASSIGN_OR_RETURN(const double error, ask(without(middle), /*fast=*/false));
    (error <= budget ? enough : few) = middle;
  }
  return without(enough);
}

}  // namespace burnish
