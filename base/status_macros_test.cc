#include "base/status_macros.h"

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

absl::StatusOr<int> Half(int x) {
  if (x % 2 != 0) return absl::InvalidArgumentError("odd");
  return x / 2;
}

absl::StatusOr<int> Quarter(int x) {
  ASSIGN_OR_RETURN(const int half, Half(x));
  ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

absl::Status Check(int x) {
  RETURN_IF_ERROR(Half(x).status());
  return absl::OkStatus();
}

TEST(StatusMacrosTest, AssignOrReturnGivesTheValueOrTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
}

TEST(StatusMacrosTest, ReturnIfErrorPassesOkOn) {
  EXPECT_TRUE(Check(2).ok());
  EXPECT_EQ(Check(3).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace burnish
