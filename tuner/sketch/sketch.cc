#include "tuner/sketch/sketch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/rng.h"

namespace burnish {
namespace {

bool HasValue(const Decision& decision, int64_t value) {
  return std::binary_search(decision.values.begin(), decision.values.end(), value);
}

// Walks the points in lexicographic order. A constraint is asked as soon as the last decision that
// it mentions has a value, so that whole subtrees of points go at once.
class Enumeration {
 public:
  // `visit` returns false to stop.
  Enumeration(const Sketch& sketch, std::function<bool(const Point&)> visit)
      : sketch_(sketch), visit_(std::move(visit)) {
    by_last_.resize(sketch.decisions.size() + 1);
    for (const Expr& constraint : sketch.constraints) {
      const std::vector<VarId> mentioned = FreeVars(constraint);
      by_last_[mentioned.empty() ? 0 : mentioned.back() + 1].push_back(constraint);
    }
    point_.resize(sketch.decisions.size());
  }

  // False: stopped by `visit`, or after looking at over `work_max` values.
  bool Run(int64_t work_max = std::numeric_limits<int64_t>::max()) {
    work_left_ = work_max;
    return !Holds(0) || Visit(0);
  }

 private:
  // Constraints whose last decision is number d - 1; of none, for d = 0.
  bool Holds(size_t d) const {
    return std::all_of(by_last_[d].begin(), by_last_[d].end(),
                       [&](const Expr& constraint) { return ValueAt(constraint, point_) != 0; });
  }

  bool Visit(size_t d) {
    if (d == point_.size()) return visit_(point_);
    for (int64_t value : sketch_.decisions[d].values) {
      if (--work_left_ < 0) return false;
      point_[d] = value;
      if (Holds(d + 1) && !Visit(d + 1)) return false;
    }
    return true;
  }

  const Sketch& sketch_;
  const std::function<bool(const Point&)> visit_;
  std::vector<std::vector<Expr>> by_last_;
  Point point_;
  int64_t work_left_ = 0;
};

// Finds the values under which a sketch's steps are those of a trace.
class Unification {
 public:
  Unification(const Sketch& sketch, const Trace& trace)
      : sketch_(sketch), trace_(trace), point_(sketch.decisions.size()) {}

  std::optional<Point> Run() {
    if (!Match(0, 0)) return std::nullopt;
    Point point;
    for (const std::optional<int64_t>& value : point_) point.push_back(*value);
    return point;
  }

 private:
  // Of steps that may or may not be taken, and of decisions that no step tells: a bound on trying.
  static constexpr int kTriesMax = 4096;

  // Steps from `open` on against those of the trace from `at` on.
  bool Match(size_t open, size_t at) {
    if (++tries_ > kTriesMax) return false;
    if (open == sketch_.steps.size()) return at == trace_.size() && Complete(0);
    const OpenStep& step = sketch_.steps[open];
    const std::vector<std::optional<int64_t>> before = point_;
    if (at < trace_.size() && MatchStep(step.step, trace_[at]) && Match(open + 1, at + 1)) {
      return true;
    }
    point_ = before;
    return step.when != nullptr && Match(open + 1, at);
  }

  // Reads the values of decisions that stand in the step by themselves; expressions are compared at
  // the end.
  bool MatchStep(const Step& open, const Step& step) {
    if (open.primitive != step.primitive || open.inputs != step.inputs ||
        open.outputs != step.outputs || open.arguments.size() != step.arguments.size()) {
      return false;
    }
    for (size_t i = 0; i < open.arguments.size(); ++i) {
      const Argument &want = open.arguments[i], &got = step.arguments[i];
      const Expr* e = std::get_if<Expr>(&want.value);
      if (e == nullptr && want != got) return false;
      if (want.key != got.key) return false;
      if (e == nullptr || (*e)->kind != ExprKind::kVar) continue;
      const int64_t* value = std::get_if<int64_t>(&got.value);
      std::optional<int64_t>& known = point_[(*e)->id];
      if (value == nullptr || !HasValue(sketch_.decisions[(*e)->id], *value) ||
          (known.has_value() && *known != *value)) {
        return false;
      }
      known = *value;
    }
    return true;
  }

  // Tries values for decisions that are still open; the trace itself has the last word.
  bool Complete(size_t d) {
    if (d == point_.size()) {
      Point point;
      for (const std::optional<int64_t>& value : point_) point.push_back(*value);
      return StepsAt(sketch_.steps, point) == trace_;
    }
    if (point_[d].has_value()) return Complete(d + 1);
    for (int64_t value : sketch_.decisions[d].values) {
      if (++tries_ > kTriesMax) break;
      point_[d] = value;
      if (Complete(d + 1)) return true;
    }
    point_[d] = std::nullopt;
    return false;
  }

