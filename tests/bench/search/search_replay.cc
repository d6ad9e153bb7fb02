// Replays searches on tables.
// usage: search_replay SEEDS TRIALS ARM,ARM|all TABLE...
//
// Prints one JSON object: the tables, and for each table, arm and seed the best latency after each
// trial, in nanoseconds.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/parallel_for.h"
#include "base/status_macros.h"
#include "base/usable_cpus.h"
#include "nlohmann/json.hpp"
#include "tests/bench/search/replay_table.h"
#include "tests/bench/search/search_table.h"

namespace burnish {
namespace {

using Json = nlohmann::json;

struct Run {
  size_t table = 0;
  const Arm* arm = nullptr;
  int seed = 0;
  absl::StatusOr<std::vector<int64_t>> best = std::vector<int64_t>();
};

absl::StatusOr<std::vector<const Arm*>> ChosenArms(const std::string& text) {
  std::vector<const Arm*> arms;
  for (const Arm& arm : Arms()) {
    if (text == "all" ||
        absl::StrContains(absl::StrCat(",", text, ","), absl::StrCat(",", arm.name, ","))) {
      arms.push_back(&arm);
    }
  }
  if (!arms.empty()) return arms;
  std::string known;
  for (const Arm& arm : Arms()) absl::StrAppend(&known, known.empty() ? "" : ", ", arm.name);
  return absl::InvalidArgumentError(absl::StrCat("got arms ", text, ", want some of ", known));
}

absl::StatusOr<std::unique_ptr<ReplayedTable>> Replayable(const std::string& path) {
  ASSIGN_OR_RETURN(SearchTable table, ReadTable(path));
  return ReplayedTable::Create(std::move(table));
}

absl::StatusOr<Json> ReplayAll(int seeds, int trials, const std::string& arms_text,
                               const std::vector<std::string>& paths) {
  ASSIGN_OR_RETURN(std::vector<const Arm*> arms, ChosenArms(arms_text));
  const int threads = static_cast<int>(UsableCpus().size());
  std::vector<absl::StatusOr<std::unique_ptr<ReplayedTable>>> tables(paths.size());
  ParallelFor(paths.size(), threads, [&](size_t i) { tables[i] = Replayable(paths[i]); });
  for (const auto& table : tables) RETURN_IF_ERROR(table.status());
  const auto suits_none = [&](const Arm* arm) {
    return !std::all_of(tables.begin(), tables.end(),
                        [&](const auto& table) { return (*table)->Suits(*arm); });
  };
  if (arms_text == "all") {
    std::erase_if(arms, suits_none);
  } else if (const auto arm = std::find_if(arms.begin(), arms.end(), suits_none);
             arm != arms.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("arm ", (*arm)->name, " wants tables of all rules: collect --rules all"));
  }
  Json result{{"tables", Json::array()}, {"arms", Json::array()}, {"runs", Json::array()}};
  for (const Arm* arm : arms) result["arms"].push_back(arm->name);
  std::vector<Run> runs;
  for (size_t t = 0; t < tables.size(); ++t) {
    const ReplayedTable& replayed = **tables[t];
    Json rows = Json::array();
    int64_t worst_ns = 0;
    for (const TableRow& row : replayed.table().rows) {
      worst_ns = std::max(worst_ns, row.rank_ns());
      if (row.latency_ns.size() > 1) rows.push_back(row.latency_ns);
    }
    result["tables"].push_back({{"name", replayed.table().name},
                                {"class", replayed.table().kind},
                                {"machine", replayed.table().machine},
                                {"commit", replayed.table().commit},
                                {"rows", replayed.table().rows.size()},
                                {"dropped", replayed.dropped_count()},
                                {"space", replayed.table().space_count},
                                {"best_ns", replayed.best_ns()},
                                {"worst_ns", worst_ns},
                                {"repeated", rows}});
    for (const Arm* arm : arms) {
      for (int seed = 0; seed < seeds; ++seed) runs.push_back({t, arm, seed});
    }
  }
  ParallelFor(runs.size(), threads, [&](size_t i) {
    runs[i].best = (*tables[runs[i].table])->Replay(*runs[i].arm, runs[i].seed, trials);
  });
  for (const Run& run : runs) {
    RETURN_IF_ERROR(run.best.status());
    result["runs"].push_back(
        {{"table", run.table}, {"arm", run.arm->name}, {"seed", run.seed}, {"best_ns", *run.best}});
  }
  return result;
}

int Main(int argc, char** argv) {
  int seeds = 0, trials = 0;
  if (argc < 5 || !absl::SimpleAtoi(argv[1], &seeds) || !absl::SimpleAtoi(argv[2], &trials) ||
      seeds < 1 || trials < 1) {
    std::fprintf(stderr, "usage: search_replay SEEDS TRIALS ARM,ARM|all TABLE...\n");
    return 64;
  }
  const absl::StatusOr<Json> result = ReplayAll(seeds, trials, argv[3], {argv + 4, argv + argc});
  if (!result.ok()) {
    std::fprintf(stderr, "search_replay: %s\n", std::string(result.status().message()).c_str());
    return 1;
  }
  std::printf("%s\n", result->dump().c_str());
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
