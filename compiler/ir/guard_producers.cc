#include "compiler/ir/guard_producers.h"

#include <algorithm>
#include <cstdint>
#include <optional>

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

}  // namespace

std::vector<LoopGuard::Written> NeededFor(const Program& program, const std::vector<VarId>& vars,
                                          const std::vector<VarId>& fresh,
                                          const std::vector<TemporaryAccess>& stores,
                                          const std::vector<GuardedLoad>& loads) {
  const std::vector<Touched> iterations = TouchedBy(program, vars, stores);
  if (iterations.empty() || loads.empty()) return {};
  // Axes that all flags speak of.
  std::vector<LoopGuard::Written> needed = loads[0].guard->written;
  for (LoopGuard::Written& each : needed) each.ranges.clear();
  const auto of = [](const LoopGuard& guard, const LoopGuard::Written& axis) {
    return std::find_if(guard.written.begin(), guard.written.end(), [&](const auto& other) {
      return other.axis == axis.axis && other.count == axis.count;
    });
  };
  std::erase_if(needed, [&](const LoopGuard::Written& axis) {
    return std::any_of(loads.begin(), loads.end(), [&](const GuardedLoad& load) {
      return of(*load.guard, axis) == load.guard->written.end();
    });
  });
  if (needed.empty()) return {};
  std::vector<std::vector<std::optional<Range>>> hulls(
      needed.size(), std::vector<std::optional<Range>>(iterations.size()));
  for (const GuardedLoad& load : loads) {
    const std::vector<Touched> flags = TouchedBy(program, *load.vars, {load.load});
    const auto pairs = static_cast<int64_t>(flags.size() * iterations.size());
    if (flags.size() != static_cast<size_t>(load.guard->count) || pairs > kPairsMax) return {};
    std::vector<std::pair<size_t, size_t>> same;  // Variables of both: positions.
    for (size_t v = 0; v < vars.size(); ++v) {
      const auto at = std::find(load.vars->begin(), load.vars->end(), vars[v]);
      const bool is_fresh = std::find(fresh.begin(), fresh.end(), vars[v]) != fresh.end();
      if (is_fresh && at != load.vars->end()) same.emplace_back(v, at - load.vars->begin());
    }
    for (size_t i = 0; i < iterations.size(); ++i) {
      for (size_t f = 0; f < flags.size(); ++f) {
        const bool may_be = std::all_of(same.begin(), same.end(), [&](const auto& both) {
          return iterations[i].values[both.first] == flags[f].values[both.second];
        });
        if (!may_be) continue;
        for (size_t s = 0; s < stores.size(); ++s) {
          if (stores[s].buffer != load.load.buffer ||
              !Overlap(iterations[i].accesses[s], flags[f].accesses[0])) {
            continue;
          }
          for (size_t n = 0; n < needed.size(); ++n) {
            const Range& range = of(*load.guard, needed[n])->ranges[f];
            std::optional<Range>& hull = hulls[n][i];
            hull = !hull.has_value()
                       ? range
                       : Range{std::min(hull->min, range.min), std::max(hull->max, range.max)};
          }
        }
      }
    }
  }
  for (size_t n = 0; n < needed.size(); ++n) {
    for (const std::optional<Range>& hull : hulls[n]) {
      // Nothing loads it: rare, and not worth a case of its own.
      if (!hull.has_value()) return {};
      needed[n].ranges.push_back(*hull);
    }
  }
  return needed;
}

}  // namespace burnish
