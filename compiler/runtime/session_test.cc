#include "compiler/runtime/session.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "compiler/runtime/benchmark.h"
#include "compiler/runtime/huge_page_arena.h"
#include "compiler/runtime/test_bundle.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

std::shared_ptr<ThreadPool> MakePool(int thread_count) {
  auto pool = ThreadPool::Create({.thread_count = thread_count});
  EXPECT_TRUE(pool.ok());
  return *std::move(pool);
}

std::shared_ptr<const Model> LoadModel(const ModelOptions& options = {}) {
  auto model = Model::LoadBytes(AsBytes(TestBundle()), options);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

std::unique_ptr<Session> MakeSession(std::shared_ptr<const Model> model, int thread_count) {
  auto session = Session::Create(std::move(model), MakePool(thread_count));
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

std::vector<float> Ramp(float first) {
  std::vector<float> x(kTestCount);
  std::iota(x.begin(), x.end(), first);
  return x;
}

// What the test model computes, written out (test_bundle.h).
struct Expected {
  explicit Expected(const std::vector<float>& x) : scaled(kTestCount), sum(kTestCount) {
    const std::vector<float> weights = TestWeights();
    for (int i = 0; i < kTestCount; ++i) scaled[i] = x[i] * weights[i];
    reversed.assign(scaled.rbegin(), scaled.rend());
    for (int i = 0; i < kTestCount; ++i) sum[i] = reversed[i] + x[i];
  }
  std::vector<float> scaled, reversed, sum;
};

void SetInputs(Session& session, const std::vector<float>& x, const std::vector<int32_t>& index) {
  ASSERT_TRUE(session.SetInput(0, AsBytes(x)).ok());
  ASSERT_TRUE(session.SetInput(1, AsBytes(index)).ok());
  ASSERT_TRUE(session.SetInput(2, AsBytes(std::vector<float>(9, 1.0f))).ok());
}

std::vector<float> Output(Session& session, size_t index, size_t count) {
  std::vector<float> values(count);
  const RuntimeStatus status = session.GetOutput(index, AsWritableBytes(values));
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

const std::vector<int32_t> kIndex = {0, 999, 5, 5};

TEST(SessionTest, RightOnMoreAndFewerThreadsThanTunedFor) {
  const std::shared_ptr<const Model> model = LoadModel();
  const std::vector<float> x = Ramp(-300.0f);
  const Expected want(x);
  for (int thread_count : {1, 2, 3, 8}) {
    SCOPED_TRACE(thread_count);
    const std::unique_ptr<Session> session = MakeSession(model, thread_count);
    SetInputs(*session, x, kIndex);
    for (int run = 0; run < 20; ++run) {
      ASSERT_TRUE(session->Run().ok());
      EXPECT_EQ(Output(*session, 0, kTestCount), want.sum);
      EXPECT_EQ(Output(*session, 1, 4), (std::vector<float>{want.reversed[0], want.reversed[999],
                                                            want.reversed[5], want.reversed[5]}));
      EXPECT_EQ(Output(*session, 2, 1), std::vector<float>{9 * 1.0f + 16 * -7.0f});
    }
  }
}

// The kernel's own switch (Linux 6.3). False: there is none.
bool RefuseNewCode() {
  constexpr int kSetMdwe = 65, kRefuseExecGain = 1;
  return prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0) == 0;
}

// What systemd's MemoryDenyWriteExecute= is on older kernels.
bool FilterNewCode() {
  constexpr auto kProtection = offsetof(seccomp_data, args) + 2 * sizeof(uint64_t);
  constexpr uint32_t kWriteAndExecute = PROT_WRITE | PROT_EXEC;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kProtection),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 4, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kProtection),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kWriteAndExecute),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kWriteAndExecute, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
  const sock_fprog program = {.len = std::size(code), .filter = code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

constexpr int kUnhardened = 77;

// Ends with 0 where a bundle loads and computes what it should.
[[noreturn]] void RunHardened(bool (*harden)()) {
  if (!harden()) std::_Exit(kUnhardened);
  void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0) std::_Exit(2);
  if (mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
      MAP_FAILED) {
    std::_Exit(3);
  }
  const auto model = Model::LoadBytes(AsBytes(TestBundle()), {});
  if (!model.ok()) std::_Exit(4);
  const std::unique_ptr<Session> session = MakeSession(*model, 2);
  const std::vector<float> x = Ramp(-300.0f);
  SetInputs(*session, x, kIndex);
  if (!session->Run().ok()) std::_Exit(5);
  std::_Exit(Output(*session, 0, kTestCount) == Expected(x).sum ? 0 : 6);
}

