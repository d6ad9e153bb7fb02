// The k largest or smallest of each row along an axis.
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

#include "compiler/runtime/host/kernels.h"

namespace burnish::host {
namespace {

RuntimeOr<std::vector<HostType>> Infer(const HostSignature& call) {
  if (call.inputs.size() != 1) return Got(std::to_string(call.inputs.size()) + " inputs", "1");
  const HostType& x = call.inputs[0];
  if (x.type == ElementType::kBool) return Got("X " + Text(x), "numbers");
  RUNTIME_ASSIGN_OR_RETURN(const size_t axis, AxisOf(call.Number("axis"), x.shape.size()));
  const int64_t k = call.Number("k");
  if (k < 1 || k > x.shape[axis]) {
    return Got("k=" + std::to_string(k),
               "1 to the " + std::to_string(x.shape[axis]) + " elements of the axis");
  }
  HostType values = x;
  values.shape[axis] = k;
  return std::vector<HostType>{values, {ElementType::kI64, values.shape}};
}

// Rows that lie side by side are copied before they are looked at: a cache line's worth of them, so
// that each line is read once, and fewer where those would leave a second-level cache.
constexpr int64_t kLineBytes = 64, kCopyBytesMax = 1 << 20;

// A number of T's bytes that orders as T does, whatever the thread's floating point mode: the lower
// of two comes first. Equal elements have equal keys: -0 is 0. NaN counts as the largest number, as
// NumPy sorts it: an order needs a place for it.
template <typename T>
auto KeyOf(T value, bool largest) {
  using Key = decltype([] {
    if constexpr (sizeof(T) == 1) return uint8_t{};
    if constexpr (sizeof(T) == 2) return uint16_t{};
    if constexpr (sizeof(T) == 4) return uint32_t{};
    if constexpr (sizeof(T) == 8) return uint64_t{};
  }());
  constexpr Key kTop = Key{1} << (8 * sizeof(T) - 1);
  Key key = std::bit_cast<Key>(value);
  if constexpr (std::is_floating_point_v<T>) {
    constexpr Key kInfinity = std::bit_cast<Key>(std::numeric_limits<T>::infinity());
    const Key magnitude = key & ~kTop;
    const bool is_nan = magnitude > kInfinity;
    // Below 0 more bits are less.
    key = magnitude == 0 ? kTop : (key & kTop) != 0 ? ~key : key | kTop;
    if (is_nan) key = std::numeric_limits<Key>::max();
  } else if constexpr (std::is_signed_v<T>) {
    key ^= kTop;
  }
  return static_cast<Key>(largest ? ~key : key);
}

// The first k of a row. Entries are a key with its index below, one number: ties go to the lower
// index, which ONNX asks for.
template <typename T, typename Entry>
class Selection {
 public:
  Selection(int64_t extent, int64_t k, bool largest)
      : extent_(extent),
        k_(k),
        largest_(largest),
        capacity_(k <= kInsertMax ? k : std::min(extent, 2 * k)) {
    entries_.reserve(capacity_);
  }

  // In order.
  const std::vector<Entry>& Of(const T* row) {
    entries_.clear();
    for (int64_t i = 0; i < capacity_; ++i) entries_.push_back(EntryOf(row[i], i));
    Key last = k_ <= kInsertMax ? Sort() : Cut();
    // Elements that are compared before anything is done about one of them: whole vectors, and few
    // where one of them is wanted.
    constexpr int64_t kBlock = 16;
    for (int64_t i = capacity_; i < extent_;) {
      const int64_t end = std::min(i + kBlock, extent_);
      bool any = false;
      for (int64_t j = i; j < end; ++j) any |= KeyOf(row[j], largest_) < last;
      for (; any && i < end; ++i) {
        // An equal one that comes later is behind the last.
        if (KeyOf(row[i], largest_) >= last) continue;
        if (k_ <= kInsertMax) {
          last = Insert(EntryOf(row[i], i));
          continue;
        }
        entries_.push_back(EntryOf(row[i], i));
        if (static_cast<int64_t>(entries_.size()) == capacity_) last = Cut();
      }
      i = end;
    }
    if (k_ > kInsertMax) {
      Cut();
      Sort();
    }
    return entries_;
  }

  static int64_t IndexOf(Entry entry) {
    return static_cast<int64_t>(entry & ((Entry{1} << kIndexBits) - 1));
  }

