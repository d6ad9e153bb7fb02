// Running sums and products along an axis. In the order of the elements, so that a result does not
// depend on threads.
#include "compiler/runtime/host/kernels.h"

namespace burnish::host {
namespace {

RuntimeOr<std::vector<HostType>> Infer(const HostSignature& call) {
  if (call.inputs.size() != 1) return Got(std::to_string(call.inputs.size()) + " inputs", "1");
  const HostType& x = call.inputs[0];
  if (x.type == ElementType::kBool) return Got("X " + Text(x), "numbers");
  RUNTIME_ASSIGN_OR_RETURN(const size_t axis, AxisOf(call.Number("axis"), x.shape.size()));
  (void)axis;
  return std::vector<HostType>{x};
}

template <typename T, typename Combine>
void Rows(const HostSignature& call, const T* x, T* y, T start, Combine combine) {
  const auto rank = static_cast<int64_t>(call.inputs[0].shape.size());
  const int64_t given = call.Number("axis");
  const Around around =
      AroundAxis(call.inputs[0].shape, static_cast<size_t>(given < 0 ? given + rank : given));
  const bool exclusive = call.Number("exclusive") != 0, reverse = call.Number("reverse") != 0;
  for (int64_t row = 0; row < around.outer * around.inner; ++row) {
    const int64_t begin = row / around.inner * around.extent * around.inner + row % around.inner;
    T sum = start;
    for (int64_t i = 0; i < around.extent; ++i) {
      const int64_t at = begin + (reverse ? around.extent - 1 - i : i) * around.inner;
      if (exclusive) y[at] = sum;
      sum = combine(sum, x[at]);
      if (!exclusive) y[at] = sum;
    }
  }
}

int32_t RunSum(const HostSignature& call, std::span<const uint8_t* const> inputs,
               std::span<uint8_t* const> outputs) {
  VisitNumber(call.inputs[0].type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Rows<T>(call, reinterpret_cast<const T*>(inputs[0]), reinterpret_cast<T*>(outputs[0]), T{0},
            [](T a, T b) { return WrappingAdd(a, b); });
  });
  return BURNISH_KERNEL_OK;
}

int32_t RunProduct(const HostSignature& call, std::span<const uint8_t* const> inputs,
                   std::span<uint8_t* const> outputs) {
  VisitNumber(call.inputs[0].type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Rows<T>(call, reinterpret_cast<const T*>(inputs[0]), reinterpret_cast<T*>(outputs[0]), T{1},
            [](T a, T b) { return WrappingMul(a, b); });
  });
  return BURNISH_KERNEL_OK;
}

}  // namespace

HostKernel CumSum() {
  return {"cum_sum", {{"axis", 0}, {"exclusive", 0}, {"reverse", 0}}, &Infer, &RunSum};
}

HostKernel CumProd() {
  return {"cum_prod", {{"axis", 0}, {"exclusive", 0}, {"reverse", 0}}, &Infer, &RunProduct};
}

}  // namespace burnish::host
