#include "tuner/app/compare_arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/small_float.h"
#include "tuner/app/value_text.h"

namespace burnish {
namespace {

template <typename T>
double ReadAs(const std::string& bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

using Reader = double (*)(const std::string&, size_t);

// Null for what is no type.
Reader ReaderOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return &ReadAs<float>;
    case ElementType::kF64:
      return &ReadAs<double>;
    case ElementType::kBf16:
      return &ReadAs<Bfloat16>;
    case ElementType::kF16:
      return &ReadAs<Float16>;
    case ElementType::kI64:
      return &ReadAs<int64_t>;
    case ElementType::kI32:
      return &ReadAs<int32_t>;
    case ElementType::kU64:
      return &ReadAs<uint64_t>;
    case ElementType::kU32:
      return &ReadAs<uint32_t>;
    case ElementType::kI16:
      return &ReadAs<int16_t>;
    case ElementType::kU16:
      return &ReadAs<uint16_t>;
    case ElementType::kI8:
      return &ReadAs<int8_t>;
    case ElementType::kU8:
    case ElementType::kBool:
      return &ReadAs<uint8_t>;
    default:
      return nullptr;
  }
}

double Distance(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  const double distance = std::abs(got - want);
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

std::string Describe(const NpyArray& array) {
  return absl::StrCat(ElementTypeName(array.type), FormatShape(array.shape));
}

}  // namespace

absl::StatusOr<ArrayDifference> CompareArrays(const NpyArray& got, const NpyArray& want) {
  if (got.type != want.type || got.shape != want.shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", Describe(got), ", want ", Describe(want)));
  }
  const Reader read = ReaderOf(got.type);
  if (read == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("got ", Describe(got), ", want another type"));
  }
  ArrayDifference difference{.exact = !IsFloat(got.type)};
  double scale = 0;
  size_t worst = 0;
  const size_t count = got.bytes.size() / ElementBytes(got.type);
  for (size_t i = 0; i < count; ++i) {
    const double want_i = read(want.bytes, i);
    if (std::isfinite(want_i)) scale = std::max(scale, std::abs(want_i));
    const double distance = Distance(read(got.bytes, i), want_i);
    if (distance <= difference.absolute) continue;
    difference.absolute = distance;
    worst = i;
  }
  if (count == 0) return difference;
  difference.relative = difference.absolute == 0 ? 0 : difference.absolute / scale;
  difference.got = read(got.bytes, worst);
  difference.want = read(want.bytes, worst);
  difference.at.resize(got.shape.size());
  for (size_t d = got.shape.size(); d-- > 0;) {
    const auto extent = static_cast<size_t>(got.shape[d]);
    difference.at[d] = static_cast<int64_t>(worst % extent);
    worst /= extent;
  }
  return difference;
}

}  // namespace burnish
