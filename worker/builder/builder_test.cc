// The builder program as its clients see it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/cpu_info.h"
#include "base/sha256.h"
#include "base/status_matchers.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/ir/printer.h"
#include "compiler/runtime/artifact.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/builder_client.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::VariantWith;

std::string ReadTrace(const std::string& name) {
  std::ifstream file("compiler/schedule/testdata/" + name + ".trace");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

CompileItem Item(const std::string& id, const Program& program, const std::string& trace_name) {
  return {.id = id,
          .workload = Print(program),
          .trace = trace_name.empty() ? "" : ReadTrace(trace_name)};
}

CompileItem Conv() {
  return Item("conv", ConvProgram({.h = 5, .w = 7, .ci = 5, .co = 35}), "conv3x3_s1");
}

CompileRequest Request(std::vector<CompileItem> items) {
  return {.items = std::move(items),
          .target = HostTarget(HostCpuInfo(), 2)->ToText(),
          .codegen_epoch = kCodegenEpoch,
          .time_limit = absl::Minutes(2)};
}

const CompiledKernel& KernelOf(const CompileReply& reply, size_t i = 0) {
  static const CompiledKernel& none = *new CompiledKernel();
  const auto* kernel = std::get_if<CompiledKernel>(&reply.results[i].outcome);
  if (kernel != nullptr) return *kernel;
  ADD_FAILURE() << std::get<Failure>(reply.results[i].outcome).message;
  return none;
}

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string Raw(const Sha256Digest& digest) { return {digest.begin(), digest.end()}; }

TEST(BuilderTest, ArtifactLoadsAndIsNamedByItsHash) {
  BuilderClient client;
  ASSERT_OK_AND_ASSIGN(const CompileReply reply, client.Build(Request({Conv()})));
  const CompiledKernel& kernel = KernelOf(reply);
  EXPECT_EQ(kernel.build.artifact_sha256,
            Raw(Sha256Of(kernel.artifact.data(), kernel.artifact.size())));
  EXPECT_EQ(kernel.build.codegen_epoch, kCodegenEpoch);
  EXPECT_THAT(kernel.build.llvm_version, HasSubstr("19"));
  EXPECT_GT(kernel.build.code_bytes, 0);
  EXPECT_GT(kernel.build.packed_bytes, 35 * 45 * 4);
  EXPECT_GT(kernel.build.build_ns, 0);
  // The trace gave the input a border.
  EXPECT_THAT(kernel.contract, HasSubstr("parameter 0 strides 315,45,5,1 border 0:0,1:1,1:1,0:0"));
  auto sealed = Artifact::Read(BytesOf(kernel.artifact));
  ASSERT_TRUE(sealed.ok()) << sealed.status().message();
  const auto artifact = Artifact::Map(*std::move(sealed), CodeOrigin::kOwn);
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  ASSERT_THAT((*artifact)->manifest().kernels, SizeIs(1));
  EXPECT_TRUE((*artifact)->manifest().kernels[0].pack.has_value());
  EXPECT_NE((*artifact)->pack(0), nullptr);
}

// As the kernel sees it: of the variables of this process it has none that it does not work with.
TEST(BuilderTest, EnvironmentIsNotTheBuilders) {
  setenv("BURNISH_TEST_SECRET", "secret", 1);
  BuilderClient client;
  ASSERT_OK_AND_ASSIGN(const CompileReply reply, client.Build(Request({Conv()})));
  int builder_count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (int pid = 0; children >> pid;) {
      const std::string proc = "/proc/" + std::to_string(pid);
      std::string name;
      std::getline(std::ifstream(proc + "/comm"), name);
      if (name != "builder") continue;
      ++builder_count;
      std::stringstream environment;
      environment << std::ifstream(proc + "/environ").rdbuf();
      EXPECT_THAT(environment.str(), Not(HasSubstr("BURNISH_TEST_SECRET")));
    }
  }
  EXPECT_EQ(builder_count, 1);
  unsetenv("BURNISH_TEST_SECRET");
}

// Input, what packing writes (weights, then the bias as it is), output.
TEST(BuilderTest, BuffersSayWhatEachArgumentIs) {
  BuilderClient client;
  ASSERT_OK_AND_ASSIGN(const CompileReply reply, client.Build(Request({Conv()})));
  const CompiledKernel& kernel = KernelOf(reply);
  constexpr auto kParameter = CallBuffer::Kind::kParameter;
  constexpr auto kPacked = CallBuffer::Kind::kPacked;
  EXPECT_THAT(kernel.buffers, ElementsAre(CallBuffer{kParameter, 0}, CallBuffer{kPacked, 0},
                                          CallBuffer{kPacked, 1}, CallBuffer{kParameter, 3}));
  EXPECT_THAT(kernel.pack_buffers, ElementsAre(CallBuffer{kParameter, 1}, CallBuffer{kParameter, 2},
                                               CallBuffer{kPacked, 0}, CallBuffer{kPacked, 1}));
}

TEST(BuilderTest, TwinsAreEqualByteForByte) {
  BuilderClient client;
  CompileItem twin = Conv();
  twin.id = "twin";
  ASSERT_OK_AND_ASSIGN(const CompileReply reply, client.Build(Request({Conv(), twin})));
  EXPECT_EQ(KernelOf(reply, 0).artifact, KernelOf(reply, 1).artifact);
  EXPECT_EQ(KernelOf(reply, 0).build.lowered_sha256, KernelOf(reply, 1).build.lowered_sha256);
  CompileRequest library = Request({Conv(), twin, Item("fc", DenseProgram(1, 45, 101), "dense")});
  library.output = CompileOutput::kLibrary;
  ASSERT_OK_AND_ASSIGN(const CompileReply together, client.Build(library));
  EXPECT_EQ(KernelOf(together, 0).kernel_index, 0);
  EXPECT_EQ(KernelOf(together, 1).kernel_index, 0);
  EXPECT_EQ(KernelOf(together, 2).kernel_index, 1);
  const auto manifest = ReadArtifactManifest(BytesOf(together.library));
  ASSERT_TRUE(manifest.ok());
  EXPECT_THAT(manifest->kernels, SizeIs(2));
}

