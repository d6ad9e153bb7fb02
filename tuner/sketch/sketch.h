// A sketch: the structure of a schedule, with open decisions. A candidate is a sketch with a value
// chosen for every decision: a trace.
// Source of the term: Zheng et al., "Ansor", OSDI 2020, section 4.
#ifndef TUNER_SKETCH_SKETCH_H_
#define TUNER_SKETCH_SKETCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/trace.h"
#include "proto/isa_model.h"

namespace burnish {

// One open choice. Values are what stands in the trace (max=6), never positions in this list.
struct Decision {
  std::string name;             // Without the `$` that marks it in a step.
  std::vector<int64_t> values;  // Ascending, at least one. A switch has the values 0 and 1.
};

// One line of a trace in which `$name` stands for a decision's value.
struct SketchStep {
  std::string text;
  std::string when;  // A decision that must not be 0 for the step to be taken; empty: always.
};

// A value for each decision, in the sketch's order.
using Point = std::vector<int64_t>;

struct Sketch {
  std::string name;  // Rule and structure, such as "contraction/rows". For people; not stored.
  std::vector<SketchStep> steps;
  std::vector<Decision> decisions;
  // What decisions must fulfil together (registers, whole tiles); null: every point is valid. A
  // valid point's trace applies to the sketch's workload; that it is also fast nobody promises.
  std::function<bool(const Point&)> valid;
};

// Points that `valid` accepts, in lexicographic order, at most `limit`.
std::vector<Point> EnumeratePoints(const Sketch& sketch, int64_t limit);
// The number of points, `valid` not asked: the product of the decisions' sizes.
int64_t SpaceSize(const Sketch& sketch);

// The trace of a point. INVALID_ARGUMENT when a value is none of its decision's.
absl::StatusOr<Trace> Bind(const Sketch& sketch, const Point& point);

struct SketchOptions {
  // Algorithms that change rounding by more than the order of sums: Winograd's. For callers that
  // hold the result to an error budget.
  bool algorithms = false;
};

// Every sketch of a canonical workload program (see te/canonicalize.h) for an instruction set and a
// number of threads, most promising rule first; never empty: the last resort is the unscheduled
// program. Pure.
std::vector<Sketch> GenerateSketches(const Program& workload, const IsaModel& isa, int threads,
                                     const SketchOptions& options = {});

}  // namespace burnish

#endif  // TUNER_SKETCH_SKETCH_H_
