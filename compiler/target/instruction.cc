#include "compiler/target/instruction.h"

#include <algorithm>

#include "absl/strings/substitute.h"
#include "base/extra_row.h"

namespace burnish {
namespace {

using enum NumberType;

struct NumberRow {
  absl::string_view name;
  int64_t bytes;
};
// In the order of the enum.
constexpr NumberRow kNumbers[] = {{"f32", 4}, {"f64", 8}, {"f16", 2}, {"bf16", 2},
                                  {"i8", 1},  {"u8", 1},  {"i32", 4}};

const NumberRow& RowOf(NumberType type) { return kNumbers[static_cast<size_t>(type)]; }

// Source: Intel SDM vol. 1, chapter 18, palette 1.
constexpr TileFile kAmx = {.rows = 16, .row_bytes = 64, .count = 8};

constexpr Instruction Vector(absl::string_view name, InstructionKind kind, NumberType left,
                             NumberType right, NumberType sum, int lanes, int packed_k,
                             absl::string_view feature, absl::string_view other_feature = "") {
  return {.name = name,
          .kind = kind,
          .feature = feature,
          .other_feature = other_feature,
          .left = left,
          .right = right,
          .sum = sum,
          .n = lanes,
          .k = packed_k,
          .packed_k = packed_k};
}
constexpr Instruction Fma(absl::string_view name, NumberType type, int lanes,
                          absl::string_view feature) {
  return Vector(name, InstructionKind::kFma, type, type, type, lanes, 1, feature);
}
constexpr Instruction MulAdd(absl::string_view name, int lanes, absl::string_view feature) {
  return Vector(name, InstructionKind::kMulAdd, kF32, kF32, kF32, lanes, 1, feature);
}
// Each CPU with AVX512-BF16 has AVX512-VL, too.
constexpr Instruction Bf16Dot(absl::string_view name, int lanes) {
  return Vector(name, InstructionKind::kBf16Dot, kBf16, kBf16, kF32, lanes, 2, "avx512bf16");
}
constexpr Instruction ByteDot(absl::string_view name, int lanes, absl::string_view feature,
                              absl::string_view other_feature = "") {
  return Vector(name, InstructionKind::kByteDot, kU8, kI8, kI32, lanes, 4, feature, other_feature);
}
constexpr Instruction WidenedDot(absl::string_view name, NumberType left, int lanes,
                                 absl::string_view feature) {
  return Vector(name, InstructionKind::kWidenedDot, left, kI8, kI32, lanes, 2, feature);
}
// Source: Intel's optimization reference manual, section 20.5; a Granite Rapids, where one
// accumulator was as fast as four, 8 rows took 0.63 of the time of 16, 12 rows 0.83, and fewer than
// 7 no less than 7.
constexpr Instruction Tiles(absl::string_view name, InstructionKind kind, NumberType left,
                            NumberType right, NumberType sum, int packed_k,
                            absl::string_view feature) {
  return {.name = name,
          .kind = kind,
          .feature = feature,
          .left = left,
          .right = right,
          .sum = sum,
          .m = 16,
          .n = 16,
          .k = 16 * packed_k,
          .packed_k = packed_k,
          .operands_in = Residence::kTileRegister,
          .sums_in = Residence::kTileRegister,
          .tiles = &kAmx,
          .cycles = 16,
          .row_floor = 0.26,
          .rows_min = 7};
}

// The widest first.
constexpr Instruction kInstructions[] = {
    Tiles("amx_bf16", InstructionKind::kBf16Tiles, kBf16, kBf16, kF32, 2, "amx-bf16"),
    Tiles("amx_u8s8", InstructionKind::kByteTiles, kU8, kI8, kI32, 4, "amx-int8"),
    Fma("fma_f32x16", kF32, 16, "avx512f"),
    Fma("fma_f32x8", kF32, 8, "fma"),
    Fma("fma_f32x4", kF32, 4, "fma"),
    MulAdd("muladd_f32x8", 8, "avx"),
    MulAdd("muladd_f32x4", 4, "sse4.2"),
    Fma("fma_f64x8", kF64, 8, "avx512f"),
    Fma("fma_f64x4", kF64, 4, "fma"),
    Fma("fma_f16x32", kF16, 32, "avx512fp16"),
    Bf16Dot("dot_bf16x16", 16),
    Bf16Dot("dot_bf16x8", 8),
    Bf16Dot("dot_bf16x4", 4),
    ByteDot("vnni_u8s8x16", 16, "avx512vnni"),
    // Each CPU with AVX512-VNNI has AVX512-VL, which makes its instructions narrower.
    ByteDot("vnni_u8s8x8", 8, "avxvnni", "avx512vnni"),
    ByteDot("vnni_u8s8x4", 4, "avxvnni", "avx512vnni"),
    WidenedDot("dot2_i8x16", kI8, 16, "avx512bw"),
    WidenedDot("dot2_i8x8", kI8, 8, "avx2"),
    WidenedDot("dot2_i8x4", kI8, 4, "sse4.2"),
    WidenedDot("dot2_u8i8x16", kU8, 16, "avx512bw"),
    WidenedDot("dot2_u8i8x8", kU8, 8, "avx2"),
    WidenedDot("dot2_u8i8x4", kU8, 4, "sse4.2"),
};

// Extra rows are there before main: the table is made once.
const std::vector<const Instruction*>& Table() {
  static const std::vector<const Instruction*> table = [] {
    std::vector<const Instruction*> rows;
    for (const Instruction& row : kInstructions) rows.push_back(&row);
    for (const Instruction* row : ExtraRow<Instruction>::All()) rows.push_back(row);
    return rows;
  }();
  return table;
}

}  // namespace

absl::string_view NumberTypeName(NumberType type) { return RowOf(type).name; }

int64_t NumberBytes(NumberType type) { return RowOf(type).bytes; }

std::vector<const Instruction*> AllInstructions() { return Table(); }

const Instruction* FindNest(absl::string_view name) {
  for (const Instruction* row : Table()) {
    if (row->is_nest() && row->name == name) return row;
  }
  return nullptr;
}

const TileFile& GreatestTiles() {
  static const TileFile greatest = [] {
    TileFile tiles;
    for (const Instruction* row : Table()) {
      if (row->tiles == nullptr) continue;
      tiles = {.rows = std::max(tiles.rows, row->tiles->rows),
               .row_bytes = std::max(tiles.row_bytes, row->tiles->row_bytes),
               .count = std::max(tiles.count, row->tiles->count)};
    }
    return tiles;
  }();
  return greatest;
}

std::string NestText(const Instruction& instruction, const TileShape& shape) {
  const absl::string_view left = NumberTypeName(instruction.left),
                          right = NumberTypeName(instruction.right),
                          sum = NumberTypeName(instruction.sum);
  if (instruction.tiles == nullptr) {
    return absl::Substitute(R"(program/1 $0
      input A: $1[$4]
      input B: $2[$5, $4]
      output C: $3[$5]
      block C(i in $5; j in $4) { step C[i] += $3(A[j]) * $3(B[i, j]) })",
                            instruction.name, left, right, sum, instruction.k, instruction.n);
  }
  return absl::Substitute(R"(program/1 $0
      input A: $1[$4, $7]
      input B: $2[$6, $5, $8]
      output C: $3[$4, $5]
      block C(i in $4, j in $5; k in $6, v in $8) {
        step C[i, j] += $3(A[i, k * $8 + v]) * $3(B[k, j, v])
      })",
                          instruction.name, left, right, sum, shape.rows, shape.columns,
                          shape.groups, shape.groups * instruction.packed_k, instruction.packed_k);
}

}  // namespace burnish
