#include "compiler/runtime/strided_copy.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

struct Case {
  std::vector<int64_t> shape, from, to;
  int64_t from_first = 0, to_first = 0;  // Elements before element 0, for negative strides.
};

// Oracle: the definition of a stride, element by element.
TEST(StridedCopyTest, PutsEachElementWhereTheStridesSay) {
  const std::vector<Case> cases = {
      {{}, {}, {}},
      {{5}, {1}, {1}},
      {{5}, {3}, {1}},
      {{5}, {-2}, {1}, 8},
      {{5}, {0}, {2}},
      {{2, 3, 4}, {12, 4, 1}, {12, 4, 1}},
      {{2, 3, 4}, {12, 1, 3}, {12, 4, 1}},
      {{2, 3, 4}, {1, 2, 6}, {-12, -4, -1}, 0, 23},
      {{2, 1, 4}, {4, 99, 1}, {5, -99, 1}},
      {{3, 4}, {-4, 1}, {4, 1}, 8},
      {{2, 0, 4}, {4, 4, 1}, {4, 4, 1}},
      {{2, 2, 2, 2}, {8, 4, 2, 1}, {1, 2, 4, 8}},
  };
  for (int element_bytes : {1, 2, 4, 8}) {
    for (size_t k = 0; k < cases.size(); ++k) {
      SCOPED_TRACE(testing::Message() << "case " << k << ", " << element_bytes << " bytes");
      const Case& c = cases[k];
      std::vector<uint8_t> from(64 * element_bytes), to(64 * element_bytes), want(to);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 37 + 1);
      int64_t count = 1;
      for (int64_t extent : c.shape) count *= extent;
      for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i, source = c.from_first, target = c.to_first;
        for (size_t axis = c.shape.size(); axis-- > 0;) {
          source += rest % c.shape[axis] * c.from[axis];
          target += rest % c.shape[axis] * c.to[axis];
          rest /= c.shape[axis];
        }
        std::memcpy(&want[target * element_bytes], &from[source * element_bytes], element_bytes);
      }
      CopyStrided(element_bytes, c.shape, from.data() + c.from_first * element_bytes, c.from.data(),
                  to.data() + c.to_first * element_bytes, c.to.data());
      EXPECT_EQ(to, want);
    }
  }
}

}  // namespace
}  // namespace burnish
