// What the analytic model says of a table's points, over what they took.
// usage: table_accuracy [--rows] [--sample] TABLE...
//
// A line a table: predicted over measured (in the middle, and the share within 0.8 to 1.25), pairs
// that it orders right of those whose times differ by more than 5 %, and what its favourite takes
// of the best. --rows: a JSON object for each point instead, with the estimate in parts. --sample:
// of each table its favourite, its best and the first 20 rows of its uniform sample alone, and a
// line over all: points that a table does not have by their estimates.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/parallel_for.h"
#include "base/status_macros.h"
#include "base/usable_cpus.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/trace_replay.h"
#include "nlohmann/json.hpp"
#include "tests/bench/estimate_accuracy.h"
#include "tests/bench/search/search_table.h"
#include "tests/bench/search/table_space.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/cost_model/cache_traffic.h"
#include "tuner/cost_model/nest_walk.h"

namespace burnish {
namespace {

using Json = nlohmann::json;

// Of the uniform sample, for --sample.
constexpr size_t kSampled = 20;

struct Asked {
  std::string sketch;
  Point point;
  bool uniform = true;
  double measured_ns = 0, predicted_ns = 0;
  Json parts = Json::array();  // A nest each.
};

Json PartsOf(const WalkNest& nest, const std::vector<BufferTraffic>& traffic,
             const NestCycles& cycles, const DeviceModel& device) {
  Json buffers = Json::array();
  for (const BufferTraffic& buffer : traffic) {
    const WalkAccess& access = *buffer.access;
    buffers.push_back({{"buffer", buffer.buffer},
                       {"store", access.is_store},
                       {"cold", access.is_cold},
                       {"remote", access.is_remote},
                       {"prefetched", access.is_prefetched},
                       {"shared", nest.IsShared(access)},
                       {"run_lines", buffer.run_lines},
                       {"footprint", buffer.footprint_bytes[0]},
                       {"in", buffer.bytes_in}});
  }
  return {{"workers", nest.parallel ? nest.workers : 1},
          {"compute", AnalyticComputeParts(nest, device)},
          {"fill", cycles.fill},
          {"buffers", buffers},
          {"exposed", cycles.exposed}};
}

absl::StatusOr<std::vector<Asked>> AskTable(const std::string& path) {
  ASSIGN_OR_RETURN(SearchTable table, ReadTable(path));
  ASSIGN_OR_RETURN(const TableSpace space, SpaceOfTable(table));
  MoveToSketches(space.whole->sketches(), table);
  ASSIGN_OR_RETURN(Program program, ParseProgram(table.workload));
  TraceReplay replay(std::move(program));
  const int threads = space.device.workers();
  std::vector<Asked> all;
  for (const TableRow& row : table.rows) {
    if (row.rank_ns() == 0) continue;
    const Sketch& sketch = space.whole->sketches()[row.sketch];
    ASSIGN_OR_RETURN(const Trace trace, Bind(sketch, row.point));
    ASSIGN_OR_RETURN(const Program* scheduled, replay.Apply(trace));
    ASSIGN_OR_RETURN(const Program lowered, Lower(*scheduled, {.for_estimate = true}));
    Asked asked{.sketch = sketch.name,
                .point = row.point,
                .uniform = row.uniform,
                .measured_ns = static_cast<double>(row.rank_ns())};
    std::vector<NestCycles> nests;
    const std::vector<WalkNest> walks = WalkNests(lowered, space.device.core, threads);
    const auto traffic = TrafficOf(lowered, walks, space.device.core);
    for (size_t n = 0; n < walks.size(); ++n) {
      nests.push_back(AnalyticNestCycles(walks[n], traffic[n], space.device));
      asked.parts.push_back(PartsOf(walks[n], traffic[n], nests.back(), space.device));
    }
    asked.predicted_ns = 1e9 * AnalyticSeconds(nests, space.device, threads);
    all.push_back(std::move(asked));
  }
  return all;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

size_t FavouriteOf(const std::vector<Asked>& all) {
  return std::min_element(
             all.begin(), all.end(),
             [](const Asked& a, const Asked& b) { return a.predicted_ns < b.predicted_ns; }) -
         all.begin();
}

size_t BestOf(const std::vector<Asked>& all) {
  return std::min_element(
             all.begin(), all.end(),
             [](const Asked& a, const Asked& b) { return a.measured_ns < b.measured_ns; }) -
         all.begin();
}

std::vector<Asked> SampleOf(const std::vector<Asked>& all) {
  const size_t favourite = FavouriteOf(all), best = BestOf(all);
  std::vector<Asked> sample;
  size_t sampled = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool drawn = all[i].uniform && sampled < kSampled;
    sampled += drawn;
    if (drawn || i == favourite || i == best) sample.push_back(all[i]);
  }
  return sample;
}

struct Summary {
  int64_t points = 0, within = 0;
  OrderedPairs pairs;
};

Summary PrintSummary(const std::string& name, const std::vector<Asked>& all) {
  if (all.empty()) return {};
  std::vector<double> measured, predicted, ratios;
  for (const Asked& asked : all) {
    measured.push_back(asked.measured_ns);
    predicted.push_back(asked.predicted_ns);
    ratios.push_back(asked.predicted_ns / asked.measured_ns);
  }
  const Summary summary = {.points = static_cast<int64_t>(all.size()),
                           .within = CountWithin(ratios),
                           .pairs = CountPairs(measured, predicted)};
  const size_t favourite = FavouriteOf(all), best = BestOf(all);
  std::printf("%-28s %5zu points  ratio %.2f  favourite's %.2f  best's %.2f", name.c_str(),
              all.size(), MedianOf(ratios), ratios[favourite], ratios[best]);
  std::printf("  within %.2f  pairs %.2f  favourite %.2f\n",
              static_cast<double>(summary.within) / static_cast<double>(summary.points),
              summary.pairs.share(), measured[favourite] / measured[best]);
  return summary;
}

int Main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  const bool rows = std::erase(paths, "--rows") > 0;
  const bool sample = std::erase(paths, "--sample") > 0;
  if (paths.empty()) {
    std::fprintf(stderr, "usage: table_accuracy [--rows] [--sample] TABLE...\n");
    return 64;
  }
  std::vector<absl::StatusOr<std::vector<Asked>>> all(paths.size());
  ParallelFor(paths.size(), static_cast<int>(UsableCpus().size()),
              [&](size_t i) { all[i] = AskTable(paths[i]); });
  Summary total;
  double pairs_sum = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string name = paths[i].substr(paths[i].rfind('/') + 1);
    if (!all[i].ok()) {
      std::fprintf(stderr, "%s: %s\n", paths[i].c_str(),
                   std::string(all[i].status().message()).c_str());
      return 1;
    }
    const std::vector<Asked> asked_for = sample ? SampleOf(*all[i]) : *std::move(all[i]);
    if (!rows) {
      const Summary summary = PrintSummary(name, asked_for);
      total.points += summary.points;
      total.within += summary.within;
      pairs_sum += summary.pairs.share();
      continue;
    }
    for (const Asked& asked : asked_for) {
      std::printf("%s\n", Json{{"table", name},
                               {"sketch", asked.sketch},
                               {"point", asked.point},
                               {"measured_ns", asked.measured_ns},
                               {"predicted_ns", asked.predicted_ns},
                               {"nests", asked.parts}}
                              .dump()
                              .c_str());
    }
  }
  if (!rows && total.points > 0) {
    std::printf("%-28s %5ld points  within %.3f  pairs %.3f\n", "all; pairs: mean of tables",
                total.points, static_cast<double>(total.within) / static_cast<double>(total.points),
                pairs_sum / static_cast<double>(paths.size()));
  }
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
