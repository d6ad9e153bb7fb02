// Compute: for each straight-line body (unrolled and vectorized loops), cycles of arithmetic, of
// loads and stores after common addresses are shared, of the dependence chain, and of spills.
// Memory: the bytes that each cache level must bring in (cache_traffic.h), at that level's rate;
// the levels work at the same time. Arithmetic and memory overlap, and what nothing asks for ahead
// is waited for. The rates are the device's. The shares of them that a schedule sees were fitted to
// 30,604 measured points of 21 tasks on two cores of a Zen 4 and of a Zen 5
// (tests/bench/search/table_accuracy), one set for both machines.
#include "tuner/cost_model/analytic_model.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "tuner/cost_model/cache_traffic.h"
#include "tuner/cost_model/passes.h"

namespace burnish {
namespace {

// Of the rate at which a loop that only reads gets data from a level, what loops see that compute
// with it: their accesses jump from panel to panel, and prefetchers start anew at each.
constexpr double kL2Seen = 0.875, kL3Seen = 1, kMemorySeen = 0.75;
// Of the time that a stream from another core's cache takes, what is seen where all workers read
// the same weights: cores without an L3 in common bring them from memory each, asked for ahead.
// 0.05 to 0.2 are alike on the tables, whose machines had an L3 in common at the time; where CPUs
// have none, products of 128 rows with 2 MiB of weights are faster by panels, which 0.1 does not
// say.
constexpr double kSharedWeightsSeen = 0.15;
// Of the levels that are not the slowest, what is seen.
constexpr double kLevelsSeen = 0.1;
// Multiply-adds that a worker could do while a line comes from memory: latency in cycles times
// multiply-adds a cycle. A machine that could do so many waits for the whole time of weights that
// nothing asks for ahead, one that could do fewer for a share of that time. Products with and
// without prefetches (tests/bench/search): 520 and a share of 0.3 on a Zen 4, 1,250 and 0.75 on a
// Zen 5, 1,700 and 1.3 on a Granite Rapids.
constexpr double kWaitedWhole = 1700;
// Lines at the start of a run of neighbours that hardware does not ask for ahead, in lines that
// take as long as the run's others. Sums over 300 rows of 1500 floats on a Zen 5: by 1, 2 and 4
// lines of a row at a time 2.1, 1.4 and 1.0 of the time that 4 take
// (tests/bench/search/zen5/x_vector_sum). Of 1, 2, 3 and 4 the second has the most points within
// 0.8 to 1.25 on a Zen 4, the first on a Zen 5; favourites are alike from 2 on.
// Of what is stored these are brought from L3 too, in its time: where outputs are written by single
// lines of rows, a transpose of 3 MiB takes three times as long on a Granite Rapids, whose L3 is
// 140 cycles away. Loads of L3 are near enough to be waited for: with them too depthwise 3-D
// convolutions took 1.44 of their time there, and attention with one query 1.12.
constexpr double kRunStartLines = 2;
// A phase has a barrier at each end, and its workers wait for the slowest of them. What waiting
// takes is the first model's guess of 1,500 cycles for waking and joining workers, less two
// barriers of 150 of the Zen 4 that it was made for. Only schedules of unlike numbers of phases are
// told apart by it.
constexpr double kBarriersOfAPhase = 2, kWaitCycles = 1200;
// Cycles of entering and leaving a loop, set by hand on a Zen 4 with the 0.5 of a step there
// (compiler/target/core_rates.cc). 15, on top of a form that was tried, ordered a few pairs more
// right on both Zens and had fewer points within (README.md).
constexpr double kLoopStartCycles = 5;
constexpr double kPrefetchCycles = 0.5;  // An address and an instruction.
// Nothing keeps both FMA ports and the front end busy all the time: by how much is a guess of the
// first model, and the same for all points of a task that are bound by arithmetic.
constexpr double kBusyCycles = 1.02;
// Of a general-purpose file of 16: what addresses of broadcast rows may use without spilling.
constexpr int kPointerRegisters = 11;

// The unit that computes a store: its instruction's; by the type of its value; where the device
// names none for that (integers one by one), the one of floats, whose ports have vectors of
// integers too.
const ComputeUnit& UnitOf(const WalkStore& store, const DeviceModel& device) {
  const ComputeUnit* unit = nullptr;
  if (!store.intrinsic.empty()) unit = device.FindUnit(store.intrinsic);
  if (unit == nullptr && store.dtype == DType::kF64) {
    unit = device.FindUnit(NumberType::kF64, NumberType::kF64);
  }
  return unit == nullptr ? FloatUnit(device) : *unit;
}

using ComputeParts = std::array<double, kComputeLimitCount>;

// Cycles of one execution of a nest's items on one worker.
class ComputeModel {
 public:
  ComputeModel(const WalkNest& nest, const DeviceModel& device)
      : nest_(nest), device_(device), isa_(device.core) {}

