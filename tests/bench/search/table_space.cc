#include "tests/bench/search/table_space.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/status_macros.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/ir/parser.h"
#include "compiler/target/target.h"
#include "proto/calibrated.h"
#include "proto/workload.h"

namespace burnish {
namespace {

using SketchKey = std::tuple<std::string, std::vector<std::string>, int>;

std::vector<SketchKey> KeysOf(const std::vector<TableSketch>& sketches) {
  std::vector<SketchKey> keys;
  for (const TableSketch& sketch : sketches) {
    int before = 0;
    for (const auto& [name, decisions, index] : keys) {
      before += name == sketch.name && decisions == sketch.decisions;
    }
    keys.emplace_back(sketch.name, sketch.decisions, before);
  }
  return keys;
}

}  // namespace

absl::StatusOr<TableSpace> SpaceOfTable(const SearchTable& table) {
  ASSIGN_OR_RETURN(const Target target, ParseTarget(table.target));
  ASSIGN_OR_RETURN(const Program program, ParseProgram(table.workload));
  TableSpace space{.device = DeviceModelOf(target, table.calibration)};
  // As a study has them with the settings that a user does not change.
  ASSIGN_OR_RETURN(
      space.whole,
      SearchSpace::Create({.sketches = GenerateSketches(
                               program, space.device, {.algorithms = true, .spaces = table.spaces}),
                           .workload_id = Sha256Bytes(table.workload),
                           .target = table.target,
                           .contract = table.contract,
                           .codegen_epoch = kCodegenEpoch}));
  // Those of templates stand in front, and the unscheduled program last.
  if ((table.spaces & kTemplates) != 0) {
    space.template_count = GenerateSketches(program, space.device, {.algorithms = true}).size() - 1;
  }
  return space;
}

int64_t MoveToSketches(absl::Span<const Sketch> sketches, SearchTable& table) {
  std::vector<TableSketch> now;
  for (const Sketch& sketch : sketches) {
    TableSketch& one = now.emplace_back(TableSketch{.name = sketch.name});
    for (const Decision& decision : sketch.decisions) one.decisions.push_back(decision.name);
  }
  const std::vector<SketchKey> keys = KeysOf(now), before = KeysOf(table.sketches);
  std::vector<TableRow> kept;
  for (TableRow& row : table.rows) {
    const auto at = std::find(keys.begin(), keys.end(), before[row.sketch]);
    if (at == keys.end()) continue;
    row.sketch = static_cast<int>(at - keys.begin());
    const Sketch& sketch = sketches[row.sketch];
    bool known = true;
    for (size_t d = 0; d < row.point.size(); ++d) {
      const std::vector<int64_t>& values = sketch.decisions[d].values;
      known &= std::binary_search(values.begin(), values.end(), row.point[d]);
    }
    if (known && IsValid(sketch, row.point)) kept.push_back(std::move(row));
  }
  const auto dropped = static_cast<int64_t>(table.rows.size() - kept.size());
  table.rows = std::move(kept);
  table.sketches = std::move(now);
  return dropped;
}

void KeepRowsOfDraw(const TableDraw& draw, const SearchSpace& space, SearchTable& table) {
  MoveToSketches(space.sketches(), table);
  std::map<std::pair<int, Point>, int64_t> places;
  for (size_t i = 0; i < draw.points.size(); ++i) {
    const Proposal& proposal = draw.points[i].proposal;
    places.emplace(std::pair(proposal.sketch_index, proposal.point), static_cast<int64_t>(i));
  }
  std::vector<TableRow> kept;
  for (TableRow& row : table.rows) {
    const auto place = places.find({row.sketch, row.point});
    if (place == places.end()) continue;
    row.index = place->second;
    row.uniform = draw.points[row.index].uniform;
    kept.push_back(std::move(row));
  }
  std::sort(kept.begin(), kept.end(),
            [](const TableRow& a, const TableRow& b) { return a.index < b.index; });
  table.rows = std::move(kept);
}

}  // namespace burnish
