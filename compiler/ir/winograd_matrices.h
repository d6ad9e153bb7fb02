// The matrices of Winograd's minimal filtering F(m x m, 3 x 3), for definitions and rewrites.
// Source: Lavin and Gray, "Fast algorithms for convolutional neural networks", 2015, arXiv
// 1509.09308, section 4.
#ifndef COMPILER_IR_WINOGRAD_MATRICES_H_
#define COMPILER_IR_WINOGRAD_MATRICES_H_

#include <vector>

namespace burnish {

// F(m, 3), m in {2, 4, 6}, row-major, for the points 0, 1, -1, 2, -2, 1/2, -1/2 (as many as are
// needed) and infinity; every entry is a fraction that is exact in double or, in `g`, the double
// nearest to it.
struct WinogradMatrices {
  std::vector<double> at;  // [m, m + 2]
  std::vector<double> g;   // [m + 2, 3]
  std::vector<double> bt;  // [m + 2, m + 2]
};
WinogradMatrices MakeWinogradMatrices(int m);

}  // namespace burnish

#endif  // COMPILER_IR_WINOGRAD_MATRICES_H_
