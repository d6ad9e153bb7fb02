#include "compiler/runtime/tensor_info.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

TensorInfo Strided(std::vector<int64_t> shape, std::vector<int64_t> strides, uint64_t offset) {
  return {.name = "t",
          .type = ElementType::kU8,
          .shape = std::move(shape),
          .strides = std::move(strides),
          .offset_bytes = offset};
}

TEST(TensorInfoTest, DenseTensorIsDense) {
  const TensorInfo tensor = DenseTensor("x", ElementType::kF64, {2, 3, 5});
  EXPECT_EQ(tensor.strides, (std::vector<int64_t>{15, 5, 1}));
  EXPECT_EQ(tensor.dense_bytes(), 240u);
  EXPECT_TRUE(tensor.IsDense());
  EXPECT_TRUE(CheckTensor(tensor, 240).ok());
  EXPECT_FALSE(CheckTensor(tensor, 239).ok());
}

TEST(TensorInfoTest, BordersTransposesAndOffsetsAreNotDense) {
  EXPECT_FALSE(Strided({2, 3}, {4, 1}, 0).IsDense());
  EXPECT_FALSE(Strided({2, 3}, {1, 2}, 0).IsDense());
  EXPECT_FALSE(Strided({2, 3}, {3, 1}, 1).IsDense());
  EXPECT_TRUE(Strided({1, 3}, {99, 1}, 0).IsDense());  // The stride of one row says nothing.
}

// Oracle: the definition of a stride, element by element.
TEST(TensorInfoTest, CopiesPutEachElementWhereItsStridesSay) {
  const std::vector<TensorInfo> tensors = {
      Strided({}, {}, 3),
      Strided({4}, {2}, 1),
      Strided({2, 3}, {3, 1}, 0),
      Strided({2, 3}, {5, 1}, 7),
      Strided({2, 3}, {1, 2}, 0),
      Strided({2, 3, 4}, {20, 5, 1}, 6),
      Strided({3, 1, 4}, {4, 77, 1}, 2),
      Strided({2, 3, 4}, {1, 2, 6}, 0),
      Strided({2, 0, 4}, {4, 4, 1}, 0),
  };
  for (size_t k = 0; k < tensors.size(); ++k) {
    SCOPED_TRACE(k);
    const TensorInfo& tensor = tensors[k];
    ASSERT_TRUE(CheckTensor(tensor, 64).ok());
    std::vector<uint8_t> dense(tensor.element_count()), storage(64), want(64);
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      dense[i] = static_cast<uint8_t>(i + 1);
      int64_t rest = i, place = static_cast<int64_t>(tensor.offset_bytes);
      for (size_t axis = tensor.shape.size(); axis-- > 0;) {
        place += rest % tensor.shape[axis] * tensor.strides[axis];
        rest /= tensor.shape[axis];
      }
      want[place] = dense[i];
    }
    CopyIntoStorage(tensor, dense.data(), storage.data());
    EXPECT_EQ(storage, want);
    std::vector<uint8_t> back(dense.size());
    CopyFromStorage(tensor, storage.data(), back.data());
    EXPECT_EQ(back, dense);
  }
}

TEST(TensorInfoTest, UnknownTypesAndNegativeExtentsAreRefused) {
  TensorInfo tensor = DenseTensor("x", static_cast<ElementType>(14), {2});
  EXPECT_EQ(CheckTensor(tensor, 64).message(), "tensor \"x\": unknown element type");
  EXPECT_STREQ(ElementTypeName(tensor.type), "?");
  EXPECT_FALSE(CheckTensor(Strided({-1}, {1}, 0), 64).ok());
  EXPECT_FALSE(CheckTensor(Strided({2}, {-1}, 0), 64).ok());
  EXPECT_FALSE(CheckTensor(Strided({2, 2}, {1}, 0), 64).ok());
}

// A zero stride needs one element of storage, whatever the extent says.
TEST(TensorInfoTest, EndlessRepetitionIsRefused) {
  EXPECT_TRUE(CheckTensor(Strided({1000}, {0}, 0), 1).ok());
  EXPECT_FALSE(CheckTensor(Strided({int64_t{1} << 41}, {0}, 0), 1).ok());
}

TEST(TensorInfoTest, EveryTypeHasItsNameAndSize) {
  EXPECT_STREQ(ElementTypeName(ElementType::kF32), "f32");
  EXPECT_STREQ(ElementTypeName(ElementType::kBf16), "bf16");
  EXPECT_STREQ(ElementTypeName(ElementType::kU64), "u64");
  EXPECT_STREQ(ElementTypeName(ElementType::kBool), "bool");
  EXPECT_EQ(ElementBytes(ElementType::kBf16), 2);
  EXPECT_EQ(ElementBytes(ElementType::kI64), 8);
}

}  // namespace
}  // namespace burnish
