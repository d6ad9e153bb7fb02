// The text itself, and integers at their limits, where backends may differ and C must not: the
// interpreter says what they are.
#include "compiler/codegen/text/text_backend.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_matchers.h"
#include "compiler/codegen/kernel_runner.h"
#include "compiler/codegen/test_programs.h"
#include "compiler/ir/interpreter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Printed(const Program& program) {
  const auto text = MakeTextBackend()->Emit({}, {.program = &program}, "c");
  EXPECT_THAT(text, IsOk());
  return text.value_or("");
}

std::vector<TensorValue> Computed(const Program& program,
                                  const std::vector<TensorValue>& arguments) {
  auto module = MakeTextBackend()->Compile({}, {{.program = &program}});
  EXPECT_THAT(module, IsOk());
  if (!module.ok()) return {};
  auto runner = KernelRunner::Load(*std::move(module));
  EXPECT_THAT(runner, IsOk());
  if (!runner.ok()) return {};
  auto got = runner->Run(program, arguments, 2);
  EXPECT_THAT(got, IsOk());
  return got.value_or(std::vector<TensorValue>());
}

TEST(TextBackendTest, TextIsForPeople) {
  ProgramWriter w("sum");
  const BufferId x = w.Add("X", {6, 8}, BufferRole::kInput);
  const BufferId y = w.Add("Y.sum", {6}, BufferRole::kOutput);
  const BufferId sums = w.Add("sums", {2}, BufferRole::kTemp, DType::kF32, Scope::kRegister);
  w.Loop(LoopKind::kParallel, 3, [&](Expr i) {
    w.Loop(LoopKind::kUnrolled, 2, [&](Expr r) {
      w.Store(sums, {r}, Float(0));
      w.Loop(LoopKind::kSerial, 8, [&](Expr k) {
        w.Store(sums, {r}, w.At(x, {i * 2 + r, k}) * Float(0.5), Combiner::kSum);
      });
      w.Store(y, {i * 2 + r}, w.At(sums, {r}));
    });
  });
  const std::string text = Printed(w.program());
  EXPECT_EQ(text.substr(text.find("// Program")),
            R"(// Program "sum".
i32 burnish_kernel_0(const KernelContext* context, i32 worker, i32 workers) {
  const f32* const X = (const f32*)context->buffers[0];  // f32[6, 8]
  f32* const Y_sum = (f32*)context->buffers[1];  // f32[6]
  f32 sums[2];  // f32[2]
  i32 error = 0;
  for (i64 v0 = (i64)worker * 3 / workers, v0_end = ((i64)worker + 1) * 3 / workers; v0 < v0_end; ++v0) {  // parallel
    for (i64 v1 = 0; v1 < 2; ++v1) {  // unroll
      sums[v1] = 0.0f;
      for (i64 v2 = 0; v2 < 8; ++v2) {
        sums[v1] = sums[v1] + X[v0 * 16 + v1 * 8 + v2] * 0.5f;
      }
      Y_sum[v0 * 2 + v1] = sums[v1];
    }
  }
  return error;
}
)");
  // Of the functions none is mentioned.
  EXPECT_THAT(text, Not(HasSubstr("exp_f64")));
  EXPECT_EQ(text, Printed(w.program()));
}

TEST(TextBackendTest, NamesOfAProgramAreNoC) {
  ProgramWriter w("\" */ \\\n#error\n\\");
  std::vector<std::string> names = absl::StrSplit(
      "auto break case char const continue default do double else enum extern float for goto if "
      "inline int long register restrict return short signed sizeof static struct switch typedef "
      "union unsigned void volatile while error context worker i32 FUNCTION INF min_f32 table_0",
      ' ');
  names.insert(names.end(), {"X;}", "X__", "", "__LP64__", "7", "\xc3\xa9"});
  std::vector<BufferId> inputs;
  for (const std::string& name : names) inputs.push_back(w.Add(name, {5}, BufferRole::kInput));
  const BufferId out = w.Add("out", {5}, BufferRole::kOutput);
  const auto table = std::make_shared<ConstTable>(
      ConstTable{.dtype = DType::kF32, .shape = {5}, .values = {1, 2, 3, 4, 5}});
  w.Loop(LoopKind::kSerial, 5, [&](Expr i) {
    Expr sum = TableLoad(table, {i});
    for (const BufferId input : inputs) sum = Min(sum, w.At(input, {i}) + Float(1));
    w.Store(out, {i}, sum);
  });
  std::vector<TensorValue> arguments;
  for (size_t i = 0; i < names.size(); ++i) {
    arguments.push_back({.shape = {5}, .floats = {0, 2.5, 2, 3, 1}});
  }
  const std::vector<TensorValue> got = Computed(w.program(), arguments);
  ASSERT_EQ(got.size(), 1);
  EXPECT_THAT(got[0].floats, ::testing::ElementsAre(1, 2, 3, 4, 2));
}

