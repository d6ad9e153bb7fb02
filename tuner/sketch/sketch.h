// A sketch: the structure of a schedule, with open decisions. A candidate is a sketch with a value
// chosen for every decision: a point.
// Source of the term: Zheng et al., "Ansor", OSDI 2020, section 4.
#ifndef TUNER_SKETCH_SKETCH_H_
#define TUNER_SKETCH_SKETCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/decision.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"

namespace burnish {

struct Sketch {
  std::string name;  // Rule and structure, such as "contraction/rows". For people; not stored.
  std::vector<OpenStep> steps;
  std::vector<Decision> decisions;
  // What decisions must fulfil together (registers, whole tiles): each holds at a valid point. A
  // valid point's trace applies to the sketch's workload; that it is also fast nobody promises.
  std::vector<Expr> constraints;
  // The first decision of each sketch that was joined, of several blocks' say; empty: it is one.
  std::vector<size_t> parts;
};

// `first`'s steps, then `second`'s, with the decisions and constraints of both. A decision of
// `second` whose name is taken gets `suffix`.
Sketch Join(const Sketch& first, const Sketch& second, absl::string_view suffix);

// Whether every constraint holds. `point`: a value of each decision.
bool IsValid(const Sketch& sketch, absl::Span<const int64_t> point);

// Valid points in lexicographic order, at most `limit`.
std::vector<Point> EnumeratePoints(const Sketch& sketch, int64_t limit);
// The number of points, constraints not asked: the product of the decisions' sizes, or INT64_MAX.
int64_t SpaceSize(const Sketch& sketch);

// How many valid points there are.
struct PointCount {
  int64_t count = 0;
  bool exact = true;
  int64_t low = 0, high = 0;  // Where `count` is an estimate: two standard errors to either side.

  bool operator==(const PointCount&) const = default;
};

// Exact while that takes at most `work_max` looks at a value of a decision; beyond that estimated
// from random points. Deterministic.
PointCount CountPoints(const Sketch& sketch, int64_t work_max = 1'000'000);

// The trace of a point. INVALID_ARGUMENT when a value is none of its decision's.
absl::StatusOr<Trace> Bind(const Sketch& sketch, const Point& point);

// The point whose trace this is, by unification of the steps; the first where several are (a
// decision that no step mentions there). Nullopt: this sketch cannot say it. For traces from
// elsewhere, such as those of records: candidates of a search carry their points.
std::optional<Point> Recognize(const Sketch& sketch, const Trace& trace);

// Spaces of schedules, as bits: which rules take part, each row of SketchRules() says.
enum SketchSpace : uint32_t {
  kTemplates = 1,  // A structure by hand for each kind of block.
  kGenerator = 2,  // Structures by derivation (generator/derive.h).
};

struct SketchOptions {
  // Algorithms that change rounding by more than the order of sums. For callers that
  // hold the result to an error budget.
  bool algorithms = false;
  // Whether sketches ask if weights and residuals are to be prefetched; false: they are not.
  bool prefetch = true;
  // A set of SketchSpace. Sketches of templates stand in front.
  uint32_t spaces = kTemplates;
};

// Every sketch of a canonical workload program (see te/canonicalize.h) for a device, most promising
// rule first; never empty: the last resort is the unscheduled program. Pure. Of the device only its
// shapes, sizes and axes are asked, no rate that is measured: calibration moves no space.
std::vector<Sketch> GenerateSketches(const Program& workload, const DeviceModel& device,
                                     const SketchOptions& options = {});

}  // namespace burnish

#endif  // TUNER_SKETCH_SKETCH_H_
