#include "compiler/runtime/step_trim.h"

#include <algorithm>

#include "compiler/runtime/byte_archive.h"

namespace burnish {

// The order of fields is the format: a change raises the version of section_file.cc.
template <typename Archive>
void Fields(Archive& archive, TrimProduct& product) {
  archive.Number(product.factor);
  archive.Numbers(product.sizes);
}

template <typename Archive>
void Fields(Archive& archive, TrimPart& part) {
  archive.List(part.holds);
  archive.Number(part.bound);
}

template <typename Archive>
void Fields(Archive& archive, TrimAxis& axis) {
  archive.List(axis.parts);
  archive.Number(axis.inner);
  archive.Number(axis.span);
  archive.Numbers(axis.starts);
}

template <typename Archive>
void Fields(Archive& archive, StepTrim& trim) {
  archive.Number(trim.step);
  archive.Number(trim.iterations);
  archive.List(trim.axes);
}

template <typename Archive>
void Fields(Archive& archive, LoopFlags& loop) {
  archive.Number(loop.first);
  archive.Number(loop.count);
  archive.List(loop.axes);
}

template <typename Archive>
void Fields(Archive& archive, LiveTable& table) {
  archive.Number(table.place.region);
  archive.Number(table.place.index);
  archive.Number(table.place.offset_bytes);
  archive.Number(table.size_bytes);
  archive.List(table.loops);
}

std::string EncodeTrims(const std::vector<StepTrim>& trims) {
  ByteWriter writer;
  writer.List(trims);
  return writer.Take();
}

RuntimeOr<std::vector<StepTrim>> DecodeTrims(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  std::vector<StepTrim> trims;
  reader.List(trims);
  if (!reader.ok() || !reader.AtEnd()) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: what steps may leave out");
  }
  return trims;
}

std::string EncodeLiveTables(const std::vector<LiveTable>& tables) {
  ByteWriter writer;
  writer.List(tables);
  return writer.Take();
}

RuntimeOr<std::vector<LiveTable>> DecodeLiveTables(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  std::vector<LiveTable> tables;
  reader.List(tables);
  if (!reader.ok() || !reader.AtEnd()) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: what loops may leave out");
  }
  return tables;
}

namespace {

// Far beyond any axis, and far from overflow in the sums below.
constexpr int64_t kExtentMax = int64_t{1} << 40;

bool Fits(const TrimAxis& axis, const std::vector<bool>& given) {
  if (axis.parts.empty() || axis.inner < 1 || axis.starts.empty() || axis.span < 1 ||
      axis.span > kExtentMax) {
    return false;
  }
  int64_t bound = 1;
  for (const TrimPart& part : axis.parts) {
    if (part.bound < 1 || part.bound > kExtentMax / bound) return false;
    bound *= part.bound;
    for (const TrimProduct& product : part.holds) {
      for (const uint32_t size : product.sizes) {
        if (size >= given.size() || !given[size]) return false;
      }
    }
  }
  return std::all_of(axis.starts.begin(), axis.starts.end(),
                     [](int64_t start) { return start >= 0 && start <= kExtentMax; });
}

// How much of the part is read; what is beyond 64 bits is all of it.
int64_t HoldsOf(const TrimPart& part, std::span<const int64_t> sizes) {
  int64_t sum = 0;
  for (const TrimProduct& product : part.holds) {
    int64_t value = product.factor;
    for (const uint32_t size : product.sizes) {
      if (__builtin_mul_overflow(value, sizes[size], &value)) return part.bound;
    }
    if (__builtin_add_overflow(sum, value, &sum)) return part.bound;
  }
  return std::clamp<int64_t>(sum, 0, part.bound);
}

// The first index from `at` on of which all parts are read; behind the axis where there is none.
int64_t NextRead(const TrimAxis& axis, const std::vector<int64_t>& holds, int64_t at) {
  int64_t bound = 1;
  for (const TrimPart& part : axis.parts) bound *= part.bound;
  if (std::count(holds.begin(), holds.end(), 0) > 0) return bound;
  int64_t pitch = 1;
  // From the innermost part: where one is behind what is read of it, the next one goes on by one.
  for (size_t p = axis.parts.size(); p-- > 0; pitch *= axis.parts[p].bound) {
    const int64_t index = at / pitch % axis.parts[p].bound;
    if (index < holds[p]) continue;
    const int64_t whole = pitch * axis.parts[p].bound;
    at = (at / whole + 1) * whole;
  }
  return at;
}

}  // namespace

