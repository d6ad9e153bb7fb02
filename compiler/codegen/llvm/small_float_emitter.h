// Conversions between f32 and the storage types bf16 and f16, whose values are the i16 of their
// bits in LLVM IR: their own IR types would bring calls of libgcc where the target lacks the
// instructions, and LLVM 19 makes those calls one lane at a time.
#ifndef COMPILER_CODEGEN_LLVM_SMALL_FLOAT_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_SMALL_FLOAT_EMITTER_H_

#include "compiler/ir/dtype.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace burnish {

// Instructions of the target that convert; the others are done with integers.
struct SmallFloatUnits {
  bool f16 = false;   // vcvtph2ps, vcvtps2ph (F16C)
  bool bf16 = false;  // vcvtneps2bf16 (AVX512-BF16); takes subnormal numbers for 0
};

// Scalars or vectors. `from`, `to`: a storage type. Narrowing rounds to nearest even and keeps NaN.
llvm::Value* WidenFloat(llvm::IRBuilderBase& b, const SmallFloatUnits& units, DType from,
                        llvm::Value* bits);
llvm::Value* NarrowFloat(llvm::IRBuilderBase& b, const SmallFloatUnits& units, DType to,
                         llvm::Value* value);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_SMALL_FLOAT_EMITTER_H_
