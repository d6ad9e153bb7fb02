#include "tuner/sketch/sketch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

bool HasValue(const Decision& decision, int64_t value) {
  return std::binary_search(decision.values.begin(), decision.values.end(), value);
}

// Walks the points in lexicographic order. A constraint is asked as soon as the last decision that
// it mentions has a value, so that whole subtrees of points go at once.
class Enumeration {
 public:
  Enumeration(const Sketch& sketch, int64_t limit) : sketch_(sketch), limit_(limit) {
    by_last_.resize(sketch.decisions.size() + 1);
    for (const Expr& constraint : sketch.constraints) {
      const std::vector<VarId> mentioned = FreeVars(constraint);
      by_last_[mentioned.empty() ? 0 : mentioned.back() + 1].push_back(constraint);
    }
    point_.resize(sketch.decisions.size());
  }

  std::vector<Point> Run() {
    if (Holds(0)) Visit(0);
    return std::move(points_);
  }

 private:
  // Constraints whose last decision is number d - 1; of none, for d = 0.
  bool Holds(size_t d) const {
    return std::all_of(by_last_[d].begin(), by_last_[d].end(),
                       [&](const Expr& constraint) { return ValueAt(constraint, point_) != 0; });
  }

  void Visit(size_t d) {
    if (d == point_.size()) {
      points_.push_back(point_);
      return;
    }
    for (int64_t value : sketch_.decisions[d].values) {
      if (static_cast<int64_t>(points_.size()) >= limit_) return;
      point_[d] = value;
      if (Holds(d + 1)) Visit(d + 1);
    }
  }

  const Sketch& sketch_;
  const int64_t limit_;
  std::vector<std::vector<Expr>> by_last_;
  Point point_;
  std::vector<Point> points_;
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
  return Enumeration(sketch, limit).Run();
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
