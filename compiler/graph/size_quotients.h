// Quotients of sizes, rounded down, as extents of their own: how many elements a window with a
// stride leaves (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_GRAPH_SIZE_QUOTIENTS_H_
#define COMPILER_GRAPH_SIZE_QUOTIENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "compiler/graph/size_term.h"

namespace burnish {

class SizeQuotients {
 public:
  struct Fraction {
    SizeTerm dividend;
    int64_t divisor = 1;
  };

  // `sizes`: by extents below `first`; quotients are extents from there on.
  SizeQuotients(std::map<ValueId, SizeRange> sizes, ValueId first)
      : ranges_(std::move(sizes)), first_(first) {}

  // Equal quotients are equal terms. nullopt: it may be negative, or has no bound.
  std::optional<SizeTerm> Of(const SizeTerm& dividend, int64_t divisor);
  // At least the term, of sizes alone, and less than a quotient's unit above it for each quotient.
  // nullopt: none that fits into 64 bits, or one of a product that is taken away.
  std::optional<Fraction> AtLeast(const SizeTerm& term) const { return Bound(term, true); }

  // Of sizes and quotients.
  const std::map<ValueId, SizeRange>& ranges() const { return ranges_; }

 private:
  std::optional<Fraction> Bound(const SizeTerm& term, bool from_above) const;
  std::optional<Fraction> BoundOfExtent(ValueId extent, bool from_above) const;

  std::map<ValueId, SizeRange> ranges_;
  const ValueId first_;
  std::map<std::pair<SizeTerm, int64_t>, ValueId> known_;
  std::map<ValueId, Fraction> quotients_;
};

}  // namespace burnish

#endif  // COMPILER_GRAPH_SIZE_QUOTIENTS_H_
