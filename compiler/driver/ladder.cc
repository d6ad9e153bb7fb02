#include "compiler/driver/ladder.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "compiler/driver/ladder_sizes.h"
#include "compiler/driver/to_status.h"
#include "compiler/graph/control.h"
#include "compiler/runtime/bundle.h"

namespace burnish {
namespace {

// Below so much of a range beside others it does not matter where in it a run is.
constexpr int64_t kRangeMin = 8;
// And below so much of one that is alone.
constexpr int64_t kRangeAloneMin = 4;
// The second of two sizes gets bounds; a third is seen by neither.
constexpr size_t kSizesMax = 2;
// Quarters of the greatest size that get a bound of their own. Sizes are as likely as others, so
// that bounds lie as far from one another, and a run in the upper quarter is not much below its
// own; compiling all of them shall take no more than four times one. Of two sizes the second gets
// bounds: loops over the first (a past, of which keys are summed as far as they hold) leave out
// what a run does not have, whatever the bound, while tiles are made for rows of the second.
constexpr int64_t kQuarters = 4;
constexpr int64_t kQuartersAlone[] = {1, 2, 3};
constexpr int64_t kQuartersOfSecond[] = {1};
constexpr int64_t kQuartersOfPast[] = {1, 2};
// A range of so much gets a bound at this share of its greatest, too: four words of up to 256 took
// 1.85 of their own bundle's time with the bound of 64 (Zen 4).
constexpr int64_t kRangeFar = 64;
constexpr int64_t kFarShare = 16;

// Places of constants among the weights of all.
class SharedWeights {
 public:
  SharedWeights(UnwrittenBundle& whole, WeightPool& pool) : whole_(whole), pool_(pool) {
    for (size_t i = 0; i < whole.weights.size(); ++i) {
      at_.emplace(pool.Shared(whole.weights[i]).get(), whole.manifest.constants[i].offset_bytes);
    }
  }

  uint64_t Place(const std::string& name, const ConstantPtr& bytes) {
    ConstantPtr shared = pool_.Shared(bytes);
    const auto [found, is_new] = at_.emplace(shared.get(), 0);
    if (is_new) {
      AddWeight(name, std::move(shared), whole_);
      found->second = whole_.manifest.constants.back().offset_bytes;
    }
    return found->second;
  }

 private:
  UnwrittenBundle& whole_;
  WeightPool& pool_;
  std::map<const ConstantData*, uint64_t> at_;
};

// A variant's manifest, with its constants where they are shared.
absl::StatusOr<BundleManifest> Relocated(const UnwrittenBundle& variant, SharedWeights& shared) {
  BundleManifest manifest = variant.manifest;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> moved;  // By offset: size, and the new offset.
  for (size_t i = 0; i < manifest.constants.size(); ++i) {
    const ConstantInfo& constant = manifest.constants[i];
    moved[constant.offset_bytes] = {constant.size_bytes,
                                    shared.Place(constant.name, variant.weights[i])};
  }
  bool is_known = true;
  const auto move = [&](Place& place) {
    if (place.region != Region::kWeights) return;
    auto constant = moved.upper_bound(place.offset_bytes);
    is_known = is_known && constant != moved.begin();
    if (!is_known) return;
    --constant;
    const uint64_t shift = place.offset_bytes - constant->first;
    is_known = shift <= constant->second.first;
    place.offset_bytes = constant->second.second + shift;
  };
  for (ModelStep& step : manifest.steps)
    std::for_each(step.buffers.begin(), step.buffers.end(), move);
  for (ControlBlock& block : manifest.control.blocks) {
    move(block.count_place);
    move(block.condition);
    for (LoopResult& result : block.results) move(result.from);
  }
  for (Walker& walker : manifest.control.walkers) {
    move(walker.first);
    move(walker.base);
  }
  if (!is_known) return absl::InternalError("a step reads no constant");
  manifest.constants.clear();
  return manifest;
}

// Below the greatest, ascending.
void AddBounds(const GraphSize& size, std::span<const int64_t> quarters,
               std::vector<int64_t>& bounds) {
  for (const int64_t quarter : quarters) {
    // Of a size up to 2^62 and beyond.
    const int64_t bound =
        size.greatest / kQuarters * quarter + size.greatest % kQuarters * quarter / kQuarters;
    if (bound >= std::max<int64_t>(size.least, 1) && bound < size.greatest &&
        (bounds.empty() || bound > bounds.back())) {
      bounds.push_back(bound);
    }
  }
}

// By size: whether loops of steps run as often as it says. They compute nothing for nothing, and
// what is around them leaves out what nobody reads, whatever the bound.
std::vector<bool> CountsOf(const Graph& graph) {
  std::vector<bool> counts(graph.sizes.size(), false);
  for (const GraphNode& node : graph.nodes) {
    if (node.op != OpId::kLoop || !LoopParts(node).has_count) continue;
    ValueId count = node.inputs[0];
    for (GraphNodeId from = graph.value(count).producer;
         from >= 0 &&
         (graph.nodes[from].op == OpId::kReshape || graph.nodes[from].op == OpId::kIdentity);
         from = graph.value(count).producer) {
      count = graph.nodes[from].inputs[0];
    }
    for (size_t i = 0; i < counts.size(); ++i) {
      counts[i] = counts[i] || graph.inputs[graph.shown_inputs() + i] == count;
    }
  }
  return counts;
}

// Those that get bounds, the widest first.
std::vector<size_t> WidestOf(const Graph& graph) {
  const std::vector<bool> counts = CountsOf(graph);
  const auto span = [&](size_t i) {
    return graph.sizes[i].greatest / std::max<int64_t>(graph.sizes[i].least, 1);
  };
  const auto widest = [&](bool counted, int64_t range_min) {
    std::vector<size_t> found;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == counted && span(i) >= range_min) found.push_back(i);
    }
    std::sort(found.begin(), found.end(),
              [&](size_t a, size_t b) { return std::pair(span(b), a) < std::pair(span(a), b); });
    return found;
  };
  std::vector<size_t> found = widest(/*counted=*/false, kRangeMin);
  if (found.empty()) found = widest(/*counted=*/false, kRangeAloneMin);
  if (found.empty()) found = widest(/*counted=*/true, kRangeMin);
  if (found.size() > kSizesMax) found.resize(kSizesMax);
  return found;
}

}  // namespace

