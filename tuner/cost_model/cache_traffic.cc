#include "tuner/cost_model/cache_traffic.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace burnish {
namespace {

// Of a level, what one nest's data may take: the rest is stack, code, and lines that conflict.
constexpr double kUsableShare = 0.75;

std::vector<double> Footprints(const Buffer& buffer, const WalkAccess& access) {
  const double element_bytes = static_cast<double>(SizeBytes(buffer.dtype));
  const double elements_all = static_cast<double>(StorageElementCount(buffer));
  std::vector<double> footprints(access.loops.size() + 1);
  double product = 1;
  double span = 1;  // Elements from the first to the last.
  bool contiguous = false;
  for (size_t i = access.loops.size() + 1; i-- > 0;) {
    if (i < access.loops.size() && access.loops[i].moves()) {
      const AccessLoop& loop = access.loops[i];
      const double stride = static_cast<double>(std::abs(loop.stride));
      product *= loop.trips;
      span += loop.hidden ? 1e12 : stride * (loop.trips - 1);
      contiguous = contiguous || stride == 1 || loop.hidden;
    }
    const double elements = std::min({product, span, elements_all});
    // Elements that lie apart bring a line each.
    footprints[i] = contiguous ? std::max(elements * element_bytes, 64.0)
                               : std::min(elements * 64, elements_all * element_bytes);
  }
  return footprints;
}

// Streams that hardware asks ahead for, each in a page of its own: 32 of an L2 of Intel's since
// Nehalem ("Intel 64 and IA-32 architectures optimization reference manual", 2.5.5.4); AMD names no
// number. Within a page hardware follows steps of up to 2 KiB too (the same, 2.5.5.4).
constexpr double kStreamsMax = 32, kStepBytesMax = 2048;

double RunLines(const Buffer& buffer, const WalkAccess& access, int line_bytes) {
  const auto element_bytes = static_cast<double>(SizeBytes(buffer.dtype));
  double run = 1, streams = 1;  // Elements; places that it goes on at in turn.
  for (size_t i = access.loops.size(); i-- > 0 && streams <= kStreamsMax;) {
    const AccessLoop& loop = access.loops[i];
    if (!loop.moves() || loop.trips <= 1) continue;
    const double stride = static_cast<double>(std::abs(loop.stride));
    if (!loop.hidden && stride <= run) {
      run += stride * (loop.trips - 1);
    } else if (!loop.hidden && stride * element_bytes <= kStepBytesMax) {
      run *= loop.trips;
    } else {
      streams *= loop.trips;
    }
  }
  return std::max(1.0, run * element_bytes / line_bytes);
}

// Into a level of `capacity_bytes`, with the least recently used line leaving first: what a loop
// touches again is there still if what one of its iterations touches fits, however much streams by
// in all of them.
double BytesIn(const BufferTraffic& traffic, const std::vector<BufferTraffic>& all,
               double capacity_bytes, bool is_last_level) {
  const WalkAccess& access = *traffic.access;
  // The outermost loop whose whole working set fits, and that of the loop around it.
  size_t level = access.loops.size();
  double inside = WorkingSetBytes(all, access, level);
  double around = inside;
  while (level > 0) {
    around = WorkingSetBytes(all, access, level - 1);
    if (around > capacity_bytes) break;
    inside = around;
    --level;
  }
  // What the call before left there is there still, but for weights.
  if (is_last_level && level == 0) return access.is_cold ? traffic.footprint_bytes[0] : 0;
  double bytes = traffic.footprint_bytes[level];
  bool resident = inside <= capacity_bytes;
  for (size_t i = level; i-- > 0;) {
    const AccessLoop& loop = access.loops[i];
    if (!loop.moves()) {
      if (!resident) bytes *= loop.trips;
      continue;
    }
    // Windows that overlap, as a convolution's: a row is read again with the next row of outputs.
    // Rows are taken to be as many as their elements, for fused loops do not say.
    const double overlap_bytes = inside + (around - inside) / std::sqrt(loop.trips);
    const bool overlaps = resident && i + 1 == level && overlap_bytes <= capacity_bytes;
    bytes *= loop.trips;
    if (overlaps) bytes = std::min(bytes, traffic.footprint_bytes[i]);
    resident = false;
  }
  return bytes;
}

}  // namespace

double WorkingSetBytes(const std::vector<BufferTraffic>& all, const WalkAccess& access,
                       size_t level) {
  double bytes = 0;
  const auto is_inside = [&](const WalkAccess& other) {
    if (other.loops.size() < level) return false;
    for (size_t i = 0; i < level; ++i) {
      if (other.loops[i].var != access.loops[i].var) return false;
    }
    return true;
  };
  for (const BufferTraffic& buffer : all) {
    double most = 0;
    for (const AccessFootprint& other : buffer.accesses) {
      if (is_inside(*other.access)) most = std::max(most, other.bytes[level]);
    }
    bytes += most;
  }
  return bytes;
}

std::vector<BufferTraffic> TrafficOf(const Program& lowered, const WalkNest& nest,
                                     const IsaModel& isa) {
  std::vector<BufferTraffic> all;
  std::vector<int> position(lowered.buffers.size(), -1);
  for (const WalkAccess& access : nest.accesses) {
    std::vector<double> footprints = Footprints(lowered.buffers[access.buffer], access);
    int& at = position[access.buffer];
    if (at < 0) {
      at = static_cast<int>(all.size());
      all.push_back({.buffer = access.buffer});
    }
    BufferTraffic& traffic = all[at];
    if (traffic.access == nullptr || access.executions * footprints[0] >
                                         traffic.access->executions * traffic.footprint_bytes[0]) {
      traffic.access = &access;
      traffic.footprint_bytes = footprints;
      traffic.run_lines = RunLines(lowered.buffers[access.buffer], access, isa.line_bytes);
    }
    traffic.accesses.push_back({&access, std::move(footprints)});
  }
  std::sort(all.begin(), all.end(),
            [](const BufferTraffic& a, const BufferTraffic& b) { return a.buffer < b.buffer; });
  const CacheLevel levels[] = {isa.l1d, isa.l2, isa.l3};
  for (int c = 0; c < kCacheLevelCount; ++c) {
    const bool is_last = c == kCacheLevelCount - 1;
    const double capacity_bytes =
        static_cast<double>(levels[c].size_bytes) * kUsableShare / (is_last ? nest.workers : 1);
    for (BufferTraffic& traffic : all) {
      traffic.bytes_in[c] = BytesIn(traffic, all, capacity_bytes, is_last);
    }
  }
  return all;
}

}  // namespace burnish