RuntimeStatus CheckTrims(const std::vector<StepTrim>& trims, size_t step_count,
                         const std::vector<bool>& given) {
  std::vector<bool> seen(step_count, false);
  for (const StepTrim& trim : trims) {
    const bool fits = trim.step < step_count && !seen[trim.step] && trim.iterations >= 1 &&
                      trim.iterations <= kTrimIterationsMax && !trim.axes.empty() &&
                      std::all_of(
                          trim.axes.begin(), trim.axes.end(),
                          [&](const TrimAxis& axis) { return Fits(axis, given); });
    if (!fits) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument, "what step " + std::to_string(trim.step) +
                                                              " may leave out does not fit");
    }
    seen[trim.step] = true;
  }
  return RuntimeStatus();
}

RuntimeStatus CheckLiveTables(const std::vector<LiveTable>& tables,
                              const std::vector<bool>& given) {
  for (const LiveTable& table : tables) {
    bool fits = table.size_bytes >= 1 && table.size_bytes <= kTrimIterationsMax;
    // Each flag is one loop's: else a short file could ask for endless work.
    uint64_t flags = 0;
    for (const LoopFlags& loop : table.loops) {
      flags += loop.count;
      fits = fits && loop.first <= table.size_bytes &&
             loop.count <= table.size_bytes - loop.first && flags <= table.size_bytes &&
             std::all_of(loop.axes.begin(), loop.axes.end(),
                         [&](const TrimAxis& axis) { return Fits(axis, given); });
    }
    if (!fits) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument, "what loops may leave out does not fit");
    }
  }
  return RuntimeStatus();
}

namespace {

// Whether anything is read of what `count` iterations write: read(iteration, whether).
template <typename Read>
void VisitIterations(const std::vector<TrimAxis>& axes, uint32_t count,
                     std::span<const int64_t> sizes, const Read& read) {
  std::vector<std::vector<int64_t>> holds;
  for (const TrimAxis& axis : axes) {
    std::vector<int64_t>& of_axis = holds.emplace_back();
    for (const TrimPart& part : axis.parts) of_axis.push_back(HoldsOf(part, sizes));
  }
  for (uint32_t p = 0; p < count; ++p) {
    bool is_read = true;
    for (size_t a = 0; a < axes.size() && is_read; ++a) {
      const TrimAxis& axis = axes[a];
      const int64_t start = axis.starts[p / axis.inner % axis.starts.size()];
      int64_t bound = 1;
      for (const TrimPart& part : axis.parts) bound *= part.bound;
      is_read = NextRead(axis, holds[a], start) < std::min(start + axis.span, bound);
    }
    read(p, is_read);
  }
}

}  // namespace

void FillLiveTable(const LiveTable& table, std::span<const int64_t> sizes,
                   std::span<uint8_t> flags) {
  for (const LoopFlags& loop : table.loops) {
    VisitIterations(loop.axes, loop.count, sizes,
                    [&](uint32_t p, bool is_read) { flags[loop.first + p] = is_read ? 1 : 0; });
  }
}

std::vector<uint32_t> NeededIterations(const StepTrim& trim, std::span<const int64_t> sizes) {
  std::vector<uint32_t> needed;
  VisitIterations(trim.axes, trim.iterations, sizes, [&](uint32_t p, bool is_read) {
    if (is_read) needed.push_back(p);
  });
  return needed;
}

}  // namespace burnish
