#include "tuner/search/sketch_match.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"

namespace burnish {
namespace {

constexpr int64_t kUnset = std::numeric_limits<int64_t>::min();
// Stands for decision d as kMarker + d while a step is brought into its canonical form. No sketch
// has decisions of that size.
constexpr int64_t kMarker = 7'000'000'000'000'000;
// Of lines that may or may not be taken: a bound on trying both.
constexpr int kBranchesMax = 4096;

bool IsNameChar(char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_'; }

absl::StatusOr<int> FindDecision(const Sketch& sketch, absl::string_view name) {
  for (size_t d = 0; d < sketch.decisions.size(); ++d) {
    if (sketch.decisions[d].name == name) return static_cast<int>(d);
  }
  return absl::InternalError(absl::StrCat("sketch ", sketch.name, " has no decision named ", name));
}

// The step's canonical text, with kMarker + d for decision d.
absl::StatusOr<std::string> CanonicalText(const Sketch& sketch, const std::string& text) {
  std::string filled;
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '$') {
      filled += text[i++];
      continue;
    }
    size_t end = ++i;
    while (end < text.size() && IsNameChar(text[end])) ++end;
    ASSIGN_OR_RETURN(const int decision,
                     FindDecision(sketch, absl::string_view(text).substr(i, end - i)));
    absl::StrAppend(&filled, kMarker + decision);
    i = end;
  }
  absl::StatusOr<Trace> step = ParseTrace(filled);
  if (!step.ok() || step->size() != 1) {
    return absl::InternalError(absl::StrCat("sketch ", sketch.name, ": got ", text,
                                            ", want one step: ", step.status().ToString()));
  }
  return PrintStep(step->front());
}

bool HasValue(const Decision& decision, int64_t value) {
  return std::binary_search(decision.values.begin(), decision.values.end(), value);
}

}  // namespace

absl::StatusOr<SketchMatcher> SketchMatcher::Create(const Sketch& sketch) {
  SketchMatcher matcher(sketch);
  for (const SketchStep& step : sketch.steps) {
    Line line;
    if (!step.when.empty()) {
      ASSIGN_OR_RETURN(line.when, FindDecision(sketch, step.when));
    }
    ASSIGN_OR_RETURN(std::string text, CanonicalText(sketch, step.text));
    absl::string_view rest = absl::StripAsciiWhitespace(text);
    while (true) {
      size_t first = std::string::npos;
      int found = -1;
      for (size_t d = 0; d < sketch.decisions.size(); ++d) {
        const size_t at = rest.find(absl::StrCat(kMarker + static_cast<int64_t>(d)));
        if (at < first) {
          first = at;
          found = static_cast<int>(d);
        }
      }
      if (found < 0) break;
      line.holes.push_back({std::string(rest.substr(0, first)), found});
      rest.remove_prefix(first + absl::StrCat(kMarker).size());
    }
    line.end = std::string(rest);
    matcher.lines_.push_back(std::move(line));
  }
  return matcher;
}

bool SketchMatcher::MatchLine(const Line& line, absl::string_view text, Point& point) const {
  for (const Hole& hole : line.holes) {
    if (!absl::ConsumePrefix(&text, hole.before)) return false;
    size_t end = text.empty() || text[0] != '-' ? 0 : 1;
    while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
    int64_t value = 0;
    if (!absl::SimpleAtoi(text.substr(0, end), &value)) return false;
    if (!HasValue(sketch_.decisions[hole.decision], value)) return false;
    int64_t& known = point[hole.decision];
    if (known != kUnset && known != value) return false;
    known = value;
    text.remove_prefix(end);
  }
  return text == line.end;
}

bool SketchMatcher::Complete(Point& point, absl::string_view trace) const {
  // A switch that is set to "not 0" takes its smallest such value; see MatchFrom.
  for (size_t d = 0; d < point.size(); ++d) {
    if (point[d] == kUnset) point[d] = sketch_.decisions[d].values.front();
  }
  const absl::StatusOr<Trace> bound = Bind(sketch_, point);
  return bound.ok() && PrintTrace(*bound) == trace;
}

bool SketchMatcher::MatchFrom(size_t index, absl::Span<const absl::string_view> texts, Point& point,
                              absl::string_view trace, int& budget) const {
  if (--budget < 0) return false;
  if (index == lines_.size()) return texts.empty() && Complete(point, trace);
  const Line& line = lines_[index];
  const Point before = point;
  const bool may_take = line.when < 0 || point[line.when] != 0;
  if (may_take && !texts.empty() && MatchLine(line, texts.front(), point)) {
    if (line.when >= 0 && point[line.when] == kUnset) {
      const std::vector<int64_t>& values = sketch_.decisions[line.when].values;
      const auto nonzero =
          std::find_if(values.begin(), values.end(), [](int64_t value) { return value != 0; });
      if (nonzero != values.end()) point[line.when] = *nonzero;
    }
    if (MatchFrom(index + 1, texts.subspan(1), point, trace, budget)) return true;
  }
  point = before;
  const bool may_skip = line.when >= 0 && (point[line.when] == kUnset || point[line.when] == 0) &&
                        HasValue(sketch_.decisions[line.when], 0);
  if (!may_skip) return false;
  point[line.when] = 0;
  if (MatchFrom(index + 1, texts, point, trace, budget)) return true;
  point = before;
  return false;
}

std::optional<Point> SketchMatcher::Match(absl::string_view trace) const {
  const std::vector<absl::string_view> texts = absl::StrSplit(trace, '\n', absl::SkipWhitespace());
  if (texts.size() > lines_.size()) return std::nullopt;
  Point point(sketch_.decisions.size(), kUnset);
  int budget = kBranchesMax;
  if (!MatchFrom(0, texts, point, trace, budget)) return std::nullopt;
  return point;
}

}  // namespace burnish
