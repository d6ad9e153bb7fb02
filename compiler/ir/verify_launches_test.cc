#include "compiler/ir/verify_launches.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/target/test_device_models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// A block of y times x threads, `shared` floats of shared memory and so many blocks.
Program Launching(int64_t blocks, int64_t y, int64_t x, int64_t shared = 8,
                  const std::string& outer = "bind(block.y)") {
  const auto program = ParseProgram(absl::StrReplaceAll(R"(program/1 p
lowered
output Y: f32[$b, $y, $x]
temp w: f32[$s] shared
var b in $b
var y in $y
var x in $x
kernel {
  $outer b in $b {
    w[0] = 1.0
    barrier
    bind(thread.y) y in $y { bind(thread.x) x in $x { Y[b, y, x] = w[0] } }
  }
}
)",
                                                        {{"$outer", outer},
                                                         {"$b", absl::StrCat(blocks)},
                                                         {"$y", absl::StrCat(y)},
                                                         {"$x", absl::StrCat(x)},
                                                         {"$s", absl::StrCat(shared)}}));
  EXPECT_THAT(program, IsOk());
  return *program;
}

void ExpectRefused(const Program& program, const DeviceModel& device, const std::string& why) {
  EXPECT_THAT(VerifyLaunches(program, device),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
}

TEST(VerifyLaunchesTest, LaunchesFitTheDevice) {
  const DeviceModel gpu = GpuLikeDevice();
  EXPECT_THAT(VerifyLaunches(Launching(65535, 32, 32, 232'448 / 4), gpu), IsOk());
  ExpectRefused(Launching(65536, 32, 32), gpu,
                "got 65536 iterations of block.y, want at most 65535 on gpu-like");
  ExpectRefused(Launching(2, 33, 32), gpu, "got 1056 threads in a block, want at most 1024");
  ExpectRefused(Launching(2, 1, 1025), gpu, "got 1025 iterations of thread.x, want at most 1024");
  ExpectRefused(Launching(2, 1, 32, 232'448 / 4 + 1), gpu,
                "got 232452 shared bytes in a block, want at most 232448");
}

TEST(VerifyLaunchesTest, LoopsAreOfTheDevicesKind) {
  ExpectRefused(Launching(2, 1, 32), AmxDevice(), "which graniterapids has none of");
  const auto parallel = ParseProgram(R"(program/1 p
lowered
output Y: f32[4]
var i in 4
kernel { parallel i in 4 { Y[i] = 1.0 } }
)");
  ASSERT_THAT(parallel, IsOk());
  EXPECT_THAT(VerifyLaunches(*parallel, AmxDevice()), IsOk());
  ExpectRefused(*parallel, GpuLikeDevice(), "gpu-like has no workers");
}

}  // namespace
}  // namespace burnish
