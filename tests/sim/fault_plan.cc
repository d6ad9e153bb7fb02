#include "tests/sim/fault_plan.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/rng.h"

namespace burnish::sim {
namespace {

enum class Node { kNone, kWorker, kTuner, kAny };

struct Row {
  FaultKind kind;
  const char* name;
  Node node;
  int64_t duration_max_ms;
  int weight = 1;  // How often it is chosen.
};

constexpr Row kRows[kFaultKindCount] = {
    {FaultKind::kKillTracker, "the tracker is killed", Node::kNone, 6000, 3},
    {FaultKind::kFlappingTracker, "flapping tracker", Node::kNone, 10000, 2},
    {FaultKind::kKillWorker, "worker is killed", Node::kWorker, 20000},
    {FaultKind::kKillTuner, "tuner is killed", Node::kTuner, 8000, 2},
    {FaultKind::kFlappingTuner, "flapping tuner", Node::kTuner, 10000, 2},
    {FaultKind::kTwinWorker, "a second process of worker starts", Node::kWorker, 0},
    {FaultKind::kStopWorker, "worker is stopped", Node::kWorker, 30000, 2},
    {FaultKind::kLeave, "worker leaves", Node::kWorker, 20000},
    {FaultKind::kDrain, "worker is drained", Node::kWorker, 15000},
    {FaultKind::kPartition, "no network to and from", Node::kAny, 30000},
    {FaultKind::kPartitionToNode, "no network from the tracker to", Node::kAny, 30000},
    {FaultKind::kPartitionFrom, "no network to the tracker from", Node::kAny, 30000},
    {FaultKind::kFlappingLink, "flapping connection of worker", Node::kWorker, 15000, 2},
    {FaultKind::kLoss, "messages are lost of", Node::kAny, 30000},
    {FaultKind::kRepeat, "messages are repeated of", Node::kAny, 30000, 2},
    {FaultKind::kDelay, "messages are delayed of", Node::kAny, 30000, 2},
    {FaultKind::kSickWorker, "faults at worker", Node::kWorker, 20000},
    {FaultKind::kSlowWorker, "slow worker", Node::kWorker, 20000},
    {FaultKind::kHangingWorker, "hanging worker", Node::kWorker, 10000},
    {FaultKind::kFlappingWorker, "flapping worker", Node::kWorker, 15000},
    {FaultKind::kLyingWorker, "lying worker", Node::kWorker, 20000, 2},
    {FaultKind::kWaitingWorker, "waiting worker", Node::kWorker, 30000},
    {FaultKind::kHastyTracker, "a hasty tracker", Node::kNone, 20000},
    {FaultKind::kRogueWorker, "a rogue as a worker", Node::kNone, 20000},
    {FaultKind::kRogueTuner, "a rogue as a tuner", Node::kNone, 20000},
    {FaultKind::kClockStep, "the date jumps at tuner", Node::kTuner, 0},
    {FaultKind::kDiskFull, "disk full at tuner", Node::kTuner, 15000},
    {FaultKind::kDiskSlow, "disk slow at tuner", Node::kTuner, 20000},
    {FaultKind::kForgetArtifacts, "the content store forgets", Node::kNone, 0},
};

int NodeCount(Node node, const PlanOptions& options) {
  switch (node) {
    case Node::kNone:
      return 1;
    case Node::kWorker:
      return options.worker_count;
    case Node::kTuner:
      return options.tuner_count;
    case Node::kAny:
      return options.worker_count + options.tuner_count;
  }
  return 1;
}

// A restart of the tracker and whatever is late meet in most of what is hard, so that some come
// more often.
FaultKind SomeKind(Rng& rng) {
  int total = 0;
  for (const Row& row : kRows) total += row.weight;
  auto left = static_cast<int>(rng.Below(total));
  for (const Row& row : kRows) {
    if (left < row.weight) return row.kind;
    left -= row.weight;
  }
  return FaultKind::kKillTracker;
}

}  // namespace

std::string Fault::Text() const {
  const Row& row = kRows[static_cast<int>(kind)];
  std::string text = absl::StrFormat("%6.2f s  %s", absl::ToDoubleSeconds(at), row.name);
  if (row.node != Node::kNone) {
    absl::StrAppend(&text, node == kEverybody ? " everybody" : absl::StrFormat(" %d", node));
  }
  if (duration != absl::ZeroDuration()) {
    absl::StrAppendFormat(&text, ", %s", absl::FormatDuration(duration));
  }
  absl::StrAppendFormat(&text, " (level %.2f)", level);
  return text;
}

std::vector<Fault> MakePlan(uint64_t seed, const PlanOptions& options) {
  Rng rng(RngStream{.seed = seed, .purpose = "fault plan"});
  std::vector<Fault> plan;
  // A swarm: each seed has a few kinds only, several times each. A run with everything at once
  // hides what needs one kind to happen often. (Groce et al., "Swarm testing", ISSTA 2012.) One run
  // in eight has none: what is wrong there has no excuse.
  if (rng.Below(8) == 0) return plan;
  std::vector<FaultKind> kinds;
  const int kind_count = static_cast<int>(rng.Between(1, 5));
  while (static_cast<int>(kinds.size()) < kind_count) {
    kinds.push_back(SomeKind(rng));
  }
  const int fault_count = static_cast<int>(rng.Between(1, 18));
  for (int i = 0; i < fault_count; ++i) {
    const FaultKind kind = kinds[rng.Below(kinds.size())];
    const Row& row = kRows[static_cast<int>(kind)];
    Fault fault{.kind = kind};
    fault.node = static_cast<int>(rng.Below(NodeCount(row.node, options)));
    fault.level = rng.Uniform();
    const bool is_of_network = row.node == Node::kAny || kind == FaultKind::kFlappingLink;
    if (is_of_network && rng.Below(3) == 0) fault.node = kEverybody;
    if (kind == FaultKind::kLyingWorker) fault.node = static_cast<int>(seed % options.worker_count);
    // Most of the work is done in the first seconds.
    const int64_t latest_ms = rng.Below(3) == 0 ? 40000 : 8000;
    fault.at = absl::Milliseconds(rng.Between(0, latest_ms));
    if (row.duration_max_ms > 0) {
      // Short ones as often as long ones.
      const int64_t max_ms = rng.Below(2) == 0 ? row.duration_max_ms / 10 : row.duration_max_ms;
      fault.duration = absl::Milliseconds(rng.Between(1, max_ms));
    }
    if (kind == FaultKind::kClockStep) {
      fault.duration = absl::Milliseconds(rng.Between(-3'600'000, 3'600'000));
    }
    plan.push_back(fault);
  }
  std::sort(plan.begin(), plan.end(), [](const Fault& a, const Fault& b) {
    return std::tie(a.at, a.kind, a.node, a.level) < std::tie(b.at, b.kind, b.node, b.level);
  });
  return plan;
}

}  // namespace burnish::sim
