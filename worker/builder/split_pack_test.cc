#include "worker/builder/split_pack.h"

#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/verifier.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(const Program& program, BufferRole role) {
  std::vector<std::string> names;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role == role) names.push_back(buffer.name);
  }
  return names;
}

// Y = X W^T + B with W packed: B stays as it is.
Program LoweredDense(const std::string& packing =
                         "relayout@1 W->Wp dims=(op,k,oi)\n"
                         "precompute@1 Wp\n") {
  const Program program = DenseProgram(2, 9, 21);
  const absl::StatusOr<Trace> trace = ParseTrace(
      "split@1 o->(op,oi) size=8\n"
      "reorder@1 (Y.n,op,k,oi)\n" +
      packing);
  EXPECT_THAT(trace, IsOk());
  const absl::StatusOr<Program> scheduled = ApplyTrace(*trace, program);
  EXPECT_THAT(scheduled, IsOk());
  const absl::StatusOr<Program> lowered = Lower(*scheduled);
  EXPECT_THAT(lowered, IsOk());
  return *lowered;
}

TEST(SplitPackTest, ComputeHasThePackedConstantsOnly) {
  const SplitProgram split = SplitPack(LoweredDense());
  ASSERT_TRUE(split.pack.has_value());
  EXPECT_THAT(Names(split.compute, BufferRole::kInput), ElementsAre("X"));
  EXPECT_THAT(Names(split.compute, BufferRole::kConstant), ElementsAre("Wp", "B.kept"));
  EXPECT_THAT(Names(split.compute, BufferRole::kPacked), IsEmpty());
  EXPECT_THAT(Names(*split.pack, BufferRole::kConstant), ElementsAre("W", "B"));
  EXPECT_THAT(Names(*split.pack, BufferRole::kOutput), ElementsAre("Wp", "B.kept"));
  EXPECT_THAT(Verify(split.compute), IsOk());
  EXPECT_THAT(Verify(*split.pack), IsOk());
}

// Of a program with parameters X, W, B.
void ExpectPackThenComputeIsTheWhole(const Program& lowered) {
  const SplitProgram split = SplitPack(lowered);
  const std::vector<TensorValue> arguments = RandomArguments(lowered, 3);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, Interpret(lowered, arguments));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> packed,
                       Interpret(*split.pack, {arguments[1], arguments[2]}));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                       Interpret(split.compute, {arguments[0], packed[0], packed[1]}));
  EXPECT_EQ(got[0].floats, want[0].floats);
}

TEST(SplitPackTest, PackThenComputeIsTheWholeProgram) {
  ExpectPackThenComputeIsTheWhole(LoweredDense());
}

TEST(SplitPackTest, WhatOnlyFurtherPackingReadsIsNotKept) {
  const Program lowered = LoweredDense(
      "relayout@1 W->Wt dims=(k,op,oi)\n"
      "precompute@1 Wt\n"
      "relayout@1 Wt->Wp dims=(op,Y.k,oi)\n"
      "precompute@1 Wp\n");
  const SplitProgram split = SplitPack(lowered);
  EXPECT_THAT(Names(split.compute, BufferRole::kConstant), ElementsAre("Wp", "B.kept"));
  EXPECT_THAT(Names(*split.pack, BufferRole::kOutput), ElementsAre("Wp", "B.kept"));
  EXPECT_THAT(Names(*split.pack, BufferRole::kTemp), ElementsAre("Wt"));
  EXPECT_THAT(Verify(split.compute), IsOk());
  EXPECT_THAT(Verify(*split.pack), IsOk());
  ExpectPackThenComputeIsTheWhole(lowered);
}

TEST(SplitPackTest, ProgramWithoutPackStaysAsItIs) {
  ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(DenseProgram(1, 3, 4)));
  const SplitProgram split = SplitPack(lowered);
  EXPECT_FALSE(split.pack.has_value());
  EXPECT_THAT(Names(split.compute, BufferRole::kConstant), ElementsAre("W", "B"));
}

}  // namespace
}  // namespace burnish
