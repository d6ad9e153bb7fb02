#include "worker/runner/sample_oracle.h"

#include <cmath>
#include <string>

#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/expr_kinds.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/runner/parameter_plan.h"
#include "worker/runner/tensor_data.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

struct Inputs {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<TensorValue> values;
};

Inputs MakeInputs(const Program& program, uint64_t seed) {
  Inputs inputs;
  const std::vector<TensorSpec> parameters = PlanParameters(program);
  const std::vector<BufferId> ids = ParametersOf(program);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].role == ArgumentRole::kOutput) continue;
    const Buffer& buffer = program.buffers[ids[i]];
    const std::vector<uint8_t> bytes = RandomTensor(parameters[i], seed, static_cast<int>(i));
    TensorValue value{.dtype = buffer.dtype, .shape = buffer.shape};
    for (size_t at = 0; at < bytes.size(); at += SizeBytes(buffer.dtype)) {
      switch (buffer.dtype) {
        case DType::kF32:
          value.floats.push_back(*reinterpret_cast<const float*>(&bytes[at]));
          break;
        case DType::kF64:
          value.floats.push_back(*reinterpret_cast<const double*>(&bytes[at]));
          break;
        case DType::kI64:
          value.integers.push_back(*reinterpret_cast<const int64_t*>(&bytes[at]));
          break;
        case DType::kI32:
          value.integers.push_back(*reinterpret_cast<const int32_t*>(&bytes[at]));
          break;
        case DType::kI8:
          value.integers.push_back(static_cast<int8_t>(bytes[at]));
          break;
        default:
          value.integers.push_back(bytes[at]);
      }
    }
    inputs.bytes.push_back(bytes);
    inputs.values.push_back(std::move(value));
  }
  return inputs;
}

// The oracle's every element is the interpreter's: the interpreter runs the whole program.
void ExpectAgreement(const std::string& text) {
  SCOPED_TRACE(text);
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(text));
  for (const uint64_t seed : {1, 2}) {
    const Inputs inputs = MakeInputs(program, seed);
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, Interpret(program, inputs.values));
    ASSERT_OK_AND_ASSIGN(const auto oracle, SampleOracle::Create(program, inputs.bytes));
    size_t output = 0;
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      if (program.buffers[b].role != BufferRole::kOutput) continue;
      const TensorValue& all = want[output++];
      // Backwards: the order in which elements are asked for must not matter.
      for (int64_t i = ElementCount(all.shape) - 1; i >= 0; --i) {
        ASSERT_OK_AND_ASSIGN(const ExprValue got, oracle->Value(static_cast<BufferId>(b), i));
        if (IsFloat(all.dtype)) {
          EXPECT_TRUE(got.f == all.floats[i] || (std::isnan(got.f) && std::isnan(all.floats[i])))
              << "element " << i << ": got " << got.f << ", want " << all.floats[i];
        } else {
          EXPECT_EQ(got.i, all.integers[i]) << "element " << i;
        }
      }
    }
    EXPECT_EQ(output, want.size());
  }
}

TEST(SampleOracleTest, PaddedConvolutionWithBiasResidualAndRelu) {
  ExpectAgreement(R"(program/1 conv
input X: f32[1, 6, 5, 4]
const W: f32[7, 3, 3, 4]
const B: f32[7]
input R: f32[1, 6, 5, 7]
output Y: f32[1, 6, 5, 7]
temp P: f32[1, 8, 7, 4]
block P(n in 1, h in 8, w in 7, c in 4) {
  step P[n, h, w, c] = 1 <= h && h < 7 && 1 <= w && w < 6 ? X[n, h - 1, w - 1, c] : 0.0
}
block Y(n in 1, y in 6, x in 5, o in 7; ky in 3, kx in 3, c in 4) {
  init B[o]
  step Y[n, y, x, o] += P[n, y + ky, x + kx, c] * W[o, ky, kx, c]
  finish max(self + R[n, y, x, o], 0.0)
}
)");
}

TEST(SampleOracleTest, SoftmaxReadsReductionsOfWholeRows) {
  ExpectAgreement(R"(program/1 softmax
input X: f32[3, 10]
output Y: f32[3, 10]
temp M: f32[3]
temp S: f32[3]
block M(i in 3; k in 10) {
  step M[i] max= X[i, k]
}
block S(i in 3; k in 10) {
  step S[i] += exp(X[i, k] - M[i])
}
block Y(i in 3, j in 10) {
  step Y[i, j] = exp(X[i, j] - M[i]) / S[i]
}
)");
}

