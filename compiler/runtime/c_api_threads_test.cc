// Whose threads run a model: threads shared by models, a pool of the caller, a forked child's.
// Against the shared library as a user gets it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "burnish/burnish.h"
#include "compiler/runtime/test_bundle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// The thread sanitizer else ends a forked child that starts a thread.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace burnish {
namespace {

using ::testing::HasSubstr;

struct Close {
  void operator()(BurnishModel* model) const { burnish_close(model); }
  void operator()(BurnishThreads* threads) const { burnish_threads_release(threads); }
};
using ModelPtr = std::unique_ptr<BurnishModel, Close>;
using ThreadsPtr = std::unique_ptr<BurnishThreads, Close>;

ThreadsPtr MakeThreads(int thread_count, BurnishParallel parallel = nullptr,
                       void* parallel_arg = nullptr, bool ends_at_fork = false) {
  BurnishThreadsOptions options = {};
  options.struct_size = sizeof(options);
  options.thread_count = thread_count;
  options.parallel = parallel;
  options.parallel_arg = parallel_arg;
  options.parallel_ends_at_fork = ends_at_fork ? 1 : 0;
  BurnishThreads* threads = nullptr;
  EXPECT_EQ(burnish_threads_create(&options, &threads), BURNISH_OK) << burnish_last_error();
  return ThreadsPtr(threads);
}

ModelPtr OpenTestModel(const ThreadsPtr& threads) {
  BurnishModel* model = nullptr;
  const std::string bundle = TestBundle();
  BurnishOptions options = {};
  options.struct_size = sizeof(options);
  options.threads = threads.get();
  EXPECT_EQ(burnish_open_bytes(bundle.data(), bundle.size(), &options, &model), BURNISH_OK)
      << burnish_last_error();
  return ModelPtr(model);
}

// Whether the model gives what it must for x = `value`: w[999 - i] * x + x.
bool IsRight(BurnishModel* model, float value) {
  const std::vector<float> x(kTestCount, value), image(9, 1.0f);
  const int32_t index[4] = {0, 1, 2, 3};
  BurnishInput inputs[3] = {};
  const void* data[] = {x.data(), index, image.data()};
  for (int i = 0; i < 3; ++i) {
    inputs[i].struct_size = sizeof(inputs[i]);
    inputs[i].dtype = i == 1 ? BURNISH_I32 : BURNISH_F32;
    inputs[i].data = data[i];
  }
  std::vector<float> sum(kTestCount), want(kTestCount);
  const std::vector<float> w = TestWeights();
  for (int i = 0; i < kTestCount; ++i) want[i] = w[kTestCount - 1 - i] * value + value;
  BurnishOutput output = {};
  output.struct_size = sizeof(output);
  output.data = sum.data();
  output.capacity_bytes = 4 * kTestCount;
  return burnish_run_tensors(model, inputs, 3, &output, 1, nullptr) == BURNISH_OK && sum == want;
}

TEST(ThreadsTest, ModelsShareThem) {
  const ThreadsPtr threads = MakeThreads(3);
  const ModelPtr first = OpenTestModel(threads), second = OpenTestModel(threads);
  EXPECT_EQ(burnish_thread_count(first.get()), 3);
  std::atomic<int> wrong_count{0};
  std::vector<std::thread> callers;
  for (BurnishModel* model : {first.get(), second.get(), first.get(), second.get()}) {
    callers.emplace_back([&wrong_count, model] {
      for (int round = 0; round < 50; ++round) wrong_count += !IsRight(model, round);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong_count, 0);
}

TEST(ThreadsTest, WithoutOptionsThereIsOneForEachCpu) {
  BurnishThreads* threads = nullptr;
  ASSERT_EQ(burnish_threads_create(nullptr, &threads), BURNISH_OK);
  EXPECT_GE(burnish_threads_count(threads), 1);
  burnish_threads_release(threads);
  burnish_threads_release(nullptr);
  EXPECT_EQ(burnish_threads_count(nullptr), 0);
  EXPECT_EQ(burnish_threads_create(nullptr, nullptr), BURNISH_INVALID_ARGUMENT);
}

// For each of several models, tried by several threads at once.
TEST(ThreadsTest, ModelsRunAtTheSameTimeOnThreadsOfTheirOwn) {
  constexpr int kCount = 3;
  BurnishThreads* made[kCount] = {};
  BurnishThreadsOptions options = {};
  options.struct_size = sizeof(options);
  options.thread_count = 2;
  ASSERT_EQ(burnish_threads_create_disjoint(&options, kCount, made), BURNISH_OK);
  std::atomic<int> wrong_count{0};
  std::vector<std::thread> callers;
  for (BurnishThreads* threads : made) {
    EXPECT_EQ(burnish_threads_count(threads), 2);
    callers.emplace_back([&wrong_count, model = OpenTestModel(ThreadsPtr(threads))] {
      for (int round = 0; round < 50; ++round) wrong_count += !IsRight(model.get(), round);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong_count, 0);
}

TEST(ThreadsTest, DisjointThreadsRefuseWhatTheyCannotShareOut) {
  BurnishThreads* made[2] = {};
  for (int32_t count : {0, -1, 1025}) {
    EXPECT_EQ(burnish_threads_create_disjoint(nullptr, count, made), BURNISH_INVALID_ARGUMENT);
  }
  EXPECT_STREQ(burnish_last_error(), "got count 1025, want 1 to 1024");
  EXPECT_EQ(burnish_threads_create_disjoint(nullptr, 2, nullptr), BURNISH_INVALID_ARGUMENT);
  BurnishThreadsOptions options = {};
  options.struct_size = sizeof(options);
  const int32_t cpus[] = {0, 0};
  options.thread_count = 2;
  options.cpus = cpus;
  EXPECT_EQ(burnish_threads_create_disjoint(&options, 2, made), BURNISH_INVALID_ARGUMENT);
  EXPECT_EQ(made[0], nullptr);
}

TEST(ThreadsTest, ACpuThatTheProcessMayNotUseIsNamed) {
  BurnishThreadsOptions options = {};
  options.struct_size = sizeof(options);
  const int32_t cpu = 1023;
  options.thread_count = 1;
  options.cpus = &cpu;
  BurnishThreads* threads = nullptr;
  EXPECT_EQ(burnish_threads_create(&options, &threads), BURNISH_INVALID_ARGUMENT);
  EXPECT_THAT(burnish_last_error(),
              HasSubstr("got CPU 1023, which this process may not use: it has 0"));
}

// A pool of a caller: as many threads as it wants to give, started for each region.
struct CallersPool {
  int workers = 1;
  int regions = 0;

  static void Parallel(void* pool, BurnishWork work, void* work_arg, int32_t workers_max) {
    auto& self = *static_cast<CallersPool*>(pool);
    ++self.regions;
    const int workers = std::min(self.workers, static_cast<int>(workers_max));
    std::vector<std::thread> threads;
    for (int worker = 1; worker < workers; ++worker) {
      threads.emplace_back([=] { work(work_arg, worker, workers); });
    }
    work(work_arg, 0, workers);
    for (std::thread& thread : threads) thread.join();
  }
};

TEST(ThreadsTest, TheCallersPoolRunsTheModelWithAsManyAsCome) {
  CallersPool pool;
  const ThreadsPtr threads = MakeThreads(4, &CallersPool::Parallel, &pool);
  const ModelPtr model = OpenTestModel(threads);
  EXPECT_EQ(burnish_thread_count(model.get()), 4);
  for (int workers : {4, 1, 3, 2, 9}) {
    SCOPED_TRACE(workers);
    pool.workers = workers;
    EXPECT_TRUE(IsRight(model.get(), workers)) << burnish_last_error();
  }
  EXPECT_EQ(pool.regions, 5);  // One for each inference.
}

TEST(ThreadsTest, APoolThatDoesNotDoItsPartIsAnError) {
  int calls = 0;
  const ThreadsPtr idle = MakeThreads(
      2, [](void* calls, BurnishWork, void*, int32_t) { ++*static_cast<int*>(calls); }, &calls);
  EXPECT_FALSE(IsRight(OpenTestModel(idle).get(), 1));
  EXPECT_EQ(calls, 1);
  EXPECT_STREQ(burnish_last_error(),
               "the caller's parallel() ran 0 workers that were told there are 0; want as many as "
               "it says, 1 to 2");
  const ThreadsPtr wrong =
      MakeThreads(2, [](void*, BurnishWork work, void* arg, int32_t) { work(arg, 5, 6); }, nullptr);
  EXPECT_FALSE(IsRight(OpenTestModel(wrong).get(), 1));
  EXPECT_THAT(burnish_last_error(), HasSubstr("told there are -1"));
}

TEST(ThreadsTest, TheCallersThreadsAreNotPinned) {
  BurnishThreadsOptions options = {};
  options.struct_size = sizeof(options);
  const int32_t cpu = 0;
  options.thread_count = 1;
  options.cpus = &cpu;
  options.parallel = &CallersPool::Parallel;
  BurnishThreads* threads = nullptr;
  EXPECT_EQ(burnish_threads_create(&options, &threads), BURNISH_INVALID_ARGUMENT);
  EXPECT_EQ(threads, nullptr);
}

// Runs `in_child` in a forked child and expects true. A child that hangs is ended by SIGALRM.
void ExpectTrueInChild(const std::function<bool()>& in_child) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);
    _exit(in_child() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ForkTest, AModelAnswersInAChildAndAGrandchild) {
  const ThreadsPtr threads = MakeThreads(2);
  const ModelPtr model = OpenTestModel(threads);
  ASSERT_TRUE(IsRight(model.get(), 1));
  ExpectTrueInChild([&] {
    bool right = IsRight(model.get(), 2) && IsRight(model.get(), 3);
    ExpectTrueInChild([&] { return IsRight(model.get(), 4); });
    return right && IsRight(model.get(), 5) && !::testing::Test::HasFailure();
  });
  EXPECT_TRUE(IsRight(model.get(), 6));  // The parent's threads are where they were.
}

TEST(ForkTest, AChildClosesWhatItsParentOpened) {
  ThreadsPtr threads = MakeThreads(3);
  ModelPtr model = OpenTestModel(threads);
  ASSERT_TRUE(IsRight(model.get(), 1));
  ExpectTrueInChild([&] {
    model.reset();
    threads.reset();
    const ThreadsPtr own = MakeThreads(2);
    return IsRight(OpenTestModel(own).get(), 2);
  });
  EXPECT_TRUE(IsRight(model.get(), 3));
}

// As OpenMP's threads: the child has none of them, and waits for ever if it calls them.
TEST(ForkTest, AChildDoesNotCallAPoolThatEndsAtTheFork) {
  CallersPool pool;
  pool.workers = 2;
  const ThreadsPtr ending = MakeThreads(2, &CallersPool::Parallel, &pool, /*ends_at_fork=*/true);
  const ThreadsPtr kept = MakeThreads(2, &CallersPool::Parallel, &pool);
  const ModelPtr model = OpenTestModel(ending), other = OpenTestModel(kept);
  ASSERT_TRUE(IsRight(model.get(), 1));
  EXPECT_EQ(pool.regions, 1);
  ExpectTrueInChild([&] {
    const bool right = IsRight(model.get(), 2) && IsRight(model.get(), 3) && pool.regions == 1;
    ExpectTrueInChild([&] { return IsRight(model.get(), 4) && pool.regions == 1; });
    return right && IsRight(other.get(), 5) && pool.regions == 2 && !::testing::Test::HasFailure();
  });
  EXPECT_TRUE(IsRight(model.get(), 6));
  EXPECT_EQ(pool.regions, 2);
}

TEST(ForkTest, SeveralThreadsOfAChildShareItsModel) {
  const ThreadsPtr threads = MakeThreads(2);
  const ModelPtr model = OpenTestModel(threads);
  ExpectTrueInChild([&] {
    std::atomic<int> wrong_count{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        for (int round = 0; round < 20; ++round) wrong_count += !IsRight(model.get(), round);
      });
    }
    for (std::thread& caller : callers) caller.join();
    return wrong_count == 0;
  });
}

// The fork comes at any moment of an inference of another thread: locks held, tensors bound,
// workers between two barriers.
TEST(ForkTest, AChildOfAParentThatIsRunningAnswers) {
  const ThreadsPtr threads = MakeThreads(2);
  const ModelPtr model = OpenTestModel(threads);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong_count{0};
  std::thread runs([&] {
    while (!stop) wrong_count += !IsRight(model.get(), 7);
  });
  for (int round = 0; round < 30; ++round) {
    ExpectTrueInChild([&] { return IsRight(model.get(), round); });
  }
  stop = true;
  runs.join();
  EXPECT_EQ(wrong_count, 0);
}

}  // namespace
}  // namespace burnish
