#include "compiler/schedule/intrinsics.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace burnish {
namespace {

constexpr Intrinsic kIntrinsics[] = {
    {"dot2_i8x4", R"(program/1 dot2_i8x4
      input A: i8[2]
      input B: i8[4, 2]
      output C: i32[4]
      block C(i in 4; j in 2) { step C[i] += i32(A[j]) * i32(B[i, j]) })"},
    {"dot2_i8x8", R"(program/1 dot2_i8x8
      input A: i8[2]
      input B: i8[8, 2]
      output C: i32[8]
      block C(i in 8; j in 2) { step C[i] += i32(A[j]) * i32(B[i, j]) })"},
    {"dot2_i8x16", R"(program/1 dot2_i8x16
      input A: i8[2]
      input B: i8[16, 2]
      output C: i32[16]
      block C(i in 16; j in 2) { step C[i] += i32(A[j]) * i32(B[i, j]) })"},
    {"dot2_u8i8x4", R"(program/1 dot2_u8i8x4
      input A: u8[2]
      input B: i8[4, 2]
      output C: i32[4]
      block C(i in 4; j in 2) { step C[i] += i32(A[j]) * i32(B[i, j]) })"},
    {"dot2_u8i8x8", R"(program/1 dot2_u8i8x8
      input A: u8[2]
      input B: i8[8, 2]
      output C: i32[8]
      block C(i in 8; j in 2) { step C[i] += i32(A[j]) * i32(B[i, j]) })"},
    {"dot2_u8i8x16", R"(program/1 dot2_u8i8x16
      input A: u8[2]
      input B: i8[16, 2]
      output C: i32[16]
      block C(i in 16; j in 2) { step C[i] += i32(A[j]) * i32(B[i, j]) })"},
    {"vnni_u8s8x4", R"(program/1 vnni_u8s8x4
      input A: u8[4]
      input B: i8[4, 4]
      output C: i32[4]
      block C(i in 4; j in 4) { step C[i] += i32(A[j]) * i32(B[i, j]) })"},
    {"vnni_u8s8x8", R"(program/1 vnni_u8s8x8
      input A: u8[4]
      input B: i8[8, 4]
      output C: i32[8]
      block C(i in 8; j in 4) { step C[i] += i32(A[j]) * i32(B[i, j]) })"},
    {"vnni_u8s8x16", R"(program/1 vnni_u8s8x16
      input A: u8[4]
      input B: i8[16, 4]
      output C: i32[16]
      block C(i in 16; j in 4) { step C[i] += i32(A[j]) * i32(B[i, j]) })"},
    {"dot_bf16x4", R"(program/1 dot_bf16x4
      input A: bf16[2]
      input B: bf16[4, 2]
      output C: f32[4]
      block C(i in 4; j in 2) { step C[i] += f32(A[j]) * f32(B[i, j]) })"},
    {"dot_bf16x8", R"(program/1 dot_bf16x8
      input A: bf16[2]
      input B: bf16[8, 2]
      output C: f32[8]
      block C(i in 8; j in 2) { step C[i] += f32(A[j]) * f32(B[i, j]) })"},
    {"dot_bf16x16", R"(program/1 dot_bf16x16
      input A: bf16[2]
      input B: bf16[16, 2]
      output C: f32[16]
      block C(i in 16; j in 2) { step C[i] += f32(A[j]) * f32(B[i, j]) })"},
    {"amx_bf16", R"(program/1 amx_bf16
      input A: bf16[$rows, $depth]
      input B: bf16[$groups, $columns, 2]
      output C: f32[$rows, $columns]
      block C(i in $rows, j in $columns; k in $groups, v in 2) {
        step C[i, j] += f32(A[i, k * 2 + v]) * f32(B[k, j, v])
      })",
     2},
    {"amx_u8s8", R"(program/1 amx_u8s8
      input A: u8[$rows, $depth]
      input B: i8[$groups, $columns, 4]
      output C: i32[$rows, $columns]
      block C(i in $rows, j in $columns; k in $groups, v in 4) {
        step C[i, j] += i32(A[i, k * 4 + v]) * i32(B[k, j, v])
      })",
     4},
};

}  // namespace

absl::Span<const Intrinsic> AllIntrinsics() { return kIntrinsics; }

std::string PatternOf(const Intrinsic& intrinsic, const TileShape& shape) {
  return absl::StrReplaceAll(intrinsic.pattern,
                             {{"$rows", absl::StrCat(shape.rows)},
                              {"$columns", absl::StrCat(shape.columns)},
                              {"$groups", absl::StrCat(shape.groups)},
                              {"$depth", absl::StrCat(shape.groups * intrinsic.group)}});
}

const Intrinsic* FindIntrinsic(absl::string_view name) {
  for (const Intrinsic& intrinsic : kIntrinsics) {
    if (name == intrinsic.name) return &intrinsic;
  }
  return nullptr;
}

}  // namespace burnish
