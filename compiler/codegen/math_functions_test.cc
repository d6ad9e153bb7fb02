// Accuracy of the transcendental functions against libm in long double, over random bit patterns
// (so that every binade counts alike), the whole range where results are normal, and the edges.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_info.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/codegen/backend.h"
#include "compiler/codegen/kernel_runner.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/codegen/test_programs.h"
#include "compiler/codegen/text/text_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kSamples = 400000;

struct Isa {
  std::string name;
  std::vector<std::string> features;
  int lanes;
  std::unique_ptr<Backend> (*make)() = [] { return MakeLlvmBackend(); };
};

std::vector<Isa> Isas() {
  const std::vector<std::string> sse = {"sse3", "ssse3", "sse4.1", "sse4.2"};
  return {{"sse42", sse, 4},
          {"avx2", {"sse4.2", "avx", "avx2", "fma"}, 8},
          {"scalar", {"sse4.2", "avx", "avx2", "fma"}, 1},
          {"avx512", {"sse4.2", "avx2", "fma", "avx512f", "avx512dq", "avx512vl"}, 16},
          {"c", sse, 4, &MakeTextBackend}};
}

using Wide = long double;

// Distance in units of the last place of `want` in a type of so many mantissa bits.
double Ulps(double got, Wide want, int mantissa_bits) {
  if ((std::isnan(got) && std::isnan(want)) || got == want) return 0;
  if (!std::isfinite(got) || !std::isfinite(want)) return kInfinity;
  const Wide unit = std::ldexp(Wide{1}, std::ilogb(want) - mantissa_bits + 1);
  return static_cast<double>(std::abs(got - want) / unit);
}

// Infinite where the type has no such number.
Wide Limited(Wide value, DType type) {
  const Wide most = type == DType::kF32 ? 0x1.fffffep127L : 0x1.fffffffffffffp1023L;
  return std::abs(value) > most ? std::copysign(Wide{kInfinity}, value) : value;
}

class MathFunctionsTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    const CpuInfo cpu = HostCpuInfo();
    for (const std::string& feature : GetParam().features) {
      if (!cpu.Has(feature)) GTEST_SKIP() << "the host lacks " << feature;
    }
  }

  // The compiled function at each x (and y).
  std::vector<double> Run(ExprKind kind, DType type, const std::vector<double>& x,
                          const std::vector<double>& y = {}) {
    return Run([&](const Expr& a,
                   const Expr& b) { return y.empty() ? Unary(kind, a) : Binary(kind, a, b); },
               type, x, y);
  }
  std::vector<double> Run(const std::function<Expr(const Expr&, const Expr&)>& function, DType type,
                          const std::vector<double>& x, const std::vector<double>& y = {}) {
    const auto size = static_cast<int64_t>(x.size());
    ProgramWriter w("math");
    const BufferId a = w.Add("A", {size}, BufferRole::kInput, type);
    const BufferId b = w.Add("B", {size}, BufferRole::kInput, type);
    const BufferId out = w.Add("out", {size}, BufferRole::kOutput, type);
    const int lanes = type == DType::kF64 ? (GetParam().lanes + 1) / 2 : GetParam().lanes;
    w.Loop(
        LoopKind::kVectorized, size,
        [&](Expr i) { w.Store(out, {i}, function(w.At(a, {i}), w.At(b, {i}))); }, lanes);
    auto module =
        GetParam().make()->Compile({.features = GetParam().features}, {{.program = &w.program()}});
    EXPECT_THAT(module, IsOk());
    auto runner = KernelRunner::Load(std::move(*module));
    EXPECT_THAT(runner, IsOk());
    const TensorValue first{.dtype = type, .shape = {size}, .floats = x};
    const TensorValue second{.dtype = type, .shape = {size}, .floats = y.empty() ? x : y};
    auto result = runner->Run(w.program(), {first, second});
    EXPECT_THAT(result, IsOk());
    return (*result)[0].floats;
  }

  // Finite floats of random bits, no denormals: the caller of kernels has them flushed.
  double RandomFloat() { return RandomOf<float, uint32_t>(); }
  double RandomOf(DType type) {
    return type == DType::kF32 ? RandomFloat() : RandomOf<double, uint64_t>();
  }
  template <typename T, typename Bits>
  double RandomOf() {
    while (true) {
      const auto bits = static_cast<Bits>(rng_.Next());
      T value;
      std::memcpy(&value, &bits, sizeof(value));
      if (std::isnormal(value)) return static_cast<double>(value);
    }
  }
  double Round(double value, DType type) {
    return type == DType::kF32 ? static_cast<double>(static_cast<float>(value)) : value;
  }
  std::vector<double> Samples(DType type, double low, double high) {
    std::vector<double> x;
    for (int i = 0; i < (type == DType::kF32 ? kSamples / 2 : kSamples / 8); ++i) {
      x.push_back(RandomOf(type));
      x.push_back(Round(low + (high - low) * rng_.Uniform(), type));
    }
    return x;
  }

  void ExpectAccurate(ExprKind kind, DType type, Wide (*want)(Wide), double low, double high,
                      double ulps) {
    std::vector<double> x = Samples(type, low, high);
    // Next to multiples of pi/2, where angles lose the most digits; the double that is nearest to
    // one (Muller, "Elementary Functions", 2016, table 11.1).
    for (double k = 1; k < 0x1p100; k *= 1.37) x.push_back(Round(std::floor(k) * M_PI_2, type));
    if (type == DType::kF64) x.push_back(0x1.6ac5b262ca1ffp849);
    const std::vector<double> got = Run(kind, type, x);
    const double least_normal = type == DType::kF32 ? 0x1p-126 : 0x1p-1022;
    double worst = 0, worst_x = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const Wide exact = want(x[i]);
      // The caller of kernels has denormals flushed: terms of this size may be lost.
      if (std::abs(got[i] - exact) <= least_normal) continue;
      const double error = Ulps(got[i], Limited(exact, type), type == DType::kF32 ? 24 : 53);
      if (error > worst) {
        worst = error;
        worst_x = x[i];
      }
    }
    RecordProperty("worst_ulps", std::to_string(worst));
    std::printf("kind %d %s: %.2f ulp at %.9g\n", static_cast<int>(kind),
                std::string(DTypeName(type)).c_str(), worst, worst_x);
    EXPECT_LE(worst, ulps) << "at " << worst_x;
  }

  void ExpectEdges(ExprKind kind, DType type, const std::vector<double>& x,
                   const std::vector<double>& want) {
    const std::vector<double> got = Run(kind, type, x);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(Ulps(got[i], want[i], 53), 0) << "f(" << x[i] << ") = " << got[i];
      if (!std::isnan(want[i])) {
        EXPECT_EQ(std::signbit(got[i]), std::signbit(want[i])) << "f(" << x[i] << ")";
      }
    }
  }

  // LLVM's backend has a function of its own for the sum. In C the sum is what it is, which the
  // contract allows.
  bool FusesOnePlusErf() const { return GetParam().make != &MakeTextBackend; }

  Rng rng_{7};
};

// Without fused multiply-add each step of a polynomial rounds twice.
double SingleUlps(const Isa& isa) { return isa.name == "sse42" ? 3 : 2; }

TEST_P(MathFunctionsTest, SinglePrecisionIsAccurate) {
  const double ulps = SingleUlps(GetParam());
  ExpectAccurate(ExprKind::kExp, DType::kF32, std::exp, -90, 90, ulps);
  ExpectAccurate(ExprKind::kLog, DType::kF32, std::log, 0, 4, ulps);
  // A quotient of two sums, each rounded.
  ExpectAccurate(ExprKind::kTanh, DType::kF32, std::tanh, -10, 10, ulps + 0.2);
  ExpectAccurate(ExprKind::kErf, DType::kF32, std::erf, -4.5, 4.5, ulps);
  ExpectAccurate(ExprKind::kSin, DType::kF32, std::sin, -100, 100, 1);
  ExpectAccurate(ExprKind::kCos, DType::kF32, std::cos, -100, 100, 1);
}

// 1 + erf(x), which GELU needs, as one function: erfc(-x).
TEST_P(MathFunctionsTest, OnePlusErfDoesNotCancel) {
  if (!FusesOnePlusErf()) GTEST_SKIP() << "computes the sum that it is";
  const auto one_plus_erf = [](const Expr& x, const Expr&) {
    return Float(1) + Unary(ExprKind::kErf, x);
  };
  const std::vector<double> x = Samples(DType::kF32, -6, 6);
  const std::vector<double> got = Run(one_plus_erf, DType::kF32, x);
  double worst = 0, worst_share = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = static_cast<double>(std::erfc(static_cast<long double>(-x[i])));
    const double error = std::abs(got[i] - want);
    worst = std::max(worst, error);
    if (want > 1e-7) worst_share = std::max(worst_share, error / want);
    EXPECT_LE(error, GetParam().name == "sse42" ? 2.5e-7 : 1.5e-7) << "at " << x[i];
    EXPECT_LE(error, std::max(0.03 * want, 1e-8)) << "at " << x[i];
  }
  std::printf("1 + erf: error %.3g, of values over 1e-7 %.3g of them\n", worst, worst_share);
  const std::vector<double> edges = {0, -0.0, kInfinity, -kInfinity, 1e30, -1e30, -14, kNan};
  const std::vector<double> at_edges = Run(one_plus_erf, DType::kF32, edges);
  EXPECT_THAT(at_edges, ElementsAre(1, 1, 2, 0, 2, 0, 0, IsNan()));
}

