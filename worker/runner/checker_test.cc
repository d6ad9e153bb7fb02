#include "worker/runner/checker.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/runner/runner_wire.h"
#include "worker/runner/tensor_data.h"

namespace burnish {
namespace {

constexpr int kCount = 1000;
constexpr uint64_t kSeed = 7;

// y[i] = x[i] + addend. Another addend is another task.
std::string Workload(int addend) {
  return absl::StrCat("workload/2\ninput b0: f32[1000]\noutput b1: f32[1000]\n",
                      "block b1(i0 in 1000) {\n  step b1[i0] = b0[i0] + ", addend, ".0\n}\n");
}

class CheckerTest : public ::testing::Test {
 protected:
  ~CheckerTest() override { close(file_); }

  // What a runner leaves of the task with this addend: `got` more than what is right.
  void LeaveOutputs(int addend, float more = 0) {
    const TensorSpec input{.type = ElementType::kF32, .shape = {kCount}, .strides = {1}};
    const std::vector<uint8_t> bytes = RandomTensor(input, kSeed, /*parameter=*/0);
    std::vector<float> values(kCount);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    for (float& value : values) value += static_cast<float>(addend) + more;
    ASSERT_EQ(pwrite(file_, values.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }

  static CheckerRequest Request(int addend, bool is_reference) {
    return {.call = CheckerCall::kCheck,
            .workload = Workload(addend),
            .seed = kSeed,
            .reference_id = absl::StrCat("candidate 0 of ", addend),
            .is_reference = is_reference,
            .bound = 1e-4,
            .output_bases = {0}};
  }

  CheckerVerdict Answer(Checker& checker, int addend, bool is_reference) {
    LeaveOutputs(addend);
    const CheckerReply reply = checker.Answer(Request(addend, is_reference));
    EXPECT_EQ(reply.message, "");
    return reply.verdict;
  }

  const int file_ = memfd_create("outputs", MFD_CLOEXEC);
};

// A study's candidates come of all its tasks in turn.
TEST_F(CheckerTest, ReferencesOfManyTasksAreKept) {
  constexpr int kTasks = 40;
  Checker checker(file_);
  for (int task = 0; task < kTasks; ++task) {
    EXPECT_EQ(Answer(checker, task, /*is_reference=*/false), CheckerVerdict::kNeedReference);
    EXPECT_EQ(Answer(checker, task, /*is_reference=*/true), CheckerVerdict::kOk);
  }
  for (int task = 0; task < kTasks; ++task) {
    EXPECT_EQ(Answer(checker, task, /*is_reference=*/false), CheckerVerdict::kOk) << task;
  }
}

TEST_F(CheckerTest, OldestGoesWhereTheyAreTooLarge) {
  // Two tasks of some 4 kB of outputs and 6 kB of samples each, not three.
  Checker checker(file_, /*kept_bytes_max=*/26 << 10);
  for (const int task : {0, 1}) Answer(checker, task, /*is_reference=*/true);
  EXPECT_EQ(Answer(checker, 0, /*is_reference=*/false), CheckerVerdict::kOk);
  Answer(checker, 2, /*is_reference=*/true);
  EXPECT_EQ(Answer(checker, 0, /*is_reference=*/false), CheckerVerdict::kOk);
  EXPECT_EQ(Answer(checker, 1, /*is_reference=*/false), CheckerVerdict::kNeedReference);
}

TEST_F(CheckerTest, LastTaskIsKeptHoweverLargeItIs) {
  Checker checker(file_, /*kept_bytes_max=*/0);
  Answer(checker, 0, /*is_reference=*/true);
  EXPECT_EQ(Answer(checker, 0, /*is_reference=*/false), CheckerVerdict::kOk);
}

TEST_F(CheckerTest, WrongOutputsAreNoReference) {
  Checker checker(file_);
  LeaveOutputs(/*addend=*/0, /*more=*/0.01f);
  EXPECT_EQ(checker.Answer(Request(0, /*is_reference=*/true)).verdict, CheckerVerdict::kWrong);
  EXPECT_EQ(Answer(checker, 0, /*is_reference=*/false), CheckerVerdict::kNeedReference);
}

}  // namespace
}  // namespace burnish