  // Of `items` that run `times` times, the cycles of one; adds those of all to `parts`.
  double Cycles(const std::vector<WalkItem>& items, double times = 1,
                ComputeParts* parts = nullptr) const {
    double cycles = 0;
    for (const WalkItem& item : items) cycles += Cycles(item, times, parts);
    return cycles;
  }

 private:
  double Cycles(const WalkItem& item, double times, ComputeParts* parts) const {
    const auto add = [&](ComputeLimit part, double cycles) {
      if (parts != nullptr) (*parts)[part] += times * cycles;
    };
    switch (item.kind) {
      case WalkKind::kLoop:
        add(kLoopPart, kLoopStartCycles + item.trips * device_.loop_cycles);
        return kLoopStartCycles +
               item.trips * (Cycles(item.items, times * item.trips, parts) + device_.loop_cycles);
      case WalkKind::kIf:
        add(kLoopPart, 1);
        return 1 + item.share * Cycles(item.items, times * item.share, parts) +
               (1 - item.share) * Cycles(item.otherwise, times * (1 - item.share), parts);
      case WalkKind::kBody:
        return BodyCycles(item.body, times, parts);
      case WalkKind::kPrefetch:
        add(kLoadLimit, kPrefetchCycles);
        return kPrefetchCycles;
    }
    return 0;
  }

  static int RowsOf(const WalkStore& store, const ComputeUnit& unit) {
    return store.tile_rows > 0 ? static_cast<int>(store.tile_rows) : unit.m;
  }

  // Loads for each arithmetic instruction: the clock and the ports suffer under them.
  double LoadShare(const WalkBody& body, double loads) const {
    double instructions = 0;
    for (size_t i : body.stores) {
      const WalkStore& store = nest_.stores[i];
      instructions += store.instances * store.instructions() + store.converted_loads;
    }
    return instructions > 0 ? loads / instructions : 1;
  }

  // Sums that one execution of the body begins in each element of a register window: each has a
  // chain of its own, for renaming gives each a register of its own, and the chains run side by
  // side.
  double SumsBegun(const WalkBody& body, BufferId window) const {
    double begun = 1;
    for (size_t i : body.stores) {
      const WalkStore& store = nest_.stores[i];
      if (store.buffer == window && !store.combines) begun = std::max(begun, store.reduced);
    }
    return begun;
  }

  double BodyCycles(const WalkBody& body, double times, ComputeParts* parts) const {
    double loads = 0, stores = 0, pointers = 0;
    for (size_t i : body.stores) {
      const WalkStore& store = nest_.stores[i];
      for (size_t a = store.access_begin; a < store.access_end; ++a) {
        const WalkAccess& access = nest_.accesses[a];
        (access.is_store ? stores : loads) += access.instructions;
        pointers += access.pointers;
      }
    }
    const double load_share = LoadShare(body, loads);
    double arithmetic = 0, chain = 0, accumulators = 0;
    for (size_t i : body.stores) {
      const WalkStore& store = nest_.stores[i];
      const ComputeUnit& unit = UnitOf(store, device_);
      const double per_cycle = unit.PerCycle(load_share) / unit.RowShare(RowsOf(store, unit));
      arithmetic += store.instances * (store.instructions() / per_cycle + store.ops.slow_cycles()) +
                    store.converted_loads / per_cycle;
      if (store.to_register) {
        accumulators = std::max(accumulators, store.window);
        if (store.combines) {
          const double latency = store.tile_rows > 0
                                     ? unit.latency_cycles * unit.RowShare(RowsOf(store, unit))
                                     : isa_.fma_latency_cycles;
          chain = std::max(chain, store.reduced / SumsBegun(body, store.buffer) * latency);
        }
      } else if (store.combines) {
        chain += isa_.fma_latency_cycles + 4;  // Through memory.
      }
    }
    double branches = body.branch_count;
    for (const WalkBody::Inner& inner : body.inner) {
      branches +=
          inner.trips * (Cycles(inner.items, times * inner.trips, parts) + device_.loop_cycles);
      if (parts != nullptr) (*parts)[kLoopPart] += times * inner.trips * device_.loop_cycles;
    }
    // In the order of ComputeLimit.
    const std::array<double, 4> limits = {arithmetic, loads / isa_.loads_per_cycle,
                                          stores / std::max(isa_.stores_per_cycle, 1), chain};
    const auto longest = std::max_element(limits.begin(), limits.end());
    double cycles = *longest;
    const double registers = accumulators + 2;
    if (registers > isa_.vector_register_count) {
      cycles += 2 * (registers - isa_.vector_register_count);
    }
    if (pointers > kPointerRegisters) cycles += pointers - kPointerRegisters;
    if (parts != nullptr) {
      (*parts)[longest - limits.begin()] += times * kBusyCycles * *longest;
      (*parts)[kSpillPart] += times * kBusyCycles * (cycles - *longest);
      (*parts)[kLoopPart] += times * body.branch_count;
    }
    return cycles * kBusyCycles + branches;
  }