TEST(SessionTest, RunsWhereNoMemoryMayBecomeCode) {
  for (bool (*const harden)() : {&RefuseNewCode, &FilterNewCode}) {
    EXPECT_EXIT(
        RunHardened(harden),
        [](int status) {
          return WIFEXITED(status) &&
                 (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kUnhardened);
        },
        "");
  }
}

TEST(SessionTest, AFailingStepIsNamedAndTheNextRunIsRightAgain) {
  for (int thread_count : {1, 2, 4}) {
    SCOPED_TRACE(thread_count);
    const std::unique_ptr<Session> session = MakeSession(LoadModel(), thread_count);
    const std::vector<float> x = Ramp(0.0f);
    SetInputs(*session, x, {0, 1, 1000, 2});
    for (int run = 0; run < 20; ++run) {
      const RuntimeStatus status = session->Run();
      EXPECT_EQ(status.code(), RuntimeCode::kOutOfRange);
      EXPECT_EQ(status.message(), "step 3 \"gather\": an index input is out of bounds (code 1)");
    }
    EXPECT_EQ(Output(*session, 2, 1), std::vector<float>{0.0f});  // Step 4 was skipped.
    ASSERT_TRUE(session->SetInput(1, AsBytes(kIndex)).ok());
    ASSERT_TRUE(session->Run().ok());
    EXPECT_EQ(Output(*session, 0, kTestCount), Expected(x).sum);
    EXPECT_EQ(Output(*session, 2, 1), std::vector<float>{-103.0f});
  }
}

TEST(SessionTest, BoundMemoryIsReadAndWrittenWithoutCopies) {
  const std::unique_ptr<Session> session = MakeSession(LoadModel(), 2);
  SetInputs(*session, Ramp(1.0f), kIndex);
  auto memory = HugePageArena::Allocate(2 * 4096);
  ASSERT_TRUE(memory.ok());
  auto* x = reinterpret_cast<float*>(memory->bytes().data());
  auto* sum = reinterpret_cast<float*>(memory->bytes().data() + 4096);
  ASSERT_TRUE(session->BindInput(0, x, 4000).ok());
  ASSERT_TRUE(session->BindOutput(0, sum, 4000).ok());
  for (float first : {5.0f, 6.0f}) {
    const std::vector<float> values = Ramp(first);
    std::copy(values.begin(), values.end(), x);
    ASSERT_TRUE(session->Run().ok());
    EXPECT_EQ(std::vector<float>(sum, sum + kTestCount), Expected(values).sum);
    EXPECT_EQ(Output(*session, 0, kTestCount), Expected(values).sum);
  }
  EXPECT_EQ(session->SetInput(0, AsBytes(Ramp(0))).code(), RuntimeCode::kFailedPrecondition);
  // Unbound, the session's own input is as it was set before.
  ASSERT_TRUE(session->BindInput(0, nullptr, 0).ok());
  ASSERT_TRUE(session->BindOutput(0, nullptr, 0).ok());
  std::fill(sum, sum + kTestCount, 0.0f);
  ASSERT_TRUE(session->Run().ok());
  EXPECT_EQ(Output(*session, 0, kTestCount), Expected(Ramp(1.0f)).sum);
  EXPECT_EQ(sum[0], 0.0f);
}

TEST(SessionTest, WhatCannotBeBoundIsRefusedWithTheReason) {
  const std::unique_ptr<Session> session = MakeSession(LoadModel(), 1);
  alignas(64) float memory[kTestCount + 1] = {};
  EXPECT_EQ(session->BindInput(0, memory + 1, 4000).message(),
            "the memory bound to \"x\" must be aligned to 64 bytes");
  EXPECT_EQ(session->BindInput(2, memory, 36).message(),
            "\"image\" cannot be bound: the model stores it with gaps");
  EXPECT_EQ(session->BindInput(0, memory, 3999).message(), "got 3999 bytes for \"x\", want 4000");
  EXPECT_EQ(session->BindOutput(9, memory, 4).code(), RuntimeCode::kOutOfRange);
}

