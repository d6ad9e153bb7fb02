#include "worker/runner/tensor_data.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/rng.h"
#include "base/small_float.h"
#include "compiler/runtime/kernel_manifest.h"

namespace burnish {
namespace {

using Wide = __int128;

// 16,384 values: of floats 64 KiB, which stay in the caches while tensors are filled, and four
// indices come out of one draw of 64 bits.
constexpr int kNormalTableBits = 14;
// In elements. Far above any memory, and so small that a product of two such numbers is far from
// overflowing 128 bits.
constexpr Wide kElementsMax = Wide{1} << 40;

int64_t BorderBelow(const TensorSpec& spec, size_t dim) {
  return spec.border_below.empty() ? 0 : spec.border_below[dim];
}
int64_t BorderAbove(const TensorSpec& spec, size_t dim) {
  return spec.border_above.empty() ? 0 : spec.border_above[dim];
}

RuntimeStatus Malformed(const std::string& what) {
  return RuntimeStatus(RuntimeCode::kInvalidArgument, "parameter: " + what);
}

bool InBounds(int64_t value) { return value >= 0 && value <= kElementsMax; }

// Calls visit(storage_offset, dense_offset) in elements for the start of each innermost row of the
// tensor widened by its border (or not), row-major.
template <typename Visitor>
void ForEachRow(const TensorSpec& spec, bool with_border, const Visitor& visit) {
  const size_t rank = spec.shape.size();
  std::vector<int64_t> low(rank, 0), high(spec.shape);
  for (size_t d = 0; with_border && d < rank; ++d) {
    low[d] = -BorderBelow(spec, d);
    high[d] += BorderAbove(spec, d);
  }
  for (size_t d = 0; d < rank; ++d) {
    if (low[d] >= high[d]) return;
  }
  std::vector<int64_t> at(low);
  int64_t row = 0;
  while (true) {
    int64_t offset = spec.offset;
    for (size_t d = 0; d < rank; ++d) offset += at[d] * spec.strides[d];
    visit(offset, row++);
    // The innermost dimension is the visitor's; the others count like an odometer.
    int d = static_cast<int>(rank) - 2;
    while (d >= 0 && ++at[d] == high[d]) {
      at[d] = low[d];
      --d;
    }
    if (d < 0) return;
  }
}

// With dimensions that lie in memory as one merged, at least one: rows of a 3 x 3 filter's weights
// would be three elements long, and the visit of a row costs more than those.
TensorSpec Merged(const TensorSpec& spec) {
  TensorSpec merged{.offset = spec.offset};
  const bool has_border = !spec.border_below.empty();
  for (size_t d = 0; d < spec.shape.size(); ++d) {
    const bool continues = d > 0 && merged.strides.back() == spec.strides[d] * spec.shape[d] &&
                           BorderBelow(spec, d) == 0 && BorderAbove(spec, d) == 0;
    if (!continues) {
      merged.shape.push_back(spec.shape[d]);
      merged.strides.push_back(spec.strides[d]);
      if (!has_border) continue;
      merged.border_below.push_back(spec.border_below[d]);
      merged.border_above.push_back(spec.border_above[d]);
      continue;
    }
    // A border of the outer dimension is so many whole inner ones.
    merged.shape.back() *= spec.shape[d];
    merged.strides.back() = spec.strides[d];
    if (!has_border) continue;
    merged.border_below.back() *= spec.shape[d];
    merged.border_above.back() *= spec.shape[d];
  }
  if (merged.shape.empty()) merged.shape = merged.strides = {1};  // A scalar.
  return merged;
}

// `count` elements; strides in elements. A size that the compiler knows makes each copy one move.
template <int64_t kElementBytes>
void CopyElements(uint8_t* to, int64_t to_stride, const uint8_t* from, int64_t from_stride,
                  int64_t count) {
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(to, from, count * kElementBytes);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride * kElementBytes, from + i * from_stride * kElementBytes,
                kElementBytes);
  }
}

// use(std::integral_constant of the type's bytes).
template <typename Use>
void WithElementBytes(ElementType type, const Use& use) {
  switch (ElementBytes(type)) {
    case 1:
      return use(std::integral_constant<int64_t, 1>());
    case 2:
      return use(std::integral_constant<int64_t, 2>());
    case 4:
      return use(std::integral_constant<int64_t, 4>());
    default:
      return use(std::integral_constant<int64_t, 8>());
  }
}

template <typename T>
void PutBits(double value, uint8_t* bytes) {
  const T typed(value);
  std::memcpy(bytes, &typed, sizeof(T));
}