 private:
  using Key = decltype(KeyOf(T{}, true));
  static constexpr int kIndexBits = 8 * static_cast<int>(sizeof(Entry) - sizeof(Key));
  // So few are kept sorted. Of more, twice as many are kept in no order and then cut to k: what is
  // cut off pays for the cut, in whatever order a row comes.
  static constexpr int64_t kInsertMax = 16;

  Entry EntryOf(T value, int64_t index) const {
    return Entry{KeyOf(value, largest_)} << kIndexBits | static_cast<Entry>(index);
  }

  // Each of these returns the key of the k-th that is left. Insert: without a branch on where it
  // belongs, which nothing could predict.
  Key Insert(Entry added) {
    for (Entry& entry : entries_) {
      const Entry lesser = std::min(entry, added);
      added = std::max(entry, added);
      entry = lesser;
    }
    return static_cast<Key>(entries_.back() >> kIndexBits);
  }
  Key Sort() {
    std::sort(entries_.begin(), entries_.end());
    return static_cast<Key>(entries_.back() >> kIndexBits);
  }
  Key Cut() {
    std::nth_element(entries_.begin(), entries_.begin() + (k_ - 1), entries_.end());
    entries_.resize(k_);
    return static_cast<Key>(entries_.back() >> kIndexBits);
  }

  const int64_t extent_, k_;
  const bool largest_;
  const int64_t capacity_;
  std::vector<Entry> entries_;
};

template <typename T, typename Entry>
void Rows(const HostSignature& call, const T* x, T* values, int64_t* indices) {
  const std::vector<int64_t>& shape = call.inputs[0].shape;
  const Around around = AroundAxis(shape, *AxisOf(call.Number("axis"), shape.size()));
  const int64_t k = call.Number("k");
  Selection<T, Entry> selection(around.extent, k, call.Number("largest") != 0);
  const auto row_bytes = around.extent * static_cast<int64_t>(sizeof(T));
  const int64_t together = std::clamp<int64_t>(
      kCopyBytesMax / row_bytes, 1, std::min<int64_t>(around.inner, kLineBytes / sizeof(T)));
  std::vector<T> rows(around.inner > 1 ? together * around.extent : 0);
  for (int64_t outer = 0; outer < around.outer; ++outer) {
    const T* const block = x + outer * around.extent * around.inner;
    for (int64_t inner = 0; inner < around.inner; inner += together) {
      const int64_t count = std::min(together, around.inner - inner);
      for (int64_t i = 0; i < around.extent && around.inner > 1; ++i) {
        for (int64_t r = 0; r < count; ++r) {
          rows[r * around.extent + i] = block[i * around.inner + inner + r];
        }
      }
      for (int64_t r = 0; r < count; ++r) {
        const T* const row = around.inner > 1 ? &rows[r * around.extent] : block;
        // Sorted whether asked for or not: then the result is one, whatever the library's
        // selection.
        const std::vector<Entry>& first = selection.Of(row);
        for (int64_t i = 0; i < k; ++i) {
          const int64_t to = (outer * k + i) * around.inner + inner + r;
          const int64_t from = selection.IndexOf(first[i]);
          values[to] = row[from];
          indices[to] = from;
        }
      }
    }
  }
}

int32_t Run(const HostSignature& call, std::span<const uint8_t* const> inputs,
            std::span<uint8_t* const> outputs) {
  VisitNumber(call.inputs[0].type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto* const x = reinterpret_cast<const T*>(inputs[0]);
    auto* const values = reinterpret_cast<T*>(outputs[0]);
    auto* const indices = reinterpret_cast<int64_t*>(outputs[1]);
    // One machine word an entry, where key and index fit.
    if (sizeof(T) <= 4 && Count(call.inputs[0].shape) <= std::numeric_limits<uint32_t>::max()) {
      if constexpr (sizeof(T) <= 4) Rows<T, uint64_t>(call, x, values, indices);
    } else {
      Rows<T, unsigned __int128>(call, x, values, indices);
    }
  });
  return BURNISH_KERNEL_OK;
}

}  // namespace

HostKernel TopK() { return {"top_k", {{"axis", -1}, {"k", 1}, {"largest", 1}}, &Infer, &Run}; }

}  // namespace burnish::host
