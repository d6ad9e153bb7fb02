// Rounding to quantized types gives the same bits in the interpreter and in machine code, on random
// values and on those where rounding is hard: halves, limits, NaN and infinities. The interpreter
// computes in double and the code in f32; the reference is written out here.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/codegen/kernel_runner.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/te/operator.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr int64_t kCount = 4099;  // No multiple of a vector.

// docs/low-precision.md, in plain C++.
int64_t Reference(float value, int64_t zero, DType type) {
  const IntLimits limits = LimitsOf(type);
  if (std::isnan(value)) return 0;
  if (std::isinf(value)) return value < 0 ? limits.least : limits.greatest;
  const double rounded = std::nearbyint(static_cast<double>(value)) + static_cast<double>(zero);
  return static_cast<int64_t>(
      std::clamp(rounded, static_cast<double>(limits.least), static_cast<double>(limits.greatest)));
}

struct Case {
  std::string op;
  DType type;
  std::vector<TensorValue> arguments;  // x, scale, zero point.
  std::vector<int64_t> want;
};

TensorValue Scalar(float value) { return {.shape = {}, .floats = {value}}; }

Case RandomCase(const std::string& op, DType type, Rng& rng) {
  Case c{.op = op, .type = type};
  const IntLimits limits = LimitsOf(type);
  const int64_t zero = rng.Between(limits.least, limits.greatest);
  // Powers of two make halves exact; others make products and quotients that round.
  const float scale = rng.Between(0, 1) == 0
                          ? std::ldexp(1.0F, static_cast<int>(rng.Between(-9, 3)))
                          : static_cast<float>(std::exp(2 * rng.Normal() - 3));
  TensorValue x{.shape = {kCount}};
  const bool is_sum = op == "requantize";
  if (is_sum) x.dtype = DType::kI32;
  for (int64_t i = 0; i < kCount; ++i) {
    // Half of them near the limits of the type, half anywhere.
    const double wanted =
        static_cast<double>(rng.Between(-2 * limits.greatest, 2 * limits.greatest)) / 2;
    if (is_sum) {
      const int64_t near = std::llround(std::clamp(wanted / scale, -2e9, 2e9));
      const int64_t sum = i % 2 == 0 ? near : rng.Between(-2147483647 - 1, 2147483647);
      x.integers.push_back(sum);
      c.want.push_back(Reference(static_cast<float>(sum) * scale, zero, type));
      continue;
    }
    const float specials[] = {NAN, INFINITY, -INFINITY, 0.0F, -0.0F, 3e38F, -3e38F, 1e-40F};
    const float value =
        i < 8 ? specials[i]
              : static_cast<float>(i % 2 == 0 ? wanted * scale : std::exp(8 * rng.Normal()));
    x.floats.push_back(static_cast<double>(value));
    c.want.push_back(Reference(value / scale, zero, type));
  }
  c.arguments = {x, Scalar(scale), {.dtype = type, .shape = {}, .integers = {zero}}};
  return c;
}

Program Defined(const Case& c) {
  TeBuilder te("bits");
  std::vector<Tensor> tensors;
  std::vector<TensorType> types;
  for (const TensorValue& argument : c.arguments) {
    types.push_back({argument.dtype, argument.shape});
    tensors.push_back(
        te.Parameter(absl::StrCat("X", tensors.size()), types.back(), BufferRole::kInput));
  }
  const OperatorDef* op = FindOperator(c.op);
  EXPECT_THAT(op->infer({}, types), IsOk());
  te.Output("Y", op->define(te, {}, tensors)[0]);
  return te.Build();
}

TEST(QuantizedBitsTest, InterpreterAndMachineCodeRoundAlike) {
  Rng rng(1);
  const std::vector<std::string> features[] = {
      {"sse4.2"},
      {"sse4.2", "avx", "avx2", "fma"},
      {"sse4.2", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"}};
  for (int round = 0; round < 40; ++round) {
    for (const DType type : {DType::kU8, DType::kI8, DType::kU16, DType::kI16}) {
      for (const char* op : {"quantize", "requantize"}) {
        SCOPED_TRACE(absl::StrCat(op, " to ", DTypeName(type), ", round ", round));
        const Case c = RandomCase(op, type, rng);
        const Program defined = Defined(c);
        ASSERT_OK_AND_ASSIGN(const auto interpreted, Interpret(defined, c.arguments));
        ASSERT_EQ(interpreted[0].integers, c.want);
        const auto& target = features[round % 3];
        const int lanes = 4 << (round % 3);
        const Trace trace =
            ParseTrace(absl::StrCat("split@1 i0->(io,ii) size=64\nvectorize@1 ii lanes=", lanes))
                .value();
        ASSERT_OK_AND_ASSIGN(const Program scheduled, ApplyTrace(trace, defined));
        ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(scheduled));
        ASSERT_OK_AND_ASSIGN(
            CompiledModule module,
            MakeLlvmBackend()->Compile({.features = target}, {{.program = &lowered}}));
        const CpuInfo cpu = HostCpuInfo();
        if (!std::all_of(target.begin(), target.end(),
                         [&](const std::string& f) { return cpu.Has(f); })) {
          continue;
        }
        ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
        ASSERT_OK_AND_ASSIGN(const auto got, runner.Run(lowered, c.arguments));
        ASSERT_EQ(got[0].integers, c.want);
      }
    }
  }
}

}  // namespace
}  // namespace burnish
