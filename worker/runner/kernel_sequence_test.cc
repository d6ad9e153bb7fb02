#include "worker/runner/kernel_sequence.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/runner/bound_kernel.h"
#include "worker/runner/tensor_data.h"
#include "worker/runner/test_candidates.h"

namespace burnish {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;

TensorSpec Vector(ArgumentRole role) {
  return {.role = role, .type = ElementType::kF32, .shape = {1000}, .strides = {1}};
}

KernelSpec Kernel(const char* name) {
  return {.artifact = VectorArtifact(name),
          .parameters = {Vector(ArgumentRole::kInput), Vector(ArgumentRole::kConstant),
                         Vector(ArgumentRole::kOutput)}};
}

class KernelSequenceTest : public ::testing::Test {
 protected:
  RuntimeOr<std::unique_ptr<KernelSequence>> Create(uint64_t memory_bytes_max = 64 << 20) {
    auto pool = ThreadPool::Create({.thread_count = 2});
    if (!pool.ok()) return pool.status();
    pool_ = std::move(*pool);
    std::vector<std::unique_ptr<Artifact>> artifacts;
    for (const KernelSpec& kernel : network_.kernels) {
      RUNTIME_ASSIGN_OR_RETURN(SealedArtifact sealed, BoundKernel::Read(kernel));
      RUNTIME_ASSIGN_OR_RETURN(artifacts.emplace_back(),
                               Artifact::Map(std::move(sealed), CodeOrigin::kOwn));
    }
    return KernelSequence::Create(
        network_, std::move(artifacts),
        {.seed = 1, .memory_bytes_max = memory_bytes_max, .normals = normals_}, *pool_);
  }

  NetworkSpec network_{.kernels = {Kernel("RIGHT"), Kernel("PACKED")},
                       .step_count = 6,
                       .order = {0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0}};
  std::vector<uint8_t> normals_ = RandomTensor(
      {.type = ElementType::kF32, .shape = {4096}, .strides = {1}}, /*seed=*/0, /*parameter=*/0);
  std::unique_ptr<ThreadPool> pool_;
};

TEST_F(KernelSequenceTest, StepReadsWhatTheOneBeforeWroteAndConstantsOfItsOwn) {
  auto sequence = Create();
  ASSERT_TRUE(sequence.ok()) << sequence.status().message();
  EXPECT_EQ((*sequence)->pass_count(), 2);
  for (int step = 1; step < 6; ++step) {
    const auto before = (*sequence)->buffers(0, step - 1), here = (*sequence)->buffers(0, step);
    EXPECT_EQ(here[0], before[2]) << step;
    EXPECT_NE(here[0], here[2]) << step;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(here[1]) % 128, 0u) << step;
    for (int other = 0; other < step; ++other) {
      EXPECT_NE(here[1], (*sequence)->buffers(0, other)[1]) << step;
    }
  }
  // What the first step reads is written by none.
  for (int step = 0; step < 6; ++step) {
    EXPECT_NE((*sequence)->buffers(0, 0)[0], (*sequence)->buffers(0, step)[2]);
  }
  // Another candidate of the step finds everything in the same places.
  for (int buffer = 0; buffer < 3; ++buffer) {
    EXPECT_EQ((*sequence)->buffers(1, 2)[buffer], (*sequence)->buffers(0, 2)[buffer]);
  }
}

TEST_F(KernelSequenceTest, PassesComputeOnValuesThatStayFinite) {
  auto sequence = Create();
  ASSERT_TRUE(sequence.ok()) << sequence.status().message();
  std::vector<int64_t> step_ns(6, -1);
  for (int round = 0; round < 3; ++round) {
    for (const int64_t pass : {0, 1}) {
      ASSERT_TRUE((*sequence)->RunPass(pass, step_ns).ok());
      EXPECT_THAT(step_ns, Each(Ge(0)));
    }
  }
  const auto first = (*sequence)->buffers(0, 0);
  const float* x = static_cast<const float*>(first[0]);
  const float* w = static_cast<const float*>(first[1]);
  ASSERT_TRUE((*sequence)->RunPass(0, step_ns).ok());
  const float* z = static_cast<const float*>((*sequence)->buffers(0, 5)[2]);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_NE(x[i] * w[i], 0) << i;
    EXPECT_TRUE(std::isfinite(z[i])) << i;
  }
}

TEST_F(KernelSequenceTest, MemoryAboveTheLimitIsRefused) {
  const auto sequence = Create(/*memory_bytes_max=*/1000);
  ASSERT_FALSE(sequence.ok());
  EXPECT_EQ(sequence.status().code(), RuntimeCode::kResourceExhausted);
}

TEST_F(KernelSequenceTest, OrdersAndArtifactsThatDoNotFitAreRefused) {
  network_.order.back() = 2;
  EXPECT_THAT(Create().status().message(), HasSubstr("order"));
  network_.order = {0, 0, 0};
  EXPECT_THAT(Create().status().message(), HasSubstr("order"));
  network_.order.assign(6, 0);
  network_.kernels[0].parameters.pop_back();
  EXPECT_THAT(Create().status().message(), HasSubstr("more buffers"));
  network_.kernels[0].artifact = "nonsense";
  EXPECT_EQ(Create().status().code(), RuntimeCode::kInvalidArgument);
}

}  // namespace
}  // namespace burnish