std::vector<LadderBounds> LadderOf(const Graph& graph) {
  const std::vector<GraphSize>& sizes = graph.sizes;
  const std::vector<size_t> widest = WidestOf(graph);
  if (widest.empty()) return {};
  const size_t which = widest.back();
  const GraphSize& size = sizes[which];
  std::vector<int64_t> bounds;
  if (size.greatest / std::max<int64_t>(size.least, 1) >= kRangeFar) {
    bounds.push_back(size.greatest / kFarShare);
  }
  if (widest.size() == 1) {
    AddBounds(size, kQuartersAlone, bounds);
  } else {
    AddBounds(size, kQuartersOfSecond, bounds);
    // With a past the second is the words of a call: one, in all calls but the first.
    if (size.least == 1) bounds.push_back(1);
  }
  LadderBounds whole;
  for (const GraphSize& size : sizes) whole.push_back(size.greatest);
  std::vector<LadderBounds> ladder;
  for (const int64_t bound : bounds) {
    ladder.push_back(whole);
    ladder.back()[which] = bound;
  }
  // Joins of keys are written as far as the bound, which is most of what a word moves behind a
  // short past, and its kernels are compiled soonest.
  if (widest.size() == 2 && size.least == 1) {
    std::vector<int64_t> pasts;
    AddBounds(sizes[widest[0]], kQuartersOfPast, pasts);
    const LadderBounds one = ladder.back();
    for (const int64_t bound : pasts) {
      ladder.push_back(one);
      ladder.back()[widest[0]] = bound;
    }
  }
  return ladder;
}

std::vector<int64_t> LeastServed(const LadderBounds& bounds, absl::Span<const LadderBounds> ladder,
                                 const Graph& graph) {
  std::vector<int64_t> least;
  for (size_t i = 0; i < bounds.size(); ++i) {
    least.push_back(graph.sizes[i].least);
    for (const LadderBounds& other : ladder) {
      bool holds_others = other[i] < bounds[i];
      for (size_t j = 0; j < bounds.size(); ++j) {
        holds_others = holds_others && (j == i || other[j] >= bounds[j]);
      }
      if (holds_others) least[i] = std::max(least[i], other[i] + 1);
    }
  }
  return least;
}

bool HasLessWork(const LadderBounds& a, const LadderBounds& b) {
  const auto work = [](const LadderBounds& bounds) {
    double product = 1;
    for (const int64_t bound : bounds) product *= static_cast<double>(bound);
    return product;
  };
  return std::pair(work(a), a) < std::pair(work(b), b);
}

absl::StatusOr<UnwrittenBundle> ComposeLadder(UnwrittenBundle whole,
                                              absl::Span<const UnwrittenBundle> smaller,
                                              WeightPool& pool) {
  SharedWeights shared(whole, pool);
  std::vector<BundleManifest> manifests;
  for (const UnwrittenBundle& variant : smaller) {
    ASSIGN_OR_RETURN(manifests.emplace_back(), Relocated(variant, shared));
    RETURN_IF_ERROR(TakeSizesOf(whole.manifest, manifests.back()));
  }
  for (size_t i = 0; i < smaller.size(); ++i) {
    manifests[i].weights_bytes = whole.manifest.weights_bytes;
    RuntimeOr<std::string> written = WriteVariant(manifests[i], smaller[i].elf);
    if (!written.ok()) return ToStatus(written.status());
    whole.variants.push_back(*std::move(written));
  }
  return whole;
}

uint64_t AddedBytes(const UnwrittenBundle& whole, const UnwrittenBundle& composed) {
  uint64_t bytes = composed.manifest.weights_bytes - whole.manifest.weights_bytes;
  for (const std::string& variant : composed.variants) bytes += variant.size();
  return bytes;
}

}  // namespace burnish