TEST(SessionTest, WrongSizesAndIndicesAreRefused) {
  const std::unique_ptr<Session> session = MakeSession(LoadModel(), 1);
  std::vector<float> four(4);
  EXPECT_EQ(session->SetInput(0, AsBytes(four)).message(), "got 16 bytes for \"x\", want 4000");
  EXPECT_EQ(session->SetInput(3, AsBytes(four)).message(), "got input 3, want less than 3");
  EXPECT_EQ(session->GetOutput(0, AsWritableBytes(four)).code(), RuntimeCode::kInvalidArgument);
  EXPECT_EQ(session->GetOutput(3, AsWritableBytes(four)).code(), RuntimeCode::kOutOfRange);
}

TEST(SessionTest, DebugOutputShowsIntermediateResults) {
  const std::unique_ptr<Session> session = MakeSession(LoadModel(), 2);
  const std::vector<float> x = Ramp(2.0f);
  SetInputs(*session, x, {0, 1, 1000, 2});  // A later step would fail: it is not run.
  std::vector<float> values(kTestCount);
  ASSERT_TRUE(session->DebugOutput(0, 0, AsWritableBytes(values)).ok());
  EXPECT_EQ(values, Expected(x).scaled);
  ASSERT_TRUE(session->DebugOutput(1, 0, AsWritableBytes(values)).ok());
  EXPECT_EQ(values, Expected(x).reversed);
  EXPECT_EQ(session->DebugOutput(5, 0, AsWritableBytes(values)).code(), RuntimeCode::kOutOfRange);
  EXPECT_EQ(session->DebugOutput(0, 1, AsWritableBytes(values)).code(), RuntimeCode::kOutOfRange);
}

TEST(SessionTest, WhatAnObserverChangesTheNextStepsRead) {
  for (int thread_count : {1, 2, 3}) {
    SCOPED_TRACE(thread_count);
    const std::unique_ptr<Session> session = MakeSession(LoadModel(), thread_count);
    const std::vector<float> x = Ramp(2.0f);
    SetInputs(*session, x, kIndex);
    std::vector<size_t> seen;
    const BundleManifest& manifest = session->manifest();
    const RuntimeStatus status =
        session->RunObserved([&](size_t step, std::span<void* const> buffers) {
          seen.push_back(step);
          if (step != 0) return;
          auto* scaled = static_cast<float*>(buffers[manifest.steps[0].outputs[0].buffer]);
          for (int i = 0; i < kTestCount; ++i) scaled[i] += 1;
        });
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(seen, (std::vector<size_t>{0, 1, 2, 3}));
    std::vector<float> want = Expected(x).sum;
    for (float& value : want) value += 1;
    EXPECT_EQ(Output(*session, 0, kTestCount), want);
    ASSERT_TRUE(session->Run().ok());
    EXPECT_EQ(Output(*session, 0, kTestCount), Expected(x).sum);
  }
}

