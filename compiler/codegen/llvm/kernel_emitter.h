// A lowered program as functions of an LLVM module, by the kernel ABI (runtime/kernel_abi.h).
#ifndef COMPILER_CODEGEN_LLVM_KERNEL_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_KERNEL_EMITTER_H_

#include <string>

#include "absl/status/status.h"
#include "compiler/codegen/kernel_layout.h"
#include "compiler/codegen/llvm/math_emitter.h"
#include "compiler/codegen/llvm/small_float_emitter.h"
#include "compiler/codegen/llvm/tile_plan.h"
#include "compiler/ir/program.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace burnish {

struct FunctionOptions {
  std::string symbol;
  bool pack = false;  // The program's pack function, else its kernel.
  SmallFloatUnits small_floats;
  MathUnits math;
  int dot4_bits = 0;                   // Of the widest vpdpbusd; 0: the target has none.
  int integer_vector_bits = 128;       // Of the widest vectors of 16-bit integers.
  bool prefetches_through_l1 = false;  // See EmitState.
  bool masks_lanes = false;  // Whether loads and stores of vectors leave lanes out at no cost.
  TileProducts tiles;
};

// Adds one exported function. INVALID_ARGUMENT for a program that is not lowered or asks for what
// a CPU kernel cannot do; the module is then of no use.
absl::Status EmitFunction(const Program& program, const KernelLayout& layout,
                          const FunctionOptions& options, llvm::Module& module);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_KERNEL_EMITTER_H_
