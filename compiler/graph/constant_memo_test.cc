#include "compiler/graph/constant_memo.h"

#include <memory>
#include <vector>

#include "compiler/graph/constant_origin.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

TEST(ConstantMemoTest, AConstantIsTurnedOnce) {
  const ConstantPtr data = FromInts(DType::kI32, {1, 2, 3, 4, 5, 6});
  const TensorType type = {DType::kI32, {2, 3}};
  Graph graph;
  const ConstantPtr alone = Transposed(graph, type, data, {1, 0});
  EXPECT_THAT(CopyAs<int32_t>(*alone), ElementsAre(1, 4, 2, 5, 3, 6));
  graph.memo = std::make_shared<ConstantMemo>();
  const ConstantPtr turned = Transposed(graph, type, data, {1, 0});
  EXPECT_THAT(CopyAs<int32_t>(*turned), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(Transposed(graph, type, data, {1, 0}), turned);
  // Another view of the same memory, such as that of another import.
  EXPECT_EQ(Transposed(graph, type, std::make_shared<ConstantData>(data, data->bytes()), {1, 0}),
            turned);
}

TEST(ConstantMemoTest, WhatIsNotTheSameIsTurnedByItself) {
  ConstantMemo memo;
  const ConstantPtr data = FromInts(DType::kI32, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(CopyAs<int32_t>(*memo.Transposed({DType::kI32, {2, 3}}, data, {1, 0})),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(CopyAs<int32_t>(*memo.Transposed({DType::kI32, {2, 3}}, data, {0, 1})),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(CopyAs<int32_t>(*memo.Transposed({DType::kI32, {3, 2}}, data, {1, 0})),
              ElementsAre(1, 3, 5, 2, 4, 6));
  // A new constant may lie where one was that nobody keeps.
  for (int i = 0; i < 100; ++i) {
    const ConstantPtr other = FromInts(DType::kI32, {i, 2, 3, 4});
    EXPECT_THAT(CopyAs<int32_t>(*memo.Transposed({DType::kI32, {2, 2}}, other, {1, 0})),
                ElementsAre(i, 3, 2, 4));
  }
  // The same bytes as a parameter that can be replaced.
  const TensorType type = {DType::kI32, {2, 3}};
  const ConstantPtr parameter = TrackedParameter("w", type, data);
  EXPECT_NE(memo.Transposed(type, parameter, {1, 0})->origin(), nullptr);
  EXPECT_EQ(memo.Transposed(type, data, {1, 0})->origin(), nullptr);
}

}  // namespace
}  // namespace burnish