TEST(SampleOracleTest, ConcatenationChoosesBetweenItsInputs) {
  ExpectAgreement(R"(program/1 concat
input A: f32[2, 3]
input B: f32[2, 5]
output Y: f32[2, 8]
block Y(i in 2, j in 8) {
  step Y[i, j] = j < 3 ? A[i, min(j, 2)] : B[i, max(j - 3, 0)]
}
)");
}

// Two axes in one index, and an axis in none.
TEST(SampleOracleTest, OutputIndicesThatAreNoPlainAxes) {
  ExpectAgreement(R"(program/1 shuffle
input A: f32[3, 4]
output Y: f32[12]
output Z: f32[4, 3]
block Y(i in 3, j in 4) {
  step Y[i * 4 + j] = A[i, j]
}
block Z(o in 1, j in 4, i in 3) {
  step Z[3 - j, i] = A[i, j + o]
}
)");
}

TEST(SampleOracleTest, IntegersIndicesTablesAndOtherCombiners) {
  ExpectAgreement(R"(program/1 mixed
input A: i8[4, 6]
input I: i64[3]
input U: u8[5]
input D: i32[5]
output Y: i8[4]
output Z: f32[3]
output Q: i32[5]
output P: i32[5]
output L: bool[5]
table $0: f32[2] {0.5, -0.25}
block Y(i in 4; k in 6) {
  step Y[i] max= -A[i, k]
}
block Z(i in 3) {
  step Z[i] = f32(A[bounds_check(I[i], 4), 2]) * $0[i % 2] + 0.1
}
block Q(i in 5) {
  step Q[i] = i32(U[i]) // D[i] - i32(U[i]) % D[i] + i32(U[i]) / D[i]
}
block P(i in 5; k in 3) {
  init 2_i32
  step P[i] *= D[i]
}
block L(i in 5; k in 2) {
  init false
  step L[i] max= U[i] < 100_u8
}
)");
}

TEST(SampleOracleTest, EveryFunctionOfFloats) {
  ExpectAgreement(R"(program/1 functions
input X: f32[20]
output Y: f32[20]
output Z: f32[20]
output W: i32[20]
block Y(i in 20) {
  step Y[i] = erf(X[i]) + tanh(X[i]) * sin(X[i]) - cos(X[i]) / (1.5 + sqrt(abs(X[i]))) + log(abs(X[i]))
}
block Z(i in 20) {
  step Z[i] = min(floor(X[i]), ceil(X[i] * 3.0)) + max(round(X[i] * 2.0), sign(X[i])) + pow(abs(X[i]), 0.5) + X[i] % 0.75
}
block W(i in 20) {
  step W[i] = i32(X[i] * 10.0) + (X[i] < 0.0 || X[i] == 1.0 ? 100_i32 : 0_i32)
}
)");
}

TEST(SampleOracleTest, ComputesOnlyWhatItsElementNeeds) {
  // All of Y would take 2^40 steps.
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 large
input X: f32[1024, 1024]
input W: f32[1024, 1024]
output Y: f32[1024, 1024]
temp T: f32[1024, 1024]
block T(i in 1024, j in 1024; k in 1024) {
  step T[i, j] += X[i, k] * W[k, j]
}
block Y(i in 1024, j in 1024) {
  step Y[i, j] = T[i, j] + T[j, i]
}
)"));
  const Inputs inputs = MakeInputs(program, 1);
  ASSERT_OK_AND_ASSIGN(const auto oracle, SampleOracle::Create(program, inputs.bytes));
  const auto product = [&](int i, int j) {
    double sum = 0;
    for (int k = 0; k < 1024; ++k) {
      sum += inputs.values[0].floats[i * 1024 + k] * inputs.values[1].floats[k * 1024 + j];
    }
    return sum;
  };
  ASSERT_OK_AND_ASSIGN(const ExprValue got,
                       oracle->Value(FindBuffer(program, "Y"), 3 * 1024 + 1000));
  EXPECT_EQ(got.f, product(3, 1000) + product(1000, 3));
}

// A kind that nobody taught the checker ends its job, not its process: a root of integers stands
// for one, which the verifier would refuse.
TEST(SampleOracleTest, OperationThatItDoesNotKnowIsRefused) {
  ASSERT_OK_AND_ASSIGN(Program program, ParseProgram(R"(workload/2
    input b0: i32[3]
    output b1: i32[3]
    block b1(i0 in 3) { step b1[i0] = -b0[i0] })"));
  const Inputs inputs = MakeInputs(program, 1);
  EXPECT_THAT(SampleOracle::Create(program, inputs.bytes), IsOk());
  Expr& step = program.blocks[0].step;
  step = Unary(ExprKind::kSqrt, step->operands[0]);
  EXPECT_THAT(SampleOracle::Create(program, inputs.bytes),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("of type i32")));
}

