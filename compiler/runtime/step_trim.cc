#include "compiler/runtime/step_trim.h"

#include <algorithm>

#include "compiler/runtime/list_codec.h"

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

std::string EncodeTrims(const std::vector<StepTrim>& trims) { return EncodeList(trims); }

RuntimeOr<std::vector<StepTrim>> DecodeTrims(std::span<const uint8_t> bytes) {
  return DecodeList<StepTrim>(bytes, "what steps may leave out");
}

std::string EncodeLiveTables(const std::vector<LiveTable>& tables) { return EncodeList(tables); }

RuntimeOr<std::vector<LiveTable>> DecodeLiveTables(std::span<const uint8_t> bytes) {
  return DecodeList<LiveTable>(bytes, "what loops may leave out");
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

void SetHolds(const TrimAxis& axis, std::span<const int64_t> sizes, std::vector<int64_t>& holds) {
  holds.clear();
  for (const TrimPart& part : axis.parts) holds.push_back(HoldsOf(part, sizes));
}

// Whether anything is read of what is written from `start` on.
bool IsRead(const TrimAxis& axis, const std::vector<int64_t>& holds, int64_t start) {
  if (holds.size() == 1) return start < holds[0];
  int64_t bound = 1;
  for (const TrimPart& part : axis.parts) bound *= part.bound;
  return NextRead(axis, holds, start) < std::min(start + axis.span, bound);
}

// By start. Rows of several images are the usual two parts: their starts ascend, so that row and
// image go along instead of being divided for.
void SetRead(const TrimAxis& axis, const std::vector<int64_t>& holds, std::span<uint8_t> read) {
  if (holds.size() != 2) {
    for (size_t s = 0; s < read.size(); ++s) read[s] = IsRead(axis, holds, axis.starts[s]) ? 1 : 0;
    return;
  }
  const int64_t rows = axis.parts[1].bound, bound = axis.parts[0].bound * rows;
  int64_t last = 0, image = 0, row = 0;
  for (size_t s = 0; s < read.size(); ++s) {
    const int64_t start = axis.starts[s];
    row += start - last;
    if (start < last || row >= 2 * rows) {
      image = start / rows;
      row = start % rows;
    } else if (row >= rows) {
      row -= rows;
      ++image;
    }
    last = start;
    const bool is_row_read = row < holds[1];
    const int64_t image_read = is_row_read ? image : image + 1;
    const int64_t next = is_row_read ? start : image_read * rows;
    const bool is_read =
        holds[1] > 0 && image_read < holds[0] && next < std::min(start + axis.span, bound);
    read[s] = is_read ? 1 : 0;
  }
}

}  // namespace

void FillLiveTable(const LiveTable& table, std::span<const int64_t> sizes,
                   std::span<uint8_t> flags) {
  // Once a call where its sizes are others than those of the call before, as behind a past that
  // grows: by rounds of starts, and not flag by flag.
  std::vector<int64_t> holds;
  std::vector<uint8_t> read;  // By start.
  for (const LoopFlags& loop : table.loops) {
    const std::span<uint8_t> own = flags.subspan(loop.first, loop.count);
    std::fill(own.begin(), own.end(), uint8_t{1});
    for (const TrimAxis& axis : loop.axes) {
      SetHolds(axis, sizes, holds);
      const size_t runs = (own.size() + axis.inner - 1) / axis.inner;
      read.resize(std::min(axis.starts.size(), runs));
      SetRead(axis, holds, read);
      if (axis.inner == 1) {
        for (size_t at = 0; at < own.size(); at += read.size()) {
          const size_t count = std::min(read.size(), own.size() - at);
          for (size_t i = 0; i < count; ++i) own[at + i] &= read[i];
        }
        continue;
      }
      for (size_t run = 0; run < runs; ++run) {
        if (read[run % read.size()] != 0) continue;
        const size_t at = run * axis.inner;
        const size_t count = std::min<size_t>(axis.inner, own.size() - at);
        std::fill_n(own.begin() + static_cast<std::ptrdiff_t>(at), count, uint8_t{0});
      }
    }
  }
}

std::vector<uint32_t> NeededIterations(const StepTrim& trim, std::span<const int64_t> sizes) {
  std::vector<std::vector<int64_t>> holds(trim.axes.size());
  for (size_t a = 0; a < trim.axes.size(); ++a) SetHolds(trim.axes[a], sizes, holds[a]);
  std::vector<uint32_t> needed;
  for (uint32_t p = 0; p < trim.iterations; ++p) {
    bool is_read = true;
    for (size_t a = 0; a < trim.axes.size() && is_read; ++a) {
      const TrimAxis& axis = trim.axes[a];
      is_read = IsRead(axis, holds[a], axis.starts[p / axis.inner % axis.starts.size()]);
    }
    if (is_read) needed.push_back(p);
  }
  return needed;
}

TrimCall FirstCall(std::span<const uint32_t> needed, uint32_t iterations) {
  TrimCall call{.worker = needed[0], .workers = iterations, .count = 1};
  while (call.worker % 2 == 0 && call.workers % 2 == 0 && 2 * call.count <= needed.size() &&
         needed[2 * call.count - 1] - needed[0] == 2 * call.count - 1) {
    call.worker /= 2;
    call.workers /= 2;
    call.count *= 2;
  }
  return call;
}

}  // namespace burnish