TEST_P(MathFunctionsTest, DoublePrecisionIsAccurate) {
  ExpectAccurate(ExprKind::kExp, DType::kF64, std::exp, -700, 700, 4);
  ExpectAccurate(ExprKind::kLog, DType::kF64, std::log, 0, 4, 4);
  ExpectAccurate(ExprKind::kTanh, DType::kF64, std::tanh, -20, 20, 4);
  ExpectAccurate(ExprKind::kErf, DType::kF64, std::erf, -6, 6, 2);
  ExpectAccurate(ExprKind::kSin, DType::kF64, std::sin, -1e7, 1e7, 1);
  ExpectAccurate(ExprKind::kCos, DType::kF64, std::cos, -1e7, 1e7, 1);
}

// As GELU has it: of x * sqrt(1/2), unrounded, down to where the result is the least normal number.
TEST_P(MathFunctionsTest, OnePlusErfOfDoublesIsAccurate) {
  if (!FusesOnePlusErf()) GTEST_SKIP() << "computes the sum that it is";
  for (const bool scaled : {false, true}) {
    const auto one_plus_erf = [&](const Expr& x, const Expr&) {
      const Expr z = scaled ? x * Float(M_SQRT1_2, DType::kF64) : x;
      return Float(1, DType::kF64) + Unary(ExprKind::kErf, z);
    };
    std::vector<double> x = Samples(DType::kF64, scaled ? -37 : -26, 8);
    const std::vector<double> got = Run(one_plus_erf, DType::kF64, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const Wide want = std::erfc(-(scaled ? x[i] * std::sqrt(Wide{0.5}) : Wide{x[i]}));
      if (want < 0x1p-1021L && got[i] < 0x1p-1021) continue;
      worst = std::max(worst, Ulps(got[i], want, 53));
    }
    EXPECT_LE(worst, 4.0);
    const std::vector<double> edges = {0, -0.0, kInfinity, -kInfinity, 1e300, -1e300, kNan};
    EXPECT_THAT(Run(one_plus_erf, DType::kF64, edges), ElementsAre(1, 1, 2, 0, 2, 0, IsNan()));
  }
}

TEST_P(MathFunctionsTest, EdgesAreThoseOfC) {
  for (const DType type : {DType::kF32, DType::kF64}) {
    SCOPED_TRACE(testing::Message() << DTypeName(type));
    ExpectEdges(ExprKind::kExp, type, {0, -0.0, kInfinity, -kInfinity, kNan, 1e6, -1e6},
                {1, 1, kInfinity, 0, kNan, kInfinity, 0});
    ExpectEdges(ExprKind::kLog, type, {1, 0, -0.0, -1, kInfinity, -kInfinity, kNan},
                {0, -kInfinity, -kInfinity, kNan, kInfinity, kNan, kNan});
    ExpectEdges(ExprKind::kTanh, type, {0, -0.0, kInfinity, -kInfinity, kNan, 50, -50},
                {0, -0.0, 1, -1, kNan, 1, -1});
  }
  for (const DType type : {DType::kF32, DType::kF64}) {
    SCOPED_TRACE(testing::Message() << DTypeName(type));
    ExpectEdges(ExprKind::kErf, type, {0, -0.0, kInfinity, -kInfinity, kNan, 7, -7},
                {0, -0.0, 1, -1, kNan, 1, -1});
    ExpectEdges(ExprKind::kSin, type, {0, -0.0, kInfinity, -kInfinity, kNan},
                {0, -0.0, kNan, kNan, kNan});
    ExpectEdges(ExprKind::kCos, type, {0, -0.0, kInfinity, -kInfinity, kNan},
                {1, 1, kNan, kNan, kNan});
  }
}

