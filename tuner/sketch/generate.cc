#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// More alternatives than this come from programs of many blocks; the first of each rule are kept.
constexpr size_t kSketchesMax = 16;

std::vector<SketchRule> RulesOf(RuleKind kind, const DeviceModel& device) {
  std::vector<SketchRule> rules;
  for (const SketchRule& rule : SketchRules()) {
    if (rule.kind == kind && rule.suits(device)) rules.push_back(rule);
  }
  std::sort(rules.begin(), rules.end(),
            [](const SketchRule& a, const SketchRule& b) { return a.precedence > b.precedence; });
  return rules;
}

// The sketches of every rule of a kind that has a say. `shares`: what the last of them says of the
// rules behind it.
std::vector<Sketch> Ask(RuleKind kind, const RuleContext& context, BlockId block,
                        bool* shares = nullptr) {
  std::vector<Sketch> sketches;
  for (const SketchRule& rule : RulesOf(kind, context.device)) {
    const std::vector<Draft> drafts = rule.apply(context, block);
    if (drafts.empty()) continue;
    for (const Draft& draft : drafts) sketches.push_back(SketchOf(draft));
    if (shares != nullptr) *shares = rule.shares;
    if (!rule.shares) break;
  }
  return sketches;
}

std::vector<Sketch> Combine(const std::vector<Sketch>& sketches,
                            const std::vector<Sketch>& alternatives, size_t block) {
  std::vector<Sketch> combined;
  for (const Sketch& sketch : sketches) {
    for (const Sketch& alternative : alternatives) {
      if (combined.size() == kSketchesMax) return combined;
      combined.push_back(Join(sketch, alternative, absl::StrCat("_b", block)));
    }
  }
  return combined;
}

}  // namespace

std::vector<Sketch> GenerateSketches(const Program& workload, const DeviceModel& device,
                                     const SketchOptions& options) {
  // Consumers last: a border or an inlined producer is gone when its reader is scheduled, and rules
  // look at the program as the structural steps so far leave it.
  Program current = workload;
  const RuleContext context{.program = current, .device = device, .options = options};
  bool block_by_block = true;
  std::vector<Sketch> whole = Ask(RuleKind::kProgram, context, -1, &block_by_block);
  std::vector<Sketch> sketches = {Sketch{}};
  for (size_t i = 0; block_by_block && i < workload.blocks.size(); ++i) {
    const BlockId id = FindBlock(current, workload.blocks[i].name);
    if (id < 0) continue;
    const std::vector<Sketch> structural = Ask(RuleKind::kStructural, context, id);
    if (!structural.empty()) {
      sketches = Combine(sketches, structural, i);
      absl::StatusOr<Program> next = ApplyTrace(StepsAt(structural[0].steps, {}), current);
      CHECK_OK(next);
      current = *std::move(next);
      continue;
    }
    std::vector<Sketch> alternatives = Ask(RuleKind::kBlock, context, id);
    if (options.algorithms) {
      for (Sketch& further : Ask(RuleKind::kAlgorithm, context, id)) {
        alternatives.push_back(std::move(further));
      }
    }
    sketches = Combine(sketches, alternatives, i);
  }
  if (block_by_block) {
    for (Sketch& sketch : sketches) {
      if (sketch.name.empty()) sketch.name = "plain";
      whole.push_back(std::move(sketch));
    }
  }
  whole.push_back({.name = "unscheduled"});
  return whole;
}

}  // namespace burnish
