// Rows of a square become its columns in registers.
#ifndef COMPILER_CODEGEN_LLVM_SQUARE_TRANSPOSE_H_
#define COMPILER_CODEGEN_LLVM_SQUARE_TRANSPOSE_H_

#include <vector>

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace burnish {

// n vectors of n elements, where n is 4, 8 or 16, of elements of `element_bits`: element r of
// vector c of the result is element c of vector r. log2(n) shuffles of two vectors for each, all of
// them within 128 bits or of whole 128 bits: other shuffles want an index in a register and take
// two or three times as long on some CPUs ("uops.info", VPERMT2PS against VUNPCKLPS and
// VSHUFF32X4).
std::vector<llvm::Value*> TransposeSquare(llvm::IRBuilderBase& builder,
                                          std::vector<llvm::Value*> rows, int element_bits);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_SQUARE_TRANSPOSE_H_
