// The k largest or smallest of each row along an axis.
#include <algorithm>
#include <cmath>
#include <numeric>

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

template <typename T>
void Rows(const HostSignature& call, const T* x, T* values, int64_t* indices) {
  const auto rank = static_cast<int64_t>(call.inputs[0].shape.size());
  const int64_t given = call.Number("axis");
  const Around around =
      AroundAxis(call.inputs[0].shape, static_cast<size_t>(given < 0 ? given + rank : given));
  const int64_t k = call.Number("k");
  const bool largest = call.Number("largest") != 0;
  std::vector<int64_t> order(around.extent);
  for (int64_t row = 0; row < around.outer * around.inner; ++row) {
    const int64_t outer = row / around.inner, inner = row % around.inner;
    const T* from = x + outer * around.extent * around.inner + inner;
    std::iota(order.begin(), order.end(), 0);
    // Ties go to the lower index, which ONNX asks for. NaN counts as the largest, as NumPy sorts
    // it: a strict weak order needs a place for it.
    const auto before = [&](int64_t a, int64_t b) {
      const T va = from[a * around.inner], vb = from[b * around.inner];
      if constexpr (std::is_floating_point_v<T>) {
        const bool na = std::isnan(va), nb = std::isnan(vb);
        if (na != nb) return largest ? na : nb;
        if (na) return a < b;
      }
      if (va != vb) return largest ? va > vb : va < vb;
      return a < b;
    };
    // Sorted whether asked for or not: then the result is one, whatever the library's selection.
    std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t to = (outer * k + i) * around.inner + inner;
      values[to] = from[order[i] * around.inner];
      indices[to] = order[i];
    }
  }
}

int32_t Run(const HostSignature& call, std::span<const uint8_t* const> inputs,
            std::span<uint8_t* const> outputs) {
  VisitNumber(call.inputs[0].type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Rows(call, reinterpret_cast<const T*>(inputs[0]), reinterpret_cast<T*>(outputs[0]),
         reinterpret_cast<int64_t*>(outputs[1]));
  });
  return BURNISH_KERNEL_OK;
}

}  // namespace

HostKernel TopK() { return {"top_k", {{"axis", -1}, {"k", 1}, {"largest", 1}}, &Infer, &Run}; }

}  // namespace burnish::host