TEST(BuilderTest, EveryHandWrittenTraceCompiles) {
  BuilderClient client;
  CompileRequest request = Request(
      {Conv(), Item("fc", DenseProgram(1, 45, 101), "dense"),
       Item("s2", ConvProgram({.h = 9, .w = 7, .ci = 11, .co = 37, .stride = 2}),
            "conv3x3_s2_blocked"),
       Item("1x1",
            ConvProgram({.h = 7, .w = 5, .ci = 13, .co = 67, .k = 1, .pad = 0, .residual = true}),
            "conv1x1_residual"),
       Item("stem",
            ConvProgram({.h = 13, .w = 11, .ci = 3, .co = 40, .k = 7, .stride = 2, .pad = 3}),
            "stem7x7"),
       Item("f4", WinogradProgram({.h = 9, .w = 7, .ci = 5, .co = 19}), "winograd_f4_tiles"),
       Item("f4c", WinogradProgram({.h = 9, .w = 7, .ci = 5, .co = 19}), "winograd_f4_channels")});
  ASSERT_OK_AND_ASSIGN(const CompileReply reply, client.Build(request));
  for (size_t i = 0; i < reply.results.size(); ++i) {
    EXPECT_EQ(reply.results[i].id, request.items[i].id);
    EXPECT_THAT(KernelOf(reply, i).artifact, Not(SizeIs(0))) << request.items[i].id;
  }
  EXPECT_EQ(KernelOf(reply, 5).numerics.kind, NumericsClass::kAlgorithm);
  EXPECT_EQ(KernelOf(reply, 5).numerics.parameter, 4);
  request.output = CompileOutput::kLibrary;
  ASSERT_OK_AND_ASSIGN(const CompileReply together, client.Build(request));
  EXPECT_THAT(together.library, Not(SizeIs(0)));
}

TEST(BuilderTest, BadCandidateIsAFailureAndItsNeighboursAreBuilt) {
  BuilderClient client;
  CompileItem bad = Conv();
  bad.trace = "fuse@1 (no,such)->loop\n";
  const auto fails = [](const char* why) {
    return VariantWith<Failure>(AllOf(Field(&Failure::kind, FailureKind::kBuildError),
                                      Field(&Failure::message, HasSubstr(why))));
  };
  ASSERT_OK_AND_ASSIGN(
      const CompileReply reply,
      client.Build(Request({bad,
                            Conv(),
                            {.workload = "workload/1\nnonsense\n"},
                            {.workload = Conv().workload, .contract = "nonsense"}})));
  EXPECT_THAT(reply.results[0].outcome, fails("trace: step 1"));
  EXPECT_THAT(KernelOf(reply, 1).artifact, Not(SizeIs(0)));
  EXPECT_THAT(reply.results[2].outcome, fails("workload: "));
  EXPECT_THAT(reply.results[3].outcome, fails("contract: "));

  CompileRequest library = Request({bad, Conv()});
  library.output = CompileOutput::kLibrary;
  ASSERT_OK_AND_ASSIGN(const CompileReply together, client.Build(library));
  EXPECT_THAT(together.results[0].outcome, fails("trace: step 1"));
  EXPECT_EQ(together.library, "");
}

TEST(BuilderTest, CandidateThatTakesTooLongOrTooMuchIsAFailure) {
  BuilderClient client;
  CompileRequest hasty = Request({Conv()});
  hasty.time_limit = absl::Nanoseconds(1);
  ASSERT_OK_AND_ASSIGN(const CompileReply late, client.Build(hasty));
  EXPECT_THAT(late.results[0].outcome,
              VariantWith<Failure>(Field(&Failure::kind, FailureKind::kBuildTimeout)));
  CompileRequest poor = Request({Conv()});
  poor.memory_limit_bytes = 1;
  ASSERT_OK_AND_ASSIGN(const CompileReply starved, client.Build(poor));
  EXPECT_THAT(starved.results[0].outcome,
              VariantWith<Failure>(Field(&Failure::kind, FailureKind::kOutOfMemory)));
}

TEST(BuilderTest, OtherEpochsAndUnknownTargetsAreRefused) {
  BuilderClient client;
  CompileRequest request = Request({Conv()});
  request.codegen_epoch = kCodegenEpoch + 1;
  EXPECT_THAT(client.Build(request),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("epoch")));
  request = Request({Conv()});
  request.target = "cpu:arch=abacus";
  EXPECT_THAT(client.Build(request), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(client.Build(Request({})), StatusIs(absl::StatusCode::kInvalidArgument));
  // It is still there.
  EXPECT_THAT(client.Build(Request({Conv()})), IsOk());
}

TEST(BuilderTest, BuilderThatEndedIsStartedAgain) {
  BuilderClient client;
  EXPECT_THAT(client.Build(Request({Conv()})), IsOk());
  client.Cancel();  // Nothing is being built: kills the builder.
  EXPECT_THAT(client.Build(Request({Conv()})), IsOk());
}

TEST(BuilderTest, ProgramThatIsNoBuilderIsUnavailable) {
  BuilderClient client({.program = "/bin/false"});
  EXPECT_THAT(client.Build(Request({Conv()})), StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace burnish
