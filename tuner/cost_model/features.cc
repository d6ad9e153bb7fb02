#include "tuner/cost_model/features.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/numerics.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/cost_model/cache_traffic.h"
#include "tuner/cost_model/nest_walk.h"
#include "tuner/cost_model/store_sums.h"

namespace burnish {
namespace {

float Log2(double n) { return static_cast<float>(std::log2(1 + n)); }

// A nest with what the models say about it.
struct SeenNest {
  WalkNest walk;
  std::vector<BufferTraffic> traffic;
  NestCycles cycles;
};

class Extractor {
 public:
  Extractor(const Program& program, const DeviceModel& device, int threads)
      : program_(program),
        device_(device),
        isa_(device.core),
        threads_(threads),
        row_(kFeatureCount, 0) {}

  std::vector<float> Run() {
    std::vector<NestCycles> cycles;
    std::vector<WalkNest> walks = WalkNests(program_, isa_, threads_);
    auto traffic = TrafficOf(program_, walks, isa_);
    for (size_t n = 0; n < walks.size(); ++n) {
      SeenNest nest{.walk = std::move(walks[n]), .traffic = std::move(traffic[n])};
      nest.cycles = AnalyticNestCycles(nest.walk, nest.traffic, device_);
      cycles.push_back(nest.cycles);
      nests_.push_back(std::move(nest));
    }
    row_[kLogAnalyticSeconds] =
        static_cast<float>(std::log(AnalyticSeconds(cycles, device_, threads_)));
    SetCycles();
    SetBuffersOfProgram();
    SetStores();
    return std::move(row_);
  }

 private:
  void SetCycles() {
    double compute = 0, memory = 0, exposed = 0, serial = 0, parallel = 0, waiting = 0;
    double prefetches = 0, bytes_in[kCacheLevelCount] = {};
    for (const SeenNest& nest : nests_) {
      compute += nest.cycles.compute;
      memory += nest.cycles.memory;
      exposed += nest.cycles.exposed;
      prefetches += nest.walk.prefetch_count;
      for (const BufferTraffic& traffic : nest.traffic) {
        for (int c = 0; c < kCacheLevelCount; ++c) bytes_in[c] += traffic.bytes_in[c];
      }
      if (!nest.walk.parallel) {
        serial += nest.cycles.compute;
        continue;
      }
      const double extent = static_cast<double>(nest.walk.parallel_extent);
      const double busiest = std::ceil(extent / threads_);
      parallel += nest.cycles.compute;
      waiting += nest.cycles.compute * (1 - extent / (busiest * threads_));
    }
    row_[kComputeCycles] = Log2(compute);
    row_[kMemoryCycles] = Log2(memory);
    row_[kExposedCycles] = Log2(exposed);
    row_[kMemoryShare] = Share(memory, memory + compute);
    row_[kNests] = static_cast<float>(nests_.size());
    row_[kSerialShare] = Share(serial, compute);
    row_[kImbalance] = Share(waiting, parallel);
    row_[kPrefetches] = Log2(prefetches);
    row_[kL1BytesIn] = Log2(bytes_in[0]);
    row_[kL2BytesIn] = Log2(bytes_in[1]);
    row_[kL3BytesIn] = Log2(bytes_in[2]);
    row_[kAlgorithmKey] = static_cast<float>(AlgorithmKey(program_.numerics));
  }

  void SetBuffersOfProgram() {
    double scratch = 0, shared = 0, packed = 0, unpacked = 0;
    std::vector<bool> touched(program_.buffers.size(), false);
    for (const SeenNest& nest : nests_) {
      for (const BufferTraffic& traffic : nest.traffic) touched[traffic.buffer] = true;
    }
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& buffer = program_.buffers[i];
      if (!touched[i]) continue;
      const double bytes = static_cast<double>(StorageElementCount(buffer)) *
                           static_cast<double>(SizeBytes(buffer.dtype));
      if (buffer.role == BufferRole::kPacked) packed += bytes;
      if (buffer.role == BufferRole::kConstant) unpacked += bytes;
      if (buffer.role != BufferRole::kTemp) continue;
      (buffer.scope == Scope::kGlobal ? shared : scratch) += bytes;
    }
    row_[kScratchBytes] = Log2(scratch);
    row_[kSharedTempBytes] = Log2(shared);
    row_[kPackedBytes] = Log2(packed);
    row_[kUnpackedBytes] = Log2(unpacked);
  }

