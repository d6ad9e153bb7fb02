#include "base/self_path.h"

#include "absl/status/status.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(SelfPathTest, BazelsLayoutKeepsTheFolder) {
  EXPECT_EQ(ProgramPath("/c/execroot/burnish/bazel-out/k8-opt/bin/tuner/tuner", "base/launcher"),
            "/c/execroot/burnish/bazel-out/k8-opt/bin/base/launcher");
  EXPECT_EQ(ProgramPath("/c/bazel-out/k8-opt-asan/bin/base/x_test.runfiles/burnish/base/x_test",
                        "worker/runner/child"),
            "/c/bazel-out/k8-opt-asan/bin/worker/runner/child");
}

TEST(SelfPathTest, InstalledProgramsLieSideBySide) {
  EXPECT_EQ(ProgramPath("/usr/lib/burnish/tuner", "worker/runner/child"), "/usr/lib/burnish/child");
  EXPECT_EQ(ProgramPath("/tuner", "child"), "/child");
}

TEST(SelfPathTest, RunningTestFindsItself) {
  EXPECT_THAT(FindProgram("base/self_path_test"), IsOkAndHolds(EndsWith("/base/self_path_test")));
}

TEST(SelfPathTest, MissingProgramIsNamed) {
  EXPECT_THAT(FindProgram("base/no_such_program"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("base/no_such_program")));
}

}  // namespace
}  // namespace burnish
