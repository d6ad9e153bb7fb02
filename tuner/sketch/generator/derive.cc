#include "tuner/sketch/generator/derive.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/lower.h"
#include "tuner/sketch/generator/nest.h"
#include "tuner/sketch/rules/contraction.h"

namespace burnish {
namespace {

// Of one block. More come of rules that each have several ways; the first of each are kept.
constexpr size_t kNestsMax = 32;
// Of a sketch, valid points that are tried before it is given up: the smallest values of all
// decisions may be refused where others are not.
constexpr int64_t kPointsTried = 8;

// Whether a point of the draft can be lowered: whether lanes and register windows go together the
// lowering alone knows.
bool SomePointLowers(const Draft& draft, const Program& program) {
  const Sketch sketch = SketchOf(draft);
  for (const Point& point : EnumeratePoints(sketch, kPointsTried)) {
    const absl::StatusOr<Program> scheduled = ApplyTrace(StepsAt(sketch.steps, point), program);
    if (scheduled.ok() && Lower(*scheduled, {.for_estimate = true}).ok()) return true;
  }
  return false;
}

std::vector<SketchRule> NestRules(const RuleContext& context) {
  std::vector<SketchRule> rules;
  for (const SketchRule& rule : SketchRules()) {
    if (rule.kind != RuleKind::kNest || (rule.spaces & context.options.spaces) == 0) continue;
    if (rule.suits(context.device)) rules.push_back(rule);
  }
  std::sort(rules.begin(), rules.end(),
            [](const SketchRule& a, const SketchRule& b) { return a.precedence > b.precedence; });
  return rules;
}

std::vector<Draft> Derive(const RuleContext& context, Nest start, const Program& program) {
  std::vector<Nest> nests = {std::move(start)};
  for (const SketchRule& rule : NestRules(context)) {
    std::vector<Nest> next;
    for (Nest& nest : nests) {
      std::vector<Nest> ways = rule.extend(context, rule, nest);
      const bool stays = ways.empty() || rule.shares;
      for (Nest& way : ways) next.push_back(std::move(way));
      if (stays) next.push_back(std::move(nest));
    }
    if (next.size() > kNestsMax) next.erase(next.begin() + kNestsMax, next.end());
    nests = std::move(next);
  }
  std::vector<Draft> drafts, apart;
  for (Nest& nest : nests) {
    // No structure takes it, or what it says of itself was not done.
    if (!nest.tiled() || !nest.producers.empty() || !nest.combined.empty() || nest.needs_copies) {
      continue;
    }
    Draft draft{absl::StrCat("nest", nest.trail), std::move(nest.schedule)};
    if (!SomePointLowers(draft, program)) continue;
    (nest.loads_apart ? apart : drafts).push_back(std::move(draft));
  }
  return drafts.empty() ? apart : drafts;
}

}  // namespace

std::vector<Draft> DeriveBlock(const RuleContext& context, BlockId block) {
  const std::optional<GroupedProgram> grouped = SplitGroups(context.program, block);
  const RuleContext seen{.program = grouped.has_value() ? grouped->program : context.program,
                         .device = context.device,
                         .options = context.options};
  Nest nest =
      StartNest(seen, block, grouped.has_value() ? grouped->schedule : Schedule(context.program));
  if (nest.spatial.empty() && nest.reduction.empty()) return {};
  return Derive(seen, std::move(nest), context.program);
}

std::vector<Draft> DeriveProgram(const RuleContext& context) {
  const Program& program = context.program;
  if (program.blocks.size() < 2) return {};
  const auto last = static_cast<BlockId>(program.blocks.size()) - 1;
  const Block& anchor = program.blocks[last];
  if (program.buffers[anchor.output].role != BufferRole::kOutput) return {};
  Nest nest = StartNest(context, last, Schedule(program));
  for (BlockId id = last; id-- > 0;) {
    const Block& block = program.blocks[id];
    if (program.buffers[block.output].role != BufferRole::kTemp) return {};
    nest.producers.push_back(block.name);
  }
  // Axes that a producer's sums do not have: for each element along them the sums would be computed
  // anew.
  for (NestLoop& loop : nest.spatial) {
    for (const Expr& load : DistinctLoads(anchor)) {
      const BlockId writer = WriterOf(program, load->id);
      const bool sums = writer >= 0 && !program.blocks[writer].reduction.empty();
      loop.is_whole |= sums && !DependsOn(program, *load, loop.axes.back());
    }
  }
  return Derive(context, std::move(nest), program);
}

}  // namespace burnish
