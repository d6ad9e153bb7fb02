#include "tuner/cost_model/cache_traffic.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

namespace burnish {
namespace {

// Of a level, what one nest's data may take: the rest is stack, code, and lines that conflict. A
// guess of the first model, on a Zen 4; a ramp up to 1.5 times the level was tried (README.md).
constexpr double kUsableShare = 0.75;
// Of the last level, which other CPUs' work is in, too. With three quarters an argmax over 21
// channels of 513x513 (22 MB) was taken to find in the 32 MiB of a Zen 4 what its first pass had
// read, and took 3.7 times as long as in one pass.
constexpr double kUsableShareOfLast = 0.5;

using Elements = AccessFootprint::Elements;

std::vector<Elements> ElementsOf(const WalkAccess& access, double line_elements) {
  std::vector<Elements> all(access.loops.size() + 1);
  Elements now;
  for (size_t i = access.loops.size() + 1; i-- > 0;) {
    if (i < access.loops.size() && access.loops[i].moves()) {
      const AccessLoop& loop = access.loops[i];
      const double stride = static_cast<double>(std::abs(loop.stride));
      now.count *= loop.trips;
      now.span += loop.hidden ? 1e12 : stride * (loop.trips - 1);
      if (loop.hidden) {
        now.run = std::max(now.run, line_elements);
        now.pitch = 1;
      } else if (stride <= now.run) {
        now.run += stride * (loop.trips - 1);
      } else {
        now.jumps = now.jumps || std::fmod(stride, line_elements) != 0;
        now.pitch = std::gcd(now.pitch, loop.stride);
      }
    }
    all[i] = now;
  }
  return all;
}

double BytesOf(const BufferTraffic& traffic, const Elements& e) {
  const double line_bytes = traffic.line_bytes;
  const double run_bytes = e.run * traffic.element_bytes;
  // Whole lines; of runs that begin anywhere in one, those that they touch on an average.
  const double lines = e.jumps ? 1 + (run_bytes - traffic.element_bytes) / line_bytes
                               : std::ceil(run_bytes / line_bytes);
  const double bytes = e.count / e.run * lines * line_bytes;
  return std::max(line_bytes,
                  std::min({bytes, e.span * traffic.element_bytes, traffic.storage_bytes}));
}

// What L2 must have for `bytes` to fit: columns of a matrix whose rows are a power of two apart
// lie in some of its sets, and leave the others to nobody. Which set a line is in, only address
// bits inside of a page say, for pages lie anywhere; L3 mixes all bits (Maurice et al., "Reverse
// engineering Intel last-level cache complex addressing using performance counters", RAID 2015).
// 4,096 rows of 64 floats, 1 KiB apart, are 1 MiB and need 4: read over and over on two cores of a
// Granite Rapids (L2 of 2 MiB), a product takes 6.8 ms so, and 1.6 by packed panels.
double RoomOf(const BufferTraffic& traffic, const Elements& e, double bytes) {
  const auto element_bytes = static_cast<int64_t>(traffic.element_bytes);
  const int64_t pitch_bytes = std::gcd(e.pitch * element_bytes, static_cast<int64_t>(kPageBytes));
  const double room = e.count / e.run * static_cast<double>(pitch_bytes);
  if (e.pitch == 0 || room <= kPageBytes) return bytes;
  return std::max(bytes, std::min({room, e.span * traffic.element_bytes, traffic.storage_bytes}));
}

bool IsInside(const WalkAccess& other, const WalkAccess& access, size_t level) {
  if (other.loops.size() < level) return false;
  for (size_t i = 0; i < level; ++i) {
    if (other.loops[i].var != access.loops[i].var) return false;
  }
  return true;
}

// What all accesses of a buffer touch that lie in the loops of `access` down to `level`: arms of a
// condition add up, each as often as it runs; others count as one, the one that touches most.
Elements TogetherAt(const BufferTraffic& traffic, const WalkAccess& access, size_t level) {
  Elements all{.count = 0, .span = 0};
  double most = 0, arms = 0;
  // Of the arm that is being looked at: accesses of one arm are neighbours.
  int arm = -1;
  double in_arm = 0;
  for (const AccessFootprint& other : traffic.accesses) {
    if (!IsInside(*other.access, access, level)) continue;
    const Elements& e = other.elements[level];
    const double share = level < other.access->shares.size() ? other.access->shares[level] : 1;
    all.span = std::max(all.span, e.span);
    if (e.count > most) all.run = e.run, all.jumps = e.jumps, all.pitch = e.pitch;
    most = std::max(most, e.count);
    if (share >= 1) {
      all.count = std::max(all.count, e.count);
      continue;
    }
    if (other.access->arm != arm) {
      arms += in_arm;
      in_arm = 0;
      arm = other.access->arm;
    }
    in_arm = std::max(in_arm, share * e.count);
  }
  all.count = std::max(all.count, std::min(most, arms + in_arm));
  return all;
}

// Streams that hardware asks ahead for, each in a page of its own: 32 of an L2 of Intel's since
// Nehalem ("Intel 64 and IA-32 architectures optimization reference manual", 2.5.5.4); AMD names no
// number. Within a page hardware follows a load's steps of up to 2 KiB too (the same, 2.5.5.4: the
// prefetcher that looks at instructions looks at loads).
constexpr double kStreamsMax = 32, kStepBytesMax = 2048;

double RunLines(const Buffer& buffer, const WalkAccess& access, int line_bytes) {
  const auto element_bytes = static_cast<double>(SizeBytes(buffer.dtype));
  double run = 1, streams = 1;  // Elements; places that it goes on at in turn.
  bool lanes_hidden = false;
  for (size_t i = access.loops.size(); i-- > 0 && streams <= kStreamsMax;) {
    const AccessLoop& loop = access.loops[i];
    if (!loop.moves() || loop.trips <= 1) continue;
    const double stride = static_cast<double>(std::abs(loop.stride));
    lanes_hidden = lanes_hidden || (loop.hidden && run == 1 && i >= access.body_depth);
    if (loop.hidden && lanes_hidden) {
      // Lanes in an order of their own, as where planes are interleaved, and the loops around them
      // that go on in it: neighbours, in some runs.
      run *= loop.trips;
    } else if (!loop.hidden && stride <= run) {
      run += stride * (loop.trips - 1);
    } else if (!loop.hidden && !access.is_store && stride * element_bytes <= kStepBytesMax) {
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
// `sets`: by level of the widest access, what all buffers touch.
double BytesIn(const BufferTraffic& traffic, const std::vector<double>& sets,
               double capacity_bytes) {
  const WalkAccess& access = *traffic.access;
  // The outermost loop whose whole working set fits, and that of the loop around it.
  size_t level = access.loops.size();
  double inside = sets[level];
  double around = inside;
  while (level > 0) {
    around = sets[level - 1];
    if (around > capacity_bytes) break;
    inside = around;
    --level;
  }
  double bytes = traffic.footprint_bytes[level];
  bool resident = inside <= capacity_bytes;
  for (size_t i = level; i-- > 0;) {
    const AccessLoop& loop = access.loops[i];
    // 0: no sample met the condition (nest_walk.cc), so that its arm brings nothing.
    const double share = traffic.shares[i + 1] > 0 ? traffic.shares[i] / traffic.shares[i + 1] : 0;
    if (!loop.moves()) {
      if (!resident) bytes *= loop.trips * share;
      continue;
    }
    // Windows that overlap, as a convolution's: a row is read again with the next row of outputs.
    // Rows are taken to be as many as their elements, for fused loops do not say.
    const double overlap_bytes = inside + (around - inside) / std::sqrt(loop.trips);
    const bool overlaps = resident && i + 1 == level && overlap_bytes <= capacity_bytes;
    bytes *= loop.trips * share;
    if (overlaps) bytes = std::min(bytes, traffic.footprint_bytes[i]);
    resident = false;
  }
  return bytes;
}

// Bytes that a worker touches from its last access to the buffer up to nest `at`, which touches it
// again, in calls that follow one another: of each buffer the most that a nest on the way does.
// Infinity: that access was another worker's.
double BytesSince(const std::vector<std::vector<BufferTraffic>>& all,
                  const std::vector<WalkNest>& nests, size_t at, BufferId buffer) {
  std::map<BufferId, double> touched;
  for (size_t back = 1; back <= nests.size(); ++back) {
    const size_t n = (at + nests.size() - back) % nests.size();
    bool found = false;
    for (const BufferTraffic& traffic : all[n]) {
      double& bytes = touched[traffic.buffer];
      bytes = std::max(bytes, traffic.footprint_bytes[0]);
      found = found || traffic.buffer == buffer;
    }
    if (!found) continue;
    if (nests[n].workers != nests[at].workers) break;
    double sum = 0;
    for (const auto& [id, bytes] : touched) sum += bytes;
    return sum;
  }
  return std::numeric_limits<double>::infinity();
}

struct WorkingSet {
  double bytes = 0;
  double room = 0;  // As RoomOf.
};

WorkingSet WorkingSetOf(const std::vector<BufferTraffic>& all, const WalkAccess& access,
                        size_t level) {
  WorkingSet set;
  for (const BufferTraffic& buffer : all) {
    const Elements together = TogetherAt(buffer, access, level);
    if (together.count == 0) continue;
    const double bytes = BytesOf(buffer, together);
    set.bytes += bytes;
    set.room += RoomOf(buffer, together, bytes);
  }
  return set;
}

std::vector<BufferTraffic> BuffersOf(const Program& lowered, const WalkNest& nest,
                                     const IsaModel& isa) {
  std::vector<BufferTraffic> all;
  std::vector<int> position(lowered.buffers.size(), -1);
  std::vector<double> widest;
  for (const WalkAccess& access : nest.accesses) {
    const Buffer& buffer = lowered.buffers[access.buffer];
    int& at = position[access.buffer];
    if (at < 0) {
      at = static_cast<int>(all.size());
      const double element_bytes = static_cast<double>(SizeBytes(buffer.dtype));
      all.push_back(
          {.buffer = access.buffer,
           .storage_bytes = static_cast<double>(StorageElementCount(buffer)) * element_bytes,
           .element_bytes = element_bytes,
           .line_bytes = static_cast<double>(isa.line_bytes)});
      widest.push_back(0);
    }
    BufferTraffic& traffic = all[at];
    traffic.accesses.push_back(
        {&access, ElementsOf(access, traffic.line_bytes / traffic.element_bytes)});
    const double touched =
        access.executions * BytesOf(traffic, traffic.accesses.back().elements[0]);
    if (traffic.access != nullptr && touched <= widest[at]) continue;
    widest[at] = touched;
    traffic.access = &access;
    traffic.run_lines = RunLines(buffer, access, isa.line_bytes);
  }
  for (BufferTraffic& traffic : all) {
    const AccessFootprint& own =
        *std::find_if(traffic.accesses.begin(), traffic.accesses.end(),
                      [&](const AccessFootprint& a) { return a.access == traffic.access; });
    for (size_t i = 0; i < own.elements.size(); ++i) {
      const Elements together = TogetherAt(traffic, *traffic.access, i);
      traffic.footprint_bytes.push_back(BytesOf(traffic, together));
      traffic.shares.push_back(together.count / own.elements[i].count);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const BufferTraffic& a, const BufferTraffic& b) { return a.buffer < b.buffer; });
  return all;
}

}  // namespace

double WorkingSetBytes(const std::vector<BufferTraffic>& all, const WalkAccess& access,
                       size_t level) {
  return WorkingSetOf(all, access, level).bytes;
}

std::vector<std::vector<BufferTraffic>> TrafficOf(const Program& lowered,
                                                  const std::vector<WalkNest>& nests,
                                                  const IsaModel& isa) {
  std::vector<std::vector<BufferTraffic>> all;
  for (const WalkNest& nest : nests) all.push_back(BuffersOf(lowered, nest, isa));
  const CacheLevel levels[] = {isa.l1d, isa.l2, isa.l3};
  for (size_t n = 0; n < nests.size(); ++n) {
    for (BufferTraffic& traffic : all[n]) {
      const WalkAccess& access = *traffic.access;
      const double since_bytes = access.is_cold ? std::numeric_limits<double>::infinity()
                                                : BytesSince(all, nests, n, traffic.buffer);
      std::vector<double> bytes_at, room_at;  // By level of the widest's loops.
      for (size_t level = 0; level <= access.loops.size(); ++level) {
        const WorkingSet set = WorkingSetOf(all[n], access, level);
        bytes_at.push_back(set.bytes);
        room_at.push_back(set.room);
      }
      for (int c = 0; c < kCacheLevelCount; ++c) {
        const bool is_shared_level = c == kCacheLevelCount - 1;
        const double share = is_shared_level ? kUsableShareOfLast / nests[n].workers : kUsableShare;
        const double capacity_bytes = static_cast<double>(levels[c].size_bytes) * share;
        double& bytes = traffic.bytes_in[c];
        // Not of L1: what it loses so comes from L2 behind arithmetic. With L1 too 0.759 and 0.823
        // of the pairs of a Zen 4's and a Zen 5's tables are ordered right, else 0.762 and 0.826.
        bytes = BytesIn(traffic, c == 1 ? room_at : bytes_at, capacity_bytes);
        const bool is_there =
            since_bytes <= capacity_bytes && (is_shared_level || !access.is_remote);
        if (is_there) bytes -= std::min(bytes, traffic.footprint_bytes[0]);
      }
    }
  }
  return all;
}

}  // namespace burnish