// Also where an index, which runs as soon as the oracle is made, has such a kind.
TEST(SampleOracleTest, AnIndexThatItDoesNotKnowIsRefused) {
  ASSERT_OK_AND_ASSIGN(Program program, ParseProgram(R"(workload/2
    input b0: i32[3]
    output b1: i32[3]
    block b1(i0 in 3) { step b1[i0] = b0[i0] })"));
  const Inputs inputs = MakeInputs(program, 1);
  Expr& index = program.blocks[0].output_indices[0];
  index = Unary(ExprKind::kSqrt, index);
  EXPECT_THAT(SampleOracle::Create(program, inputs.bytes),
              StatusIs(absl::StatusCode::kUnimplemented));
}

// Every kind on every type: a value, or an error, and the process goes on.
TEST(ExprValueTest, NoOperationEndsTheProcess) {
  for (int number = 0; number < kExprKindCount; ++number) {
    const auto kind = static_cast<ExprKind>(number);
    for (const DType type :
         {DType::kF32, DType::kF64, DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU64,
          DType::kU32, DType::kU16, DType::kU8, DType::kBool}) {
      const ExprValue a = IsFloat(type) ? ExprValue{.f = 2.5} : ExprValue{.i = 2};
      ValueError unary = ValueError::kNone, binary = ValueError::kNone;
      UnaryValue(kind, type, a, &unary);
      BinaryValue(kind, type, a, a, &binary);
      EXPECT_EQ(unary == ValueError::kNone, IsKnownUnary(kind, type)) << number;
      EXPECT_EQ(binary == ValueError::kNone, IsKnownBinary(kind, type)) << number;
    }
  }
}

// The oracle shares no code with the interpreter, so both must say the same.
TEST(ExprValueTest, IntegersAreThoseOfTheInterpreter) {
  Rng rng(7);
  for (const DType type : {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU64,
                           DType::kU32, DType::kU16, DType::kU8}) {
    SCOPED_TRACE(DTypeName(type));
    for (int round = 0; round < 200; ++round) {
      const int64_t a = WrapInt(type, rng.Between(-3, 3) * (int64_t{1} << rng.Below(63)));
      const int64_t b = WrapInt(type, rng.Between(-3, 3) * (int64_t{1} << rng.Below(63)));
      for (const ExprKind kind :
           {ExprKind::kAdd, ExprKind::kSub, ExprKind::kMul, ExprKind::kDiv, ExprKind::kFloorDiv,
            ExprKind::kMod, ExprKind::kMin, ExprKind::kMax, ExprKind::kPow, ExprKind::kLt,
            ExprKind::kLe, ExprKind::kEq}) {
        if (DividesIntegers(kind) && b == 0) continue;
        ValueError error = ValueError::kNone;
        EXPECT_EQ(BinaryValue(kind, type, {.i = a}, {.i = b}, &error).i,
                  WrapInt(type, IntBinaryOf(kind, type, a, b)))
            << static_cast<int>(kind) << " of " << a << " and " << b;
      }
      EXPECT_EQ(CastValue(type, DType::kF64, {.i = a}).f,
                type == DType::kU64 ? static_cast<double>(static_cast<uint64_t>(a))
                                    : static_cast<double>(a));
    }
  }
  EXPECT_EQ(CastValue(DType::kF64, DType::kU64, {.f = 1e30}).i, -1);
  EXPECT_EQ(CastValue(DType::kF64, DType::kU16, {.f = 1e30}).i, 65535);
  EXPECT_EQ(CastValue(DType::kF64, DType::kU32, {.f = -3}).i, 0);
}

TEST(SampleOracleTest, WhatCannotBeEvaluatedIsAnError) {
  ASSERT_OK_AND_ASSIGN(const Program gather, ParseProgram(R"(program/1 gather
input X: f32[4]
input I: i64[1]
output Y: f32[1]
block Y(i in 1) {
  step Y[i] = X[bounds_check(I[i], 4)]
}
)"));
  std::vector<std::vector<uint8_t>> arguments = {std::vector<uint8_t>(16), std::vector<uint8_t>(8)};
  arguments[1][0] = 4;
  ASSERT_OK_AND_ASSIGN(auto oracle, SampleOracle::Create(gather, arguments));
  EXPECT_THAT(oracle->Value(FindBuffer(gather, "Y"), 0),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("index 4")));
  arguments.pop_back();
  EXPECT_THAT(SampleOracle::Create(gather, arguments),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
