// Iterations that add nothing: products whose factors all lie in a border of zeros.
#ifndef COMPILER_IR_SKIP_BORDERS_H_
#define COMPILER_IR_SKIP_BORDERS_H_

#include "compiler/ir/program.h"

namespace burnish {

// Puts the body of a serial loop of a lowered program under a condition where an iteration does
// nothing but add products, and where enough iterations read nothing but a border for a factor: the
// taps of a convolution above the first row and below the last one. A 3x3 kernel over 7x7 pixels
// has a tenth of them by its rows, one with dilation 12 over 20x20 pixels two fifths by its rows
// and as many by its columns. Tiles of a flat loop over pixels count by the rows that they touch,
// and by their columns where each lies in one row. What such a condition costs is one comparison
// for each iteration of a loop around a register tile. Results are the same bits, but for weights
// that are infinite or no numbers: times a border's zero those are no numbers either, and now they
// leave no trace.
//
// Source: padding is left out in the same way by direct convolutions that choose kernel rows by
// output row, such as oneDNN's (jit_avx512_common_conv_kernel, "kh_padding").
void SkipBorders(Program& lowered);

}  // namespace burnish

#endif  // COMPILER_IR_SKIP_BORDERS_H_
