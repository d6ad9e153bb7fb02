#include "tuner/app/error.h"

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(ErrorTest, TheInnermostNumberStays) {
  const absl::Status inner = MakeError(ErrorCode::kNotBundle, "no magic", "a.bundle");
  const absl::Status outer = WithError(inner, ErrorCode::kInternal, "elsewhere");
  EXPECT_EQ(ErrorCodeOf(outer), ErrorCode::kNotBundle);
  EXPECT_EQ(PartsOf(outer).where, "a.bundle");
}

TEST(ErrorTest, AHintIsAddedOnlyWhereThereIsNone) {
  EXPECT_TRUE(WithHint(absl::OkStatus(), "wait").ok());
  const absl::Status without = MakeError(ErrorCode::kNoStudy, "no study 7");
  EXPECT_EQ(PartsOf(WithHint(without, "list them")).hint, "list them");
  const absl::Status with = MakeError(ErrorCode::kNoStudy, "no study 7", "", "list them");
  EXPECT_EQ(PartsOf(WithHint(with, "wait")).hint, "list them");
}

TEST(ErrorTest, NumbersAreFoundAndUnknownOnesAreNot) {
  EXPECT_EQ(FindErrorCode(601), ErrorCode::kNoStudy);
  EXPECT_EQ(ErrorName(ErrorCode::kNoStudy), "B0601");
  EXPECT_EQ(FindErrorCode(0), std::nullopt);
  EXPECT_EQ(FindErrorCode(999), std::nullopt);
}

TEST(ErrorTest, TheStatusSaysWhetherToTryAgain) {
  EXPECT_TRUE(absl::IsInvalidArgument(MakeError(ErrorCode::kUsage, "x")));
  EXPECT_TRUE(absl::IsUnavailable(MakeError(ErrorCode::kTrackerUnreachable, "x")));
  EXPECT_TRUE(absl::IsNotFound(MakeError(ErrorCode::kNoRecord, "x")));
  EXPECT_TRUE(absl::IsCancelled(MakeError(ErrorCode::kInterrupted, "x")));
  EXPECT_TRUE(absl::IsAborted(MakeError(ErrorCode::kDiskFull, "x")));
}

}  // namespace
}  // namespace burnish
