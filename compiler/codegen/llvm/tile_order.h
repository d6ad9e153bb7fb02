// The order of a register tile's two innermost loops.
#ifndef COMPILER_CODEGEN_LLVM_TILE_ORDER_H_
#define COMPILER_CODEGEN_LLVM_TILE_ORDER_H_

#include "compiler/ir/program.h"

namespace burnish {

// Exchanges the loops of register tiles where the other order needs fewer registers.
//
// A tile's update is one unrolled loop (rows) and one vectorized loop (columns) around one
// combining store to a register buffer. LLVM keeps the order in which the values are made: the
// inner side is loaded first and stays in registers, the outer side streams through one. So the
// side with fewer vectors belongs inside: a tile of R rows and V vectors takes R * V + min(R, V) +
// 1 registers, and one that just fits spills in the other order. Results do not change: each
// element's updates keep their order.
Program OrderTileLoops(Program program);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_TILE_ORDER_H_
