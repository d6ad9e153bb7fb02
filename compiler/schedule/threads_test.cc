// Kernels for a GPU, by hand-written traces: each file of testdata/threads holds a definition, a
// trace and what it lowers to. One serial pass over the lowered program is a valid execution of all
// threads, so the interpreter judges it; barriers are judged by leaving each out.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/golden.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/verify_launches.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/test_device_models.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr char kFolder[] = "compiler/schedule/testdata/threads";

struct Kernel {
  std::string path;
  std::vector<std::string> parts;  // The definition, the trace, what it lowers to.
  Program defined, lowered;
};

Kernel Read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  Kernel kernel{.path = path, .parts = absl::StrSplit(text.str(), "----\n")};
  EXPECT_EQ(kernel.parts.size(), 3u) << path;
  auto defined = ParseProgram(kernel.parts.at(0));
  const auto trace = ParseTrace(kernel.parts.at(1));
  EXPECT_THAT(defined, IsOk()) << path;
  EXPECT_THAT(trace, IsOk()) << path;
  const auto scheduled = ApplyTrace(*trace, *defined);
  EXPECT_THAT(scheduled, IsOk()) << path;
  auto lowered = Lower(*scheduled);
  EXPECT_THAT(lowered, IsOk()) << path;
  kernel.defined = *std::move(defined);
  kernel.lowered = *std::move(lowered);
  return kernel;
}

std::vector<Kernel> Kernels() {
  std::vector<Kernel> kernels;
  for (const auto& file : std::filesystem::directory_iterator(kFolder)) {
    kernels.push_back(Read(file.path().string()));
  }
  EXPECT_GE(kernels.size(), 5u);
  return kernels;
}

std::vector<TensorValue> RandomArguments(const Program& program) {
  Rng rng(7);
  std::vector<TensorValue> arguments;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role != BufferRole::kInput) continue;
    TensorValue value{.dtype = buffer.dtype, .shape = buffer.shape};
    // Exact in every type, and so are sums of their products.
    for (int64_t i = 0; i < ElementCount(buffer.shape); ++i) {
      value.floats.push_back(static_cast<double>(rng.Between(-8, 8)) / 4);
    }
    arguments.push_back(std::move(value));
  }
  return arguments;
}

int BarrierCount(const Program& program) {
  return static_cast<int>(
      std::count_if(program.nodes.begin(), program.nodes.end(),
                    [](const Node& node) { return node.kind == NodeKind::kBarrier; }));
}

// The program with the barrier of this number left out.
Program WithoutBarrier(Program program, int number) {
  for (size_t id = 0; id < program.nodes.size(); ++id) {
    if (program.nodes[id].kind != NodeKind::kBarrier || number-- > 0) continue;
    Detach(program, static_cast<NodeId>(id));
    break;
  }
  Prune(program);
  return program;
}

TEST(ThreadsTest, TracesLowerToTheseKernels) {
  for (const Kernel& kernel : Kernels()) {
    EXPECT_TRUE(MatchesGolden(kernel.path, absl::StrCat(kernel.parts[0], "----\n", kernel.parts[1],
                                                        "----\n", Print(kernel.lowered))));
  }
}

TEST(ThreadsTest, KernelsComputeWhatTheirProgramsDo) {
  for (const Kernel& kernel : Kernels()) {
    EXPECT_THAT(Verify(kernel.lowered), IsOk()) << kernel.path;
    EXPECT_THAT(VerifyLaunches(kernel.lowered, GpuLikeDevice()), IsOk()) << kernel.path;
    const std::vector<TensorValue> arguments = RandomArguments(kernel.defined);
    ASSERT_OK_AND_ASSIGN(const auto want, Interpret(kernel.defined, arguments));
    ASSERT_OK_AND_ASSIGN(const auto got, Interpret(kernel.lowered, arguments));
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want[0].floats.size(); ++i) {
      ASSERT_NEAR(got[0].floats[i], want[0].floats[i], 1e-12) << kernel.path << " " << i;
    }
  }
}

TEST(ThreadsTest, NoBarrierCanBeLeftOut) {
  int barriers = 0;
  for (const Kernel& kernel : Kernels()) {
    const int count = BarrierCount(kernel.lowered);
    for (int i = 0; i < count; ++i) {
      EXPECT_THAT(Verify(WithoutBarrier(kernel.lowered, i)),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           ::testing::HasSubstr("no barrier between loops over threads")))
          << kernel.path << " " << i;
    }
    barriers += count;
  }
  EXPECT_GE(barriers, 10);
}

// ---- Random kernels.

