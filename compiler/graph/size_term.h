// Sizes that a run decides, as sums of products of extents: what exporters compute of shapes stays
// comparable (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_GRAPH_SIZE_TERM_H_
#define COMPILER_GRAPH_SIZE_TERM_H_

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "compiler/graph/graph.h"

namespace burnish {

// An element of a shape that is computed in a run. A value; equal ones are equal in every run.
class SizeTerm {
 public:
  // Extents, sorted, and the number that their product is taken by; none: a number alone.
  using Products = std::map<std::vector<ValueId>, int64_t>;

  SizeTerm() = default;  // 0
  explicit SizeTerm(int64_t number);
  // One i64 scalar of the graph, which is not itself computed of others.
  static SizeTerm OfExtent(ValueId extent);

  bool IsNumber() const;
  int64_t number() const;  // What stands by itself.
  const Products& products() const { return products_; }

  // nullopt: numbers beyond 64 bits, or more products, or of more extents, than shapes have.
  std::optional<SizeTerm> Plus(const SizeTerm& other) const;
  std::optional<SizeTerm> Minus(const SizeTerm& other) const;
  std::optional<SizeTerm> Times(const SizeTerm& other) const;
  // By a number, or by a product of extents; nullopt also where a rest would stay.
  std::optional<SizeTerm> DividedBy(const SizeTerm& other) const;

  friend bool operator==(const SizeTerm&, const SizeTerm&) = default;
  friend bool operator<(const SizeTerm& a, const SizeTerm& b) { return a.products_ < b.products_; }

 private:
  std::optional<SizeTerm> Checked() &&;

  Products products_;  // Without those by 0.
};

// What an extent may be.
struct SizeRange {
  int64_t least = 0, greatest = 0;
};
// The same of a term, whose extents are `ranges` of at least 0; of one that is not there: any
// size. nullopt: no bound.
std::optional<SizeRange> RangeOf(const SizeTerm& term, const std::map<ValueId, SizeRange>& ranges);
// Of a - b, which says how two compare in all runs; nullopt: no bound, or no term.
std::optional<SizeRange> RangeOfDifference(const SizeTerm& a, const SizeTerm& b,
                                           const std::map<ValueId, SizeRange>& ranges);

// Part of an axis: that many elements of `bound` hold. An axis of one part holds its first
// elements; one of several is their row-major product, each part at its bound.
struct AxisPart {
  SizeTerm holds;
  int64_t bound = 1;
  // What holds is at most `holds` by this, in fractions of an element: of an axis that a
  // convolution with a stride has made. 1 where it is that many.
  int64_t divisor = 1;

  bool IsFull() const { return divisor == 1 && holds == SizeTerm(bound); }
  friend bool operator==(const AxisPart&, const AxisPart&) = default;
  friend bool operator<(const AxisPart& a, const AxisPart& b) {
    return std::tie(a.bound, a.divisor, a.holds) < std::tie(b.bound, b.divisor, b.holds);
  }
};
using AxisParts = std::vector<AxisPart>;

// The same elements, in their order, as dimensions of `to` elements each; nullopt in at most one
// place: what is left. `by_bound`: `to` are bounds, and not what holds. Returns the parts of each
// dimension, or nullopt where a part would have to be cut by what only a run knows.
std::optional<std::vector<AxisParts>> Regrouped(const std::vector<AxisParts>& from,
                                                const std::vector<std::optional<SizeTerm>>& to,
                                                bool by_bound);

}  // namespace burnish

#endif  // COMPILER_GRAPH_SIZE_TERM_H_
