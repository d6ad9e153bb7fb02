// What is somewhere, and what is there once: results as long as their data says. The last output of
// each counts how much of the others holds; behind that are zeros.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "compiler/runtime/host/kernels.h"

namespace burnish::host {
namespace {

constexpr HostType kCount = {ElementType::kI64, {}};

// ---- non_zero: coordinates [rank, at most all], count.

RuntimeOr<std::vector<HostType>> InferNonZero(const HostSignature& call) {
  if (call.inputs.size() != 1) return Got(std::to_string(call.inputs.size()) + " inputs", "1");
  const HostType& x = call.inputs[0];
  if (x.shape.empty()) return Got("X " + Text(x), "a dimension at least");
  const auto rank = static_cast<int64_t>(x.shape.size());
  return std::vector<HostType>{{ElementType::kI64, {rank, BoundOf(Count(x.shape))}}, kCount};
}

int32_t RunNonZero(const HostSignature& call, std::span<const uint8_t* const> inputs,
                   std::span<uint8_t* const> outputs) {
  const std::vector<int64_t>& shape = call.inputs[0].shape;
  const int64_t bound = call.outputs[0].shape[1], extent = shape.back(),
                rows = Count(shape) / extent;
  const size_t last = shape.size() - 1;
  auto* const places = reinterpret_cast<int64_t*>(outputs[0]);
  int64_t found = 0;
  VisitNumber(call.inputs[0].type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* row = reinterpret_cast<const T*>(inputs[0]);
    std::vector<int64_t> at(last, 0);  // The row's own place.
    for (int64_t r = 0; r < rows; ++r, row += extent) {
      const int64_t begin = found;
      int64_t* const along = places + static_cast<int64_t>(last) * bound;
      for (int64_t i = 0; i < extent; ++i) {
        along[found] = i;  // Written over if it is none: no branch that data would mislead.
        found += row[i] != T{0};
      }
      for (size_t d = 0; d < last; ++d) {
        std::fill_n(places + static_cast<int64_t>(d) * bound + begin, found - begin, at[d]);
      }
      for (size_t d = last; d-- > 0;) {
        if (++at[d] < shape[d]) break;
        at[d] = 0;
      }
    }
  });
  for (size_t d = 0; d <= last; ++d) {
    int64_t* const row = places + static_cast<int64_t>(d) * bound;
    std::fill(row + found, row + bound, 0);
  }
  *reinterpret_cast<int64_t*>(outputs[1]) = found;
  return BURNISH_KERNEL_OK;
}

// ---- unique: of slices along an axis. Inputs: X, how many slices hold.
// Outputs: slices, where each came from first, which of them each of X is, how often, count.

RuntimeOr<std::vector<HostType>> InferUnique(const HostSignature& call) {
  if (call.inputs.size() != 2) return Got(std::to_string(call.inputs.size()) + " inputs", "2");
  const HostType& x = call.inputs[0];
  if (call.inputs[1] != kCount) return Got("count " + Text(call.inputs[1]), "i64[]");
  RUNTIME_ASSIGN_OR_RETURN(const size_t axis, AxisOf(call.Number("axis"), x.shape.size()));
  const int64_t extent = x.shape[axis];
  HostType slices = x;
  slices.shape[axis] = BoundOf(extent);
  const HostType positions = {ElementType::kI64, {BoundOf(extent)}};
  return std::vector<HostType>{slices, positions, {ElementType::kI64, {extent}}, positions, kCount};
}

// Less than 0, 0 or more. NaN is one value, the greatest, as NumPy has it: sorting wants an order.
template <typename T>
int Compare(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) - std::isnan(b);
  }
  return (b < a) - (a < b);
}

template <typename T>
int CompareSlices(const T* x, const Around& around, int64_t a, int64_t b) {
  for (int64_t outer = 0; outer < around.outer; ++outer) {
    const T* row = x + outer * around.extent * around.inner;
    for (int64_t inner = 0; inner < around.inner; ++inner) {
      const int order = Compare(row[a * around.inner + inner], row[b * around.inner + inner]);
      if (order != 0) return order;
    }
  }
  return 0;
}

// Members of each group of equal slices, ascending; groups in the order of the output.
template <typename T>
std::vector<std::vector<int64_t>> Groups(const T* x, const Around& around, int64_t count,
                                         bool sorted) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // Ties by place: members of a group ascend.
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int found = CompareSlices(x, around, a, b);
    return found != 0 ? found < 0 : a < b;
  });
  std::vector<std::vector<int64_t>> groups;
  for (const int64_t i : order) {
    if (groups.empty() || CompareSlices(x, around, groups.back()[0], i) != 0) groups.emplace_back();
    groups.back().push_back(i);
  }
  if (!sorted) {
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return a[0] < b[0]; });
  }
  return groups;
}

int32_t RunUnique(const HostSignature& call, std::span<const uint8_t* const> inputs,
                  std::span<uint8_t* const> outputs) {
  const std::vector<int64_t>& shape = call.inputs[0].shape;
  const Around around = AroundAxis(shape, *AxisOf(call.Number("axis"), shape.size()));
  const int64_t count =
      std::clamp<int64_t>(*reinterpret_cast<const int64_t*>(inputs[1]), 0, around.extent);
  const auto numbers = [&](size_t i) { return reinterpret_cast<int64_t*>(outputs[i]); };
  for (size_t i = 0; i < 4; ++i) {
    std::memset(outputs[i], 0, Count(call.outputs[i].shape) * ElementBytes(call.outputs[i].type));
  }
  const int64_t bound = call.outputs[1].shape[0];
  VisitNumber(call.inputs[0].type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* x = reinterpret_cast<const T*>(inputs[0]);
    auto* const y = reinterpret_cast<T*>(outputs[0]);
    const auto groups = Groups(x, around, count, call.Number("sorted") != 0);
    for (size_t g = 0; g < groups.size(); ++g) {
      const auto at = static_cast<int64_t>(g);
      for (int64_t outer = 0; outer < around.outer; ++outer) {
        std::copy_n(x + (outer * around.extent + groups[g][0]) * around.inner, around.inner,
                    y + (outer * bound + at) * around.inner);
      }
      numbers(1)[at] = groups[g][0];
      numbers(3)[at] = static_cast<int64_t>(groups[g].size());
      for (const int64_t member : groups[g]) numbers(2)[member] = at;
    }
    *numbers(4) = static_cast<int64_t>(groups.size());
  });
  return BURNISH_KERNEL_OK;
}

}  // namespace

HostKernel NonZero() { return {"non_zero", {}, &InferNonZero, &RunNonZero}; }

HostKernel Unique() { return {"unique", {{"axis", 0}, {"sorted", 1}}, &InferUnique, &RunUnique}; }

}  // namespace burnish::host
