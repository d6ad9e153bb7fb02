#include "worker/runner/output_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_format.h"
#include "base/rng.h"
#include "base/small_float.h"

namespace burnish {
namespace {

template <typename T>
T At(std::span<const uint8_t> bytes, int64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset * sizeof(T), sizeof(T));
  return value;
}

double FloatAt(ElementType type, std::span<const uint8_t> bytes, int64_t offset) {
  switch (type) {
    case ElementType::kF32:
      return At<float>(bytes, offset);
    case ElementType::kBf16:
      return At<Bfloat16>(bytes, offset);
    case ElementType::kF16:
      return At<Float16>(bytes, offset);
    default:
      return At<double>(bytes, offset);
  }
}

int64_t IntegerAt(ElementType type, std::span<const uint8_t> bytes, int64_t offset) {
  switch (type) {
    case ElementType::kI8:
      return At<int8_t>(bytes, offset);
    case ElementType::kI16:
      return At<int16_t>(bytes, offset);
    case ElementType::kU16:
      return At<uint16_t>(bytes, offset);
    case ElementType::kI32:
      return At<int32_t>(bytes, offset);
    case ElementType::kU32:
      return At<uint32_t>(bytes, offset);
    case ElementType::kI64:
    case ElementType::kU64:  // Its bits.
      return At<int64_t>(bytes, offset);
    default:
      return At<uint8_t>(bytes, offset);
  }
}

// The last place of a value that is stored in 16 bits; 0 for other types. Two results that differ
// by the rounding of f32 may fall to both sides of a tie, one place apart.
double LastPlace(ElementType type, double value) {
  if (value == 0) return 0;
  if (type == ElementType::kBf16) return std::ldexp(1, std::ilogb(value) - 7);
  // At least that of subnormal numbers, from 2^-14 down.
  if (type == ElementType::kF16) return std::ldexp(1, std::max(std::ilogb(value), -14) - 10);
  return 0;
}

double GreatestOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return 3.4028234663852886e38;
    case ElementType::kBf16:
      return 3.3895313892515355e38;
    case ElementType::kF16:
      return 65504;
    default:
      return HUGE_VAL;
  }
}

// Collects pairs of values, then judges.
class FloatComparison {
 public:
  // Beyond what its type holds, a value that was computed in double is infinite in the output.
  FloatComparison(ElementType type, double bound)
      : type_(type), greatest_(GreatestOf(type)), bound_(bound) {}

  void Add(int64_t offset, double got, double want) {
    if (std::abs(want) > greatest_) want = std::copysign(HUGE_VAL, want);
    if (!std::isfinite(want) || !std::isfinite(got)) {
      // Infinities and NaN are compared by kind and take no part in the error: one infinity would
      // make it 0 or NaN for the whole tensor.
      if (got == want || (std::isnan(got) && std::isnan(want))) return;
      if (not_finite_.empty()) {
        not_finite_ = absl::StrFormat("element %d: got %g, want %g", offset, got, want);
      }
      return;
    }
    // Relative to the largest element and not to each: elements near zero are differences of large
    // ones, and their own relative error says nothing.
    greatest_want_ = std::max(greatest_want_, std::abs(want));
    const double difference = std::max(0.0, std::abs(got - want) - LastPlace(type_, want));
    if (difference <= worst_) return;
    worst_ = difference;
    worst_text_offset_ = offset;
    worst_got_ = got;
    worst_want_ = want;
  }

  CheckResult Judge() const {
    CheckResult result;
    // Where all should be zero, anything else is wrong by itself.
    if (worst_ > 0) result.error = greatest_want_ > 0 ? worst_ / greatest_want_ : HUGE_VAL;
    if (!not_finite_.empty()) {
      result.what_is_wrong = not_finite_;
    } else if (result.error > bound_) {
      result.what_is_wrong =
          absl::StrFormat("element %d: got %.9g, want %.9g; tensor error %.3g, want <= %.3g",
                          worst_text_offset_, worst_got_, worst_want_, result.error, bound_);
    }
    return result;
  }

 private:
  const ElementType type_;
  const double greatest_;
  const double bound_;
  std::string not_finite_;
  double greatest_want_ = 0;
  double worst_ = 0;
  int64_t worst_text_offset_ = 0;
  double worst_got_ = 0, worst_want_ = 0;
};

CheckResult IntegerMismatch(int64_t offset, int64_t got, int64_t want) {
  return {.what_is_wrong = absl::StrFormat("element %d: got %d, want %d", offset, got, want)};
}

}  // namespace

CheckResult CompareAll(ElementType type, std::span<const uint8_t> got,
                       std::span<const uint8_t> want, double bound) {
  if (got.size() != want.size()) {
    return {.what_is_wrong = absl::StrFormat("got %d bytes, want %d", got.size(), want.size())};
  }
  if (std::memcmp(got.data(), want.data(), got.size()) == 0) return {};
  const auto count = static_cast<int64_t>(got.size() / ElementBytes(type));
  if (!IsFloat(type)) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t a = IntegerAt(type, got, i), b = IntegerAt(type, want, i);
      if (a != b) return IntegerMismatch(i, a, b);
    }
    return {};
  }
  FloatComparison comparison(type, bound);
  for (int64_t i = 0; i < count; ++i) {
    comparison.Add(i, FloatAt(type, got, i), FloatAt(type, want, i));
  }
  return comparison.Judge();
}

CheckResult CompareSamples(ElementType type, std::span<const uint8_t> got,
                           const std::vector<Sample>& samples, double bound) {
  FloatComparison comparison(type, bound);
  for (const Sample& sample : samples) {
    if (IsFloat(type)) {
      comparison.Add(sample.offset, FloatAt(type, got, sample.offset), sample.want.f);
      continue;
    }
    const int64_t value = IntegerAt(type, got, sample.offset);
    if (value != sample.want.i) return IntegerMismatch(sample.offset, value, sample.want.i);
  }
  return comparison.Judge();
}

std::vector<int64_t> SampleOffsets(const std::vector<int64_t>& shape, int count, uint64_t seed,
                                   int output) {
  constexpr size_t kCornerDimsMax = 6;
  int64_t element_count = 1;
  for (const int64_t extent : shape) element_count *= extent;
  std::vector<int64_t> offsets;
  // Small outputs are checked whole.
  if (element_count <= count) {
    for (int64_t i = 0; i < element_count; ++i) offsets.push_back(i);
    return offsets;
  }
  // Corners are where tails of tiles and padding go wrong. 64 of them; more dimensions would double
  // their number each.
  const size_t corner_dims = std::min(shape.size(), kCornerDimsMax);
  for (uint64_t corner = 0; corner < uint64_t{1} << corner_dims; ++corner) {
    int64_t offset = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      // The last dimensions; those before them stay at 0.
      const size_t bit = shape.size() - 1 - d;
      const bool high = bit < corner_dims && (corner >> bit & 1) != 0;
      offset = offset * shape[d] + (high ? shape[d] - 1 : 0);
    }
    offsets.push_back(offset);
  }
  // By the task's seed: all candidates are asked for the same elements, which the oracle computes
  // once.
  Rng rng(RngStream{.seed = seed, .purpose = "samples", .index = output});
  for (int i = 0; i < count; ++i) {
    offsets.push_back(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(element_count))));
  }
  std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

}  // namespace burnish
