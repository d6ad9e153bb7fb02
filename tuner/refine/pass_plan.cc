#include "tuner/refine/pass_plan.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/rng.h"

namespace burnish {
namespace {

// Fisher and Yates with the house's own generator: std::shuffle may differ from one standard
// library to the next, and a plan is a function of the seed.
std::vector<int> Permutation(int count, Rng& rng) {
  std::vector<int> entries(count);
  std::iota(entries.begin(), entries.end(), 0);
  for (int i = count - 1; i > 0; --i) {
    std::swap(entries[i], entries[rng.Below(static_cast<uint64_t>(i) + 1)]);
  }
  return entries;
}

// The entries of a task in the passes of one block: whole permutations, the last one cut.
std::vector<int> BlockOf(int entry_count, int pass_count, Rng& rng) {
  std::vector<int> block;
  while (static_cast<int>(block.size()) < pass_count) {
    const std::vector<int> entries = Permutation(entry_count, rng);
    block.insert(block.end(), entries.begin(), entries.end());
  }
  // A task with fewer entries than the block has passes runs them again in another order, so that
  // no pass is without it: every step of the model runs in each.
  block.resize(pass_count);
  return block;
}

}  // namespace

ModelOrder PlanPasses(absl::Span<const int> entry_counts, absl::Span<const int> model_order,
                      const PassPlanOptions& options) {
  CHECK(!entry_counts.empty() && !model_order.empty() && options.block_count >= 1);
  std::vector<int> first_entry(entry_counts.size(), 0);
  for (size_t task = 0; task < entry_counts.size(); ++task) {
    CHECK(entry_counts[task] >= 1);
    if (task > 0) first_entry[task] = first_entry[task - 1] + entry_counts[task - 1];
  }
  // The shortest block in which every entry of every task runs.
  const int block_passes = *std::max_element(entry_counts.begin(), entry_counts.end());
  ModelOrder order{.step_count = static_cast<int32_t>(model_order.size()),
                   // One whole block, since each entry's code and constants are touched for the
                   // first time in its own first pass.
                   .warm_up_pass_count = block_passes};
  for (int block = 0; block <= options.block_count; ++block) {
    std::vector<std::vector<int>> entries;  // [task][pass of the block]
    for (size_t task = 0; task < entry_counts.size(); ++task) {
      // A stream for each task, process and block: the order of one task does not move when another
      // task loses an entry between two processes.
      Rng rng(RngStream{.seed = options.seed,
                        .purpose = "refine",
                        .task = std::to_string(task),
                        .round = options.process,
                        .index = block});
      entries.push_back(BlockOf(entry_counts[task], block_passes, rng));
    }
    for (int pass = 0; pass < block_passes; ++pass) {
      for (const int task : model_order) {
        order.candidates.push_back(first_entry[task] + entries[task][pass]);
      }
    }
  }
  return order;
}

}  // namespace burnish
