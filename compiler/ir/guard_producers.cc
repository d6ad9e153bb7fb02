#include "compiler/ir/guard_producers.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace burnish {
namespace {

// Iterations, and pairs of an iteration and a flag: some nanoseconds each, for each kernel.
constexpr int64_t kIterationsMax = 1 << 16;
constexpr int64_t kPairsMax = 1 << 20;

// An iteration, and what it touches of each access: one range a dimension.
struct Touched {
  std::vector<int64_t> values;
  std::vector<std::vector<Range>> accesses;
};

// Empty: too many.
std::vector<Touched> TouchedBy(const Program& program, const std::vector<VarId>& vars,
                               const std::vector<TemporaryAccess>& accesses) {
  std::vector<int64_t> extents;
  for (const VarId var : vars) extents.push_back(MaxExtent(program, var));
  std::vector<Touched> touched;
  EnumerateBox(extents, kIterationsMax, [&](const std::vector<int64_t>& values) {
    const VarRanges ranges = [&](VarId var) -> std::optional<Range> {
      const auto at = std::find(vars.begin(), vars.end(), var);
      if (at != vars.end()) return Range{values[at - vars.begin()], values[at - vars.begin()]};
      return Range{0, MaxExtent(program, var) - 1};
    };
    Touched& each = touched.emplace_back(Touched{.values = values, .accesses = {}});
    for (const TemporaryAccess& access : accesses) {
      std::vector<Range>& box = each.accesses.emplace_back();
      for (size_t d = 0; d < access.indices.size(); ++d) {
        // What is not known may be all of it.
        box.push_back(RangeOf(access.indices[d], ranges)
                          .value_or(Range{0, program.buffers[access.buffer].shape[d] - 1}));
      }
    }
  });
  return touched;
}

bool Overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d].max < b[d].min || b[d].max < a[d].min) return false;
  }
  return true;
}

// Flags with equal values of some variables, found by what their loads are of: along the dimension
// in which they differ most, in its order. Of all pairs most are of places far apart, and trying
// each took a tenth of the time to compile a range (a convolution over sound).
class FlagsByPlace {
 public:
  void Add(size_t flag, const std::vector<Range>& box) { boxes_.push_back({flag, &box}); }

  // Once all are there.
  void Sort() {
    size_t most = 0;
    for (size_t d = 0; d < boxes_[0].second->size(); ++d) {
      std::set<int64_t> places;
      for (const auto& [flag, box] : boxes_) places.insert((*box)[d].min);
      if (places.size() > most) dim_ = d;
      most = std::max(most, places.size());
    }
    std::sort(boxes_.begin(), boxes_.end(), [&](const auto& a, const auto& b) {
      return Along(*a.second).min < Along(*b.second).min;
    });
    for (const auto& [flag, box] : boxes_) {
      const int64_t end = Along(*box).max;
      ends_.push_back(ends_.empty() ? end : std::max(ends_.back(), end));
    }
  }

  template <typename Visit>
  void VisitOverlaps(const std::vector<Range>& box, const Visit& visit) const {
    const Range range = Along(box);
    auto at =
        boxes_.begin() + (std::lower_bound(ends_.begin(), ends_.end(), range.min) - ends_.begin());
    for (; at != boxes_.end() && Along(*at->second).min <= range.max; ++at) {
      if (Overlap(box, *at->second)) visit(at->first);
    }
  }

 private:
  // A scalar has one place.
  Range Along(const std::vector<Range>& box) const { return box.empty() ? Range{0, 0} : box[dim_]; }

  std::vector<std::pair<size_t, const std::vector<Range>*>> boxes_;
  size_t dim_ = 0;
  std::vector<int64_t> ends_;  // The greatest so far.
};

bool IsSameAxis(const LoopGuard::Written& a, const LoopGuard::Written& b) {
  return a.axis == b.axis && a.count == b.count;
}

const LoopGuard::Written* WrittenOf(const LoopGuard& guard, const LoopGuard::Written& axis) {
  const auto found =
      std::find_if(guard.written.begin(), guard.written.end(),
                   [&](const LoopGuard::Written& other) { return IsSameAxis(other, axis); });
  return found == guard.written.end() ? nullptr : &*found;
}