  const Sketch& sketch_;
  const Trace& trace_;
  std::vector<std::optional<int64_t>> point_;  // Nullopt: not known yet.
  int tries_ = 0;
};

}  // namespace

Sketch Join(const Sketch& first, const Sketch& second, absl::string_view suffix) {
  Sketch joined = first;
  joined.name = first.name.empty() ? second.name : absl::StrCat(first.name, " ", second.name);
  const auto offset = static_cast<VarId>(first.decisions.size());
  const auto parts_of = [](const Sketch& sketch) {
    const bool is_one = sketch.parts.empty() && !sketch.decisions.empty();
    return is_one ? std::vector<size_t>{0} : sketch.parts;
  };
  joined.parts = parts_of(first);
  for (const size_t begin : parts_of(second))
    joined.parts.push_back(begin + first.decisions.size());
  const auto moved = [offset](const Expr& e) {
    return SubstituteVars(e, [offset](VarId decision) { return VarRef(decision + offset); });
  };
  for (Decision decision : second.decisions) {
    const bool taken =
        std::any_of(first.decisions.begin(), first.decisions.end(),
                    [&](const Decision& other) { return other.name == decision.name; });
    if (taken) absl::StrAppend(&decision.name, suffix);
    joined.decisions.push_back(std::move(decision));
  }
  for (OpenStep open : second.steps) {
    if (open.when != nullptr) open.when = moved(open.when);
    for (Argument& argument : open.step.arguments) {
      if (Expr* e = std::get_if<Expr>(&argument.value)) *e = moved(*e);
    }
    joined.steps.push_back(std::move(open));
  }
  for (const Expr& constraint : second.constraints) joined.constraints.push_back(moved(constraint));
  return joined;
}

bool IsValid(const Sketch& sketch, absl::Span<const int64_t> point) {
  return std::all_of(sketch.constraints.begin(), sketch.constraints.end(),
                     [&](const Expr& constraint) { return ValueAt(constraint, point) != 0; });
}

std::vector<Point> EnumeratePoints(const Sketch& sketch, int64_t limit) {
  std::vector<Point> points;
  if (limit < 1) return points;
  Enumeration(sketch, [&](const Point& point) {
    points.push_back(point);
    return static_cast<int64_t>(points.size()) < limit;
  }).Run();
  return points;
}

PointCount CountPoints(const Sketch& sketch, int64_t work_max) {
  PointCount found;
  const bool whole = Enumeration(sketch, [&](const Point&) {
                       ++found.count;
                       return true;
                     }).Run(work_max);
  if (whole) {
    found.low = found.high = found.count;
    return found;
  }
  // The share of valid ones among so many random points, which is within 0.7 % of the truth in 95
  // of 100 cases.
  constexpr int kSamples = 20000;
  Rng rng(RngStream{.purpose = "count points", .task = sketch.name});
  Point point(sketch.decisions.size());
  int valid = 0;
  for (int i = 0; i < kSamples; ++i) {
    for (size_t d = 0; d < point.size(); ++d) {
      const std::vector<int64_t>& values = sketch.decisions[d].values;
      point[d] = values[rng.Below(values.size())];
    }
    valid += IsValid(sketch, point);
  }
  const double share = static_cast<double>(valid) / kSamples;
  const double error = 2 * std::sqrt(std::max(share * (1 - share), 1.0 / kSamples) / kSamples);
  const auto of_all = [&](double part) {
    return static_cast<int64_t>(std::clamp(part, 0.0, 1.0) *
                                static_cast<double>(SpaceSize(sketch)));
  };
  // What was counted before the work ran out is there in any case.
  return {.count = std::max(of_all(share), found.count),
          .exact = false,
          .low = std::max(of_all(share - error), found.count),
          .high = std::max(of_all(share + error), found.count)};
}

int64_t SpaceSize(const Sketch& sketch) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t size = 1;
  for (const Decision& decision : sketch.decisions) {
    const auto count = static_cast<int64_t>(decision.values.size());
    if (size > kMax / count) return kMax;
    size *= count;
  }
  return size;
}

absl::StatusOr<Trace> Bind(const Sketch& sketch, const Point& point) {
  if (point.size() != sketch.decisions.size()) {
    return absl::InvalidArgumentError(absl::StrCat("got ", point.size(), " values, want ",
                                                   sketch.decisions.size(), " for sketch ",
                                                   sketch.name));
  }
  for (size_t d = 0; d < point.size(); ++d) {
    if (!HasValue(sketch.decisions[d], point[d])) {
      return absl::InvalidArgumentError(
          absl::StrCat("got ", sketch.decisions[d].name, "=", point[d], ", no value of it"));
    }
  }
  return StepsAt(sketch.steps, point);
}

std::optional<Point> Recognize(const Sketch& sketch, const Trace& trace) {
  return Unification(sketch, trace).Run();
}

}  // namespace burnish
