#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tuner/sketch/generator/derive.h"
#include "tuner/sketch/rule.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// More alternatives than this come from programs of many blocks; the first of each rule are kept.
constexpr size_t kSketchesMax = 16;
// Derived ones: the same structure in several forms, so that a few would be all of one kind. Each
// costs a search a share of its random points.
constexpr size_t kDerivedMax = 40;
// Of one block among several: combinations would otherwise be all of the first block's first way.
constexpr size_t kDerivedBesideOthers = 8;

std::vector<SketchRule> RulesOf(RuleKind kind, const RuleContext& context) {
  std::vector<SketchRule> rules;
  for (const SketchRule& rule : SketchRules()) {
    const bool is_of_space = (rule.spaces & context.options.spaces) != 0;
    if (rule.kind == kind && is_of_space && rule.suits(context.device)) rules.push_back(rule);
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
  for (const SketchRule& rule : RulesOf(kind, context)) {
    const std::vector<Draft> drafts = rule.apply(context, block);
    if (drafts.empty()) continue;
    for (const Draft& draft : drafts) sketches.push_back(SketchOf(draft));
    if (shares != nullptr) *shares = rule.shares;
    if (!rule.shares) break;
  }
  return sketches;
}

std::vector<Sketch> Combine(const std::vector<Sketch>& sketches,
                            const std::vector<Sketch>& alternatives, size_t block,
                            size_t sketches_max) {
  std::vector<Sketch> combined;
  for (const Sketch& sketch : sketches) {
    for (const Sketch& alternative : alternatives) {
      if (combined.size() == sketches_max) return combined;
      combined.push_back(Join(sketch, alternative, absl::StrCat("_b", block)));
    }
  }
  return combined;
}

// What the rules of templates say of a block.
std::vector<Sketch> TemplatesOf(const RuleContext& context, BlockId block) {
  std::vector<Sketch> sketches = Ask(RuleKind::kBlock, context, block);
  if (context.options.algorithms) {
    for (Sketch& further : Ask(RuleKind::kAlgorithm, context, block)) {
      sketches.push_back(std::move(further));
    }
  }
  return sketches;
}

// What the generator does; the default nest where it does nothing.
std::vector<Sketch> DerivedOf(const RuleContext& context, BlockId block) {
  std::vector<Sketch> sketches;
  for (const Draft& draft : DeriveBlock(context, block)) {
    // Ways of several blocks multiply: of each the first few.
    if (context.program.blocks.size() > 1 && sketches.size() == kDerivedBesideOthers) break;
    sketches.push_back(SketchOf(draft));
  }
  if (sketches.empty()) sketches.push_back({.name = "nest"});
  return sketches;
}

using SketchesOfBlock = std::vector<Sketch> (*)(const RuleContext& context, BlockId block);

// Every combination of what `of_block` says of each block, at most so many; none where it is asked
// of more than `blocks_max` blocks, structural ones not counted.
std::vector<Sketch> BlockByBlock(const Program& workload, const DeviceModel& device,
                                 const SketchOptions& options, SketchesOfBlock of_block,
                                 size_t sketches_max, int blocks_max) {
  // Consumers last: a border or an inlined producer is gone when its reader is scheduled, and rules
  // look at the program as the structural steps so far leave it.
  Program current = workload;
  const RuleContext context{.program = current, .device = device, .options = options};
  std::vector<Sketch> sketches = {Sketch{}};
  for (size_t i = 0; i < workload.blocks.size(); ++i) {
    const BlockId id = FindBlock(current, workload.blocks[i].name);
    if (id < 0) continue;
    const std::vector<Sketch> structural = Ask(RuleKind::kStructural, context, id);
    if (!structural.empty()) {
      sketches = Combine(sketches, structural, i, sketches_max);
      absl::StatusOr<Program> next = ApplyTrace(StepsAt(structural[0].steps, {}), current);
      CHECK_OK(next);
      current = *std::move(next);
      continue;
    }
    if (blocks_max-- == 0) return {};
    sketches = Combine(sketches, of_block(context, id), i, sketches_max);
  }
  for (Sketch& sketch : sketches) {
    if (sketch.name.empty()) sketch.name = "plain";
  }
  return sketches;
}

// A nest of the whole program that all workers share leaves several nests one after the other, with
// all that they hand over through memory, nothing to win: measured on two threads of a Zen 5, their
// best of a layer norm took 1.11 of its best, of sums over classes 1.15, of Swin's windows 2.0
// (tests/bench/search/zen5_all, 500 to 1,800 points each), and they were 32 to 40 of 42 sketches.
// A single long row, such as an argmax over all words, no worker can share so.
bool DealsOut(const Draft& draft) {
  const std::vector<Node>& nodes = draft.schedule.structure().nodes;
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node& node) { return node.loop_kind == LoopKind::kParallel; });
}

}  // namespace

std::vector<Sketch> GenerateSketches(const Program& workload, const DeviceModel& device,
                                     const SketchOptions& options) {
  const RuleContext context{.program = workload, .device = device, .options = options};
  const auto block_count = static_cast<int>(workload.blocks.size());
  std::vector<Sketch> sketches;
  const auto add = [&](std::vector<Sketch> further) {
    for (Sketch& sketch : further) sketches.push_back(std::move(sketch));
  };
  if ((options.spaces & kTemplates) != 0) {
    bool block_by_block = true;
    add(Ask(RuleKind::kProgram, context, -1, &block_by_block));
    if (block_by_block) {
      add(BlockByBlock(workload, device, options, TemplatesOf, kSketchesMax, block_count));
    }
  }
  if ((options.spaces & ~uint32_t{kTemplates}) != 0 && WorkersOfVectors(device)) {
    const std::vector<Draft> whole = DeriveProgram(context);
    for (const Draft& draft : whole) sketches.push_back(SketchOf(draft));
    const bool suffices =
        device.workers() == 1 ? !whole.empty() : std::any_of(whole.begin(), whole.end(), DealsOut);
    add(BlockByBlock(workload, device, options, DerivedOf, kDerivedMax,
                     suffices ? 1 : block_count));
  }
  sketches.push_back({.name = "unscheduled"});
  return sketches;
}

}  // namespace burnish
