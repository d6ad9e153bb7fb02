#include "compiler/runtime/artifact.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/sandbox.h"
#include "compiler/runtime/test_bundle.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/runtime/time_kernel.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(ArtifactTest, ReadsBackWhatWasWritten) {
  auto manifest = ReadArtifactManifest(AsBytes(TestArtifact()));
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(*manifest, TestArtifactManifest());
  EXPECT_EQ(TestArtifact(), TestArtifact());
}

TEST(ArtifactTest, LoadedKernelsRun) {
  auto artifact = LoadArtifact(AsBytes(TestArtifact()));
  ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  auto pool = ThreadPool::Create({.thread_count = 2});
  ASSERT_TRUE(pool.ok());
  std::vector<float> x(kTestCount, 2.0f), y(kTestCount, 3.0f), z(kTestCount);
  void* buffers[] = {x.data(), y.data(), z.data()};
  BurnishKernelContext context = {};
  context.buffer_count = 3;
  context.buffers = buffers;
  ASSERT_TRUE(RunKernelOnce(**pool, (*artifact)->kernel(kAddKernel), context).ok());
  EXPECT_EQ(z, std::vector<float>(kTestCount, 5.0f));
}

TEST(ArtifactTest, PackFunctionIsFoundWhereTheManifestNamesOne) {
  auto artifact = LoadArtifact(AsBytes(TestArtifact()));
  ASSERT_TRUE(artifact.ok());
  EXPECT_EQ((*artifact)->pack(kAddKernel), nullptr);
  auto pool = ThreadPool::Create({.thread_count = 1});
  ASSERT_TRUE(pool.ok());
  std::vector<float> weights = TestWeights(), packed(kTestCount);
  void* buffers[] = {weights.data(), packed.data()};
  BurnishKernelContext context = {};
  context.buffer_count = 2;
  context.buffers = buffers;
  ASSERT_TRUE(RunKernelOnce(**pool, (*artifact)->pack(kScaleKernel), context).ok());
  EXPECT_EQ(packed, std::vector<float>(weights.rbegin(), weights.rend()));
}

TEST(ArtifactTest, TwoLoadsAtOnceAndAgainAreDifferentObjects) {
  auto first = LoadArtifact(AsBytes(TestArtifact()));
  auto second = LoadArtifact(AsBytes(TestArtifact()));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE((*first)->kernel(0), (*second)->kernel(0));
  for (int round = 0; round < 100; ++round) {
    first->reset();
    first = LoadArtifact(AsBytes(TestArtifact()));
    ASSERT_TRUE(first.ok());
    EXPECT_NE((*first)->kernel(0), (*second)->kernel(0));
  }
}

