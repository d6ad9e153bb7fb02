#include "tracker/tuner_identity.h"

#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kOwn(32, 's'), kOther(32, 'o');

auto Refused(const std::string& why) {
  return StatusIs(
      absl::StatusCode::kPermissionDenied,
      AllOf(HasSubstr(why), HasSubstr("tuner t"), Not(HasSubstr("ssss")), Not(HasSubstr("oooo"))));
}

TEST(TunerIdentitiesTest, AnIdBelongsToTheFirstSecretForAsLongAsTheTunerIsKnown) {
  TunerIdentities identities;
  EXPECT_THAT(identities.Check("t", kOther, /*is_known=*/false), IsOk()) << "nobody has come yet";
  identities.Bind("t", kOwn);
  EXPECT_THAT(identities.Check("t", kOwn, /*is_known=*/true), IsOk());
  EXPECT_THAT(identities.Check("t", kOther, /*is_known=*/true), Refused("by another secret"));
  EXPECT_THAT(identities.Check("u", kOther, /*is_known=*/false), IsOk()) << "another id";
  // Forgotten: whoever comes next has it.
  EXPECT_THAT(identities.Check("t", kOther, /*is_known=*/false), IsOk());
  identities.Bind("t", kOther);
  EXPECT_THAT(identities.Check("t", kOwn, /*is_known=*/true), Refused("by another secret"));
}

TEST(TunerIdentitiesTest, NoneIsNoSecret) {
  const TunerIdentities identities;
  for (const std::string& secret : {std::string(), std::string(15, 's'), std::string(65, 's')}) {
    EXPECT_THAT(identities.Check("t", secret, /*is_known=*/false), Refused("16 to 64"));
    EXPECT_THAT(identities.Check("t", secret, /*is_known=*/true), Refused("16 to 64"));
  }
}

TEST(TunerIdentitiesTest, KeepsNobodyLongerThanTheTrackerDoes) {
  TunerIdentities identities;
  identities.Bind("t", kOwn);
  identities.Bind("u", kOther);
  identities.Prune([](const std::string& id) { return id == "u"; });
  EXPECT_EQ(identities.size(), 1u);
  EXPECT_THAT(identities.Check("u", kOwn, /*is_known=*/true), Not(IsOk()));
}

}  // namespace
}  // namespace burnish
