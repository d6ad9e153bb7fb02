#include "compiler/graph/size_quotients.h"

#include <numeric>

#include "compiler/ir/expr_kinds.h"

namespace burnish {
namespace {

// Of strides behind one another; far below what would overflow with an axis.
constexpr int64_t kDivisorMax = 1 << 16;

}  // namespace

std::optional<SizeTerm> SizeQuotients::Of(const SizeTerm& dividend, int64_t divisor) {
  if (divisor < 1 || divisor > kDivisorMax) return std::nullopt;
  // Multiples of the divisor leave it, so that one quotient is not several.
  const int64_t whole = FloorDivide(dividend.number(), divisor);
  std::optional<SizeTerm> exact = SizeTerm(whole);
  std::optional<SizeTerm> rest = SizeTerm(dividend.number() - whole * divisor);
  for (const auto& [extents, factor] : dividend.products()) {
    if (extents.empty()) continue;
    const bool is_multiple = factor % divisor == 0;
    std::optional<SizeTerm> product = SizeTerm(is_multiple ? factor / divisor : factor);
    for (const ValueId extent : extents) {
      if (product.has_value()) product = product->Times(SizeTerm::OfExtent(extent));
    }
    std::optional<SizeTerm>& sum = is_multiple ? exact : rest;
    if (!product.has_value() || !sum.has_value()) return std::nullopt;
    sum = sum->Plus(*product);
  }
  if (!exact.has_value() || !rest.has_value() || rest->IsNumber()) return exact;
  const auto [known, is_new] = known_.try_emplace(std::pair(*rest, divisor), -1);
  if (is_new) {
    const std::optional<SizeRange> range = RangeOf(*rest, ranges_);
    if (range.has_value() && range->least >= 0) {
      known->second = first_ + static_cast<ValueId>(quotients_.size());
      quotients_[known->second] = {.dividend = *rest, .divisor = divisor};
      ranges_[known->second] = {range->least / divisor, range->greatest / divisor};
    }
  }
  if (known->second < 0) return std::nullopt;
  return exact->Plus(SizeTerm::OfExtent(known->second));
}

std::optional<SizeQuotients::Fraction> SizeQuotients::Bound(const SizeTerm& term,
                                                            bool from_above) const {
  Fraction sum{.dividend = SizeTerm(), .divisor = 1};
  for (const auto& [extents, factor] : term.products()) {
    const bool above = from_above == (factor > 0);
    Fraction product{.dividend = SizeTerm(factor), .divisor = 1};
    for (const ValueId extent : extents) {
      const std::optional<Fraction> by = BoundOfExtent(extent, above);
      // Below, a factor may be negative, and the product of two such ones is no bound.
      if (!by.has_value() || (!above && extents.size() > 1 && by->divisor > 1)) return std::nullopt;
      const std::optional<SizeTerm> times = product.dividend.Times(by->dividend);
      if (!times.has_value()) return std::nullopt;
      product = {.dividend = *times, .divisor = product.divisor * by->divisor};
      if (product.divisor > kDivisorMax) return std::nullopt;
    }
    const int64_t common = std::lcm(sum.divisor, product.divisor);
    if (common > kDivisorMax) return std::nullopt;
    const auto one = sum.dividend.Times(SizeTerm(common / sum.divisor));
    const auto other = product.dividend.Times(SizeTerm(common / product.divisor));
    const auto both = one.has_value() && other.has_value() ? one->Plus(*other) : std::nullopt;
    if (!both.has_value()) return std::nullopt;
    sum = {.dividend = *both, .divisor = common};
  }
  return sum;
}

std::optional<SizeQuotients::Fraction> SizeQuotients::BoundOfExtent(ValueId extent,
                                                                    bool from_above) const {
  const auto quotient = quotients_.find(extent);
  if (quotient == quotients_.end()) {
    return Fraction{.dividend = SizeTerm::OfExtent(extent), .divisor = 1};
  }
  const auto& [dividend, divisor] = quotient->second;
  std::optional<Fraction> bound = Bound(dividend, from_above);
  if (!bound.has_value() || bound->divisor * divisor > kDivisorMax) return std::nullopt;
  if (!from_above) {
    // Of a whole number n at least (n - (divisor - 1)) / divisor.
    const auto less = bound->dividend.Minus(SizeTerm((divisor - 1) * bound->divisor));
    if (!less.has_value()) return std::nullopt;
    bound->dividend = *less;
  }
  bound->divisor *= divisor;
  return bound;
}

}  // namespace burnish
