#include "base/unit_loops.h"

#include <cstring>

namespace burnish {
namespace {

// What the loops multiply. Read as f32, f64, bf16 or f16 each value is small, so that no sum
// overflows, and normal, so that none is slow. The low bits differ, as in real data: equal operands
// draw less power and leave the clock higher than a kernel finds it.
struct alignas(64) Operands {
  uint16_t values[1024];  // Twelve vectors of 64 bytes, or two tiles of 1 KiB.
  constexpr Operands() : values() {
    uint32_t state = 1;
    for (uint16_t& value : values) {
      state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator.
      value = static_cast<uint16_t>(0x2e00 | state >> 24);
    }
  }
};
constexpr Operands kOperands;
alignas(64) constexpr float kOnes[8] = {1, 1, 1, 1, 1, 1, 1, 1};

// Twelve chains: more than pipes times latency of any of these instructions on any core since
// Haswell (2 x 5), and with two operands no more than the 16 registers of AVX2.
constexpr int64_t kChains = 12;

#define BURNISH_TWELVE(M, OP, REG) \
  M(OP, REG, "0")                  \
  M(OP, REG, "1")                  \
  M(OP, REG, "2")                  \
  M(OP, REG, "3")                  \
  M(OP, REG, "4")                  \
  M(OP, REG, "5")                  \
  M(OP, REG, "6") M(OP, REG, "7") M(OP, REG, "8") M(OP, REG, "9") M(OP, REG, "10") M(OP, REG, "11")

#define BURNISH_LOOP(BODY)                                                                       \
  asm volatile(BODY                                                                              \
               : "+r"(iterations)                                                                \
               : "r"(kOperands.values), "r"(kOnes), "r"(int64_t{64})                             \
               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory")
#define BURNISH_REPEAT(BODY) "1:\n" BODY "dec %0\njnz 1b\n"

// chain += register 14 * register 15, or a load. The chains begin at zero.
#define BURNISH_ALONE(OP, REG, I) OP " %%" REG "15, %%" REG "14, %%" REG I "\n"
#define BURNISH_LOADED(OP, REG, I) OP " 64*" I "(%1), %%" REG "14, %%" REG I "\n"
#define BURNISH_AVX(REG, BODY)                                               \
  BURNISH_LOOP("vzeroall\nvmovups (%1), %%" REG "14\nvmovups 64(%1), %%" REG \
               "15\n" BURNISH_REPEAT(BODY) "vzeroupper\n")
#define BURNISH_FUSED(NAME, OP, REG)                             \
  void NAME(int64_t iterations, bool with_loads) {               \
    if (with_loads) {                                            \
      BURNISH_AVX(REG, BURNISH_TWELVE(BURNISH_LOADED, OP, REG)); \
    } else {                                                     \
      BURNISH_AVX(REG, BURNISH_TWELVE(BURNISH_ALONE, OP, REG));  \
    }                                                            \
  }

BURNISH_FUSED(FmaF32x16, "vfmadd231ps", "zmm")
BURNISH_FUSED(FmaF32x8, "vfmadd231ps", "ymm")
BURNISH_FUSED(FmaF32x4, "vfmadd231ps", "xmm")
BURNISH_FUSED(FmaF64x8, "vfmadd231pd", "zmm")
BURNISH_FUSED(FmaF64x4, "vfmadd231pd", "ymm")
BURNISH_FUSED(FmaF16x32, "vfmadd231ph", "zmm")
BURNISH_FUSED(DotBf16x16, "vdpbf16ps", "zmm")
BURNISH_FUSED(DotBf16x8, "vdpbf16ps", "ymm")
BURNISH_FUSED(DotBf16x4, "vdpbf16ps", "xmm")
BURNISH_FUSED(DotU8S8x16, "vpdpbusd", "zmm")
BURNISH_FUSED(DotU8S8x8, "%{vex%} vpdpbusd", "ymm")
BURNISH_FUSED(DotU8S8x4, "%{vex%} vpdpbusd", "xmm")

// Where no instruction is fused: six products by one and six sums, each with its own chain, so that
// an iteration is six multiply-adds. Only the sums load: a load to a multiply-add, as above.
#define BURNISH_SSE_PAIR(ADDEND, I, J) "mulps %%xmm15, %%xmm" I "\naddps " ADDEND ", %%xmm" J "\n"
#define BURNISH_AVX_PAIR(ADDEND, I, J) \
  "vmulps %%ymm15, %%ymm" I ", %%ymm" I "\nvaddps " ADDEND ", %%ymm" J ", %%ymm" J "\n"
#define BURNISH_SIX_ALONE(PAIR, REG) \
  PAIR(REG "14", "0", "1")           \
  PAIR(REG "14", "2", "3")           \
  PAIR(REG "14", "4", "5")           \
  PAIR(REG "14", "6", "7") PAIR(REG "14", "8", "9") PAIR(REG "14", "10", "11")
#define BURNISH_SIX_LOADED(PAIR) \
  PAIR("(%1)", "0", "1")         \
  PAIR("64(%1)", "2", "3")       \
  PAIR("128(%1)", "4", "5")      \
  PAIR("192(%1)", "6", "7") PAIR("256(%1)", "8", "9") PAIR("320(%1)", "10", "11")
#define BURNISH_SSE_ZERO(OP, REG, I) "xorps %%xmm" I ", %%xmm" I "\n"
#define BURNISH_SSE_SET_UP             \
  BURNISH_TWELVE(BURNISH_SSE_ZERO, , ) \
  "movups (%1), %%xmm14\nmovups (%2), %%xmm15\n"

void MulAddF32x4(int64_t iterations, bool with_loads) {
  if (with_loads) {
    BURNISH_LOOP(BURNISH_SSE_SET_UP BURNISH_REPEAT(BURNISH_SIX_LOADED(BURNISH_SSE_PAIR)));
  } else {
    BURNISH_LOOP(BURNISH_SSE_SET_UP BURNISH_REPEAT(BURNISH_SIX_ALONE(BURNISH_SSE_PAIR, "%%xmm")));
  }
}

#define BURNISH_AVX_SET_UP "vzeroall\nvmovups (%1), %%ymm14\nvmovups (%2), %%ymm15\n"

void MulAddF32x8(int64_t iterations, bool with_loads) {
  if (with_loads) {
    BURNISH_LOOP(
        BURNISH_AVX_SET_UP BURNISH_REPEAT(BURNISH_SIX_LOADED(BURNISH_AVX_PAIR)) "vzeroupper\n");
  } else {
    BURNISH_LOOP(BURNISH_AVX_SET_UP BURNISH_REPEAT(
        BURNISH_SIX_ALONE(BURNISH_AVX_PAIR, "%%ymm")) "vzeroupper\n");
  }
}

// Pairs of 16-bit products and their sum in 32 bits, and a sum of that: six of both.
#define BURNISH_SSE_DOT2(ADDEND, I, J) \
  "movdqa " ADDEND ", %%xmm" I "\npmaddwd %%xmm15, %%xmm" I "\npaddd %%xmm" I ", %%xmm" J "\n"
#define BURNISH_YMM_DOT2(ADDEND, I, J) \
  "vpmaddwd " ADDEND ", %%ymm15, %%ymm" I "\nvpaddd %%ymm" I ", %%ymm" J ", %%ymm" J "\n"
#define BURNISH_ZMM_DOT2(ADDEND, I, J) \
  "vpmaddwd " ADDEND ", %%zmm15, %%zmm" I "\nvpaddd %%zmm" I ", %%zmm" J ", %%zmm" J "\n"

void Dot2I8x4(int64_t iterations, bool with_loads) {
  if (with_loads) {
    BURNISH_LOOP(BURNISH_SSE_SET_UP BURNISH_REPEAT(BURNISH_SIX_LOADED(BURNISH_SSE_DOT2)));
  } else {
    BURNISH_LOOP(BURNISH_SSE_SET_UP BURNISH_REPEAT(BURNISH_SIX_ALONE(BURNISH_SSE_DOT2, "%%xmm")));
  }
}

void Dot2I8x8(int64_t iterations, bool with_loads) {
  if (with_loads) {
    BURNISH_AVX("ymm", BURNISH_SIX_LOADED(BURNISH_YMM_DOT2));
  } else {
    BURNISH_AVX("ymm", BURNISH_SIX_ALONE(BURNISH_YMM_DOT2, "%%ymm"));
  }
}

void Dot2I8x16(int64_t iterations, bool with_loads) {
  if (with_loads) {
    BURNISH_AVX("zmm", BURNISH_SIX_LOADED(BURNISH_ZMM_DOT2));
  } else {
    BURNISH_AVX("zmm", BURNISH_SIX_ALONE(BURNISH_ZMM_DOT2, "%%zmm"));
  }
}

// Intel's "Architecture Instruction Set Extensions Programming Reference", section 3.3.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t zeros[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
constexpr TileConfig kTileConfig;

// A block of 2 x 2 accumulators from two tiles of each operand: four loads to four products, which
// is what a kernel's innermost loop does. `OP`: of the operands' types.
#define BURNISH_TILE_LOADS                                         \
  "tileloadd (%1,%3,1), %%tmm4\ntileloadd 1024(%1,%3,1), %%tmm5\n" \
  "tileloadd (%1,%3,1), %%tmm6\ntileloadd 1024(%1,%3,1), %%tmm7\n"
#define BURNISH_TILE_PRODUCTS(OP)                                                                 \
  OP " %%tmm6, %%tmm4, %%tmm0\n" OP " %%tmm7, %%tmm4, %%tmm1\n" OP " %%tmm6, %%tmm5, %%tmm2\n" OP \
     " %%tmm7, %%tmm5, %%tmm3\n"
#define BURNISH_TILES(NAME, OP)                                                   \
  void NAME(int64_t iterations, bool with_loads) {                                \
    asm volatile(                                                                 \
        "ldtilecfg %0\ntilezero %%tmm0\ntilezero %%tmm1\n"                        \
        "tilezero %%tmm2\ntilezero %%tmm3\n" ::"m"(kTileConfig));                 \
    BURNISH_LOOP(BURNISH_TILE_LOADS);                                             \
    if (with_loads) {                                                             \
      BURNISH_LOOP(BURNISH_REPEAT(BURNISH_TILE_LOADS BURNISH_TILE_PRODUCTS(OP))); \
    } else {                                                                      \
      BURNISH_LOOP(BURNISH_REPEAT(BURNISH_TILE_PRODUCTS(OP)));                    \
    }                                                                             \
    asm volatile("tilerelease");                                                  \
  }

BURNISH_TILES(TilesBf16, "tdpbf16ps")
BURNISH_TILES(TilesU8S8, "tdpbusd")

constexpr int64_t kTilesPerIteration = 4;

constexpr UnitLoop kLoops[] = {
    {"fma_f32x16", "avx512f", kChains * 16 * 2, kChains, &FmaF32x16},
    {"fma_f32x8", "fma", kChains * 8 * 2, kChains, &FmaF32x8},
    {"fma_f32x4", "fma", kChains * 4 * 2, kChains, &FmaF32x4},
    {"fma_f64x8", "avx512f", kChains * 8 * 2, kChains, &FmaF64x8},
    {"fma_f64x4", "fma", kChains * 4 * 2, kChains, &FmaF64x4},
    {"fma_f16x32", "avx512fp16", kChains * 32 * 2, kChains, &FmaF16x32},
    {"dot_bf16x16", "avx512bf16", kChains * 16 * 2 * 2, kChains, &DotBf16x16},
    {"dot_bf16x8", "avx512bf16", kChains * 8 * 2 * 2, kChains, &DotBf16x8},
    {"dot_bf16x4", "avx512bf16", kChains * 4 * 2 * 2, kChains, &DotBf16x4},
    {"vnni_u8s8x16", "avx512vnni", kChains * 16 * 4 * 2, kChains, &DotU8S8x16},
    {"vnni_u8s8x8", "avxvnni", kChains * 8 * 4 * 2, kChains, &DotU8S8x8},
    {"vnni_u8s8x4", "avxvnni", kChains * 4 * 4 * 2, kChains, &DotU8S8x4},
    {"amx_bf16", "amx-bf16", kTilesPerIteration * 16 * 16 * 32 * 2, kTilesPerIteration, &TilesBf16},
    {"amx_u8s8", "amx-int8", kTilesPerIteration * 16 * 16 * 64 * 2, kTilesPerIteration, &TilesU8S8},
    {"muladd_f32x8", "avx", kChains / 2 * 8 * 2, kChains / 2, &MulAddF32x8},
    {"muladd_f32x4", "sse4.2", kChains / 2 * 4 * 2, kChains / 2, &MulAddF32x4},
    {"dot2_i8x16", "avx512bw", kChains / 2 * 16 * 2 * 2, kChains / 2, &Dot2I8x16},
    {"dot2_i8x8", "avx2", kChains / 2 * 8 * 2 * 2, kChains / 2, &Dot2I8x8},
    {"dot2_i8x4", "sse4.2", kChains / 2 * 4 * 2 * 2, kChains / 2, &Dot2I8x4},
    // The same instructions: bytes are widened before.
    {"dot2_u8i8x16", "avx512bw", kChains / 2 * 16 * 2 * 2, kChains / 2, &Dot2I8x16},
    {"dot2_u8i8x8", "avx2", kChains / 2 * 8 * 2 * 2, kChains / 2, &Dot2I8x8},
    {"dot2_u8i8x4", "sse4.2", kChains / 2 * 4 * 2 * 2, kChains / 2, &Dot2I8x4},
};

}  // namespace

std::span<const UnitLoop> AllUnitLoops() { return kLoops; }

const UnitLoop* FindUnitLoop(std::string_view unit) {
  for (const UnitLoop& loop : kLoops) {
    if (unit == loop.unit) return &loop;
  }
  return nullptr;
}

}  // namespace burnish
