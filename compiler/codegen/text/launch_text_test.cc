// Launches as text: what is printed, and that it computes what the interpreter computes on every
// device that this machine has or can emulate.
#include "compiler/codegen/text/launch_text.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/codegen/test_programs.h"
#include "compiler/codegen/text/emulator.h"
#include "compiler/codegen/text/launch_runner.h"
#include "compiler/codegen/text/opencl_device.h"
#include "compiler/ir/expr.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward, ThreadOrder::kBackward,
                                   ThreadOrder::kShuffled};

// The lowered programs of compiler/schedule/testdata/threads.
struct Kernel {
  std::string name;
  Program program;
};

std::vector<Kernel> Kernels() {
  std::vector<Kernel> kernels;
  for (const auto& file :
       std::filesystem::directory_iterator("compiler/schedule/testdata/threads")) {
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::vector<std::string> parts = absl::StrSplit(text.str(), "----\n");
    const auto program = ParseProgram(parts.at(2));
    EXPECT_THAT(program, IsOk()) << file.path();
    kernels.push_back({file.path().stem().string(), *program});
  }
  EXPECT_GE(kernels.size(), 5u);
  return kernels;
}

std::vector<TensorValue> RandomArguments(const Program& program) {
  Rng rng(3);
  std::vector<TensorValue> arguments;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role != BufferRole::kInput) continue;
    TensorValue value{.dtype = buffer.dtype, .shape = buffer.shape};
    for (int64_t i = 0; i < ElementCount(buffer.shape); ++i) {
      value.floats.push_back(static_cast<double>(rng.Between(-8, 8)) / 4);
    }
    arguments.push_back(std::move(value));
  }
  return arguments;
}

// The greatest difference to the interpreter; infinity for a NaN.
double ErrorOn(LaunchDevice& device, const Program& program, const LaunchText& text) {
  const std::vector<TensorValue> arguments = RandomArguments(program);
  const auto want = Interpret(program, arguments);
  const auto got = RunLaunches(program, text, arguments, device);
  EXPECT_THAT(want, IsOk());
  EXPECT_THAT(got, IsOk());
  if (!want.ok() || !got.ok()) return HUGE_VAL;
  double error = 0;
  for (size_t i = 0; i < (*want)[0].floats.size(); ++i) {
    const double difference = std::abs((*got)[0].floats[i] - (*want)[0].floats[i]);
    error = std::isnan(difference) ? HUGE_VAL : std::max(error, difference);
  }
  return error;
}

TEST(LaunchTextTest, BoundLoopsAreThreads) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 rows
lowered
input X: f32[2, 8]
output Y: f32[2, 8]
temp s: f32[8] shared
temp m: f32[1] shared
temp w: f32[8, 2] register
var b in 2
var t in 8
var u in 4
var i in 2
kernel {
  bind(block.x) b in 2 {
    m[0] = 2.0
    bind(thread.x) t in 8 { unroll i in 2 { w[t, i] = X[b, t] } }
    bind(thread.x) u in 4 { s[u] = X[b, 7 - u] }
    barrier
    bind(thread.x) t in 8 { Y[b, t] = w[t, 0] + w[t, 1] * m[0] + s[t % 4] }
  }
}
)"));
  ASSERT_OK_AND_ASSIGN(const LaunchText text,
                       PrintLaunches({.program = &program}, TextDialect::kOpenCl));
  EXPECT_EQ(text.text.substr(text.text.find("// A launch")),
            R"(// A launch of "rows": 2 x 1 x 1 blocks of 8 x 1 x 1 threads.
KERNEL(burnish_kernel_0_launch_0, 8, 1, 1)(GLOBAL const f32* v_X, GLOBAL f32* v_Y, GLOBAL i32* flag PLACES) {
  SHARED(f32, v_s, 8, 0);
  SHARED(f32, v_m, 1, 64);
  f32 v_w[2];
  i32 error = 0;
  {
    const i64 v_b = BLOCK_X;
    if (THREAD_X == 0) {
      v_m[0] = 2.0f;
    }
    {
      const i64 v_t = THREAD_X;
      UNROLL
      for (i64 v_i = 0; v_i < 2; ++v_i) {  // unroll
        v_w[v_i] = v_X[v_b * 8 + v_t];
      }
    }
    {
      const i64 v_u = THREAD_X;
      if (v_u < 4) {
        v_s[v_u] = v_X[v_b * 8 + v_u * -1 + 7];
      }
    }
    BARRIER;
    {
      const i64 v_t = THREAD_X;
      v_Y[v_b * 8 + v_t] = v_w[0] + v_w[1] * v_m[0] + v_s[v_t % 4];
    }
  }
  if (error != 0) *flag = error;
}
)");
}

TEST(LaunchTextTest, KernelsAreRightInEveryOrderOfThreads) {
  for (const Kernel& kernel : Kernels()) {
    ASSERT_OK_AND_ASSIGN(const LaunchText text,
                         PrintLaunches({.program = &kernel.program}, TextDialect::kEmulated));
    for (const ThreadOrder order : kOrders) {
      ASSERT_OK_AND_ASSIGN(const auto device, MakeEmulator(text, order));
      EXPECT_LE(ErrorOn(*device, kernel.program, text), 1e-5) << kernel.name;
    }
  }
}