// `value` as one element of `type`.
std::vector<uint8_t> ElementOf(ElementType type, double value) {
  std::vector<uint8_t> bytes(ElementBytes(type));
  switch (type) {
    case ElementType::kF32:
      PutBits<float>(value, bytes.data());
      break;
    case ElementType::kF64:
      PutBits<double>(value, bytes.data());
      break;
    case ElementType::kBf16:
      PutBits<Bfloat16>(value, bytes.data());
      break;
    case ElementType::kF16:
      PutBits<Float16>(value, bytes.data());
      break;
    default: {
      const auto integer = static_cast<int64_t>(value);
      std::memcpy(bytes.data(), &integer, bytes.size());  // Little-endian: the low bytes.
    }
  }
  return bytes;
}

// The same for all parameters of a workload: kept, since it takes longer than most of them.
template <typename T>
const std::vector<T>& NormalTable(uint64_t seed) {
  // Per thread, so that nobody locks. The seed tells whether it is still the right one.
  thread_local std::vector<T> table;
  thread_local uint64_t table_seed = 0;
  if (!table.empty() && table_seed == seed) return table;
  table.resize(size_t{1} << kNormalTableBits);
  table_seed = seed;
  Rng rng(RngStream{.seed = seed, .purpose = "normal table"});
  for (T& value : table) {
    do {
      value = T(rng.Normal());
      // A zero would hide a factor that a wrong kernel leaves out.
    } while (value == T(0));
  }
  return table;
}

template <typename T>
void FillNormal(uint64_t seed, Rng& rng, std::span<uint8_t> bytes) {
  const std::vector<T>& table = NormalTable<T>(seed);
  const size_t count = bytes.size() / sizeof(T);
  T* out = reinterpret_cast<T*>(bytes.data());
  uint64_t bits = 0;
  for (size_t i = 0; i < count; ++i) {
    // Four draws of 14 bits from 64.
    if (i % 4 == 0) bits = rng.Next();
    out[i] = table[bits & (table.size() - 1)];
    bits >>= 16;
  }
}

template <typename T>
void FillUniform(int64_t low, int64_t high, Rng& rng, std::span<uint8_t> bytes) {
  T* out = reinterpret_cast<T*>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    out[i] = static_cast<T>(rng.Between(low, high));
  }
}

}  // namespace

RuntimeStatus CheckTensorSpec(const TensorSpec& spec, uint64_t storage_bytes) {
  const size_t rank = spec.shape.size();
  if (ElementBytes(spec.type) == 0) return Malformed("element type that the runner does not know");
  // The spec comes over a pipe from another process: everything below indexes by these ranks.
  if (rank > kRankMax || spec.strides.size() != rank ||
      (!spec.border_below.empty() && spec.border_below.size() != rank) ||
      spec.border_above.size() != spec.border_below.size()) {
    return Malformed("ranks do not agree");
  }
  if (spec.low > spec.high || !InBounds(spec.offset)) return Malformed("range or offset");
  Wide count = 1, first = spec.offset, last = spec.offset;
  for (size_t d = 0; d < rank; ++d) {
    if (!InBounds(spec.shape[d]) || !InBounds(spec.strides[d]) || !InBounds(BorderBelow(spec, d)) ||
        !InBounds(BorderAbove(spec, d))) {
      return Malformed("negative or too large number");
    }
    count *= spec.shape[d];
    // The lowest and the highest element that is ever touched, border included. Strides are not
    // negative, so corners are the extremes.
    first -= Wide{BorderBelow(spec, d)} * spec.strides[d];
    last += Wide{spec.shape[d] - 1 + BorderAbove(spec, d)} * spec.strides[d];
    if (count > kElementsMax || last > kElementsMax || first < 0) {
      return Malformed("elements outside of its memory");
    }
  }
  if (count > 0 && (last + 1) * ElementBytes(spec.type) > Wide{storage_bytes}) {
    return Malformed("got " + std::to_string(storage_bytes) + " bytes of memory, want " +
                     std::to_string(static_cast<int64_t>(last + 1) * ElementBytes(spec.type)));
  }
  return RuntimeStatus();
}

int64_t ElementCount(const TensorSpec& spec) {
  int64_t count = 1;
  for (const int64_t extent : spec.shape) count *= extent;
  return count;
}

uint64_t DenseBytes(const TensorSpec& spec) { return ElementCount(spec) * ElementBytes(spec.type); }

uint64_t StorageBytes(const TensorSpec& spec) {
  if (ElementCount(spec) == 0) return 0;
  int64_t last = spec.offset;
  for (size_t d = 0; d < spec.shape.size(); ++d) {
    last += (spec.shape[d] - 1 + BorderAbove(spec, d)) * spec.strides[d];
  }
  return (last + 1) * ElementBytes(spec.type);
}