// A product of random sizes in random tiles, by the verbs that a rule would use; sizes do not
// divide each other, copies have any number of threads, sums lie in registers or in shared memory.
std::string RandomProductTrace(Rng& rng) {
  const auto any = [&](std::initializer_list<int> values) {
    return *(values.begin() + rng.Between(0, static_cast<int64_t>(values.size()) - 1));
  };
  const int rows = any({1, 2, 3}), row_threads = any({1, 2, 4}), columns = any({1, 2}),
            column_threads = any({2, 3, 4, 8}), depth = any({2, 3, 4, 8});
  std::string trace = absl::StrCat("split@1 Y.m->(mt,m1) size=", rows * row_threads,
                                   " tail=guard\n", "split@1 m1->(mw,mi) size=", rows, "\n",
                                   "split@1 Y.n->(nt,n1) size=", columns * column_threads,
                                   " tail=guard\n", "split@1 n1->(nv,nl) size=", column_threads,
                                   "\nsplit@1 Y.k->(ko,ki) size=", depth, " tail=guard\n",
                                   "reorder@1 (mt,nt,ko,mw,nl,ki,mi,nv)\n");
  std::string binds;
  for (const char* operand : {"A", "B"}) {
    if (rng.Between(0, 4) == 0) continue;
    const std::string c = operand[0] == 'A' ? "a" : "b";
    absl::StrAppend(&trace, "relayout@1 ", operand, "->", operand,
                    "s dims=", c == "a" ? "(mt,ko,ki,m1)" : "(nt,ko,ki,n1)", "\n", "compute_at@1 ",
                    operand, "s->(", c, "0,", c, "1,", c, "2,", c, "3) inside=ko\n");
    const bool fused = rng.Between(0, 1) == 0;
    const std::string loop = fused ? c + "f" : c + "3";
    if (fused) absl::StrAppend(&trace, "fuse@1 (", c, "2,", c, "3)->", loop, "\n");
    absl::StrAppend(&trace, "split@1 ", loop, "->(", c, "r,", c, "t) size=", any({2, 4, 6}),
                    " tail=guard\n");
    absl::StrAppend(&binds, "bind@1 ", c, "t thread=thread.", rng.Between(0, 1) == 0 ? "x" : "y",
                    "\n");
  }
  absl::StrAppend(&trace,
                  "stage@1 Y->acc inside=nt scope=", rng.Between(0, 2) == 0 ? "shared" : "register",
                  "\n", binds, "bind@1 mt thread=block.y\nbind@1 nt thread=block.x\n");
  if (rng.Between(0, 5) > 0) absl::StrAppend(&trace, "bind@1 mw thread=thread.y\n");
  return absl::StrCat(trace, "bind@1 nl thread=thread.x\nunroll@1 mi\nunroll@1 nv\n",
                      rng.Between(0, 1) == 0 ? "unroll@1 mw\n" : "");
}

std::string RandomProduct(Rng& rng) {
  const int64_t m = rng.Between(1, 13), n = rng.Between(1, 17), k = rng.Between(1, 11);
  return absl::StrCat("program/1 p\ninput A: f32[", m, ", ", k, "]\ninput B: f32[", k, ", ", n,
                      "]\noutput Y: f32[", m, ", ", n, "]\nblock Y(m in ", m, ", n in ", n,
                      "; k in ", k, ") { step Y[m, n] += A[m, k] * B[k, n] }\n");
}

TEST(ThreadsTest, RandomKernelsAreRightAndNeedEachBarrier) {
  Rng rng(45);
  int accepted = 0, barriers = 0;
  for (int round = 0; round < 400; ++round) {
    ASSERT_OK_AND_ASSIGN(const Program defined, ParseProgram(RandomProduct(rng)));
    const std::string text = RandomProductTrace(rng);
    const auto trace = ParseTrace(text);
    ASSERT_THAT(trace, IsOk()) << text;
    const auto scheduled = ApplyTrace(*trace, defined);
    if (!scheduled.ok()) continue;
    const auto lowered = Lower(*scheduled);
    if (!lowered.ok()) continue;
    ++accepted;
    const std::string shown = absl::StrCat(text, Print(*lowered));
    ASSERT_THAT(Verify(*lowered), IsOk()) << shown;
    const std::vector<TensorValue> arguments = RandomArguments(defined);
    ASSERT_OK_AND_ASSIGN(const auto want, Interpret(defined, arguments));
    const auto got = Interpret(*lowered, arguments);
    ASSERT_THAT(got, IsOk()) << shown;
    ASSERT_EQ((*got)[0].floats, want[0].floats) << shown;
    for (int i = 0; i < BarrierCount(*lowered); ++i, ++barriers) {
      ASSERT_FALSE(Verify(WithoutBarrier(*lowered, i)).ok()) << "barrier " << i << "\n" << shown;
    }
  }
  EXPECT_GE(accepted, 100);
  EXPECT_GE(barriers, 200);
}

}  // namespace
}  // namespace burnish
