#include "tuner/refine/set_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "base/check.h"
#include "base/rng.h"
#include "tuner/refine/median.h"

namespace burnish {

SetPlan PlanSets(absl::Span<const std::array<int, 2>> members, absl::Span<const int> model_order,
                 const PassPlanOptions& options) {
  CHECK(!members.empty() && !model_order.empty() && options.block_count >= 1);
  SetPlan plan;
  plan.order.step_count = static_cast<int32_t>(model_order.size());
  // Of the first run what does not count; in later runs `counts` tells it apart.
  plan.order.warm_up_pass_count = kSettlePasses;
  for (int block = 0; block < options.block_count; ++block) {
    Rng rng(RngStream{
        .seed = options.seed, .purpose = "refine sets", .round = options.process, .index = block});
    // In turn, but not always in the same one: the set that runs second would meet a machine that
    // the first has warmed.
    const int first = static_cast<int>(rng.Below(2));
    for (const int set : {first, 1 - first}) {
      for (int pass = 0; pass < kPassesOfSet; ++pass) {
        plan.passes.push_back({.set = set, .counts = pass >= kSettlePasses});
        for (const int task : model_order) plan.order.candidates.push_back(members[task][set]);
      }
    }
  }
  return plan;
}

absl::StatusOr<SetTimes> TimesOfSets(const SetPlan& plan,
                                     absl::Span<const ProcessLatencies> candidates) {
  SetTimes times;
  for (std::vector<ProcessLatencies>& of_set : times.candidates) {
    of_set.assign(candidates.begin(), candidates.end());
    for (ProcessLatencies& latencies : of_set) latencies.latency_ns.clear();
  }
  std::array<std::vector<double>, 2> pass_ns;
  std::vector<size_t> read(candidates.size(), 0);  // Latencies of each candidate so far.
  const ModelOrder& order = plan.order;
  for (int64_t pass = order.warm_up_pass_count; pass < order.pass_count(); ++pass) {
    const auto [set, counts] = plan.passes[pass];
    // A candidate has one latency a pass, the mean over its steps (ModelOrder), so its share of the
    // pass is that times their number.
    std::map<int32_t, int> step_counts;
    for (int32_t step = 0; step < order.step_count; ++step) {
      ++step_counts[order.candidates[pass * order.step_count + step]];
    }
    double total_ns = 0;
    for (const auto& [candidate, step_count] : step_counts) {
      const std::vector<int64_t>& latency_ns = candidates[candidate].latency_ns;
      if (read[candidate] == latency_ns.size()) {
        // The worker's answer crosses a process border. A count that does not fit would shift every
        // later pass to the wrong set without anything looking odd.
        return absl::InternalError("a candidate has fewer latencies than passes");
      }
      const int64_t ns = latency_ns[read[candidate]++];
      total_ns += step_count * static_cast<double>(ns);
      if (counts) times.candidates[set][candidate].latency_ns.push_back(ns);
    }
    if (counts) pass_ns[set].push_back(total_ns);
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (read[i] != candidates[i].latency_ns.size()) {
      return absl::InternalError("a candidate has more latencies than passes");
    }
  }
  // The median of passes: an interrupted pass is slow by any amount, and a mean would hand the
  // verdict to it.
  times.pass_ns = {Median(std::move(pass_ns[0])), Median(std::move(pass_ns[1]))};
  return times;
}

SetVerdict JudgeSets(absl::Span<const double> ratios) {
  CHECK(ratios.size() >= 2);
  const auto [lowest, highest] = std::minmax_element(ratios.begin(), ratios.end());
  SetVerdict verdict{.ratio = 0, .spread = *highest - *lowest};
  for (const double ratio : ratios) verdict.ratio += ratio / static_cast<double>(ratios.size());
  verdict.is_slower = verdict.ratio - 1 > verdict.spread;
  return verdict;
}

}  // namespace burnish