namespace {

// `bytes`: as many as the tensor has densely.
void FillRandom(const TensorSpec& spec, uint64_t seed, int parameter, std::span<uint8_t> bytes) {
  // By position, so that runner and checker draw the same without a word between them.
  Rng rng(RngStream{.seed = seed, .purpose = "inputs", .index = parameter});
  switch (ElementBytes(spec.type)) {
    case 1:
      FillUniform<uint8_t>(spec.low, spec.high, rng, bytes);
      break;
    case 2:
      if (spec.type == ElementType::kBf16) {
        FillNormal<Bfloat16>(seed, rng, bytes);
      } else if (spec.type == ElementType::kF16) {
        FillNormal<Float16>(seed, rng, bytes);
      } else {
        FillUniform<uint16_t>(spec.low, spec.high, rng, bytes);
      }
      break;
    case 4:
      if (spec.type == ElementType::kF32) {
        FillNormal<float>(seed, rng, bytes);
      } else {
        FillUniform<int32_t>(spec.low, spec.high, rng, bytes);
      }
      break;
    default:
      if (spec.type == ElementType::kF64) {
        FillNormal<double>(seed, rng, bytes);
      } else {
        FillUniform<int64_t>(spec.low, spec.high, rng, bytes);
      }
  }
}

}  // namespace

std::vector<uint8_t> RandomTensor(const TensorSpec& spec, uint64_t seed, int parameter) {
  std::vector<uint8_t> bytes(DenseBytes(spec));
  FillRandom(spec, seed, parameter, bytes);
  return bytes;
}

void RandomIntoStorage(const TensorSpec& spec, uint64_t seed, int parameter,
                       std::span<uint8_t> storage) {
  const TensorSpec rows = Merged(spec);
  const auto element_bytes = static_cast<uint64_t>(ElementBytes(spec.type));
  const std::span<uint8_t> dense = storage.subspan(spec.offset * element_bytes);
  const bool in_place = rows.shape.size() == 1 && rows.strides[0] == 1 &&
                        rows.border_below.empty() &&
                        reinterpret_cast<uintptr_t>(dense.data()) % element_bytes == 0;
  if (in_place) return FillRandom(spec, seed, parameter, dense.first(DenseBytes(spec)));
  CopyIntoStorage(spec, RandomTensor(spec, seed, parameter), storage);
}

void CopyIntoStorage(const TensorSpec& spec, std::span<const uint8_t> dense,
                     std::span<uint8_t> storage) {
  if (ElementCount(spec) == 0) return;
  const TensorSpec rows = Merged(spec);
  const size_t last = rows.shape.size() - 1;
  const int64_t row_count = rows.shape[last], stride = rows.strides[last];
  WithElementBytes(spec.type, [&](auto element_bytes) {
    // The whole widened box gets the border's value first and the elements after it: simpler than
    // the frame alone, and each byte outside of the box is left as it was.
    if (!rows.border_below.empty()) {
      const std::vector<uint8_t> value = ElementOf(spec.type, spec.border_value);
      const int64_t widened = row_count + rows.border_below[last] + rows.border_above[last];
      ForEachRow(rows, /*with_border=*/true, [&](int64_t offset, int64_t) {
        uint8_t* const to = &storage[offset * element_bytes];
        CopyElements<element_bytes>(to, stride, value.data(), /*from_stride=*/0, widened);
      });
    }
    ForEachRow(rows, /*with_border=*/false, [&](int64_t offset, int64_t row) {
      const uint8_t* const from = &dense[row * row_count * element_bytes];
      uint8_t* const to = &storage[offset * element_bytes];
      CopyElements<element_bytes>(to, stride, from, /*from_stride=*/1, row_count);
    });
  });
}

std::vector<uint8_t> CopyFromStorage(const TensorSpec& spec, std::span<const uint8_t> storage) {
  std::vector<uint8_t> dense(DenseBytes(spec));
  if (dense.empty()) return dense;
  const TensorSpec rows = Merged(spec);
  const int64_t row_count = rows.shape.back(), stride = rows.strides.back();
  WithElementBytes(spec.type, [&](auto element_bytes) {
    ForEachRow(rows, /*with_border=*/false, [&](int64_t offset, int64_t row) {
      uint8_t* const to = &dense[row * row_count * element_bytes];
      const uint8_t* const from = &storage[offset * element_bytes];
      CopyElements<element_bytes>(to, /*to_stride=*/1, from, stride, row_count);
    });
  });
  return dense;
}

}  // namespace burnish
