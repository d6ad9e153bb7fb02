#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// `first`'s steps, then `second`'s; decisions of both. Names of decisions get the position of the
// block where they would collide.
Sketch Join(const Sketch& first, Sketch second, size_t block) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(first.decisions.begin(), first.decisions.end(),
                       [&](const Decision& d) { return d.name == name; });
  };
  for (Decision& decision : second.decisions) {
    if (!taken(decision.name)) continue;
    const std::string renamed = absl::StrCat(decision.name, "_b", block);
    for (SketchStep& step : second.steps) {
      if (step.when == decision.name) step.when = renamed;
      const std::string mark = "$" + decision.name;
      for (size_t at = step.text.find(mark); at != std::string::npos;
           at = step.text.find(mark, at + renamed.size() + 1)) {
        step.text.replace(at, mark.size(), "$" + renamed);
      }
    }
    decision.name = renamed;
  }
  Sketch joined = first;
  joined.name = first.name.empty() ? second.name : absl::StrCat(first.name, " ", second.name);
  joined.steps.insert(joined.steps.end(), second.steps.begin(), second.steps.end());
  joined.decisions.insert(joined.decisions.end(), second.decisions.begin(), second.decisions.end());
  const size_t split = first.decisions.size();
  joined.valid = [split, a = first.valid, b = std::move(second.valid)](const Point& point) {
    const auto middle = point.begin() + static_cast<std::ptrdiff_t>(split);
    return (a == nullptr || a(Point(point.begin(), middle))) &&
           (b == nullptr || b(Point(middle, point.end())));
  };
  return joined;
}

}  // namespace

std::vector<Sketch> GenerateSketches(const Program& workload, const IsaModel& isa, int threads,
                                     const SketchOptions& options) {
  // More alternatives than this come from programs of many blocks; the first of each rule are kept.
  constexpr size_t kSketchesMax = 16;
  const RuleContext whole_program{
      .program = workload, .isa = isa, .threads = threads, .options = options};
  // Two products block by block have the product of their spaces, and pass the scores through
  // memory.
  if (std::vector<Sketch> whole = ContractionChainRule(whole_program); !whole.empty()) {
    whole.push_back({.name = "unscheduled"});
    return whole;
  }
  std::vector<Sketch> sketches = {Sketch{}};
  // Consumers last: a border or an inlined producer is gone when its reader is scheduled, and rules
  // look at the program as the steps so far leave it.
  Program current = workload;
  for (size_t i = 0; i < workload.blocks.size(); ++i) {
    const BlockId id = FindBlock(current, workload.blocks[i].name);
    if (id < 0) continue;
    const RuleContext context{
        .program = current, .isa = isa, .threads = threads, .options = options};
    for (const SketchRule& rule : SketchRules()) {
      std::vector<Sketch> alternatives = rule.apply(context, id);
      if (alternatives.empty()) continue;
      if (options.algorithms) {
        for (Sketch& further : WinogradRule(context, id))
          alternatives.push_back(std::move(further));
      }
      std::vector<Sketch> extended;
      for (const Sketch& sketch : sketches) {
        for (const Sketch& alternative : alternatives) {
          if (extended.size() < kSketchesMax) extended.push_back(Join(sketch, alternative, i));
        }
      }
      sketches = std::move(extended);
      // Structural steps without decisions change what later rules see.
      if (alternatives.size() == 1 && alternatives[0].decisions.empty() &&
          std::string(rule.name) == "border") {
        const absl::StatusOr<Trace> trace = Bind(alternatives[0], {});
        if (trace.ok()) {
          if (absl::StatusOr<Program> next = ApplyTrace(*trace, current); next.ok()) {
            current = *std::move(next);
          }
        }
      }
      break;
    }
  }
  for (Sketch& sketch : sketches) {
    if (sketch.name.empty()) sketch.name = "plain";
  }
  std::vector<Sketch> whole = RowChainRule(whole_program);
  sketches.insert(sketches.begin(), std::make_move_iterator(whole.begin()),
                  std::make_move_iterator(whole.end()));
  sketches.push_back({.name = "unscheduled"});
  return sketches;
}

}  // namespace burnish
