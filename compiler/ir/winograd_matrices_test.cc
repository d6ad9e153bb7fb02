#include "compiler/ir/winograd_matrices.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

// The matrices of F(4 x 4, 3 x 3) as Lavin and Gray print them (2015, arXiv 1509.09308, section
// 4.3), up to the order of the points.
TEST(WinogradMatricesTest, MatricesOfF4AreThoseOfThePaper) {
  const WinogradMatrices f4 = MakeWinogradMatrices(4, 1);
  EXPECT_THAT(f4.at, ElementsAre(1, 1, 1, 1, 1, 0,    //
                                 0, 1, -1, 2, -2, 0,  //
                                 0, 1, 1, 4, 4, 0,    //
                                 0, 1, -1, 8, -8, 1));
  EXPECT_THAT(f4.bt, ElementsAre(4, 0, -5, 0, 1, 0,   //
                                 0, -4, -4, 1, 1, 0,  //
                                 0, 4, -4, -1, 1, 0,  //
                                 0, -2, -1, 2, 1, 0,  //
                                 0, 2, -1, -2, 1, 0,  //
                                 0, 4, 0, -5, 0, 1));
  EXPECT_THAT(f4.g, ElementsAre(1. / 4, 0, 0,               //
                                -1. / 6, -1. / 6, -1. / 6,  //
                                -1. / 6, 1. / 6, -1. / 6,   //
                                1. / 24, 1. / 12, 1. / 6,   //
                                1. / 24, -1. / 12, 1. / 6,  //
                                0, 0, 1));
}

// At ((G g) . (Bt d)) is the correlation of m outputs, for every m and stride.
TEST(WinogradMatricesTest, EveryTileIsACorrelation) {
  for (const int stride : {1, 2}) {
    for (const int m : {2, 4, 6}) {
      const WinogradMatrices w = MakeWinogradMatrices(m, stride);
      const int size = w.points;
      EXPECT_EQ(size, stride * (m - 1) + 3) << "the inputs of a tile";
      const double g[] = {0.5, -1.25, 2};
      for (int at = 0; at < m; ++at) {
        double got = 0, want = 0;
        for (int i = 0; i < size; ++i) {
          double weight = 0, data = 0;
          for (int j = 0; j < 3; ++j) weight += w.g[i * 3 + j] * g[j];
          for (int j = 0; j < size; ++j) data += w.bt[i * size + j] * (j * j - 3 * j + 1);
          got += w.at[at * size + i] * weight * data;
        }
        for (int k = 0; k < 3; ++k) {
          const int j = at * stride + k;
          want += g[k] * (j * j - 3 * j + 1);
        }
        EXPECT_NEAR(got, want, 1e-10) << "m " << m << ", stride " << stride << ", output " << at;
      }
    }
  }
}

}  // namespace
}  // namespace burnish
