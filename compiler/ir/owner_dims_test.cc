// Which threads a window belongs to, who may race whom, and what the interpreter makes of both:
// lowered programs as text.
#include "compiler/ir/owner_dims.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/launch.h"
#include "compiler/ir/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two blocks of eight threads in x, two in y.
std::string Text(const std::string& body, const std::string& scope = "register") {
  return absl::StrCat(R"(program/1 p
lowered
input X: f32[2, 8]
output Y: f32[2, 8]
temp w: f32[8, 2] )",
                      scope, R"(
var b in 2
var t in 8
var u in 8
var y in 2
var i in 2
var r in 3
kernel {
  bind(block.x) b in 2 {
)",
                      body, "}\n}\n");
}

absl::Status Refusal(const std::string& body, const std::string& scope = "register") {
  return ParseProgram(Text(body, scope)).status();
}

auto IsRefused(const std::string& why) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why));
}

constexpr char kOwned[] = R"(
    bind(thread.x) t in 8 { unroll i in 2 { w[t, i] = X[b, t] } }
    bind(thread.x) u in 8 { Y[b, u] = w[u, 0] + w[u, 1] })";

TEST(OwnerDimsTest, DimensionOfAThreadsVariableIsItsOwn) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(Text(kOwned)));
  ASSERT_OK_AND_ASSIGN(const auto owners, FindOwners(program));
  const WindowOwners& window = owners[FindBuffer(program, "w")];
  EXPECT_THAT(window.tags, ElementsAre(TagOf("thread.x"), -1));
  ASSERT_EQ(window.loops.size(), 1);
  EXPECT_EQ(program.nodes[window.loops[0]].thread_tag, "block.x");
  TensorValue x{.shape = {2, 8}};
  for (int i = 0; i < 16; ++i) x.floats.push_back(i);
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(program, {x}));
  EXPECT_EQ(got[0].floats[13], 26);
}

TEST(OwnerDimsTest, WindowOfOneLoopOverThreadsHasNoOwner) {
  ASSERT_OK_AND_ASSIGN(
      const Program program,
      ParseProgram(Text("bind(thread.x) t in 8 { w[0, 1] = X[b, t] Y[b, t] = w[0, 1] }")));
  ASSERT_OK_AND_ASSIGN(const auto owners, FindOwners(program));
  const WindowOwners& window = owners[FindBuffer(program, "w")];
  EXPECT_THAT(window.tags, ElementsAre(-1, -1));
  EXPECT_EQ(window.loops.size(), 2);
  EXPECT_THAT(owners[FindBuffer(program, "X")].tags, IsEmpty());
}

TEST(OwnerDimsTest, NoThreadSeesAnothersRegisters) {
  // Another tag, other places, an index that is more than the variable, and none at all.
  EXPECT_THAT(Refusal("bind(thread.x) t in 8 { w[t, 0] = X[b, t] }\n"
                      "bind(thread.y) u in 8 { Y[b, u] = w[u, 0] }"),
              IsRefused("window w: dimension 0 belongs to thread.y in some places alone"));
  EXPECT_THAT(Refusal("bind(thread.x) y in 2 { w[y, 0] = X[b, y] }"),
              IsRefused("window w: dimension 0 has 8 places, and y has other iterations"));
  EXPECT_THAT(Refusal("bind(thread.x) t in 8 { w[7 - t, 0] = X[b, t] Y[b, t] = w[7 - t, 0] }"),
              IsRefused("window w is indexed by t, and not by it alone"));
  EXPECT_THAT(Refusal("bind(thread.x) t in 8 { w[0, 0] = X[b, t] }\n"
                      "bind(thread.x) u in 8 { Y[b, u] = w[0, 0] }"),
              IsRefused("window w has no dimension for the threads of t"));
  EXPECT_THAT(Refusal("w[0, 0] = 1.0\nbind(thread.x) t in 8 { Y[b, t] = w[t, 0] }"),
              IsRefused("window w: dimension 0 belongs to thread.x in some places alone"));
}

// What an earlier iteration left is not there on a device.
TEST(OwnerDimsTest, InterpreterForgetsAThreadsWindow) {
  ASSERT_OK_AND_ASSIGN(
      const Program program,
      ParseProgram(
          Text("bind(thread.x) t in 8 { if t == 0 { w[0, 0] = 1.0 } Y[b, t] = w[0, 0] }")));
  TensorValue x{.shape = {2, 8}};
  x.floats.assign(16, 0);
  EXPECT_THAT(Interpret(program, {x}).status(), StatusIs(absl::StatusCode::kInternal));
}

// ---- Barriers.

