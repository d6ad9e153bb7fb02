#include "proto/compile.h"

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/compile.pb.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

TEST(CompileTest, RequestComesBackWhole) {
  const CompileRequest request = {
      .items = {{.id = "a",
                 .workload = "w",
                 .contract = "c",
                 .trace = "t",
                 .guarded_axes = {0, 2},
                 .rests = {{.parameter = 3, .axis = 1, .value = 0, .extent = 2},
                           {.parameter = 4, .axis = -1, .value = -INFINITY, .extent = -1}},
                 .strides = {{.parameter = 1, .numbers = {1, 2, -1}}}},
                // A candidate's hash: no text.
                {.id = "\xff\xfe"}},
      .target = "cpu:arch=znver3",
      .codegen_epoch = 7,
      .output = CompileOutput::kLibrary,
      .pack_target = "cpu:arch=x86-64",
      .form = "asm",
      .time_limit = absl::Milliseconds(1500),
      .memory_limit_bytes = 12345};
  EXPECT_THAT(DecodeCompileRequest(Encode(request)), IsOkAndHolds(request));
}

TEST(CompileTest, ReplyComesBackWhole) {
  CompiledKernel kernel;
  kernel.build.llvm_version = "19";
  kernel.build.artifact_sha256 = std::string(32, 'h');
  kernel.build.spill_count = 3;
  kernel.numerics = {.kind = NumericsClass::kAlgorithm, .algorithm = "winograd", .parameter = 4};
  kernel.artifact = std::string("\0elf", 4);
  kernel.contract = "parameter 0 strides 1 offset 0\n";
  kernel.buffers = {{CallBuffer::Kind::kParameter, 2},
                    {CallBuffer::Kind::kPacked, 0},
                    {CallBuffer::Kind::kLive, 0},
                    {CallBuffer::Kind::kStrides, 2}};
  kernel.pack_buffers = {{CallBuffer::Kind::kParameter, 1}};
  kernel.kernel_index = 5;
  kernel.pack_index = 1;
  kernel.pack_sha256 = "hash";
  CompileReply reply;
  reply.results.push_back({.id = "a", .outcome = kernel});
  reply.results.push_back(
      {.id = "b", .outcome = Failure{.kind = FailureKind::kBuildTimeout, .message = "10 s"}});
  reply.library = "lib";
  reply.pack_library = "pack";
  EXPECT_THAT(DecodeCompileReply(Encode(reply)), IsOkAndHolds(reply));
}

TEST(CompileTest, RefusalComesBackAsItsStatus) {
  const absl::StatusOr<CompileReply> refusal = absl::FailedPreconditionError("epoch 3");
  EXPECT_THAT(DecodeCompileReply(Encode(refusal)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("epoch 3")));
}

TEST(CompileTest, StatusCodeWithoutNameIsRefused) {
  for (const int number : {-1, 17, 1000}) {
    v1::CompileReply reply;
    reply.set_status_code(number);
    reply.set_status_message("of elsewhere");
    EXPECT_THAT(DecodeCompileReply(reply.SerializeAsString()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("status code ", number))));
  }
  // Abseil may have codes beside the listed ones: an error stays one.
  const absl::StatusOr<CompileReply> odd =
      absl::Status(static_cast<absl::StatusCode>(20), "of elsewhere");
  EXPECT_THAT(DecodeCompileReply(Encode(odd)),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("of elsewhere")));
}

TEST(CompileTest, BrokenRequestsAreRefused) {
  EXPECT_THAT(DecodeCompileRequest("\xff\xff"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecodeCompileRequest(Encode(CompileRequest{.time_limit = absl::ZeroDuration()})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("time limit")));
  EXPECT_THAT(DecodeCompileRequest(""), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
