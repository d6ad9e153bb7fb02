// What every rule owes: what it believes of the program that it schedules (Schedule::structure) is
// what the primitives make of it, at random points of every draft; and the table's order means
// nothing. The traces that each rule writes are in rules/*_test.cc, that they compute the
// definition in sketch_test.cc.
#include "tuner/sketch/rule.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/primitive.h"
#include "compiler/schedule/structure.h"
#include "compiler/target/device_model.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/derive.h"

namespace burnish {
namespace {

constexpr int kPointsPerDraft = 2;

// Every draft of every rule for the blocks of a program, structural rules first.
std::vector<std::pair<Draft, Program>> DraftsOf(Program program, const DeviceModel& device) {
  std::vector<std::pair<Draft, Program>> drafts;
  const RuleContext context{
      .program = program, .device = device, .options = {.algorithms = true, .spaces = kGenerator}};
  const auto ask = [&](RuleKind kind, BlockId block) {
    const size_t before = drafts.size();
    for (const SketchRule& rule : SketchRules()) {
      if (rule.kind != kind) continue;
      for (Draft& draft : rule.apply(context, block))
        drafts.emplace_back(std::move(draft), program);
    }
    return drafts.size() > before;
  };
  const auto derived = [&](std::vector<Draft> all) {
    for (Draft& draft : all) drafts.emplace_back(std::move(draft), program);
  };
  ask(RuleKind::kProgram, -1);
  derived(DeriveProgram(context));
  for (BlockId id = 0; id < static_cast<BlockId>(program.blocks.size());) {
    if (ask(RuleKind::kStructural, id)) {
      program = drafts.back().first.schedule.program();
      id = 0;
    } else {
      ++id;
    }
  }
  for (BlockId id = 0; id < static_cast<BlockId>(program.blocks.size()); ++id) {
    ask(RuleKind::kBlock, id);
    ask(RuleKind::kAlgorithm, id);
    derived(DeriveBlock(context, id));
  }
  return drafts;
}

// Loops that are put into another order only at some points: as at this one.
Program StructureAt(const Schedule& schedule, const Point& point) {
  Program structure = schedule.structure();
  for (const OpenStep& open : schedule.steps()) {
    if (open.when == nullptr || ValueAt(open.when, point) == 0) continue;
    if (std::string(open.step.primitive->name) != "reorder") continue;
    std::vector<VarId> loops;
    for (const std::string& name : open.step.inputs) loops.push_back(FindVar(structure, name));
    ReorderLoops(structure, loops);
  }
  return structure;
}

void ExpectStructure(const Draft& draft, const Program& program, const Point& point) {
  const Trace trace = StepsAt(draft.schedule.steps(), point);
  SCOPED_TRACE(absl::StrCat(draft.name, "\n", PrintTrace(trace)));
  const absl::StatusOr<Program> applied = ApplyTrace(trace, program);
  // A prefetch may ask for more lines than there are slots.
  if (!applied.ok()) return;
  const Program structure = StructureAt(draft.schedule, point);
  ASSERT_EQ(StructureText(structure), StructureText(*applied));
  for (VarId id = 0; id < static_cast<VarId>(applied->vars.size()); ++id) {
    // Prefetches have loops of their own.
    const VarId known = FindVar(structure, applied->vars[id].name);
    if (known < 0 || applied->vars[id].def != nullptr) continue;
    const Expr& bound = structure.vars[known].extent;
    if (bound == nullptr) continue;
    EXPECT_GE(ValueAt(bound, point), MaxExtent(*applied, id)) << applied->vars[id].name;
  }
}

// Adds the names of the rules that wrote anything for the workloads of a file.
void ExpectStructures(const char* file_name, const std::vector<const char*>& targets,
                      std::set<std::string>& seen) {
  ASSERT_OK_AND_ASSIGN(const std::string file,
                       ReadFile(absl::StrCat("tuner/sketch/testdata/", file_name), 1 << 20));
  for (absl::string_view section : absl::StrSplit(file, "== ", absl::SkipEmpty())) {
    const std::pair<std::string, std::string> named =
        absl::StrSplit(section, absl::MaxSplits('\n', 1));
    SCOPED_TRACE(named.first);
    ASSERT_OK_AND_ASSIGN(const Program workload, ParseProgram(named.second));
    for (const char* text : targets) {
      ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(text));
      for (const auto& [draft, program] : DraftsOf(workload, DeviceModelOf(target))) {
        const std::vector<Point> points = EnumeratePoints(SketchOf(draft), 5000);
        Rng rng(RngStream{.seed = 1, .purpose = draft.name, .task = named.first});
        for (int i = 0; i < kPointsPerDraft && !points.empty(); ++i) {
          ExpectStructure(draft, program, points[rng.Below(points.size())]);
        }
        seen.insert(draft.name.substr(0, draft.name.find('/')));
      }
    }
  }
}

TEST(RuleTest, StructureIsWhatThePrimitivesMake) {
  std::set<std::string> seen;
  ExpectStructures("space_workloads.txt",
                   {"cpu:arch=znver4,threads=2", "cpu:arch=znver3,threads=8"}, seen);
  ExpectStructures("space_tile_workloads.txt", {"cpu:arch=sapphirerapids,threads=2"}, seen);
  for (const SketchRule& rule : SketchRules()) {
    if (rule.kind != RuleKind::kNest) EXPECT_TRUE(seen.contains(rule.name)) << rule.name;
  }
  EXPECT_TRUE(seen.contains("nest"));
}

TEST(RuleTest, NoTwoRulesOfAKindHaveTheSamePrecedenceOrName) {
  std::set<std::pair<RuleKind, int>> ranks;
  std::set<std::string> names;
  for (const SketchRule& rule : SketchRules()) {
    EXPECT_TRUE(ranks.insert({rule.kind, rule.precedence}).second) << rule.name;
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
  }
}

}  // namespace
}  // namespace burnish
