// Instructions that multiply and add, a row each. Rules, cost models, lowering and code generators
// ask the row; a new one is a row here, a loop that measures it (base/unit_loops.h), and where its
// kind is new, what emits it.
#ifndef COMPILER_TARGET_INSTRUCTION_H_
#define COMPILER_TARGET_INSTRUCTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace burnish {

// Types of numbers that units multiply and add. An enum of its own: the IR stands above this room.
enum class NumberType { kF32, kF64, kF16, kBf16, kI8, kU8, kI32 };
absl::string_view NumberTypeName(NumberType type);  // "f32", "bf16", ...
int64_t NumberBytes(NumberType type);

// Where a unit finds its operands and leaves its sums.
enum class Residence {
  kVectorRegister,
  kTileRegister,  // AMX.
  kFragment,      // Registers of several threads that act together.
  kShared,        // Shared memory of a block.
};

// What of a code generator makes it.
enum class InstructionKind {
  kFma,     // It comes out of vectorized loops, as the next.
  kMulAdd,  // Two instructions, for cores without one for both.
  // Pairs of 8-bit factors, each widened to 16 bits before: each product and each sum of two is
  // exact. x86's pmaddwd. Source: Intel SDM vol. 2.
  kWidenedDot,
  // Four products of bytes, added without saturation: x86's vpdpbusd. (pmaddubsw is no way to the
  // same: its sums of two products saturate at 16 bits.)
  kByteDot,
  // Two products of bfloat16, which are exact in f32: x86's vdpbf16ps, which takes subnormal
  // numbers for 0 as kernels do.
  kBf16Dot,
  // Rows of such sums at once: x86's tdpbf16ps. It adds in an order of its own: products with an
  // even and with an odd index each from the first on, by fused multiply-adds that start from 0,
  // then both to each other, then that to the old sum; to nearest even, with subnormal operands and
  // results taken for 0, whatever MXCSR says.
  kBf16Tiles,
  kByteTiles,  // The same of bytes: x86's tdpbusd. Sums are exact modulo 2^32.
};

// Registers of two dimensions, which hold sums and operands alike.
struct TileFile {
  int64_t rows = 0, row_bytes = 0;  // Of one register, at most.
  int64_t count = 0;
};

// `sum[m,n] += left[m,k] * right[k,n]` for all k at once.
struct Instruction {
  absl::string_view name;  // Traces and calibration rows on disk have it: never renamed.
  InstructionKind kind;
  absl::string_view feature;             // LLVM's name of what has it.
  absl::string_view other_feature = "";  // Has it, too.
  NumberType left, right, sum;
  int m = 1, n = 1, k = 1;
  // So many consecutive k of one column lie side by side in the right operand.
  int packed_k = 1;
  Residence operands_in = Residence::kVectorRegister, sums_in = Residence::kVectorRegister;
  int threads = 1;
  const TileFile* tiles = nullptr;  // Where sums are in tile registers: 1 to m rows may be used.
  double cycles = 0;                // Each takes; 0: as multiply-adds of its width.
  // See ComputeUnit.
  double row_floor = 1;
  int rows_min = 1;

  // Whether the code generator has it as a nest of loops, which traces name.
  bool is_nest() const { return kind != InstructionKind::kFma && kind != InstructionKind::kMulAdd; }
  int64_t vector_bytes() const { return tiles != nullptr ? 0 : n * NumberBytes(sum); }
};

// For two types, the one to prefer first. Rows of base/extra_row.h come last.
std::vector<const Instruction*> AllInstructions();

// Null: there is none of this name that is a nest.
const Instruction* FindNest(absl::string_view name);

// The greatest of all instructions: what a program may ask for, whatever it will run on.
const TileFile& GreatestTiles();

// What one instruction of a product of tiles does: sums of `rows` by `columns`, of `groups` groups
// of `packed_k` products each.
struct TileShape {
  int64_t rows = 1, columns = 1, groups = 1;
};

// The nest that it stands for, as a program's text (compiler/ir/parser.h): one block whose buffers
// are the elements that it reads and writes, dense and row-major. Loops over rows, columns, groups
// and one group, from the outermost on, of a product of tiles; else over n and k.
std::string NestText(const Instruction& instruction, const TileShape& shape = {});

}  // namespace burnish

#endif  // COMPILER_TARGET_INSTRUCTION_H_