// How a process ends that reads a candidate, may enter the sandbox, and maps it: 0, it runs; else
// the code of the refusal.
int EndOfCandidate(bool enters) {
  const pid_t pid = fork();
  if (pid == 0) {
    auto sealed = Artifact::Read(AsBytes(TestArtifact()));
    if (!sealed.ok()) _exit(100);
    if (enters) EnterSandbox({.profile = SandboxOptions::Profile::kRun});
    const auto artifact = Artifact::Map(*std::move(sealed), CodeOrigin::kCandidate);
    if (!artifact.ok()) _exit(static_cast<int>(artifact.status().code()));
    float x = 4, z[3] = {};
    void* buffers[] = {&x, z};
    BurnishKernelContext context = {};
    context.buffers = buffers;
    (*artifact)->kernel(kHalveKernel)(&context, 0, 1);
    _exit(z[0] == 2 ? 0 : 101);
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(ArtifactTest, CandidateBecomesCodeInTheSandboxAlone) {
  EXPECT_EQ(EndOfCandidate(/*enters=*/false), static_cast<int>(RuntimeCode::kFailedPrecondition));
  if (!FindSandboxSupport().seccomp) GTEST_SKIP() << "this kernel has no filters";
  EXPECT_EQ(EndOfCandidate(/*enters=*/true), 0);
}

TEST(ArtifactTest, CodeForAnotherCpuIsRefusedWithTheMissingFeatures) {
  ArtifactManifest manifest = TestArtifactManifest();
  manifest.features = {"avx2", "fma", "avx512f"};
  const auto artifact =
      LoadArtifact(AsBytes(WriteArtifact(manifest, TestElf())), {"avx2", "sse4.2"});
  EXPECT_EQ(artifact.status().code(), RuntimeCode::kFailedPrecondition);
  EXPECT_EQ(artifact.status().message(),
            "this CPU lacks fma, avx512f: compile for this machine's target");
}

// The CPU may have tiles that the system does not lend: an error, where the first instruction would
// end the process.
TEST(ArtifactTest, CodeWithTilesNeedsThemOfTheCpuAndOfTheSystem) {
  int asked = 0;
  bool lent = false;
  const auto check = [&](std::vector<std::string> host) {
    return CheckHostCanRun(BURNISH_KERNEL_ABI_VERSION, {"amx-bf16", "amx-tile", "avx2"}, host, [&] {
      ++asked;
      return lent;
    });
  };
  EXPECT_EQ(check({"avx2"}).message(),
            "this CPU, or its kernel, lacks amx-bf16, amx-tile: compile for this machine's target");
  EXPECT_EQ(asked, 0);
  const std::vector<std::string> all = {"amx-bf16", "amx-tile", "avx2"};
  EXPECT_EQ(check(all).code(), RuntimeCode::kFailedPrecondition);
  EXPECT_NE(check(all).message().find("does not lend this process the CPU's tile registers"),
            std::string::npos);
  EXPECT_NE(check(all).message().find("compile for this machine's target without amx-tile"),
            std::string::npos);
  lent = true;
  EXPECT_TRUE(check(all).ok());
  // Other code asks for nothing.
  asked = 0;
  EXPECT_TRUE(CheckHostCanRun(BURNISH_KERNEL_ABI_VERSION, {"avx2"}, {"avx2"}, [&] {
                ++asked;
                return false;
              }).ok());
  EXPECT_EQ(asked, 0);
}

TEST(ArtifactTest, CodeOfAnotherAbiIsRefused) {
  ArtifactManifest manifest = TestArtifactManifest();
  manifest.abi_version = 2;
  const auto artifact = LoadArtifact(AsBytes(WriteArtifact(manifest, TestElf())));
  EXPECT_EQ(artifact.status().code(), RuntimeCode::kFailedPrecondition);
  EXPECT_EQ(artifact.status().message(),
            "got kernel ABI 2, want 1: compile it again with this version");
}

TEST(ArtifactTest, AKernelThatTheCodeLacksIsNotFound) {
  ArtifactManifest manifest = TestArtifactManifest();
  manifest.kernels.push_back(manifest.kernels[0]);
  const auto artifact = LoadArtifact(AsBytes(WriteArtifact(manifest, TestElf())));
  EXPECT_EQ(artifact.status().code(), RuntimeCode::kNotFound);
  EXPECT_EQ(artifact.status().message(), "the machine code does not export burnish_kernel_7");
}

TEST(ArtifactTest, TruncatedAtAnyByteIsRefused) {
  const std::string bytes = TestArtifact();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + size);
    EXPECT_FALSE(LoadArtifact(cut, {}).ok()) << "cut at " << size;
  }
}

TEST(ArtifactTest, AnySingleDamagedByteIsRefused) {
  const std::string bytes = TestArtifact();
  for (size_t position = 0; position < bytes.size(); ++position) {
    std::string damaged = bytes;
    damaged[position] = static_cast<char>(~damaged[position]);
    EXPECT_FALSE(LoadArtifact(AsBytes(damaged), {}).ok()) << "byte " << position;
  }
}

}  // namespace
}  // namespace burnish
