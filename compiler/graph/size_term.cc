#include "compiler/graph/size_term.h"

#include <algorithm>
#include <utility>

namespace burnish {
namespace {

// Shapes are products of a batch, a few lengths and channels; a detector's list is the sum of what
// it found of each class (90 of COCO). A hostile model may multiply on.
constexpr size_t kProductsMax = 256, kExtentsMax = 4;

// Takes what holds `want` off one end of `parts`, cutting the last one that it needs.
// `from_end`: off the other end, and the result is in order.
std::optional<AxisParts> TakeOff(AxisParts& parts, const SizeTerm& want, bool by_bound,
                                 bool from_end) {
  AxisParts taken;
  SizeTerm holds(1);
  const auto measure = [by_bound](const AxisPart& part) {
    return by_bound ? SizeTerm(part.bound) : part.holds;
  };
  while (!(holds == want)) {
    if (parts.empty()) return std::nullopt;
    AxisPart& next = from_end ? parts.back() : parts.front();
    const std::optional<SizeTerm> left = want.DividedBy(holds);
    if (!left.has_value()) return std::nullopt;
    if (const auto product = holds.Times(measure(next));
        product.has_value() && want.DividedBy(*product).has_value()) {
      holds = *product;
      taken.push_back(next);
      parts.erase(from_end ? parts.end() - 1 : parts.begin());
      continue;
    }
    // The inner part of a cut is full, so that what holds stays in front.
    const std::optional<SizeTerm> inner_or_none = from_end ? left : measure(next).DividedBy(*left);
    if (!inner_or_none.has_value() || !inner_or_none->IsNumber()) return std::nullopt;
    const int64_t inner = inner_or_none->number();
    const std::optional<SizeTerm> outer_holds =
        inner > 0 ? next.holds.DividedBy(SizeTerm(inner)) : std::nullopt;
    if (inner < 1 || next.bound % inner != 0 || !(outer_holds.has_value() || by_bound)) {
      return std::nullopt;
    }
    AxisPart outer{.holds = next.holds, .bound = next.bound / inner, .divisor = next.divisor};
    if (outer_holds.has_value()) {
      outer.holds = *outer_holds;
    } else if (__builtin_mul_overflow(outer.divisor, inner, &outer.divisor)) {
      return std::nullopt;
    }
    const AxisPart rest{.holds = SizeTerm(inner), .bound = inner};
    taken.push_back(from_end ? rest : outer);
    next = from_end ? outer : rest;
    holds = want;
  }
  if (from_end) std::reverse(taken.begin(), taken.end());
  return taken;
}

// Full parts behind one another are one, and one behind what holds belongs to that.
AxisParts Merged(const AxisParts& parts) {
  AxisParts merged;
  for (const AxisPart& part : parts) {
    if (!merged.empty() && part.IsFull()) {
      AxisPart& last = merged.back();
      if (const auto product = last.holds.Times(part.holds); product.has_value()) {
        last = {.holds = *product, .bound = last.bound * part.bound, .divisor = last.divisor};
        continue;
      }
    }
    merged.push_back(part);
  }
  return merged;
}

}  // namespace

SizeTerm::SizeTerm(int64_t number) {
  if (number != 0) products_[{}] = number;
}

SizeTerm SizeTerm::OfExtent(ValueId extent) {
  SizeTerm term;
  term.products_[{extent}] = 1;
  return term;
}

bool SizeTerm::IsNumber() const {
  return products_.empty() || (products_.size() == 1 && products_.begin()->first.empty());
}

int64_t SizeTerm::number() const {
  const auto found = products_.find({});
  return found == products_.end() ? 0 : found->second;
}

std::optional<SizeTerm> SizeTerm::Checked() && {
  std::erase_if(products_, [](const auto& product) { return product.second == 0; });
  if (products_.size() > kProductsMax) return std::nullopt;
  for (const auto& [extents, factor] : products_) {
    if (extents.size() > kExtentsMax) return std::nullopt;
  }
  return std::move(*this);
}

std::optional<SizeTerm> SizeTerm::Plus(const SizeTerm& other) const {
  SizeTerm sum = *this;
  for (const auto& [extents, factor] : other.products_) {
    int64_t& known = sum.products_[extents];
    if (__builtin_add_overflow(known, factor, &known)) return std::nullopt;
  }
  return std::move(sum).Checked();
}

std::optional<SizeTerm> SizeTerm::Minus(const SizeTerm& other) const {
  const std::optional<SizeTerm> negative = other.Times(SizeTerm(-1));
  if (!negative.has_value()) return std::nullopt;
  return Plus(*negative);
}

std::optional<SizeTerm> SizeTerm::Times(const SizeTerm& other) const {
  SizeTerm result;
  for (const auto& [extents, factor] : products_) {
    for (const auto& [more, by] : other.products_) {
      std::vector<ValueId> all = extents;
      all.insert(all.end(), more.begin(), more.end());
      std::sort(all.begin(), all.end());
      int64_t product = 0;
      int64_t& known = result.products_[std::move(all)];
      if (__builtin_mul_overflow(factor, by, &product) ||
          __builtin_add_overflow(known, product, &known)) {
        return std::nullopt;
      }
    }
  }
  return std::move(result).Checked();
}

std::optional<SizeTerm> SizeTerm::DividedBy(const SizeTerm& other) const {
  if (products_.empty() || other.products_.empty()) return std::nullopt;
  if (*this == other) return SizeTerm(1);
  if (other.products_.size() > 1) {
    // Of sums only such as are each other's multiple: products keep their order then.
    SizeTerm one, by;
    one.products_.insert(*products_.begin());
    by.products_.insert(*other.products_.begin());
    const std::optional<SizeTerm> quotient = one.DividedBy(by);
    const bool is_exact = quotient.has_value() && other.Times(*quotient) == *this;
    return is_exact ? quotient : std::nullopt;
  }
  const auto& [divisor, by] = *other.products_.begin();
  SizeTerm quotient;
  for (const auto& [extents, factor] : products_) {
    // The least integer by -1 is beyond 64 bits.
    if (by == -1 || factor % by != 0) return std::nullopt;
    std::vector<ValueId> left;
    std::set_difference(extents.begin(), extents.end(), divisor.begin(), divisor.end(),
                        std::back_inserter(left));
    if (left.size() + divisor.size() != extents.size()) return std::nullopt;
    quotient.products_[std::move(left)] = factor / by;
  }
  return quotient;
}

std::optional<SizeRange> RangeOf(const SizeTerm& term, const std::map<ValueId, SizeRange>& ranges) {
  SizeRange sum;
  for (const auto& [extents, factor] : term.products()) {
    SizeRange product{.least = 1, .greatest = 1};
    for (const ValueId extent : extents) {
      const auto known = ranges.find(extent);
      if (known == ranges.end() ||
          __builtin_mul_overflow(product.least, known->second.least, &product.least) ||
          __builtin_mul_overflow(product.greatest, known->second.greatest, &product.greatest)) {
        return std::nullopt;
      }
    }
    if (factor < 0) std::swap(product.least, product.greatest);
    if (__builtin_mul_overflow(product.least, factor, &product.least) ||
        __builtin_mul_overflow(product.greatest, factor, &product.greatest) ||
        __builtin_add_overflow(sum.least, product.least, &sum.least) ||
        __builtin_add_overflow(sum.greatest, product.greatest, &sum.greatest)) {
      return std::nullopt;
    }
  }
  return sum;
}

std::optional<SizeRange> RangeOfDifference(const SizeTerm& a, const SizeTerm& b,
                                           const std::map<ValueId, SizeRange>& ranges) {
  const std::optional<SizeTerm> difference = a.Minus(b);
  return difference.has_value() ? RangeOf(*difference, ranges) : std::nullopt;
}

std::optional<std::vector<AxisParts>> Regrouped(const std::vector<AxisParts>& from,
                                                const std::vector<std::optional<SizeTerm>>& to,
                                                bool by_bound) {
  AxisParts parts;
  for (const AxisParts& axis : from) {
    for (const AxisPart& part : axis) {
      if (part.bound != 1) parts.push_back(part);
    }
  }
  std::vector<AxisParts> result(to.size());
  size_t first = 0;
  for (; first < to.size() && to[first].has_value(); ++first) {
    const auto taken = TakeOff(parts, *to[first], by_bound, /*from_end=*/false);
    if (!taken.has_value()) return std::nullopt;
    result[first] = Merged(*taken);
  }
  for (size_t d = to.size(); d-- > first + 1;) {
    const auto taken = TakeOff(parts, *to[d], by_bound, /*from_end=*/true);
    if (!taken.has_value()) return std::nullopt;
    result[d] = Merged(*taken);
  }
  if (first == to.size()) return parts.empty() ? std::optional(std::move(result)) : std::nullopt;
  result[first] = Merged(parts);
  return result;
}

}  // namespace burnish
