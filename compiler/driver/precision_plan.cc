#include "compiler/driver/precision_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>

#include "base/status_macros.h"

namespace burnish {
namespace {

// A layer goes from one type to another with less error.
struct Step {
  size_t layer = 0;
  size_t rank = 0;  // Among the layer's.
  DType to = DType::kF32;
  double price = 0;  // Squares of errors per nanosecond.
  double error = 0;  // That it takes away.
};

// A type of a layer, and the error of the layer alone.
struct Known {
  TypeGain type;
  double error = 0;
};

// What going from one type to another buys. What costs no time is the first to go if it buys
// anything at all.
Step StepBetween(const Known& from, const Known& to) {
  const double squares = from.error * from.error - to.error * to.error;
  const double ns = from.type.gain_ns - to.type.gain_ns;
  return {.to = to.type.type,
          .price = ns > 0        ? squares / ns
                   : squares > 0 ? std::numeric_limits<double>::infinity()
                                 : 0,
          .error = from.error};
}

// From the first type to f32, by way of those that are worth it: prices never rise on the way, so
// that steps of all layers can be taken in the order of their prices.
std::vector<Step> StepsOf(size_t layer, const std::vector<Known>& types) {
  std::vector<Step> steps;
  Known at = types[0];
  while (at.type.type != DType::kF32) {
    Known next = {.type = {.type = DType::kF32}};
    Step best = StepBetween(at, next);
    for (const Known& type : types) {
      // No slower than f32 and no worse than where the layer is: else there is nothing in it.
      if (type.error >= at.error || type.type.gain_ns <= 0) continue;
      const Step step = StepBetween(at, type);
      if (std::tuple(step.price, -type.error) <= std::tuple(best.price, -next.error)) continue;
      best = step;
      next = type;
    }
    best.layer = layer;
    best.rank = steps.size();
    steps.push_back(best);
    at = next;
  }
  return steps;
}

}  // namespace

absl::StatusOr<std::vector<DType>> TakeBack(const std::vector<LayerTypes>& layers, double budget,
                                            const ErrorOfTypes& error_of,
                                            const std::function<void(int, int)>& progress) {
  std::vector<DType> types;
  size_t questions = 1;
  for (const LayerTypes& layer : layers) {
    types.push_back(layer.empty() ? DType::kF32 : layer[0].type);
    questions += layer.size();
  }
  const auto total = static_cast<int>(questions + std::bit_width(questions));
  int done = 0;
  const auto ask = [&](const std::vector<DType>& asked, bool fast) {
    absl::StatusOr<double> error = error_of(asked, fast);
    if (progress != nullptr) progress(std::min(++done, total), total);
    return error;
  };
  ASSIGN_OR_RETURN(const double of_all, ask(types, /*fast=*/false));
  if (of_all <= budget) return types;
  std::vector<Step> steps;
  for (size_t l = 0; l < layers.size(); ++l) {
    std::vector<Known> known;
    for (const TypeGain& type : layers[l]) {
      if (type.type == DType::kF32) continue;
      // Of the layer alone, on the first examples: it is asked for an order, not for a bound.
      std::vector<DType> alone(layers.size(), DType::kF32);
      alone[l] = type.type;
      ASSIGN_OR_RETURN(const double error, ask(alone, /*fast=*/true));
      known.push_back({.type = type, .error = error});
    }
    if (known.empty()) continue;
    const std::vector<Step> of_layer = StepsOf(l, known);
    steps.insert(steps.end(), of_layer.begin(), of_layer.end());
  }
  const auto after = [&](size_t count) {
    std::vector<DType> some = types;
    for (size_t i = 0; i < count; ++i) some[steps[i].layer] = steps[i].to;
    return some;
  };
  // The fewest of them in this order: what is known to be too few, and what is enough.
  const auto fewest = [&]() -> absl::StatusOr<size_t> {
    size_t few = 0, enough = steps.size();
    while (enough - few > 1) {
      const size_t middle = few + (enough - few) / 2;
      ASSIGN_OR_RETURN(const double error, ask(after(middle), /*fast=*/false));
      (error <= budget ? enough : few) = middle;
    }
    return enough;
  };
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::tuple(-a.price, -a.error, a.layer, a.rank) <
           std::tuple(-b.price, -b.error, b.layer, b.rank);
  });
  ASSIGN_OR_RETURN(size_t enough, fewest());
  if (enough < steps.size()) return after(enough);
  // The layer that gains most would go last, and its own error is too much. So it goes first.
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::tuple(-a.error, a.layer, a.rank) < std::tuple(-b.error, b.layer, b.rank);
  });
  ASSIGN_OR_RETURN(enough, fewest());
  return after(enough);
}

double NextAim(double budget, double seen, double measured, int tries) {
  // A guess: errors do not scale exactly, and at 1 the next try would aim exactly at the limit.
  constexpr double kMargin = 0.8;
  const double left = budget * budget - measured * measured + seen * seen;
  if (tries < 2 && left > 0) return std::sqrt(left);
  return kMargin * seen * budget / measured;
}

}  // namespace burnish
