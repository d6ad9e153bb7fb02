#include "worker/runner/tensor_data.h"

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/small_float.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<T> Values(const std::vector<uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
template <typename T>
std::vector<uint8_t> Bytes(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TensorSpec Dense(ElementType type, std::vector<int64_t> shape) {
  TensorSpec spec{.type = type, .shape = shape, .strides = shape};
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) spec.strides[d] = stride;
  return spec;
}

TEST(TensorDataTest, FloatsAreNormalAndNeverZeroOrDenormal) {
  for (const ElementType type : {ElementType::kF32, ElementType::kF64}) {
    const std::vector<uint8_t> bytes = RandomTensor(Dense(type, {100, 1000}), 3, 0);
    std::vector<double> values;
    if (type == ElementType::kF64) {
      values = Values<double>(bytes);
    } else {
      for (const float value : Values<float>(bytes)) values.push_back(value);
    }
    ASSERT_EQ(values.size(), 100000u);
    double sum = 0, squares = 0;
    for (const double value : values) {
      ASSERT_TRUE(std::isnormal(static_cast<float>(value)));
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / 1e5, 0, 0.03);
    EXPECT_NEAR(squares / 1e5, 1, 0.05);
  }
}

TEST(TensorDataTest, IntegersFillTheirRangeAndNoMore) {
  TensorSpec spec = Dense(ElementType::kI64, {1000});
  spec.low = -3;
  spec.high = 4;
  const std::vector<int64_t> values = Values<int64_t>(RandomTensor(spec, 1, 2));
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), -3);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 4);
  spec = Dense(ElementType::kU8, {10000});
  spec.high = 255;
  const std::vector<uint8_t> bytes = RandomTensor(spec, 1, 2);
  EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), 0);
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), 255);
}

TEST(TensorDataTest, ValuesDependOnSeedAndParameterAlone) {
  const TensorSpec spec = Dense(ElementType::kF32, {50});
  EXPECT_EQ(RandomTensor(spec, 1, 0), RandomTensor(spec, 1, 0));
  EXPECT_NE(RandomTensor(spec, 1, 0), RandomTensor(spec, 2, 0));
  EXPECT_NE(RandomTensor(spec, 1, 0), RandomTensor(spec, 1, 1));
  // Not on the storage: two contracts of a workload have equal inputs.
  TensorSpec strided = spec;
  strided.strides = {3};
  EXPECT_EQ(RandomTensor(strided, 1, 0), RandomTensor(spec, 1, 0));
}

TEST(TensorDataTest, StorageHoldsBorderAndElementsAndNothingElse) {
  const TensorSpec spec{.type = ElementType::kF32,
                        .shape = {2, 2},
                        .strides = {5, 1},
                        .border_below = {0, 1},
                        .border_above = {1, 1},
                        .border_value = -7,
                        .offset = 2};
  ASSERT_TRUE(CheckTensorSpec(spec, StorageBytes(spec)).ok());
  EXPECT_FALSE(CheckTensorSpec(spec, StorageBytes(spec) - 1).ok());
  ASSERT_EQ(StorageBytes(spec), 15 * sizeof(float));
  std::vector<uint8_t> storage = Bytes(std::vector<float>(15, 99.0f));
  const std::vector<uint8_t> dense = Bytes<float>({1, 2, 3, 4});
  CopyIntoStorage(spec, dense, storage);
  EXPECT_THAT(Values<float>(storage),
              ElementsAre(99, -7, 1, 2, -7, 99, -7, 3, 4, -7, 99, -7, -7, -7, -7));
  EXPECT_EQ(CopyFromStorage(spec, storage), dense);
}

// Whatever dimensions lie in memory as one, against one element at a time.
TEST(TensorDataTest, AnyStorageHoldsWhatItsStridesSay) {
  // A dense image, one with a border of pixels, one with channels in blocks, and a border of its
  // channels: bounds of a dimension are {extent, stride, below, above}.
  using Dims = std::vector<std::array<int64_t, 4>>;
  const Dims dense = {{2, 60, 0, 0}, {3, 20, 0, 0}, {4, 5, 0, 0}, {5, 1, 0, 0}};
  const Dims pixels = {{2, 150, 0, 0}, {3, 30, 1, 1}, {4, 5, 1, 1}, {5, 1, 0, 0}};
  const Dims blocks = {{2, 60, 0, 0}, {3, 8, 0, 0}, {4, 2, 0, 0}, {2, 30, 0, 0}, {2, 1, 0, 0}};
  const Dims channels = {{3, 28, 1, 0}, {4, 7, 0, 0}, {5, 1, 1, 1}};
  const Dims broadcast = {{3, 4, 0, 0}, {2, 0, 0, 0}, {4, 1, 0, 0}};
  for (const Dims& dims : {dense, pixels, blocks, channels, broadcast}) {
    for (const ElementType type : {ElementType::kI8, ElementType::kI32, ElementType::kI64}) {
      TensorSpec spec{.type = type, .border_value = 99, .offset = 40};
      for (const auto& [extent, stride, below, above] : dims) {
        spec.shape.push_back(extent);
        spec.strides.push_back(stride);
        spec.border_below.push_back(below);
        spec.border_above.push_back(above);
      }
      const auto bytes = static_cast<size_t>(ElementBytes(type));
      std::vector<uint8_t> dense_bytes(DenseBytes(spec));
      std::iota(dense_bytes.begin(), dense_bytes.end(), uint8_t{1});
      std::vector<uint8_t> storage(StorageBytes(spec), 0), want(storage);
      // Every index within the border, in row-major order.
      std::vector<int64_t> at(dims.size());
      for (size_t d = 0; d < dims.size(); ++d) at[d] = -dims[d][2];
      size_t next = 0;  // Of the dense bytes.
      for (bool more = true; more;) {
        int64_t offset = spec.offset;
        bool inside = true;
        for (size_t d = 0; d < dims.size(); ++d) {
          offset += at[d] * dims[d][1];
          inside = inside && at[d] >= 0 && at[d] < dims[d][0];
        }
        for (size_t byte = 0; byte < bytes; ++byte) {
          want[offset * bytes + byte] = inside ? dense_bytes[next++] : byte == 0 ? 99 : 0;
        }
        more = false;
        for (size_t d = dims.size(); d-- > 0 && !more;) {
          more = ++at[d] < dims[d][0] + dims[d][3];
          if (!more) at[d] = -dims[d][2];
        }
      }
      CopyIntoStorage(spec, dense_bytes, storage);
      EXPECT_EQ(storage, want) << bytes << " bytes, " << dims.size() << " dimensions";
      // What is written to one place several times does not come back.
      if (dims != broadcast) EXPECT_EQ(CopyFromStorage(spec, storage), dense_bytes);
    }
  }
}

