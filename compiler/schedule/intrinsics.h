// Instructions that compute a whole loop nest, as data: each is the nest that it stands for. A new
// row needs a way to emit it in the backends that have it; the interpreter, the verifier and
// lowering see the nest.
#ifndef COMPILER_SCHEDULE_INTRINSICS_H_
#define COMPILER_SCHEDULE_INTRINSICS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace burnish {

struct Intrinsic {
  const char* name;
  // A program of one block in its default nest, which nests under `tensorize` must look like. Its
  // buffers are the elements that the instruction reads and writes, dense and row-major. "$rows",
  // "$columns", "$groups" and "$depth" stand for a TileShape's numbers: see PatternOf.
  const char* pattern;
  // Over 0: of a product of tiles, whose nest is rows, columns, groups and one group of so many
  // products, from the outermost loop on. Rows, columns and groups are each 1 to kTileRowsMax, rows
  // may lie any number of elements apart, and the sums are kept in registers of two dimensions
  // (Scope::kTile).
  int group = 0;
};

// What one instruction of a product of tiles does: sums of `rows` by `columns`, of `groups` groups
// of products each.
struct TileShape {
  int64_t rows = 1, columns = 1, groups = 1;
};

// dot2_i8xN: N sums of 32 bits, each of two products of 8-bit numbers, of which one pair is the
// same for all sums. x86 has it as pmaddwd, after both factors were widened to 16 bits: every
// product and every sum of two is exact. Source: Intel SDM vol. 2, "PMADDWD".
// dot2_u8i8xN: the same, where the pair is unsigned.
// vnni_u8s8xN: N sums of four products each, added without saturation: x86's vpdpbusd. Source:
// Intel SDM vol. 2, "VPDPBUSD". (pmaddubsw is no way to the same: its sums of two products saturate
// at 16 bits.) dot_bf16xN: N sums of f32, each of two products of bfloat16, which are exact in f32:
// x86's vdpbf16ps, which takes subnormal numbers for 0 as kernels do. Source: Intel SDM vol. 2,
// "VDPBF16PS".
// amx_bf16, amx_u8s8: the same sums for 1 to 16 rows of up to 32 bfloat16 or 64 bytes at once, in
// tile registers: x86's tdpbf16ps and tdpbusd. The sums of 32 bits are exact modulo 2^32. Those of
// f32 are added in the instruction's own order: products with an even and with an odd index each
// from the first on, by fused multiply-adds that start from 0, then both to each other, then that
// to the old sum; to nearest even, with subnormal operands and results taken for 0, whatever MXCSR
// says. Source: Intel SDM vol. 2, "TDPBF16PS", "TDPBUSD".
absl::Span<const Intrinsic> AllIntrinsics();

// The nest as a program's text; `shape` counts for products of tiles only.
std::string PatternOf(const Intrinsic& intrinsic, const TileShape& shape);

// Null where there is none.
const Intrinsic* FindIntrinsic(absl::string_view name);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_INTRINSICS_H_