TEST(VerifyBarriersTest, OneThreadsElementsNeedNone) {
  EXPECT_THAT(Refusal(kOwned, "shared"), IsOk());
  EXPECT_THAT(Refusal(R"(for r in 3 { bind(thread.x) t in 8 { w[t, 0] = X[b, t] }
    bind(thread.x) u in 8 { Y[b, u] = w[u, 0] } })",
                      "shared"),
              IsOk());
  // Another axis, but of that the first place alone.
  EXPECT_THAT(Refusal(R"(bind(thread.x) t in 8 { w[t, 0] = X[b, t] }
    bind(thread.y) y in 2 { bind(thread.x) u in 8 { if y == 0 { Y[b, u] = w[u, 0] } } })",
                      "shared"),
              IsOk());
}

TEST(VerifyBarriersTest, ThreadsThatMeetAtAnElementNeedOne) {
  constexpr char kWhy[] = "no barrier between loops over threads that touch w";
  EXPECT_THAT(Refusal(R"(bind(thread.x) t in 8 { w[t, 0] = X[b, t] }
    bind(thread.x) u in 8 { Y[b, u] = w[7 - u, 0] })",
                      "shared"),
              IsRefused(kWhy));
  EXPECT_THAT(Refusal(R"(bind(thread.x) t in 8 { w[t, 0] = X[b, t] }
    bind(thread.y) y in 2 { bind(thread.x) u in 8 { Y[b, u] = w[u, 0] } })",
                      "shared"),
              IsRefused(kWhy));
  // One thread stores, all read.
  EXPECT_THAT(Refusal("w[0, 0] = 1.0\nbind(thread.x) u in 8 { Y[b, u] = w[0, 0] }", "shared"),
              IsRefused(kWhy));
  // In the next iteration.
  EXPECT_THAT(Refusal(R"(for r in 3 { bind(thread.x) t in 8 { w[t, 0] = X[b, t] } barrier
    bind(thread.x) u in 8 { Y[b, u] = w[7 - u, 0] } })",
                      "shared"),
              IsRefused(kWhy));
  // All threads ask.
  EXPECT_THAT(Refusal(R"(bind(thread.x) t in 8 { w[t, 0] = X[b, t] }
    if 0.0 < w[0, 0] { bind(thread.x) u in 8 { Y[b, u] = X[b, u] } })",
                      "shared"),
              IsRefused(kWhy));
}

TEST(VerifyBarriersTest, ThreadsOfOneLoopDoNotMeet) {
  constexpr char kWhy[] = "threads of one loop meet at an element of w that one of them stores";
  EXPECT_THAT(Refusal("bind(thread.x) t in 8 { w[0, 0] = X[b, t] Y[b, t] = w[0, 0] }", "shared"),
              IsRefused(kWhy));
  EXPECT_THAT(
      Refusal("bind(thread.x) t in 8 { w[t, 0] = X[b, t] Y[b, t] = w[7 - t, 0] }", "shared"),
      IsRefused(kWhy));
  EXPECT_THAT(
      Refusal("bind(thread.x) t in 8 { w[t, 0] = X[b, t] barrier Y[b, t] = w[t, 0] }", "shared"),
      IsRefused("a barrier inside a loop over threads"));
}

// Beyond the points that are looked at, buffers count as a whole.
TEST(VerifyBarriersTest, HugeProgramIsRefusedInTime) {
  EXPECT_THAT(ParseProgram(R"(program/1 p
lowered
output Y: f32[1]
temp w: f32[100000000] shared
var b in 1
var t in 100000000
kernel { bind(block.x) b in 1 { bind(thread.x) t in 100000000 { w[t] = 1.0 } } }
)")
                  .status(),
              IsRefused("threads of one loop meet at an element of w"));
}

TEST(LaunchTest, HasTheGreatestLoopOfEachTag) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(Text(
                                                  R"(bind(thread.x) y in 2 { w[y, 0] = X[b, y] }
    barrier
    bind(thread.y) i in 2 { bind(thread.x) u in 8 { if i == 0 { Y[b, u] = w[0, 0] } } })",
                                                  "shared")));
  const Launch launch = LaunchOf(program, program.nodes[program.root].children[0]);
  EXPECT_THAT(launch.extents, ElementsAre(2, 1, 1, 8, 2, 1));
  EXPECT_EQ(launch.shared_bytes, 64);
}

TEST(LaunchTest, TagsAreSixAndStandOnce) {
  EXPECT_THAT(Refusal("bind(warp.x) t in 8 { Y[b, t] = 1.0 }"),
              IsRefused("loop t is bound to warp.x, want block.x .. thread.z"));
  EXPECT_THAT(Refusal("bind(block.x) t in 8 { Y[b, t] = 1.0 }"),
              IsRefused("block.x is taken by an outer loop"));
}

}  // namespace
}  // namespace burnish