// The verifier says that none can be left out: here it shows. But for tiles: only where threads do
// an instruction together do they need a barrier around, and this text has one do it.
TEST(LaunchTextTest, MissingBarrierShowsInSomeOrder) {
  for (const Kernel& kernel : Kernels()) {
    if (kernel.name == "tiles") continue;
    for (size_t id = 0; id < kernel.program.nodes.size(); ++id) {
      if (kernel.program.nodes[id].kind != NodeKind::kBarrier) continue;
      Program without = kernel.program;
      Detach(without, static_cast<NodeId>(id));
      ASSERT_OK_AND_ASSIGN(const LaunchText text,
                           PrintLaunches({.program = &without}, TextDialect::kEmulated));
      double error = 0;
      for (const ThreadOrder order : kOrders) {
        ASSERT_OK_AND_ASSIGN(const auto device, MakeEmulator(text, order));
        error = std::max(error, ErrorOn(*device, without, text));
      }
      EXPECT_GT(error, 1e-3) << kernel.name << ", barrier at node " << id;
    }
  }
}

// A thread that ends early would hang the others of its block.
TEST(LaunchTextTest, BarrierThatSomeThreadsMissFails) {
  LaunchText text = {.text = R"(
typedef struct { long long places[6]; void* shared; void (*barrier)(const void*); } Emulation;
void f_call(void* const* buffers, const Emulation* here) {
  if (here->places[3] > 0) here->barrier(here);
}
)"};
  Launch launch;
  launch.extents[3] = 4;
  text.kernel.push_back({.symbol = "f", .launch = launch});
  ASSERT_OK_AND_ASSIGN(const auto device, MakeEmulator(text, ThreadOrder::kForward));
  EXPECT_THAT(device->Run(text.kernel[0], {}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("1 of 4 threads ended")));
}

TEST(LaunchTextTest, MemoryThatThreadsWouldShareUnseenIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 p
lowered
output Y: f32[8]
output Z: f32[8]
var t in 8
kernel { bind(thread.x) t in 8 { Y[t] = 1.0 Z[t] = Y[7 - t] } }
)"));
  EXPECT_THAT(PrintLaunches({.program = &program}, TextDialect::kCuda),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("burnish_kernel_0: threads of one launch would see each other's "
                                 "elements of Y")));
}

TEST(LaunchTextTest, OpenClComputesTheSame) {
  if (const absl::Status found = FindOpenCl(); !found.ok()) GTEST_SKIP() << found.message();
  for (const Kernel& kernel : Kernels()) {
    ASSERT_OK_AND_ASSIGN(const LaunchText text,
                         PrintLaunches({.program = &kernel.program}, TextDialect::kOpenCl));
    ASSERT_OK_AND_ASSIGN(const auto device, MakeOpenClDevice(text));
    EXPECT_LE(ErrorOn(*device, kernel.program, text), 1e-5) << kernel.name;
  }
}

// Of one type a launch of one thread; a whole suite would take a minute and more of the driver.
TEST(LaunchTextTest, OpenClHasEveryFunction) {
  if (const absl::Status found = FindOpenCl(); !found.ok()) GTEST_SKIP() << found.message();
  const TensorValue x = {.dtype = DType::kF64, .shape = {6}, .floats = {0.25, 1, 2.5, 7, 30, 1e6}};
  ProgramWriter w("functions");
  const BufferId in = w.Add("X", {6}, BufferRole::kInput, DType::kF64);
  w.Loop(LoopKind::kSerial, 6, [&](Expr i) {
    const Expr p = w.At(in, {i});
    const auto store = [&](const Expr& value) {
      const std::string name = absl::StrCat("out", w.program().buffers.size());
      w.Store(w.Add(name, {6}, BufferRole::kOutput, value->dtype), {i}, value);
    };
    for (const ExprKind kind :
         {ExprKind::kExp, ExprKind::kLog, ExprKind::kTanh, ExprKind::kErf, ExprKind::kSin,
          ExprKind::kCos, ExprKind::kSqrt, ExprKind::kFloor}) {
      store(Unary(kind, p));
      store(Unary(kind, Cast(DType::kF32, p)));
    }
    store(Binary(ExprKind::kPow, p, Float(0.5, DType::kF64)));
    store(Binary(ExprKind::kMod, p, Float(0.7, DType::kF64)));
    for (const DType type : {DType::kF16, DType::kBf16, DType::kI64, DType::kU8}) {
      store(Cast(type, p));
    }
  });
  ASSERT_OK_AND_ASSIGN(const LaunchText text,
                       PrintLaunches({.program = &w.program()}, TextDialect::kOpenCl));
  ASSERT_OK_AND_ASSIGN(const auto device, MakeOpenClDevice(text));
  ASSERT_OK_AND_ASSIGN(const auto want, Interpret(w.program(), {x}));
  ASSERT_OK_AND_ASSIGN(const auto got, RunLaunches(w.program(), text, {x}, *device));
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ(got[k].integers, want[k].integers);
    // The interpreter computes in f64 what a kernel rounds to its type.
    const double relative = want[k].dtype == DType::kF64 ? 1e-14 : 1e-6;
    for (size_t i = 0; i < want[k].floats.size(); ++i) {
      if (got[k].floats[i] == want[k].floats[i]) continue;  // Infinity, too.
      EXPECT_NEAR(got[k].floats[i], want[k].floats[i],
                  relative * std::abs(want[k].floats[i]) + 1e-300)
          << "result " << k << " of " << x.floats[i];
    }
  }
}

}  // namespace
}  // namespace burnish
