#include "tracker/identities.h"

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

TEST(IdentitiesTest, AnIdBelongsToTheFirstSecretForAsLongAsTheTunerIsKnown) {
  Identities identities({.noun = "tuner"});
  EXPECT_THAT(identities.Check("t", kOther, /*is_known=*/false), IsOk()) << "nobody has come yet";
  identities.Bind("t", kOwn, /*was_known=*/false);
  EXPECT_THAT(identities.Check("t", kOwn, /*is_known=*/true), IsOk());
  EXPECT_THAT(identities.Check("t", kOther, /*is_known=*/true), Refused("by another secret"));
  EXPECT_THAT(identities.Check("u", kOther, /*is_known=*/false), IsOk()) << "another id";
  // Forgotten: whoever comes next has it.
  EXPECT_THAT(identities.Check("t", kOther, /*is_known=*/false), IsOk());
  identities.Bind("t", kOther, /*was_known=*/false);
  EXPECT_THAT(identities.Check("t", kOwn, /*is_known=*/true), Refused("by another secret"));
}

TEST(IdentitiesTest, NoneIsNoSecret) {
  const Identities identities({.noun = "tuner"});
  for (const std::string& secret : {std::string(), std::string(15, 's'), std::string(65, 's')}) {
    EXPECT_THAT(identities.Check("t", secret, /*is_known=*/false), Refused("16 to 64"));
    EXPECT_THAT(identities.Check("t", secret, /*is_known=*/true), Refused("16 to 64"));
  }
}

TEST(IdentitiesTest, KeepsNobodyLongerThanTheTrackerDoes) {
  Identities identities({.noun = "tuner"});
  identities.Bind("t", kOwn, /*was_known=*/false);
  identities.Bind("u", kOther, /*was_known=*/false);
  identities.Prune([](const std::string& id) { return id == "u"; });
  EXPECT_EQ(identities.size(), 1u);
  EXPECT_THAT(identities.Check("u", kOwn, /*is_known=*/true), Not(IsOk()));
}

// As workers are: those of an earlier protocol have none.
TEST(IdentitiesTest, OneWithoutASecretTakesNoNameThatCameWithOne) {
  Identities identities({.noun = "tuner", .secret_required = false, .way_out = "use another"});
  EXPECT_THAT(identities.Check("t", "", /*is_known=*/false), IsOk());
  identities.Bind("t", "", /*was_known=*/false);
  EXPECT_THAT(identities.Check("t", "", /*is_known=*/true), IsOk()) << "it works on";
  EXPECT_FALSE(identities.IsOwner("t", ""));
  EXPECT_THAT(identities.Check("t", std::string(15, 's'), true), Refused("16 to 64"));
  // Its successor has one, and keeps the name from now on.
  EXPECT_THAT(identities.Check("t", kOwn, /*is_known=*/true), IsOk());
  identities.Bind("t", kOwn, /*was_known=*/true);
  EXPECT_THAT(identities.Check("t", "", /*is_known=*/true), Refused("use another"));
  EXPECT_THAT(identities.Check("t", kOther, /*is_known=*/true), Refused("use another"));
  EXPECT_TRUE(identities.IsOwner("t", kOwn));
  EXPECT_FALSE(identities.IsOwner("t", kOther));
  EXPECT_FALSE(identities.IsOwner("t", ""));
  // Forgotten, and back without one.
  identities.Bind("t", "", /*was_known=*/false);
  EXPECT_FALSE(identities.IsOwner("t", kOwn));
}

}  // namespace
}  // namespace burnish
