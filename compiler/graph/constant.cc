#include "compiler/graph/constant.h"

namespace burnish {
namespace {

// Calls `f` with a value of the C++ type that stores `dtype`.
template <typename F>
auto Dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kBf16:
      return f(Bfloat16{});
    case DType::kF16:
      return f(Float16{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kU64:
      return f(uint64_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kU16:
      return f(uint16_t{});
    case DType::kU8:
    case DType::kBool:
      return f(uint8_t{});
  }
  CHECK(false) << "dtype " << static_cast<int>(dtype);
  return f(uint8_t{});
}

// What a value goes through on its way into an `Out`: storage types are made of floats.
template <typename Out>
using ComputeOf =
    std::conditional_t<std::is_same_v<Out, Bfloat16> || std::is_same_v<Out, Float16>, float, Out>;

template <typename Out>
std::vector<Out> Convert(const TensorType& type, const ConstantData& data) {
  return Dispatch(type.dtype, [&](auto zero) {
    using In = decltype(zero);
    const std::vector<In> in = CopyAs<In>(data);
    std::vector<Out> out;
    out.reserve(in.size());
    for (const In value : in) out.push_back(static_cast<Out>(value));
    return out;
  });
}

template <typename In>
ConstantPtr ConvertFrom(DType dtype, const std::vector<In>& values) {
  return Dispatch(dtype, [&](auto zero) {
    using Out = decltype(zero);
    std::vector<Out> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (dtype == DType::kBool) {
        out[i] = static_cast<Out>(static_cast<ComputeOf<Out>>(values[i] != 0));
      } else if constexpr (std::is_integral_v<Out> && std::is_floating_point_v<In>) {
        // A conversion that does not fit is undefined in C++; clamp to what int64 holds first.
        const double v = values[i];
        if (std::is_same_v<Out, uint64_t> && v >= 9.2e18) {
          out[i] = static_cast<Out>(v < 18446744073709551616.0 ? static_cast<uint64_t>(v) : ~0ull);
          continue;
        }
        const int64_t clamped = !(v > -9.2e18)  ? INT64_MIN
                                : !(v < 9.2e18) ? INT64_MAX
                                                : static_cast<int64_t>(v);
        out[i] = static_cast<Out>(clamped);
      } else {
        out[i] = static_cast<Out>(static_cast<ComputeOf<Out>>(values[i]));
      }
    }
    return MakeConstant(std::move(out));
  });
}

}  // namespace

std::vector<int64_t> ToInts(const TensorType& type, const ConstantData& data) {
  if (IsFloat(type.dtype)) {
    const ConstantPtr ints = ConvertFrom(DType::kI64, Convert<double>(type, data));
    return CopyAs<int64_t>(*ints);
  }
  return Convert<int64_t>(type, data);
}

std::vector<double> ToDoubles(const TensorType& type, const ConstantData& data) {
  return Convert<double>(type, data);
}

double FirstAsDouble(const TensorType& type, const ConstantData& data) {
  return Dispatch(type.dtype, [&](auto zero) {
    CHECK_GE(data.bytes().size(), sizeof(zero));
    std::memcpy(&zero, data.bytes().data(), sizeof(zero));
    return static_cast<double>(zero);
  });
}

ConstantPtr FromDoubles(DType dtype, const std::vector<double>& values) {
  return ConvertFrom(dtype, values);
}

ConstantPtr FromInts(DType dtype, const std::vector<int64_t>& values) {
  return ConvertFrom(dtype, values);
}

TensorValue ToTensorValue(const TensorType& type, const ConstantData& data) {
  TensorValue value;
  value.dtype = type.dtype;
  value.shape = type.shape;
  if (IsFloat(type.dtype)) {
    value.floats = Convert<double>(type, data);
  } else {
    value.integers = Convert<int64_t>(type, data);
  }
  return value;
}

ConstantPtr FromTensorValue(const TensorValue& value) {
  return IsFloat(value.dtype) ? FromDoubles(value.dtype, value.floats)
                              : FromInts(value.dtype, value.integers);
}

}  // namespace burnish
