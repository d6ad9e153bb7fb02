#include "tuner/refine/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tuner/refine/median.h"

namespace burnish {
namespace {

// Of all tasks' differences between the two halves of an incumbent. Of 20,000 simulated tasks
// without any difference and three contenders each, 40 changed hands with this one, 150 with the
// median; the highest tenth would be that of the smallest tasks, and little could beat it.
constexpr double kCommonQuantile = 0.75;

bool HasContest(const RefineTimes& task) { return task.entry_ns.size() > 2; }

// Processes in which both halves of the incumbent took part.
size_t ProcessCount(const RefineTimes& task) {
  return HasContest(task) ? std::min(task.entry_ns[0].size(), task.entry_ns[1].size()) : 0;
}

// The mean of both copies of the incumbent: which of the two lies better in memory is chance, and a
// contender should not have to beat the lucky one, nor win against the unlucky one.
double IncumbentNs(const RefineTimes& task, size_t process) {
  return (task.entry_ns[0][process] + task.entry_ns[1][process]) / 2;
}

double DifferenceNs(const RefineTimes& task, size_t process) {
  return std::abs(task.entry_ns[0][process] - task.entry_ns[1][process]);
}

// Over tasks and processes, as a share of the incumbent.
double CommonSpread(absl::Span<const RefineTimes> tasks) {
  std::vector<double> shares;
  for (const RefineTimes& task : tasks) {
    for (size_t process = 0; process < ProcessCount(task); ++process) {
      shares.push_back(DifferenceNs(task, process) / IncumbentNs(task, process));
    }
  }
  if (shares.empty()) return 0;
  const auto at =
      shares.begin() + static_cast<ptrdiff_t>(kCommonQuantile * static_cast<double>(shares.size()));
  std::nth_element(shares.begin(), at, shares.end());
  return *at;
}

struct Standing {
  double incumbent_ns = 0;  // Mean over the processes.
  double spread_ns = 0;
};

Standing StandingOf(const RefineTimes& task, double common_spread) {
  Standing standing;
  const size_t count = ProcessCount(task);
  for (size_t process = 0; process < count; ++process) {
    standing.incumbent_ns += IncumbentNs(task, process) / static_cast<double>(count);
    // The largest, not the mean: three processes give three differences, too few for an average to
    // say what one of them could be by chance.
    standing.spread_ns = std::max(standing.spread_ns, DifferenceNs(task, process));
  }
  // A task whose two halves happened to agree would otherwise let any contender win.
  standing.spread_ns = std::max(standing.spread_ns, common_spread * standing.incumbent_ns);
  return standing;
}

// In every process so far, and it took part in all of them.
bool Beats(const RefineTimes& task, size_t entry, double spread_ns) {
  const size_t count = ProcessCount(task);
  // An entry that left after an early process has no time in the later ones, and cannot come back.
  if (count == 0 || task.entry_ns[entry].size() != count) return false;
  for (size_t process = 0; process < count; ++process) {
    const double gain_ns = IncumbentNs(task, process) - task.entry_ns[entry][process];
    // Written so that a NaN loses.
    if (!(gain_ns > spread_ns)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::vector<bool>> Contenders(absl::Span<const RefineTimes> tasks) {
  const double common_spread = CommonSpread(tasks);
  std::vector<std::vector<bool>> stays;
  for (const RefineTimes& task : tasks) {
    std::vector<bool>& entries = stays.emplace_back(task.entry_ns.size(), false);
    const Standing standing = StandingOf(task, common_spread);
    bool any = false;
    for (size_t entry = 2; entry < entries.size(); ++entry) {
      entries[entry] = Beats(task, entry, standing.spread_ns);
      any = any || entries[entry];
    }
    if (!entries.empty()) entries[0] = true;
    // The second copy is there to measure the spread. Without contenders nobody asks for it, and
    // its passes are saved.
    if (entries.size() > 1) entries[1] = any;
  }
  return stays;
}

std::vector<RefineVerdict> Judge(absl::Span<const RefineTimes> tasks) {
  const double common_spread = CommonSpread(tasks);
  std::vector<RefineVerdict> verdicts;
  for (const RefineTimes& task : tasks) {
    const Standing standing = StandingOf(task, common_spread);
    RefineVerdict& verdict = verdicts.emplace_back(
        RefineVerdict{.incumbent_ns = standing.incumbent_ns, .spread_ns = standing.spread_ns});
    // A verdict needs all three processes: one process is one layout of code and pages, and in it a
    // candidate may win by that alone (docs/adr/0002).
    if (ProcessCount(task) < static_cast<size_t>(kRefineProcesses)) continue;
    for (size_t entry = 2; entry < task.entry_ns.size(); ++entry) {
      if (!Beats(task, entry, standing.spread_ns)) continue;
      double entry_ns = 0;
      for (const double ns : task.entry_ns[entry]) {
        entry_ns += ns / static_cast<double>(task.entry_ns[entry].size());
      }
      const double ratio = entry_ns / standing.incumbent_ns;
      if (ratio >= verdict.ratio) continue;
      verdict.winner = static_cast<int>(entry);
      verdict.ratio = ratio;
    }
  }
  return verdicts;
}

double MedianNs(const ProcessLatencies& process) {
  return Median({process.latency_ns.begin(), process.latency_ns.end()});
}

}  // namespace burnish
