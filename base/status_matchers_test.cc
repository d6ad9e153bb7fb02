#include "base/status_matchers.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using ::testing::Pointee;

TEST(StatusMatchersTest, OkAndErrorAreToldApart) {
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(absl::StatusOr<int>(1), IsOk());
  EXPECT_THAT(absl::InternalError("x"), Not(IsOk()));
}

TEST(StatusMatchersTest, HeldValueIsMatchedByValueOrMatcher) {
  EXPECT_THAT(absl::StatusOr<std::string>("abc"), IsOkAndHolds("abc"));
  EXPECT_THAT(absl::StatusOr<std::optional<int>>(3), IsOkAndHolds(Optional(3)));
  EXPECT_THAT(absl::StatusOr<int>(3), Not(IsOkAndHolds(4)));
  EXPECT_THAT(absl::StatusOr<int>(absl::InternalError("x")), Not(IsOkAndHolds(4)));
}

TEST(StatusMatchersTest, MoveOnlyValueCanBeMatched) {
  const absl::StatusOr<std::unique_ptr<int>> held = std::make_unique<int>(5);
  EXPECT_THAT(held, IsOkAndHolds(Pointee(5)));
}

TEST(StatusMatchersTest, CodeAndMessageMustBothMatch) {
  const absl::Status status = absl::NotFoundError("got a, want b");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr("want b")));
  EXPECT_THAT(status, Not(StatusIs(absl::StatusCode::kInternal)));
  EXPECT_THAT(status, Not(StatusIs(absl::StatusCode::kNotFound, "other")));
  EXPECT_THAT(absl::StatusOr<int>(status), StatusIs(absl::StatusCode::kNotFound));
}

TEST(StatusMatchersTest, AssignStopsTheTestAtAnError) {
  EXPECT_FATAL_FAILURE(
      {
        ASSERT_OK_AND_ASSIGN(const int value, absl::StatusOr<int>(absl::InternalError("broken")));
        FAIL() << "must not get here with " << value;
      },
      "INTERNAL: broken");
  ASSERT_OK_AND_ASSIGN(auto owned, absl::StatusOr<std::unique_ptr<int>>(std::make_unique<int>(7)));
  EXPECT_EQ(*owned, 7);
}

}  // namespace
}  // namespace burnish