TEST(TensorDataTest, TransposedAndScalarTensorsGoInAndOut) {
  const TensorSpec transposed{.type = ElementType::kI32, .shape = {2, 3}, .strides = {1, 2}};
  std::vector<uint8_t> storage(24);
  const std::vector<uint8_t> dense = Bytes<int32_t>({1, 2, 3, 4, 5, 6});
  CopyIntoStorage(transposed, dense, storage);
  EXPECT_THAT(Values<int32_t>(storage), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(CopyFromStorage(transposed, storage), dense);

  const TensorSpec scalar{.type = ElementType::kF64, .offset = 1};
  storage.assign(16, 0);
  CopyIntoStorage(scalar, Bytes<double>({2.5}), storage);
  EXPECT_THAT(Values<double>(storage), ElementsAre(0, 2.5));
  EXPECT_EQ(CopyFromStorage(scalar, storage), Bytes<double>({2.5}));
}

TEST(TensorDataTest, SpecsThatLeaveTheirMemoryAreRefused) {
  TensorSpec spec = Dense(ElementType::kF32, {10});
  EXPECT_TRUE(CheckTensorSpec(spec, 40).ok());
  spec.border_below = {1};
  spec.border_above = {0};
  EXPECT_FALSE(CheckTensorSpec(spec, 400).ok());  // Element -1 is before the buffer.
  spec = Dense(ElementType::kF32, {10, 10});
  spec.strides = {1};
  EXPECT_FALSE(CheckTensorSpec(spec, 400).ok());
  spec = Dense(ElementType::kF32, {int64_t{1} << 39, int64_t{1} << 39});
  EXPECT_FALSE(CheckTensorSpec(spec, ~uint64_t{0}).ok());
  spec = Dense(ElementType::kF16, {10});
  EXPECT_TRUE(CheckTensorSpec(spec, 20).ok());
  EXPECT_FALSE(CheckTensorSpec(spec, 19).ok());
  spec.type = static_cast<ElementType>(14);  // None.
  EXPECT_FALSE(CheckTensorSpec(spec, 400).ok());
  spec = Dense(ElementType::kI32, {10});
  spec.low = 1;
  EXPECT_FALSE(CheckTensorSpec(spec, 400).ok());
}

TEST(TensorDataTest, SmallFloatsAreDrawnAsNumbersAndBorderedByTheirBits) {
  for (const ElementType type : {ElementType::kBf16, ElementType::kF16}) {
    TensorSpec spec = Dense(type, {64});
    const std::vector<uint8_t> bytes = RandomTensor(spec, 3, 0);
    double sum_of_squares = 0;
    for (size_t i = 0; i < 64; ++i) {
      Bfloat16 b;
      Float16 h;
      std::memcpy(&b, &bytes[2 * i], 2);
      std::memcpy(&h, &bytes[2 * i], 2);
      const float value = type == ElementType::kBf16 ? float{b} : float{h};
      EXPECT_NE(value, 0);
      sum_of_squares += static_cast<double>(value * value);
    }
    EXPECT_NEAR(sum_of_squares / 64, 1, 0.6);  // Normal, of variance 1.
    spec.border_below = {1};
    spec.border_above = {1};
    spec.border_value = 1.5;
    spec.offset = 1;
    std::vector<uint8_t> storage(2 * 66);
    CopyIntoStorage(spec, bytes, storage);
    const uint16_t want = type == ElementType::kBf16 ? 0x3fc0 : 0x3e00;
    uint16_t got = 0;
    std::memcpy(&got, storage.data(), 2);
    EXPECT_EQ(got, want);
  }
}

}  // namespace
}  // namespace burnish
