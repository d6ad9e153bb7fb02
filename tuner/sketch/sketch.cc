#include "tuner/sketch/sketch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/schedule/trace_text.h"

namespace burnish {
namespace {

bool IsNameChar(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

int FindDecision(const Sketch& sketch, absl::string_view name) {
  for (size_t i = 0; i < sketch.decisions.size(); ++i) {
    if (sketch.decisions[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

// `text` with every `$name` replaced by the decision's value.
absl::StatusOr<std::string> Fill(const Sketch& sketch, const Point& point,
                                 const std::string& text) {
  std::string filled;
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '$') {
      filled += text[i++];
      continue;
    }
    size_t end = ++i;
    while (end < text.size() && IsNameChar(text[end])) ++end;
    const int decision = FindDecision(sketch, text.substr(i, end - i));
    if (decision < 0) {
      return absl::InternalError(
          absl::StrCat("sketch ", sketch.name, " has no decision for ", text));
    }
    absl::StrAppend(&filled, point[decision]);
    i = end;
  }
  return filled;
}

}  // namespace

std::vector<Point> EnumeratePoints(const Sketch& sketch, int64_t limit) {
  std::vector<Point> points;
  std::vector<size_t> at(sketch.decisions.size(), 0);
  while (static_cast<int64_t>(points.size()) < limit) {
    Point point;
    for (size_t d = 0; d < at.size(); ++d) point.push_back(sketch.decisions[d].values[at[d]]);
    if (sketch.valid == nullptr || sketch.valid(point)) points.push_back(std::move(point));
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == sketch.decisions[d - 1].values.size()) at[--d] = 0;
    if (d == 0) break;
  }
  return points;
}

int64_t SpaceSize(const Sketch& sketch) {
  int64_t size = 1;
  for (const Decision& decision : sketch.decisions) {
    size *= static_cast<int64_t>(decision.values.size());
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
    const std::vector<int64_t>& values = sketch.decisions[d].values;
    if (std::find(values.begin(), values.end(), point[d]) == values.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("got ", sketch.decisions[d].name, "=", point[d], ", no value of it"));
    }
  }
  std::string text;
  for (const SketchStep& step : sketch.steps) {
    if (!step.when.empty()) {
      const int decision = FindDecision(sketch, step.when);
      if (decision < 0) {
        return absl::InternalError(
            absl::StrCat("sketch ", sketch.name, " has no decision ", step.when));
      }
      if (point[decision] == 0) continue;
    }
    absl::StatusOr<std::string> line = Fill(sketch, point, step.text);
    if (!line.ok()) return line.status();
    absl::StrAppend(&text, *line, "\n");
  }
  return ParseTrace(text);
}

}  // namespace burnish