  void SetStores() {
    StoreSums all, heaviest_sums;
    const SeenNest* heaviest_nest = nullptr;
    const WalkStore* heaviest = nullptr;
    double stores = 0, body_instructions = 0, window_max = 0, integer = 0, executions_max = 0;
    for (const SeenNest& nest : nests_) {
      for (const WalkStore& store : nest.walk.stores) {
        const StoreSums sums = SumsOf(program_, nest.walk, store);
        stores += 1;
        body_instructions += store.instances;
        window_max = std::max(window_max, store.window);
        all.elements += sums.elements;
        all.operations += sums.operations;
        all.slow += sums.slow;
        all.loads += sums.loads;
        all.stores += sums.stores;
        all.lanes += sums.lanes;
        all.wasted_lanes += sums.wasted_lanes;
        all.accessed_bytes += sums.accessed_bytes;
        integer += sums.elements * store.ops.integer;
        if (heaviest == nullptr || sums.instructions > heaviest_sums.instructions) {
          // The one before is one of the rest now.
          if (heaviest != nullptr) executions_max = std::max(executions_max, heaviest->executions);
          heaviest_sums = sums;
          heaviest = &store;
          heaviest_nest = &nest;
        } else {
          executions_max = std::max(executions_max, store.executions);
        }
      }
    }
    row_[kStores] = static_cast<float>(stores);
    row_[kBodyInstructions] = Log2(body_instructions);
    row_[kOperations] = Log2(all.operations);
    row_[kLoads] = Log2(all.loads);
    row_[kStoreInstructions] = Log2(all.stores);
    row_[kTailWaste] = Share(all.wasted_lanes, all.lanes);
    row_[kWindowMax] = static_cast<float>(window_max);
    row_[kSpilledMax] =
        static_cast<float>(std::max(window_max + 2 - isa_.vector_register_count, 0.0));
    row_[kSlowShare] = Share(all.slow, all.operations);
    float* buffers = &row_[kBufferFeatureBegin];
    std::fill_n(buffers, kFeatureBufferCount * kBufferFeatureCount,
                std::numeric_limits<float>::quiet_NaN());
    if (heaviest == nullptr) return;
    SetStore(*heaviest_nest, *heaviest, heaviest_sums);
    SetBuffers(*heaviest_nest, *heaviest);
    float* rest = &row_[kRestFeatureBegin];
    rest[kRestStores] = static_cast<float>(stores - 1);
    rest[kRestOperations] = Log2(all.operations - heaviest_sums.operations);
    rest[kRestElements] = Log2(all.elements - heaviest_sums.elements);
    rest[kRestExecutions] = Log2(executions_max);
    rest[kRestSlow] = Log2(all.slow - heaviest_sums.slow);
    rest[kRestInteger] = Log2(integer - heaviest_sums.elements * heaviest->ops.integer);
    rest[kRestAccessedBytes] = Log2(all.accessed_bytes - heaviest_sums.accessed_bytes);
  }

  void SetStore(const SeenNest& nest, const WalkStore& store, const StoreSums& sums) {
    float* out = &row_[kStoreFeatureBegin];
    const OpCounts& ops = store.ops;
    const bool fused = store.is_product && store.combines;
    const auto operations = [&](int count) { return Log2(sums.elements * count); };
    out[kStoreAdd] = operations(ops.add + (store.combines && !fused));
    out[kStoreMultiply] = operations(ops.multiply - fused);
    out[kStoreFused] = operations(fused);
    out[kStoreMinMax] = operations(ops.min_max);
    out[kStoreSelect] = operations(ops.select);
    out[kStoreConvert] = operations(ops.cast + ops.widened + ops.negate);
    out[kStoreDivide] = operations(ops.divide);
    out[kStoreTranscendental] = operations(ops.transcendental);
    out[kStorePower] = operations(ops.power);
    out[kStoreCompare] = operations(ops.compare);
    out[kStoreInteger] = operations(ops.integer);
    double unrolled = 1, innermost = 1;
    for (size_t i = 0; i < store.loops.size(); ++i) {
      const WalkLoop& loop = store.loops[i];
      if (i < store.body_depth) innermost = loop.trips;
      if (loop.kind == LoopKind::kUnrolled) unrolled *= loop.trips;
      if (loop.kind == LoopKind::kParallel) {
        out[kStoreParallelExtent] = Log2(static_cast<double>(loop.extent));
        out[kStoreIterationsEach] = Log2(loop.trips);
      }
    }
    if (store.vector_loop >= 0) {
      out[kStoreVectorExtent] = Log2(static_cast<double>(store.loops[store.vector_loop].extent));
    }
    out[kStoreTailWaste] = Share(sums.wasted_lanes, sums.lanes);
    out[kStoreUnrolled] = Log2(unrolled);
    out[kStoreOuterProduct] = Log2(store.executions);
    out[kStoreInnermostTrips] = Log2(innermost);
    out[kStoreLoops] = static_cast<float>(store.loops.size());
    out[kStoreReduced] = Log2(store.reduced);
    out[kStoreWindow] = static_cast<float>(store.window);
    out[kStoreRegisterShare] = Share(store.window + 2, isa_.vector_register_count);
    out[kStorePortFill] = Share(store.window, isa_.accumulators_min());
    out[kStoreLoadsPerOp] = Share(sums.loads, sums.instructions);
    out[kStorePointers] = static_cast<float>(sums.pointers);
    out[kStoreElements] = Log2(sums.elements);
    SetIntensity(nest, store, out);
  }