  const WalkNest& nest_;
  const DeviceModel& device_;
  const IsaModel& isa_;
};

// Bytes a cycle into each cache of one worker, as loops see them that compute with the data.
class FillRates {
 public:
  explicit FillRates(const DeviceModel& device) {
    const char* const names[] = {"L2", "L3", "memory"};
    for (int c = 0; c < kCacheLevelCount; ++c) {
      // What a level that is not there would have comes from the next one.
      for (int outer = c; outer < kCacheLevelCount && levels_[c] == nullptr; ++outer) {
        levels_[c] = device.FindLevel(names[outer]);
      }
      CHECK(levels_[c] != nullptr) << device.name << " has no memory";
    }
  }

  // Of memory, in cycles.
  double MemoryLatency() const { return levels_.back()->latency_cycles; }

  // Into cache `c` (0: the first), while so many workers read different data.
  double Of(int c, double readers) const {
    constexpr double kSeen[] = {kL2Seen, kL3Seen, kMemorySeen};
    const MemoryLevel& level = *levels_[c];
    const double alone = kSeen[c] * level.BytesPerCycle(1);
    return level.owner_count == 1 ? alone : std::min(alone, level.BytesPerCycle(readers));
  }

 private:
  std::array<const MemoryLevel*, kCacheLevelCount> levels_ = {};
};

// Bytes a cycle of what other workers have in their caches.
struct PeerRates {
  double neighbour = 0;       // Written there, by this task or the one before: hardware prefetches.
  double shared_weights = 0;  // Read by every worker, asked for ahead.
};
PeerRates PeerRatesOf(const DeviceModel& device) {
  const ParallelAxis* const workers = device.FindAxis(Axis::kWorker);
  CHECK(workers != nullptr) << device.name << " has no workers";
  return {.neighbour = workers->peer_bytes_per_cycle,
          .shared_weights = workers->peer_bytes_per_cycle / kSharedWeightsSeen};
}

// Whether a worker reads each element once, as the weights of a product of one row: packed in the
// order of use they are one stream, which hardware asks for ahead from the first panel to the last.
// 25088 x 4096 weights of bfloat16 take 6.0 ms without prefetches on two threads of a Granite
// Rapids, 34.5 GB/s, and 9.5 with them.
bool IsReadOnce(const WalkAccess& access) {
  for (size_t i = 0; i < access.body_depth; ++i) {
    const AccessLoop& loop = access.loops[i];
    if (!loop.is_dealt && loop.trips > 1 && !loop.moves()) return false;
  }
  return true;
}

// How often a worker begins weights that it reads over and over before it moves on, the first time
// not counted: the panels of a product, whose rows are in the loop inside. Hardware that has run
// ahead of a panel's end has the beginning of the next one, but not beyond the end of a page
// ("Intel 64 and IA-32 architectures optimization reference manual", 2.5.5.4).
double PanelsBegun(const BufferTraffic& weights, double bytes) {
  const WalkAccess& access = *weights.access;
  size_t level = access.body_depth;
  while (level > 0) {
    const AccessLoop& loop = access.loops[level - 1];
    if (!loop.moves() && loop.trips > 1) break;
    --level;
  }
  return std::max(0.0, bytes / std::max(weights.footprint_bytes[level], kPageBytes) - 1);
}

}  // namespace

NestCycles AnalyticNestCycles(const WalkNest& nest, const std::vector<BufferTraffic>& traffic,
                              const DeviceModel& device) {
  const FillRates rates(device);
  const double waited_share =
      std::min(rates.MemoryLatency() * FloatUnit(device).per_cycle / kWaitedWhole, 1.0);
  NestCycles cycles;
  cycles.compute = ComputeModel(nest, device).Cycles(nest.items);
  double sum = 0, waited = 0;
  std::vector<double> fill(traffic.size(), 0);
  for (int c = 0; c < kCacheLevelCount; ++c) {
    double level = 0;
    for (size_t i = 0; i < traffic.size(); ++i) {
      const BufferTraffic& buffer = traffic[i];
      // What all workers read comes from memory once.
      const double readers = nest.IsShared(*buffer.access) ? 1 : nest.workers;
      double level_cycles = buffer.bytes_in[c] / rates.Of(c, readers);
      const bool from_memory = c + 1 == kCacheLevelCount;
      if (from_memory || (c > 0 && buffer.access->is_store)) {
        level_cycles *= 1 + kRunStartLines / buffer.run_lines;
      }
      level += level_cycles;
      if (c > 0) fill[i] = std::max(fill[i], level_cycles);
      // What nobody asks for ahead is waited for: panels jump, and hardware prefetching starts
      // anew at each.
      if (c > 0 && buffer.access->is_cold && !buffer.access->is_prefetched &&
          !IsReadOnce(*buffer.access)) {
        waited += waited_share * level_cycles;
        // While rows run over a panel nothing is read ahead, and so its first line is waited for. A
        // program with prefetches has asked for that one, also where it asks for too much.
        if (from_memory && nest.prefetch_count == 0) {
          cycles.exposed += PanelsBegun(buffer, buffer.bytes_in[c]) * rates.MemoryLatency();
        }
      }
    }
    cycles.fill[c] = level;
    cycles.memory = std::max(cycles.memory, level);
    sum += level;
  }
  cycles.memory += kLevelsSeen * (sum - cycles.memory);
  // What hardware brings while there is nothing to compute is in `memory`. Of the ways from the
  // lesser of the two to their sum the harmonic one orders the most pairs of the three machines'
  // tables right.
  if (waited > 0) cycles.exposed += 1 / (1 / waited + 1 / std::max(cycles.compute, 1.0));
  cycles.exposed += Passes(nest, traffic, device).Exposed(cycles.compute, cycles.memory, fill);
  const PeerRates peers = PeerRatesOf(device);
  for (const BufferTraffic& buffer : traffic) {
    const WalkAccess& access = *buffer.access;
    if (!access.is_remote && (access.is_store || !nest.IsShared(access))) continue;
    const double rate = access.is_cold ? peers.shared_weights : peers.neighbour;
    const double others = (nest.workers - 1.0) / nest.workers;
    cycles.exposed += buffer.footprint_bytes[0] * others / rate;
  }
  return cycles;
}

std::array<double, kComputeLimitCount> AnalyticComputeParts(const WalkNest& nest,
                                                            const DeviceModel& device) {
  ComputeParts parts = {};
  ComputeModel(nest, device).Cycles(nest.items, 1, &parts);
  return parts;
}

double AnalyticSeconds(absl::Span<const NestCycles> nests, const DeviceModel& device, int threads) {
  const ParallelAxis* const workers = device.FindAxis(Axis::kWorker);
  CHECK(workers != nullptr) << device.name << " has no workers";
  const double phase = threads > 1 ? kWaitCycles + kBarriersOfAPhase * workers->barrier_cycles : 0;
  double total = 0;
  for (const NestCycles& nest : nests) {
    total += Overlapped(nest.compute, nest.memory) + nest.exposed + phase;
  }
  return std::max(total, 1.0) / device.cycles_per_second;
}

double AnalyticSeconds(const Program& lowered, const DeviceModel& device, int threads) {
  std::vector<NestCycles> cycles;
  const std::vector<WalkNest> nests = WalkNests(lowered, device.core, threads);
  const auto traffic = TrafficOf(lowered, nests, device.core);
  for (size_t n = 0; n < nests.size(); ++n) {
    cycles.push_back(AnalyticNestCycles(nests[n], traffic[n], device));
  }
  return AnalyticSeconds(cycles, device, threads);
}

}  // namespace burnish
