// The kernels, one family a file, and what they share. Internal to compiler/runtime/host.
#ifndef COMPILER_RUNTIME_HOST_KERNELS_H_
#define COMPILER_RUNTIME_HOST_KERNELS_H_

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/runtime/host/host_kernel.h"
#include "compiler/runtime/kernel_abi.h"

namespace burnish::host {

HostKernel TopK();               // top_k.cc
HostKernel CumSum();             // cumulate.cc
HostKernel CumProd();            // cumulate.cc
HostKernel ScatterElements();    // scatter.cc
HostKernel ScatterNd();          // scatter.cc
HostKernel NonZero();            // select.cc
HostKernel Unique();             // select.cc
HostKernel NonMaxSuppression();  // suppress.cc

// kInvalidArgument: "got WHAT, want WANT".
RuntimeStatus Got(const std::string& what, const std::string& want);
std::string Text(const HostType& type);  // "f32[1,3]"

// [-rank, rank) to [0, rank).
RuntimeOr<size_t> AxisOf(int64_t axis, size_t rank);

// A shape around one axis: outer x extent x inner elements, row-major.
struct Around {
  int64_t outer = 1, extent = 1, inner = 1;
};
Around AroundAxis(const std::vector<int64_t>& shape, size_t axis);
int64_t Count(const std::vector<int64_t>& shape);
// The extent of an axis that has at most `count` elements in a run: never 1, because an axis of one
// element broadcasts, and this one may have none (docs/adr/0013-bounded-axes.md).
inline int64_t BoundOf(int64_t count) { return std::max<int64_t>(count, 2); }

template <typename T>
struct TypeTag {
  using Type = T;
};

// Calls `f` with a TypeTag of the C++ type of a number; bool is uint8_t. False: no such number.
template <typename F>
bool VisitNumber(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kF32:
      f(TypeTag<float>());
      return true;
    case ElementType::kF64:
      f(TypeTag<double>());
      return true;
    case ElementType::kI8:
      f(TypeTag<int8_t>());
      return true;
    case ElementType::kI16:
      f(TypeTag<int16_t>());
      return true;
    case ElementType::kU16:
      f(TypeTag<uint16_t>());
      return true;
    case ElementType::kU32:
      f(TypeTag<uint32_t>());
      return true;
    case ElementType::kU64:
      f(TypeTag<uint64_t>());
      return true;
    case ElementType::kU8:
    case ElementType::kBool:
      f(TypeTag<uint8_t>());
      return true;
    case ElementType::kI32:
      f(TypeTag<int32_t>());
      return true;
    case ElementType::kI64:
      f(TypeTag<int64_t>());
      return true;
    default:  // The compiler has no tensors of these.
      return false;
  }
}

// a + b and a * b; integers wrap, as the generated code does.
template <typename T>
T WrappingAdd(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T WrappingMul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

// Element i of an index tensor (i32 or i64), where a negative one counts from the end; -1 where it
// is outside of [-extent, extent).
inline int64_t IndexAt(ElementType type, const uint8_t* data, int64_t i, int64_t extent) {
  const int64_t index = type == ElementType::kI32 ? reinterpret_cast<const int32_t*>(data)[i]
                                                  : reinterpret_cast<const int64_t*>(data)[i];
  const int64_t from_start = index < 0 ? index + extent : index;
  return from_start >= 0 && from_start < extent ? from_start : -1;
}
bool IsIndex(ElementType type);  // i32 or i64.

}  // namespace burnish::host

#endif  // COMPILER_RUNTIME_HOST_KERNELS_H_
