#include "tuner/cost_model/passes.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace burnish {
namespace {

// Arithmetic and memory at once take the norm of the two: where one is half of the other nothing is
// seen of it, where they are alike 1.12 of either. With 4 and 10 the favourites of the tables are
// worse on one of the machines; a sum with 0.3 of the lesser (until then) put 11 % on top of
// products at the ports' limit.
constexpr double kOverlapNorm = 6;
// Of a prefetch the line's place in its row, where rows are no whole lines, beside its address: a
// group norm over rows of 160 KiB, whose second pass has no more arithmetic than its first, takes 4
// us more for 41,000 prefetches on a Zen 5.
constexpr double kAskCycles = 0.5;

// A last cache that is farther away than this, in cycles, is waited for in the first pass over rows
// of any length: a softmax of 7 MiB in rows of 64 to 4096 floats takes 0.71 to 0.93 of its time on
// a Granite Rapids, whose L3 is 140 cycles away, if it asks for the next row. On a Zen 4 and a Zen
// 5 L3 is 50 to 55 away; there only long rows were seen to gain.
constexpr double kNearCycles = 100;

// Bytes of a row that hardware's streams bring while the one before is computed.
double ShortBytes(const DeviceModel& device) {
  const MemoryLevel* const last = device.FindLevel("L3");
  const bool is_near = last != nullptr && last->latency_cycles <= kNearCycles;
  return is_near ? static_cast<double>(device.core.l1d.size_bytes) : 0;
}

// Position of the loop of `a` in whose iterations `a` and `b` are passes, one after the other: the
// innermost that both have, where each has loops of its own inside. -1: they are no passes. Tiles
// of different lengths are arms of a condition, of which an iteration runs one.
int LoopOfPasses(const WalkAccess& a, const WalkAccess& b) {
  if (a.arm >= 0 || b.arm >= 0) return -1;
  size_t common = 0;
  while (common < std::min(a.body_depth, b.body_depth) &&
         a.loops[common].var == b.loops[common].var) {
    ++common;
  }
  const bool are_passes = common > 0 && common < a.body_depth && common < b.body_depth;
  return are_passes ? static_cast<int>(common) - 1 : -1;
}

}  // namespace

double Overlapped(double compute, double memory) {
  return std::pow(std::pow(compute, kOverlapNorm) + std::pow(memory, kOverlapNorm),
                  1 / kOverlapNorm);
}

const ComputeUnit& FloatUnit(const DeviceModel& device) {
  const ComputeUnit* const unit = device.FindUnit(NumberType::kF32, NumberType::kF32);
  CHECK(unit != nullptr) << device.name << " has no unit for floats";
  return *unit;
}

Passes::Passes(const WalkNest& nest, const std::vector<BufferTraffic>& traffic,
               const DeviceModel& device)
    : nest_(nest), traffic_(traffic), device_(device), short_bytes_(ShortBytes(device)) {
  for (const BufferTraffic& buffer : traffic) {
    const WalkAccess& first = *buffer.accesses.front().access;
    for (const AccessFootprint& other : buffer.accesses) {
      const int loop = LoopOfPasses(first, *other.access);
      if (first.is_store || loop < 0 || !IsLong(buffer, first, loop)) continue;
      rows_ = first.loops[loop].var;
      second_ = other.access;
      break;
    }
  }
}

double Passes::Exposed(double compute, double memory, const std::vector<double>& fill) const {
  if (rows_ < 0) return 0;
  double elsewhere = memory, waited = 0, asked = 0;
  for (size_t i = 0; i < traffic_.size(); ++i) {
    const WalkAccess& first = *traffic_[i].accesses.front().access;
    const int loop = LoopOfRows(first);
    if (loop < 0 || first.is_cold || !IsLong(traffic_[i], first, loop)) continue;
    elsewhere = std::max(elsewhere - fill[i], 0.0);
    if (first.is_prefetched) {
      asked += fill[i];
    } else {
      waited += Waited(first, fill[i]);
    }
  }
  // Rules ask in the second pass (row_chain).
  waited += Waited(*second_, asked) + kAskCycles * nest_.prefetch_count;
  return std::max(waited + Overlapped(compute, elsewhere) - Overlapped(compute, memory), 0.0);
}

int Passes::LoopOfRows(const WalkAccess& access) const {
  for (size_t i = 0; i + 1 < access.body_depth; ++i) {
    if (access.loops[i].var == rows_) return static_cast<int>(i);
  }
  return -1;
}

bool Passes::IsLong(const BufferTraffic& buffer, const WalkAccess& access, int loop) const {
  if (!access.loops[loop].moves()) return false;
  double bytes = buffer.element_bytes;
  for (size_t i = static_cast<size_t>(loop) + 1; i < access.loops.size(); ++i) {
    if (access.loops[i].moves()) bytes *= access.loops[i].trips;
  }
  return bytes > short_bytes_;
}

double Passes::Waited(const WalkAccess& access, double fill) const {
  const double arithmetic = ComputeOf(access);
  return Overlapped(arithmetic, fill) - arithmetic;
}

double Passes::ComputeOf(const WalkAccess& access) const {
  const size_t at = static_cast<size_t>(&access - nest_.accesses.data());
  for (const WalkStore& store : nest_.stores) {
    if (at < store.access_begin || at >= store.access_end) continue;
    const double per_cycle = FloatUnit(device_).per_cycle;
    const double vectors = store.instructions() / per_cycle + store.ops.slow_cycles();
    return store.executions * (store.instances * vectors + store.converted_loads / per_cycle);
  }
  return 0;
}

}  // namespace burnish
