// The interpreter on a definition, against the same definition over packed storage.
#include "compiler/driver/packed_form.h"

#include <optional>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/verifier.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/te/builder.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Axis = PackedForm::Axis;
using Shape = std::vector<int64_t>;

constexpr int64_t kRows = 11, kColumns = 6;  // 11: no multiple of a tile.

// Y[o] = sum_k x[k] * W[o,k].
Program Product() {
  TeBuilder te("product");
  const Tensor x = te.Parameter("x", {DType::kF32, {kColumns}}, BufferRole::kInput);
  const Tensor w = te.Parameter("W", {DType::kF32, {kRows, kColumns}}, BufferRole::kConstant);
  te.Output("Y", te.Reduce("Y", {DType::kF32, {kRows}},
                           {.axis_names = {"o"},
                            .reduction_names = {"k"},
                            .reduction_extents = {kColumns},
                            .step = [&](const Indices& i, const Indices& k) {
                              return x({k[0]}) * w({i[0], k[0]});
                            }}));
  return te.Build();
}

std::optional<PackedForm> FormAfter(const std::string& trace_text) {
  const absl::StatusOr<Trace> trace = ParseTrace(trace_text);
  EXPECT_TRUE(trace.ok()) << trace.status();
  const absl::StatusOr<Program> scheduled = ApplyTrace(*trace, Product());
  EXPECT_TRUE(scheduled.ok()) << scheduled.status();
  return FindPackedForm(*scheduled, FindBuffer(*scheduled, "W"));
}

TEST(PackedFormTest, TilesAreDigitsOfAnIndex) {
  const std::optional<PackedForm> form = FormAfter(
      "split@1 o->(op,oi) size=4\n"
      "split@1 k->(ko,ki) size=2\n"
      "reorder@1 (op,ko,ki,oi)\n"
      "relayout@1 W->Wp dims=(op,ko,ki,oi)\n"
      "precompute@1 Wp\n");
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->shape, (Shape{3, 3, 2, 4}));
  EXPECT_EQ(form->axes, (std::vector<Axis>{{.dimension = 0, .divisor = 4},
                                           {.dimension = 1, .divisor = 2},
                                           {.dimension = 1, .modulus = 2},
                                           {.dimension = 0, .modulus = 4}}));
  EXPECT_EQ(form->ordinal, 0);
}

TEST(PackedFormTest, WhatTheKernelReadsItselfHasNone) {
  EXPECT_FALSE(FormAfter("split@1 o->(op,oi) size=4\n").has_value());
  // Laid out anew in every call.
  EXPECT_FALSE(FormAfter("relayout@1 W->Wp dims=(k,o)\n").has_value());
}

// rows[i] = W[which[i]]: negative indices count from the end, and one that is too large is an error
// of the run, as with the plain form.
TEST(PackedFormTest, AReaderOfFewRowsComputesTheSame) {
  TeBuilder te("rows");
  const Tensor w = te.Parameter("W", {DType::kF32, {kRows, kColumns}}, BufferRole::kConstant);
  const Tensor which = te.Parameter("which", {DType::kI64, {4}}, BufferRole::kInput);
  te.Output("Y", te.Compute("Y", {DType::kF32, {4, kColumns}}, [&](const Indices& i) {
    return w({BoundsCheck(which({i[0]}), Int(kRows)), i[1]});
  }));
  const Program plain = te.Build();
  const std::optional<PackedForm> form = FormAfter(
      "split@1 o->(op,oi) size=4\n"
      "reorder@1 (op,k,oi)\n"
      "relayout@1 W->Wp dims=(op,k,oi)\n"
      "precompute@1 Wp\n");
  ASSERT_TRUE(form.has_value());
  Program packed = plain;
  ReadPackedForm(*form, FindBuffer(packed, "W"), packed);
  ASSERT_TRUE(Verify(packed).ok());

  TensorValue dense{.dtype = DType::kF32, .shape = {kRows, kColumns}};
  TensorValue laid_out{.dtype = DType::kF32, .shape = {3, kColumns, 4}};
  laid_out.floats.assign(3 * kColumns * 4, 0.0);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      dense.floats.push_back(static_cast<double>(10 * row + column));
      laid_out.floats[(row / 4 * kColumns + column) * 4 + row % 4] = dense.floats.back();
    }
  }
  const TensorValue rows{.dtype = DType::kI64, .shape = {4}, .integers = {10, 0, -1, 5}};
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, Interpret(plain, {dense, rows}));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got, Interpret(packed, {laid_out, rows}));
  EXPECT_EQ(got[0].floats, want[0].floats);
  const TensorValue outside{.dtype = DType::kI64, .shape = {4}, .integers = {0, 0, kRows, 0}};
  EXPECT_EQ(Interpret(packed, {laid_out, outside}).status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace burnish
