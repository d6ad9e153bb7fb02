#include "compiler/runtime/host_call.h"

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

// cum_sum of f32[2,3] along its last axis; the result has a gap of one element behind each row.
HostCall GoodCall() {
  const HostType type{ElementType::kF32, {2, 3}};
  TensorInfo result = DenseTensor("y", type.type, type.shape);
  result.strides = {4, 1};
  result.offset_bytes = 8;
  return {.kernel = 0,
          .signature = {.kernel = "cum_sum",
                        .attributes = {{"axis", 1}, {"exclusive", 0}, {"reverse", 0}},
                        .inputs = {type},
                        .outputs = {type}},
          .tensors = {DenseTensor("x", type.type, type.shape), result}};
}

std::vector<KernelManifest> KernelsOf(const HostCall& call) {
  return {{.name = "cum_sum", .compute = FunctionOf(call), .pack = {}}};
}

TEST(HostCallTest, AFunctionHasTheBuffersThatTheTensorsNeed) {
  const FunctionInfo function = FunctionOf(GoodCall());
  ASSERT_EQ(function.buffers.size(), 2u);
  EXPECT_EQ(function.buffers[0].size_bytes, 24u);
  EXPECT_EQ(function.buffers[1].role, ArgumentRole::kOutput);
  EXPECT_EQ(function.buffers[1].size_bytes, 8u + (4 + 3) * 4);
  EXPECT_EQ(function.shared_scratch_bytes, 64u);  // A dense copy of the result: 24 bytes.
}

TEST(HostCallTest, TensorsWithGapsAreCopied) {
  HostCall call = GoodCall();
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(9, -1);
  std::vector<uint8_t> scratch(64);
  void* buffers[] = {x.data(), y.data()};
  BurnishKernelContext context = {.abi_version = BURNISH_KERNEL_ABI_VERSION,
                                  .buffer_count = 2,
                                  .buffers = buffers,
                                  .scratch = reinterpret_cast<uint8_t*>(&call),
                                  .scratch_bytes_per_worker = 0,
                                  .shared_scratch = scratch.data(),
                                  .barrier = nullptr,
                                  .barrier_arg = nullptr};
  EXPECT_EQ(RunHostCall(&context, 1, 2), BURNISH_KERNEL_OK);
  EXPECT_EQ(y, std::vector<float>(9, -1)) << "worker 0 does the work";
  EXPECT_EQ(RunHostCall(&context, 0, 2), BURNISH_KERNEL_OK);
  EXPECT_EQ(y, (std::vector<float>{-1, -1, 1, 3, 6, -1, 4, 9, 15}));
}

TEST(HostCallTest, CallsComeBackAsTheyWere) {
  const std::vector<HostCall> calls = {GoodCall(), GoodCall()};
  const std::string bytes = EncodeHostCalls(calls);
  const auto* const data = reinterpret_cast<const uint8_t*>(bytes.data());
  auto back = DecodeHostCalls({data, bytes.size()});
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, calls);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeHostCalls({data, size}).ok()) << size;
  }
}

TEST(HostCallTest, WhatCouldLeaveItsBuffersIsRefused) {
  EXPECT_TRUE(CheckHostCalls({GoodCall()}, KernelsOf(GoodCall())).ok());
  const std::vector<std::function<void(HostCall&)>> wrong = {
      [](HostCall& call) { call.kernel = 1; },
      [](HostCall& call) { call.signature.kernel = "cum_what"; },
      [](HostCall& call) { call.signature.attributes[0].number = 2; },
      [](HostCall& call) { call.signature.inputs[0].shape = {2, 4}; },
      [](HostCall& call) { call.signature.outputs.pop_back(); },
      [](HostCall& call) { call.tensors.pop_back(); },
      [](HostCall& call) { call.tensors[1].shape = {2, 4}; },
      [](HostCall& call) { call.tensors[1].type = ElementType::kI32; },
      [](HostCall& call) { call.tensors[1].strides = {5, 1}; },
      [](HostCall& call) { call.tensors[1].strides = {int64_t{1} << 62, 1}; },
      [](HostCall& call) { call.tensors[1].offset_bytes = 12; },
      [](HostCall& call) { call.tensors[1].offset_bytes = 9; },
  };
  for (size_t i = 0; i < wrong.size(); ++i) {
    HostCall call = GoodCall();
    wrong[i](call);
    EXPECT_FALSE(CheckHostCalls({call}, KernelsOf(GoodCall())).ok()) << i;
  }
  EXPECT_FALSE(CheckHostCalls({GoodCall(), GoodCall()}, KernelsOf(GoodCall())).ok());
  // A kernel whose buffers are smaller, or which would give the scratch to somebody else.
  std::vector<KernelManifest> kernels = KernelsOf(GoodCall());
  kernels[0].compute.buffers[1].size_bytes -= 4;
  EXPECT_FALSE(CheckHostCalls({GoodCall()}, kernels).ok());
  kernels = KernelsOf(GoodCall());
  kernels[0].compute.scratch_bytes_per_worker = 64;
  EXPECT_FALSE(CheckHostCalls({GoodCall()}, kernels).ok());
}

}  // namespace
}  // namespace burnish