// Of the innermost loop that asks for the axis; null: none does.
const GuardedLoad::Flags* FlagsOf(const GuardedLoad& load, const LoopGuard::Written& axis) {
  const auto found = std::find_if(
      load.flags.begin(), load.flags.end(),
      [&](const GuardedLoad::Flags& flags) { return WrittenOf(*flags.guard, axis) != nullptr; });
  return found == load.flags.end() ? nullptr : &*found;
}

// By iteration. nullopt: too many to compare, or one that nobody loads of, which is rare and not
// worth a case of its own.
std::optional<std::vector<Range>> HullsOf(const Program& program, const LoopGuard::Written& axis,
                                          const std::vector<VarId>& vars,
                                          const std::vector<VarId>& fresh,
                                          const std::vector<TemporaryAccess>& stores,
                                          const std::vector<GuardedLoad>& loads,
                                          const std::vector<Touched>& iterations) {
  std::vector<std::optional<Range>> hulls(iterations.size());
  for (const GuardedLoad& load : loads) {
    const GuardedLoad::Flags& of = *FlagsOf(load, axis);
    const std::vector<Range>& ranges = WrittenOf(*of.guard, axis)->ranges;
    const std::vector<Touched> flags = TouchedBy(program, *of.vars, {load.load});
    const auto pairs = static_cast<int64_t>(flags.size() * iterations.size());
    if (flags.size() != ranges.size() || pairs > kPairsMax) return std::nullopt;
    std::vector<std::pair<size_t, size_t>> same;  // Variables of both: positions.
    for (size_t v = 0; v < vars.size(); ++v) {
      const auto at = std::find(of.vars->begin(), of.vars->end(), vars[v]);
      const bool is_fresh = std::find(fresh.begin(), fresh.end(), vars[v]) != fresh.end();
      if (is_fresh && at != of.vars->end()) same.emplace_back(v, at - of.vars->begin());
    }
    // Of as many pairs as there may be only those are looked at whose common variables are equal.
    std::map<std::vector<int64_t>, FlagsByPlace> flags_at;
    for (size_t f = 0; f < flags.size(); ++f) {
      std::vector<int64_t> values;
      for (const auto& both : same) values.push_back(flags[f].values[both.second]);
      flags_at[std::move(values)].Add(f, flags[f].accesses[0]);
    }
    for (auto& [values, by_place] : flags_at) by_place.Sort();
    for (size_t i = 0; i < iterations.size(); ++i) {
      std::vector<int64_t> values;
      for (const auto& both : same) values.push_back(iterations[i].values[both.first]);
      const auto found = flags_at.find(values);
      if (found == flags_at.end()) continue;
      for (size_t s = 0; s < stores.size(); ++s) {
        if (stores[s].buffer != load.load.buffer) continue;
        found->second.VisitOverlaps(iterations[i].accesses[s], [&](size_t f) {
          std::optional<Range>& hull = hulls[i];
          hull = !hull.has_value() ? ranges[f]
                                   : Range{std::min(hull->min, ranges[f].min),
                                           std::max(hull->max, ranges[f].max)};
        });
      }
    }
  }
  std::vector<Range> known;
  for (const std::optional<Range>& hull : hulls) {
    if (!hull.has_value()) return std::nullopt;
    known.push_back(*hull);
  }
  return known;
}

}  // namespace

std::vector<LoopGuard::Written> NeededFor(const Program& program, const std::vector<VarId>& vars,
                                          const std::vector<VarId>& fresh,
                                          const std::vector<TemporaryAccess>& stores,
                                          const std::vector<GuardedLoad>& loads) {
  const std::vector<Touched> iterations = TouchedBy(program, vars, stores);
  if (iterations.empty() || loads.empty()) return {};
  std::vector<LoopGuard::Written> needed;
  for (const GuardedLoad::Flags& flags : loads[0].flags) {
    for (const LoopGuard::Written& axis : flags.guard->written) {
      const bool is_known = std::any_of(needed.begin(), needed.end(),
                                        [&](const auto& other) { return IsSameAxis(other, axis); });
      const bool is_of_all = std::all_of(loads.begin(), loads.end(), [&](const GuardedLoad& load) {
        return FlagsOf(load, axis) != nullptr;
      });
      if (is_known || !is_of_all) continue;
      std::optional<std::vector<Range>> hulls =
          HullsOf(program, axis, vars, fresh, stores, loads, iterations);
      if (!hulls.has_value()) continue;
      needed.push_back({.axis = axis.axis, .count = axis.count, .ranges = *std::move(hulls)});
    }
  }
  return needed;
}

}  // namespace burnish