// TSan looks at this one: own activations, shared weights, shared pool.
TEST(SessionTest, SeveralThreadsOnOneSessionAndSeveralSessionsOnOnePool) {
  const std::shared_ptr<const Model> model = LoadModel();
  const std::shared_ptr<ThreadPool> pool = MakePool(2);
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 2; ++i) {
    auto session = Session::Create(model, pool);
    ASSERT_TRUE(session.ok());
    sessions.push_back(*std::move(session));
    SetInputs(*sessions.back(), Ramp(static_cast<float>(10 * i)), kIndex);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&sessions, i] {
      Session& session = *sessions[i % 2];
      const Expected want(Ramp(static_cast<float>(10 * (i % 2))));
      for (int run = 0; run < 25; ++run) {
        EXPECT_TRUE(session.Run().ok());
        EXPECT_EQ(Output(session, 0, kTestCount), want.sum);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ModelTest, SharedWeightsOutliveTheModelThatReadThem) {
  std::shared_ptr<const Model> first = LoadModel();
  const std::shared_ptr<const Model> second = LoadModel({.share_weights_with = first});
  EXPECT_EQ(first->weights().data(), second->weights().data());
  first.reset();
  const std::unique_ptr<Session> session = MakeSession(second, 2);
  SetInputs(*session, Ramp(3.0f), kIndex);
  ASSERT_TRUE(session->Run().ok());
  EXPECT_EQ(Output(*session, 0, kTestCount), Expected(Ramp(3.0f)).sum);
}

TEST(ModelTest, WeightsLiveInTheCallersMemory) {
  auto memory = HugePageArena::Allocate(8192);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(LoadModel({.weights_memory = memory->bytes()})->weights().data(),
            memory->bytes().data());
  // The second load only checks what the first left there.
  const ModelOptions filled = {.weights_memory = memory->bytes(), .weights_memory_is_filled = true};
  EXPECT_NE(LoadModel(filled), nullptr);
  memory->bytes()[17] ^= 1;
  EXPECT_EQ(Model::LoadBytes(AsBytes(TestBundle()), filled).status().message(),
            "the memory does not hold this bundle's weights");
  EXPECT_EQ(Model::LoadBytes(AsBytes(TestBundle()), {.weights_memory = memory->bytes().first(99)})
                .status()
                .message(),
            "got weights memory of 99 bytes, want 4000, aligned to 4096");
}

TEST(ModelTest, WeightsOfAnotherBundleAreNotShared) {
  auto other =
      WriteBundle(TestBundleManifest(), TestElf(), AsBytes(std::vector<float>(kTestCount, 1.0f)));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(
      Model::LoadBytes(AsBytes(*other), {.share_weights_with = LoadModel()}).status().message(),
      "cannot share weights between bundles with different weights");
}

TEST(ModelTest, ABundleForAnotherCpuIsRefused) {
  BundleManifest manifest = TestBundleManifest();
  manifest.features = {"avx512f"};
  auto bundle = WriteBundle(manifest, TestElf(), AsBytes(TestWeights()));
  ASSERT_TRUE(bundle.ok());
  const auto model =
      Model::LoadBytes(AsBytes(*bundle), {.host_features = std::vector<std::string>{"avx2"}});
  EXPECT_EQ(model.status().code(), RuntimeCode::kFailedPrecondition);
  EXPECT_EQ(model.status().message(), "this CPU lacks avx512f: compile for this machine's target");
}

TEST(ModelTest, AnArenaThatDoesNotFitIsAnErrorAndNotACrash) {
  BundleManifest manifest = TestBundleManifest();
  // Virtual memory is refused only where there is too little address space: 300 TiB in all.
  for (int i = 0; i < 300; ++i) {
    manifest.inputs.push_back({DenseTensor("big", ElementType::kU8, {1}), kMemoryBytesMax});
  }
  auto bundle = WriteBundle(manifest, TestElf(), AsBytes(TestWeights()));
  ASSERT_TRUE(bundle.ok());
  auto model = Model::LoadBytes(AsBytes(*bundle), {});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(Session::Create(*model, MakePool(1)).status().code(), RuntimeCode::kResourceExhausted);
}

TEST(BenchmarkTest, QuantilesAreNearestRank) {
  std::vector<int64_t> samples(100);
  std::iota(samples.rbegin(), samples.rend(), 1);  // 100 .. 1
  const LatencySummary summary = Summarize(samples);
  EXPECT_EQ(summary.run_count, 100);
  EXPECT_EQ(summary.min_ns, 1);
  EXPECT_EQ(summary.median_ns, 50);
  EXPECT_EQ(summary.p90_ns, 90);
  EXPECT_EQ(summary.p99_ns, 99);
  EXPECT_EQ(summary.mean_ns, 50.5);
  EXPECT_EQ(Summarize({7}).p99_ns, 7);
}

TEST(BenchmarkTest, RunsAndProfilesAModel) {
  const std::unique_ptr<Session> session = MakeSession(LoadModel(), 2);
  SetInputs(*session, Ramp(0.0f), kIndex);
  auto summary = Benchmark(*session, 0.01);
  ASSERT_TRUE(summary.ok());
  EXPECT_GE(summary->run_count, 1);
  EXPECT_GT(summary->min_ns, 0);
  EXPECT_LE(summary->min_ns, summary->median_ns);
  EXPECT_LE(summary->median_ns, summary->p99_ns);
  auto step_ns = ProfileSteps(*session, 5);
  ASSERT_TRUE(step_ns.ok());
  ASSERT_EQ(step_ns->size(), 5u);
  for (int64_t ns : *step_ns) EXPECT_GT(ns, 0);
  EXPECT_FALSE(Benchmark(*session, 0).ok());
  EXPECT_FALSE(ProfileSteps(*session, 0).ok());
}

TEST(BenchmarkTest, AFailingModelGivesItsError) {
  const std::unique_ptr<Session> session = MakeSession(LoadModel(), 2);
  SetInputs(*session, Ramp(0.0f), {-1, 0, 0, 0});
  EXPECT_EQ(Benchmark(*session, 0.01).status().code(), RuntimeCode::kOutOfRange);
  EXPECT_EQ(ProfileSteps(*session, 1).status().code(), RuntimeCode::kOutOfRange);
}

}  // namespace
}  // namespace burnish
