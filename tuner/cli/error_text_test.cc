#include "tuner/cli/error_text.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gtest/gtest.h"
#include "proto/program_error.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

TEST(ErrorTextTest, NumbersAreUniqueAndExitCodesAreThoseOfTheContract) {
  const std::set<int> exit_codes = {64, 65, 66, 69, 70, 74, 75, 76, 77, 78, 130};
  std::set<int> numbers;
  for (const ErrorInfo& info : AllErrors()) {
    EXPECT_TRUE(numbers.insert(static_cast<int>(info.code)).second) << ErrorName(info.code);
    EXPECT_TRUE(exit_codes.contains(info.exit_code)) << ErrorName(info.code);
    EXPECT_EQ(&InfoOf(info.code), &info);
  }
  EXPECT_EQ(numbers.size(), AllErrorCodes().size());
}

TEST(ErrorTextTest, DaemonsEndWithNumbersOfTheTable) {
  EXPECT_EQ(kUsageError, ErrorName(ErrorCode::kUsage));
  EXPECT_EQ(kOutputError, ErrorName(ErrorCode::kOutputFile));
  EXPECT_EQ(kTrackerProtocolError, ErrorName(ErrorCode::kTrackerProtocol));
  EXPECT_EQ(kProgramMissingError, ErrorName(ErrorCode::kProgramMissing));
  EXPECT_EQ(kUnavailableError, ErrorName(ErrorCode::kUnavailable));
}

TEST(ErrorTextTest, TheManualListsEveryError) {
  ASSERT_OK_AND_ASSIGN(const std::string manual, ReadFile("docs/cli.md", 1 << 20));
  for (const ErrorInfo& info : AllErrors()) {
    EXPECT_THAT(manual, HasSubstr(absl::StrCat("| ", ErrorName(info.code), " | ", info.exit_code,
                                               " | ", info.title, " |")));
  }
}

TEST(ErrorTextTest, ALibrarysHintTakesThePlaceOfTheGeneralOne) {
  const absl::Status status = WithError(absl::InvalidArgumentError("a is b; hint: make it c"),
                                        ErrorCode::kNotDatabase, "x.db");
  EXPECT_EQ(FormatError(status, false),
            "error[B0501]: a is b\n"
            "  where: x.db\n"
            "  hint: make it c\n");
}

TEST(ErrorTextTest, WithoutAHintTheTablesIsShown) {
  EXPECT_EQ(FormatError(MakeError(ErrorCode::kNoStudy, "no study 7"), false),
            "error[B0601]: no study 7\n"
            "  hint: tuner list shows the studies\n");
}

TEST(ErrorTextTest, AnOptionOfTheApplicationIsShownAsItsFlag) {
  const absl::Status status =
      MakeError(ErrorCode::kUsage, "`accuracy` strict rounds as f32 does", "`precision` bf16",
                "a number such as `accuracy` 2e-2; `tuner list` and `odd` stay");
  EXPECT_EQ(FormatError(status, false),
            "error[B0101]: --accuracy strict rounds as f32 does\n"
            "  where: --precision bf16\n"
            "  hint: a number such as --accuracy 2e-2; `tuner list` and `odd` stay\n");
  EXPECT_THAT(ErrorJson(status), HasSubstr(R"("where":"--precision bf16")"));
}

TEST(ErrorTextTest, AsJsonAnErrorIsOneLine) {
  EXPECT_EQ(ErrorJson(WithError(absl::InvalidArgumentError("a\nis \"b\"; hint: make it c"),
                                ErrorCode::kNotDatabase, "x.db")),
            "{\"error\":{\"code\":\"B0501\",\"message\":\"a\\nis \\\"b\\\"\","
            "\"where\":\"x.db\",\"hint\":\"make it c\"},\"schema\":1}\n");
  // The table has no hint for it.
  EXPECT_EQ(ErrorJson(MakeError(ErrorCode::kInterrupted, "stopped")),
            "{\"error\":{\"code\":\"B0905\",\"message\":\"stopped\"},\"schema\":1}\n");
  // Bytes that are no UTF-8.
  EXPECT_THAT(ErrorJson(MakeError(ErrorCode::kBadModel, "\xff\x1b")),
              HasSubstr("\"message\":\"\xef\xbf\xbd\\u001b\""));
}

TEST(ErrorTextTest, AStatusWithoutANumberGetsOneByItsKind) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("x")), 69);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("x")), 70);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("x")), 77);
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("x")), 130);
}

}  // namespace
}  // namespace burnish