  // Operations per byte while the loops from some level inward run once.
  void SetIntensity(const SeenNest& nest, const WalkStore& store, float* out) const {
    if (store.access_begin == store.access_end) return;
    const WalkAccess& access = nest.walk.accesses[store.access_begin];
    const OpCounts& ops = store.ops;
    for (int step = 0; step < 5; ++step) {
      const size_t level = (store.loops.size() * step + 2) / 4;
      double operations = ops.elementary() + ops.slow_cycles() + store.combines;
      for (size_t i = level; i < store.loops.size(); ++i) operations *= store.loops[i].trips;
      out[kStoreIntensity0 + step] =
          Log2(operations / WorkingSetBytes(nest.traffic, access, level));
    }
  }

  void SetBuffers(const SeenNest& nest, const WalkStore& store) {
    struct Touched {
      const WalkAccess* access;
      const BufferTraffic* traffic;
      double bytes;
    };
    std::vector<Touched> touched;
    for (size_t a = store.access_begin; a < store.access_end; ++a) {
      const WalkAccess& access = nest.walk.accesses[a];
      const auto traffic =
          std::find_if(nest.traffic.begin(), nest.traffic.end(),
                       [&](const BufferTraffic& t) { return t.buffer == access.buffer; });
      const std::vector<double>& footprint = traffic->footprint_bytes;
      const size_t depth = std::min(access.body_depth, footprint.size() - 1);
      const Touched now{&access, &*traffic, access.executions * footprint[depth]};
      const auto same = std::find_if(touched.begin(), touched.end(), [&](const Touched& t) {
        return t.access->buffer == access.buffer;
      });
      if (same == touched.end()) {
        touched.push_back(now);
      } else if (access.is_store) {
        *same = now;
      }
    }
    std::sort(touched.begin(), touched.end(), [](const Touched& a, const Touched& b) {
      return std::pair(-a.bytes, a.access->buffer) < std::pair(-b.bytes, b.access->buffer);
    });
    if (touched.size() > kFeatureBufferCount) touched.resize(kFeatureBufferCount);
    float* out = &row_[kBufferFeatureBegin];
    for (const Touched& t : touched) {
      out[kBufferBytes] = Log2(t.bytes);
      SetBuffer(nest, store, *t.access, *t.traffic, out);
      out += kBufferFeatureCount;
    }
  }

  void SetBuffer(const SeenNest& nest, const WalkStore& store, const WalkAccess& access,
                 const BufferTraffic& traffic, float* out) const {
    const std::vector<double>& footprint = traffic.footprint_bytes;
    const size_t depth = std::min(access.body_depth, footprint.size() - 1);
    out[kBufferUnique] = Log2(footprint[0]);
    out[kBufferLines] = Log2(std::ceil(footprint[depth] / isa_.line_bytes));
    const double element_bytes =
        static_cast<double>(SizeBytes(program_.buffers[access.buffer].dtype));
    out[kBufferStride] = 0;
    for (size_t i = access.loops.size(); i-- > 0;) {
      const AccessLoop& loop = access.loops[i];
      if (!loop.moves()) continue;
      out[kBufferStride] =
          loop.hidden ? -1 : Log2(static_cast<double>(std::abs(loop.stride)) * element_bytes);
      break;
    }
    const bool is_vector = store.vector_loop >= 0 && access.loops[store.vector_loop].moves();
    out[kBufferLanes] = static_cast<float>(!is_vector ? 0 : access.has_gather ? 2 : 1);
    SetReuse(nest, access, out);
    out[kBufferL1In] = Log2(traffic.bytes_in[0]);
    out[kBufferL2In] = Log2(traffic.bytes_in[1]);
    out[kBufferL3In] = Log2(traffic.bytes_in[2]);
    out[kBufferIsStored] = access.is_store;
    out[kBufferIsCold] = access.is_cold;
    out[kBufferIsPrefetched] = access.is_prefetched;
  }

  void SetReuse(const SeenNest& nest, const WalkAccess& access, float* out) const {
    out[kBufferReuseCount] = out[kBufferReuseDistance] = out[kBufferReuseLevel] = 0;
    size_t loop = access.body_depth;
    while (loop > 0 && (access.loops[loop - 1].moves() || access.loops[loop - 1].trips < 2)) --loop;
    if (loop == 0) return;
    const double distance_bytes = WorkingSetBytes(nest.traffic, access, loop);
    out[kBufferReuseCount] = Log2(access.loops[loop - 1].trips);
    out[kBufferReuseDistance] = Log2(distance_bytes);
    int level = 1;
    for (int64_t size : {isa_.l1d.size_bytes, isa_.l2.size_bytes, isa_.l3.size_bytes}) {
      if (distance_bytes <= static_cast<double>(size)) break;
      ++level;
    }
    out[kBufferReuseLevel] = static_cast<float>(level);
  }

  // 0 of nothing.
  static float Share(double part, double whole) {
    return whole > 0 ? static_cast<float>(part / whole) : 0;
  }

  const Program& program_;
  const DeviceModel& device_;
  const IsaModel& isa_;
  const int threads_;
  std::vector<SeenNest> nests_;
  std::vector<float> row_;
};

}  // namespace

std::vector<float> ExtractFeatures(const Program& lowered, const DeviceModel& device, int threads) {
  return Extractor(lowered, device, threads).Run();
}

}  // namespace burnish