TEST(TextBackendTest, RefusesWhatIsNotItsOwn) {
  const Program program = GemmTileProgram({});
  const auto backend = MakeTextBackend();
  EXPECT_THAT(backend->Compile({.triple = "riscv64-unknown-linux-gnu"}, {{.program = &program}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("riscv64")));
  EXPECT_THAT(backend->Emit({}, {.program = &program}, "asm"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("asm")));
  for (const char* symbol : {"", "a b", "return", "table_0", "f(){}"}) {
    EXPECT_THAT(backend->Emit({}, {.symbol = symbol, .program = &program}, "c"),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << symbol;
  }
  EXPECT_THAT(backend->CompileObject({}, {{.program = &program}, {.program = &program}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("burnish_kernel_0")));
}

class LimitsTest : public ::testing::TestWithParam<DType> {};

// Every pair of edges by every operation: wrapping, division by -1 and by negative numbers, powers.
TEST_P(LimitsTest, IntegersAreTheInterpreters) {
  const DType type = GetParam();
  const IntLimits limits = LimitsOf(type);
  std::vector<int64_t> edges = {limits.least,        limits.least + 1, 0, 1, 2, 7,
                                limits.greatest - 1, limits.greatest};
  if (limits.least < 0) edges.insert(edges.end(), {-1, -2, -7});
  TensorValue x{.dtype = type}, y{.dtype = type};
  for (const int64_t a : edges) {
    for (const int64_t b : edges) {
      x.integers.push_back(a);
      y.integers.push_back(b == 0 ? 3 : b);  // Zero is a data error.
    }
  }
  const auto size = static_cast<int64_t>(x.integers.size());
  x.shape = y.shape = {size};
  ProgramWriter w("limits");
  const BufferId a = w.Add("A", {size}, BufferRole::kInput, type);
  const BufferId b = w.Add("B", {size}, BufferRole::kInput, type);
  w.Loop(LoopKind::kSerial, size, [&](Expr i) {
    const auto store = [&](const Expr& value) {
      const std::string name = absl::StrCat("out", w.program().buffers.size());
      w.Store(w.Add(name, {size}, BufferRole::kOutput, value->dtype), {i}, value);
    };
    const Expr p = w.At(a, {i}), q = w.At(b, {i});
    for (const ExprKind kind :
         {ExprKind::kAdd, ExprKind::kSub, ExprKind::kMul, ExprKind::kDiv, ExprKind::kFloorDiv,
          ExprKind::kMod, ExprKind::kMin, ExprKind::kMax, ExprKind::kPow, ExprKind::kLt,
          ExprKind::kLe, ExprKind::kEq, ExprKind::kNe}) {
      store(Binary(kind, p, q));
    }
    for (const ExprKind kind : {ExprKind::kNeg, ExprKind::kAbs, ExprKind::kSign}) {
      store(Unary(kind, p));
    }
    // A sum that wraps and is then compared, halved and widened must wrap before.
    store(Lt(p + q, p));
    store(FloorDiv(p * q, Int(2, type)));
    store(Cast(DType::kI64, p + q));
    for (const DType to : {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32,
                           DType::kU32, DType::kI64, DType::kU64, DType::kBool}) {
      store(Cast(to, p));
    }
  });
  ASSERT_OK_AND_ASSIGN(const auto want, Interpret(w.program(), {x, y}));
  const auto got = Computed(w.program(), {x, y});
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    for (int64_t i = 0; i < size; ++i) {
      EXPECT_EQ(got[k].integers[i], want[k].integers[i])
          << "result " << k << " of " << x.integers[i] << " and " << y.integers[i];
    }
  }
}

// Of NaN 0, else the nearest number that the type has.
TEST_P(LimitsTest, CastsOfFloatsSaturate) {
  const DType type = GetParam();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  TensorValue x{.dtype = DType::kF64,
                .floats = {0, -0.0, 0.5, -0.5, 1e30, -1e30, kInfinity, -kInfinity,
                           std::numeric_limits<double>::quiet_NaN()}};
  for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64}) {
    for (const double sign : {1.0, -1.0}) {
      for (const double near : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0}) {
        x.floats.push_back(sign * (std::ldexp(1, bits) + near));
      }
    }
  }
  const auto size = static_cast<int64_t>(x.floats.size());
  x.shape = {size};
  for (const DType from : {DType::kF64, DType::kF32}) {
    ProgramWriter w("casts");
    x.dtype = from;
    for (double& value : x.floats) {
      if (from == DType::kF32) value = static_cast<float>(value);
    }
    const BufferId a = w.Add("A", {size}, BufferRole::kInput, from);
    const BufferId out = w.Add("out", {size}, BufferRole::kOutput, type);
    w.Loop(LoopKind::kSerial, size, [&](Expr i) { w.Store(out, {i}, Cast(type, w.At(a, {i}))); });
    ASSERT_OK_AND_ASSIGN(const auto want, Interpret(w.program(), {x}));
    const auto got = Computed(w.program(), {x});
    ASSERT_EQ(got.size(), 1);
    for (int64_t i = 0; i < size; ++i) {
      EXPECT_EQ(got[0].integers[i], want[0].integers[i]) << x.floats[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LimitsTest,
                         ::testing::Values(DType::kI64, DType::kI32, DType::kI16, DType::kI8,
                                           DType::kU64, DType::kU32, DType::kU16, DType::kU8),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

}  // namespace
}  // namespace burnish
