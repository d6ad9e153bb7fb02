// Compute: for each straight-line body (unrolled and vectorized loops), cycles of arithmetic, of
// loads and stores after common addresses are shared, of the dependence chain, and of spills.
// Memory: the bytes that each cache level must bring in (cache_traffic.h), at that level's rate;
// the levels work at the same time. Arithmetic and memory overlap but for a part that depends on
// whether the program prefetches, and on what other workers have in their caches. The rates and
// shares were fitted to 220 schedules of 11 convolutions on two cores of a Zen 4, over which the
// argmin takes 1.03 times as long as the best.
#include "tuner/cost_model/analytic_model.h"

#include <algorithm>
#include <vector>

#include "tuner/cost_model/cache_traffic.h"

namespace burnish {
namespace {

// Bytes a cycle and core that a level delivers to the one above it, of recent x86-64 servers; DRAM
// is shared by the cores.
constexpr double kL2Bytes = 28, kL3Bytes = 10, kDramBytes = 7, kDramBytesAll = 12;
// From another core's cache, with nobody asking ahead; cores of one L3 do better, others worse.
constexpr double kRemoteBytes = 0.5;
// Likewise, of what the task before left there, with hardware prefetching: an input that every
// worker reads whole is another worker's but for a share. Chosen inside of ResNet-50.
constexpr double kNeighbourBytes = 12;
// Weights that every worker reads whole: cores without an L3 in common bring them from memory each.
// They are asked for ahead, so that little of it is seen.
constexpr double kSharedWeightBytes = 256;
// Of the levels that are not the slowest, and of the lesser of arithmetic and memory, what is seen.
constexpr double kLevelsSeen = 0.1, kOverlapSeen = 0.3;
constexpr double kCyclesPerSecond = 3.2e9;
constexpr double kBarrierCycles = 1500;  // Waking the workers for a phase and joining them.
constexpr double kLoopCycles = 0.5, kLoopStartCycles = 5;
constexpr double kPrefetchCycles = 0.5;  // An address and an instruction.
// Of a general-purpose file of 16: what addresses of broadcast rows may use without spilling.
constexpr int kPointerRegisters = 11;

// Cycles of one execution of a nest's items on one worker.
class ComputeModel {
 public:
  ComputeModel(const WalkNest& nest, const IsaModel& isa) : nest_(nest), isa_(isa) {}

  double Cycles(const std::vector<WalkItem>& items) const {
    double cycles = 0;
    for (const WalkItem& item : items) cycles += Cycles(item);
    return cycles;
  }

 private:
  double Cycles(const WalkItem& item) const {
    switch (item.kind) {
      case WalkKind::kLoop:
        return kLoopStartCycles + item.trips * (Cycles(item.items) + kLoopCycles);
      case WalkKind::kIf:
        return 1 + item.share * Cycles(item.items) + (1 - item.share) * Cycles(item.otherwise);
      case WalkKind::kBody:
        return BodyCycles(item.body);
      case WalkKind::kPrefetch:
        return kPrefetchCycles;
    }
    return 0;
  }

  double BodyCycles(const WalkBody& body) const {
    double arithmetic = 0, loads = 0, stores = 0, chain = 0, accumulators = 0, pointers = 0;
    for (size_t i : body.stores) {
      const WalkStore& store = nest_.stores[i];
      // Multiply and add are one instruction.
      const bool combines_apart = store.combines && !store.is_product;
      arithmetic += store.instances * ((store.ops.simple() + combines_apart) /
                                           static_cast<double>(isa_.fma_per_cycle) +
                                       store.ops.slow_cycles());
      for (size_t a = store.access_begin; a < store.access_end; ++a) {
        const WalkAccess& access = nest_.accesses[a];
        (access.is_store ? stores : loads) += access.instructions;
        pointers += access.pointers;
      }
      if (store.to_register) {
        accumulators = std::max(accumulators, store.window);
        if (store.combines) chain = std::max(chain, store.reduced * isa_.fma_latency_cycles);
      } else if (store.combines) {
        chain += isa_.fma_latency_cycles + 4;  // Through memory.
      }
    }
    double branches = body.branch_count;
    for (const WalkBody::Inner& inner : body.inner) {
      branches += inner.trips * (Cycles(inner.items) + kLoopCycles);
    }
    double cycles = std::max({arithmetic, loads / isa_.loads_per_cycle,
                              stores / std::max(isa_.stores_per_cycle, 1), chain});
    const double registers = accumulators + 2;
    if (registers > isa_.vector_register_count) {
      cycles += 2 * (registers - isa_.vector_register_count);
    }
    if (pointers > kPointerRegisters) cycles += pointers - kPointerRegisters;
    // Nothing keeps both FMA ports and the front end busy all the time.
    return cycles * 1.02 + branches;
  }

  const WalkNest& nest_;
  const IsaModel& isa_;
};

}  // namespace

NestCycles AnalyticNestCycles(const WalkNest& nest, const std::vector<BufferTraffic>& traffic,
                              const IsaModel& isa) {
  NestCycles cycles;
  cycles.compute = ComputeModel(nest, isa).Cycles(nest.items);
  double sum = 0;
  for (int c = 0; c < kCacheLevelCount; ++c) {
    double level = 0;
    for (const BufferTraffic& buffer : traffic) {
      // What all workers read comes from DRAM once.
      const double streams = nest.IsShared(*buffer.access) ? 1 : nest.workers;
      const double rates[] = {kL2Bytes, kL3Bytes, std::min(kDramBytes, kDramBytesAll / streams)};
      const double level_cycles = buffer.bytes_in[c] / rates[c];
      level += level_cycles;
      // What nobody asks for ahead is waited for: panels jump, and hardware prefetching starts
      // anew at each.
      if (c > 0 && buffer.access->is_cold && !buffer.access->is_prefetched) {
        cycles.exposed += 0.5 * level_cycles;
      }
    }
    cycles.memory = std::max(cycles.memory, level);
    sum += level;
  }
  cycles.memory += kLevelsSeen * (sum - cycles.memory);
  for (const BufferTraffic& buffer : traffic) {
    const WalkAccess& access = *buffer.access;
    if (!access.is_remote && (access.is_store || !nest.IsShared(access))) continue;
    const double rate = access.is_remote ? kRemoteBytes
                        : access.is_cold ? kSharedWeightBytes
                                         : kNeighbourBytes;
    const double others = (nest.workers - 1.0) / nest.workers;
    cycles.exposed += buffer.footprint_bytes[0] * others / rate;
  }
  return cycles;
}

double AnalyticSeconds(absl::Span<const NestCycles> nests, int threads) {
  double total = 0;
  for (const NestCycles& nest : nests) {
    total += std::max(nest.compute, nest.memory) +
             kOverlapSeen * std::min(nest.compute, nest.memory) + nest.exposed +
             (threads > 1 ? kBarrierCycles : 0);
  }
  return std::max(total, 1.0) / kCyclesPerSecond;
}

double AnalyticSeconds(const Program& lowered, const IsaModel& isa, int threads) {
  std::vector<NestCycles> cycles;
  for (const WalkNest& nest : WalkNests(lowered, isa, threads)) {
    cycles.push_back(AnalyticNestCycles(nest, TrafficOf(lowered, nest, isa), isa));
  }
  return AnalyticSeconds(cycles, threads);
}

}  // namespace burnish
