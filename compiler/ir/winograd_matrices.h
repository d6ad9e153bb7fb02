// The matrices of Winograd's minimal filtering for 3 x 3 convolutions, for definitions and
// rewrites. Sources: Lavin and Gray, "Fast algorithms for convolutional neural networks", 2015,
// arXiv 1509.09308, section 4; for stride 2, Yepez and Ko, "Stride 2 1-D, 2-D, and 3-D Winograd for
// convolutional neural networks", IEEE Trans. VLSI Systems 28 (4), 2020.
#ifndef COMPILER_IR_WINOGRAD_MATRICES_H_
#define COMPILER_IR_WINOGRAD_MATRICES_H_

#include <vector>

namespace burnish {

// m outputs of a filter of three taps from `points` products: m + 2 with stride 1; 2 m + 1 with
// stride 2, where the outer taps see the even inputs only and are F(m, 2), the middle one sees the
// odd inputs. Row-major, for the points 0, 1, -1, 2, -2, 1/2, -1/2 (as many as are needed) and
// infinity; every entry is a fraction that is exact in double or, in `g`, the double nearest to it.
struct WinogradMatrices {
  int points = 0;          // Also the inputs of a tile.
  std::vector<double> at;  // [m, points]
  std::vector<double> g;   // [points, 3]
  std::vector<double> bt;  // [points, points]
};

// m in {2, 4, 6}, stride in {1, 2}.
WinogradMatrices MakeWinogradMatrices(int m, int stride);

}  // namespace burnish

#endif  // COMPILER_IR_WINOGRAD_MATRICES_H_
