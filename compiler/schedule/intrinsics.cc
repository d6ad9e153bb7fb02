#include "compiler/schedule/intrinsics.h"

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
};

}  // namespace

absl::Span<const Intrinsic> AllIntrinsics() { return kIntrinsics; }

const Intrinsic* FindIntrinsic(absl::string_view name) {
  for (const Intrinsic& intrinsic : kIntrinsics) {
    if (name == intrinsic.name) return &intrinsic;
  }
  return nullptr;
}

}  // namespace burnish