TEST_P(MathFunctionsTest, PowerIsAccurate) {
  for (const DType type : {DType::kF32, DType::kF64}) {
    SCOPED_TRACE(testing::Message() << DTypeName(type));
    const Wide least_normal = type == DType::kF32 ? 0x1p-126 : 0x1p-1022;
    std::vector<double> x, y;
    for (int i = 0; i < (type == DType::kF32 ? kSamples : kSamples / 4); ++i) {
      x.push_back(i % 3 == 0 ? RandomOf(type) : Round(std::exp(4 * rng_.Normal()), type));
      y.push_back(i % 2 == 0 ? static_cast<double>(rng_.Between(-9, 9))
                             : Round(20 * rng_.Normal(), type));
    }
    // Near 1, where an exponent multiplies what the logarithm loses.
    for (int i = 0; i < kSamples / 8 && type == DType::kF64; ++i) {
      x.push_back(1 + 1e-3 * rng_.Normal());
      y.push_back(1e5 * rng_.Normal());
    }
    const std::vector<double> got = Run(ExprKind::kPow, type, x, y);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const Wide exact = std::pow(Wide{x[i]}, Wide{y[i]});
      if (std::abs(exact) < least_normal && got[i] == 0) continue;
      const double error = Ulps(got[i], Limited(exact, type), type == DType::kF32 ? 24 : 53);
      EXPECT_LE(error, 1) << "pow(" << x[i] << ", " << y[i] << ")";
      worst = std::max(worst, error);
    }
    RecordProperty("worst_ulps", std::to_string(worst));
  }
}

// Casts of powers to integers cut off: what is a whole number must not come out below.
TEST_P(MathFunctionsTest, PowersThatAreDoublesAreExact) {
  std::vector<double> x, y, want;
  for (int base = -300; base <= 300; ++base) {
    double power = 1;
    for (int exponent = 0; std::abs(power) < 0x1p53 && exponent < 40; ++exponent, power *= base) {
      x.push_back(base);
      y.push_back(exponent);
      want.push_back(power);
    }
  }
  const std::vector<double> got = Run(ExprKind::kPow, DType::kF64, x, y);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i], want[i]) << x[i] << "^" << y[i];
}

// Every pair of edges, against C's own list of special cases.
TEST_P(MathFunctionsTest, PowerAndRemainderAtTheEdges) {
  const std::vector<double> edges = {0,    -0.0, 1,  -1,       kInfinity,  -kInfinity, kNan, 2,
                                     -2,   3,    -3, 0.5,      -0.5,       2.5,        1e9,  -1e9,
                                     1e30, 7,    -7, 0x1p-126, 16777215.0, 33554432.0};
  std::vector<double> x, y;
  for (double a : edges) {
    for (double b : edges) {
      x.push_back(Round(a, DType::kF32));
      y.push_back(Round(b, DType::kF32));
    }
  }
  for (const DType type : {DType::kF32, DType::kF64}) {
    const std::vector<double> power = Run(ExprKind::kPow, type, x, y);
    const std::vector<double> rest = Run(ExprKind::kMod, type, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      SCOPED_TRACE(testing::Message() << DTypeName(type) << " (" << x[i] << ", " << y[i] << ")");
      Wide want = Limited(std::pow(Wide{x[i]}, Wide{y[i]}), type);
      if (std::abs(want) < (type == DType::kF32 ? 0x1p-126 : 0x1p-1022)) {
        want = std::copysign(Wide{0}, want);
      }
      const double got = power[i];
      EXPECT_LE(Ulps(got, want, type == DType::kF32 ? 24 : 53), 1) << got << " want " << want;
      if (!std::isnan(want)) {
        EXPECT_EQ(std::signbit(got), std::signbit(want));
      }
      EXPECT_EQ(Ulps(rest[i], std::fmod(x[i], y[i]), 24), 0) << rest[i];
    }
  }
}

TEST_P(MathFunctionsTest, RemainderIsExact) {
  for (const DType type : {DType::kF32, DType::kF64}) {
    std::vector<double> x, y;
    for (int i = 0; i < 20000; ++i) {
      x.push_back(RandomFloat());
      y.push_back(RandomFloat());
    }
    const std::vector<double> got = Run(ExprKind::kMod, type, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = std::fmod(x[i], y[i]);
      if (type == DType::kF32 && std::abs(want) < 0x1p-126) continue;  // Flushed.
      EXPECT_EQ(got[i], want) << x[i] << " % " << y[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, MathFunctionsTest, ::testing::ValuesIn(Isas()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace burnish
