#include "proto/program_error.h"

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(ProgramErrorTest, SaysWhatIsKnown) {
  EXPECT_EQ(ProgramErrorText({.number = "B0101", .message = "m"}, false), "error[B0101]: m\n");
  EXPECT_EQ(ProgramErrorText({.number = "B0101", .message = "m", .where = "w", .hint = "h"}, false),
            "error[B0101]: m\n  where: w\n  hint: h\n");
  EXPECT_EQ(ProgramErrorText({.number = "B0101", .message = "m"}, true),
            "\033[1;31merror[B0101]\033[0m: m\n");
  EXPECT_EQ(ProgramErrorJson({.number = "B0101", .message = "a \"b\"\xff", .hint = "h"}),
            "{\"error\":{\"code\":\"B0101\",\"message\":\"a \\\"b\\\"\xef\xbf\xbd\","
            "\"hint\":\"h\"},\"schema\":1}");
}

}  // namespace
}  // namespace burnish
