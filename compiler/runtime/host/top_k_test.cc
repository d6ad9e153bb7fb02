// The k largest or smallest against a sort of the whole row.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "compiler/runtime/host/host_kernel.h"
#include "compiler/runtime/kernel_abi.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

template <typename T>
constexpr ElementType TypeOf() {
  if constexpr (std::is_same_v<T, float>) return ElementType::kF32;
  if constexpr (std::is_same_v<T, double>) return ElementType::kF64;
  constexpr ElementType kSigned[] = {ElementType::kI8, ElementType::kI16, ElementType::kI32,
                                     ElementType::kI64};
  constexpr ElementType kUnsigned[] = {ElementType::kU8, ElementType::kU16, ElementType::kU32,
                                       ElementType::kU64};
  constexpr int kSize = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return std::is_signed_v<T> ? kSigned[kSize] : kUnsigned[kSize];
}

template <typename T>
bool IsNan(T value) {
  return value != value;
}

// Whether `a` stands before `b` wherever it lies.
template <typename T>
bool ComesFirst(T a, T b, bool largest) {
  if (IsNan(a) || IsNan(b)) return largest ? IsNan(a) && !IsNan(b) : !IsNan(a) && IsNan(b);
  return largest ? a > b : a < b;
}

// The ways in which rows come; ties in most of them.
enum class Data { kRandom, kFewValues, kRising, kFalling, kEqual, kSpecial };

template <typename T>
std::vector<T> Make(Data data, int64_t count, std::mt19937_64& random) {
  std::vector<T> x(count);
  std::vector<T> special = {T{0}, T{1}, std::numeric_limits<T>::max(),
                            std::numeric_limits<T>::lowest(),
                            static_cast<T>(std::numeric_limits<T>::max() - 1)};
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T kTiny = std::numeric_limits<T>::denorm_min();
    constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    special.insert(special.end(), {-T{0}, kTiny, -kTiny, kNan, -kNan, kInfinity, -kInfinity});
  }
  for (int64_t i = 0; i < count; ++i) {
    switch (data) {
      case Data::kRandom:
        if constexpr (std::is_floating_point_v<T>) {
          x[i] = std::normal_distribution<T>()(random);
        } else {
          x[i] = static_cast<T>(random());
        }
        break;
      case Data::kFewValues:
        x[i] = static_cast<T>(random() % 5);
        break;
      case Data::kRising:
        x[i] = static_cast<T>(i / 2 % 100);
        break;
      case Data::kFalling:
        x[i] = static_cast<T>(100 - i / 2 % 100);
        break;
      case Data::kEqual:
        x[i] = T{7};
        break;
      case Data::kSpecial:
        x[i] = special[random() % special.size()];
        break;
    }
  }
  return x;
}

// The shape [outer, extent, inner] along its middle axis.
template <typename T>
void Check(const std::vector<T>& x, int64_t outer, int64_t extent, int64_t inner, int64_t k,
           bool largest) {
  SCOPED_TRACE("[" + std::to_string(outer) + "," + std::to_string(extent) + "," +
               std::to_string(inner) + "], k=" + std::to_string(k) +
               (largest ? ", largest" : ", smallest"));
  const HostKernel* const kernel = FindHostKernel("top_k");
  HostSignature call{.kernel = "top_k",
                     .attributes = {{"axis", 1}, {"k", k}, {"largest", largest}},
                     .inputs = {{TypeOf<T>(), {outer, extent, inner}}},
                     .outputs = {}};
  call.outputs = *kernel->infer(call);
  std::vector<T> values(outer * k * inner);
  std::vector<int64_t> indices(values.size());
  const uint8_t* const inputs[] = {reinterpret_cast<const uint8_t*>(x.data())};
  uint8_t* const outputs[] = {reinterpret_cast<uint8_t*>(values.data()),
                              reinterpret_cast<uint8_t*>(indices.data())};
  ASSERT_EQ(kernel->run(call, inputs, outputs), BURNISH_KERNEL_OK);
  for (int64_t row = 0; row < outer * inner; ++row) {
    const int64_t at = row / inner * extent * inner + row % inner;
    const int64_t to = row / inner * k * inner + row % inner;
    std::vector<int64_t> want(extent);
    std::iota(want.begin(), want.end(), 0);
    std::sort(want.begin(), want.end(), [&](int64_t a, int64_t b) {
      const T x_a = x[at + a * inner], x_b = x[at + b * inner];
      if (ComesFirst(x_a, x_b, largest)) return true;
      return !ComesFirst(x_b, x_a, largest) && a < b;
    });
    for (int64_t i = 0; i < k; ++i) {
      ASSERT_EQ(indices[to + i * inner], want[i]) << "row " << row << ", place " << i;
      // To the bit: a NaN keeps what it carries, and -0 its sign.
      ASSERT_EQ(std::memcmp(&values[to + i * inner], &x[at + want[i] * inner], sizeof(T)), 0);
    }
  }
}

template <typename T>
class TopKTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t,
                               int64_t, uint64_t>;
TYPED_TEST_SUITE(TopKTest, Types);

TYPED_TEST(TopKTest, RowsOfAllKinds) {
  std::mt19937_64 random(14);
  constexpr Data kAll[] = {Data::kRandom,  Data::kFewValues, Data::kRising,
                           Data::kFalling, Data::kEqual,     Data::kSpecial};
  // Around the sizes at which a selection cuts what it has, and its blocks end.
  constexpr int64_t kExtents[] = {1, 2, 63, 64, 65, 66, 129, 200, 1000, 3000};
  for (const Data data : kAll) {
    for (const int64_t extent : kExtents) {
      const std::vector<TypeParam> x = Make<TypeParam>(data, 2 * extent, random);
      for (const int64_t k : {int64_t{1}, int64_t{5}, int64_t{64}, extent / 3, extent}) {
        if (k < 1 || k > extent) continue;
        Check<TypeParam>(x, 2, extent, 1, k, true);
        Check<TypeParam>(x, 2, extent, 1, k, false);
      }
    }
  }
}

TYPED_TEST(TopKTest, RowsSideBySide) {
  std::mt19937_64 random(15);
  for (const int64_t inner : {2, 7, 16, 65, 130}) {
    for (const int64_t extent : {1, 3, 70, 300}) {
      const std::vector<TypeParam> x =
          Make<TypeParam>(Data::kFewValues, 2 * extent * inner, random);
      for (const int64_t k : {int64_t{1}, extent / 2, extent}) {
        if (k >= 1) Check<TypeParam>(x, 2, extent, inner, k, inner % 2 == 0);
      }
    }
  }
}

// Of longer columns fewer than a line has are copied at a time, here one.
TEST(TopKOfColumnsTest, LongColumns) {
  std::mt19937_64 random(16);
  constexpr int64_t kExtent = 300'000;
  Check<float>(Make<float>(Data::kRandom, kExtent * 3, random), 1, kExtent, 3, 20, true);
}

}  // namespace
}  // namespace burnish
