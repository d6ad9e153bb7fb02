// From a trace back to the point of a sketch that it came from: records store traces only, and
// traces of another study may fit a sketch of this one.
#ifndef TUNER_SEARCH_SKETCH_MATCH_H_
#define TUNER_SEARCH_SKETCH_MATCH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

class SketchMatcher {
 public:
  // INTERNAL: a step that does not parse, or that names a decision which is not there.
  static absl::StatusOr<SketchMatcher> Create(const Sketch& sketch);

  // The point whose trace has this text; the first value where the text does not tell. Nullopt:
  // this sketch cannot say it. `trace`: as PrintTrace writes it.
  std::optional<Point> Match(absl::string_view trace) const;

 private:
  struct Hole {
    std::string before;  // Text in front of the number.
    int decision = 0;
  };
  struct Line {
    std::vector<Hole> holes;
    std::string end;  // After the last hole.
    int when = -1;    // Index of the decision that takes the step; -1: always taken.
  };

  explicit SketchMatcher(const Sketch& sketch) : sketch_(sketch) {}

  // Reads the values of `line` into `point` (kUnset: not known yet). False: another text or value.
  bool MatchLine(const Line& line, absl::string_view text, Point& point) const;
  bool MatchFrom(size_t line, absl::Span<const absl::string_view> texts, Point& point,
                 absl::string_view trace, int& budget) const;
  bool Complete(Point& point, absl::string_view trace) const;

  Sketch sketch_;
  std::vector<Line> lines_;
};

}  // namespace burnish

#endif  // TUNER_SEARCH_SKETCH_MATCH_H_
