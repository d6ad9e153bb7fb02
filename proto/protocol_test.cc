#include "proto/protocol.h"

#include <string>

#include "base/status_matchers.h"
#include "base/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

Speaker Of(const std::string& program, const std::string& version, int oldest, int newest) {
  return {.program = program, .version = version, .oldest = oldest, .newest = newest};
}

TEST(ProtocolTest, TextIsReadBackAndMayGrow) {
  const Speaker speaker = ThisVersion("tuner serve");
  EXPECT_EQ(speaker.version, kBurnishVersion);
  EXPECT_THAT(ParseSpeaker(ToText(speaker)), IsOkAndHolds(speaker));
  EXPECT_THAT(ParseSpeaker(ToText(speaker) + ";more;of a later version"), IsOkAndHolds(speaker));
  // As docs/contracts.md promises for ever.
  EXPECT_EQ(std::string(kSpeakerMetadata), "burnish-speaker");
  EXPECT_EQ(ToText(Of("worker", "0.4.1", 3, 4)), "3;4;0.4.1;worker");
}

TEST(ProtocolTest, VersionLineSaysWhatIsSpoken) {
  EXPECT_EQ(VersionLine(Of("tracker", "0.2.0", 2, 2)), "tracker 0.2.0 (protocol 2)");
  EXPECT_EQ(VersionLine(Of("tracker", "0.4.1", 3, 4)), "tracker 0.4.1 (protocol 3 to 4)");
}

TEST(ProtocolTest, TextsThatNobodySendsAreRefused) {
  for (const std::string text :
       {"", "2", "2;2;0.2.0", "x;2;0.2.0;worker", "2;x;0.2.0;worker", "0;2;0.2.0;worker",
        "-1;2;0.2.0;worker", "3;2;0.2.0;worker", "2;99999999999;0.2.0;worker", "2;2;;worker",
        "2;2;0.2.0;", "2;2;0.2.0;wor\nker", "2;2;0.2.0;\x1b[2J"}) {
    EXPECT_THAT(ParseSpeaker(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
  EXPECT_THAT(ParseSpeaker("2;2;0.2.0;" + std::string(33, 'w')),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// Each release speaks its own protocol and the one before, so that neighbours always share one.
TEST(ProtocolTest, NeighboursWorkTogetherWhicheverIsUpdatedFirst) {
  EXPECT_THAT(CheckTogether(Of("worker", "0.3", 2, 3), Of("tracker", "0.4", 3, 4)), IsOk());
  EXPECT_THAT(CheckTogether(Of("worker", "0.4", 3, 4), Of("tracker", "0.3", 2, 3)), IsOk());
  EXPECT_THAT(CheckTogether(ThisVersion("worker"), ThisVersion("tracker")), IsOk());
}

TEST(ProtocolTest, OthersAreRefusedByNameWithTheOneToUpdate) {
  const absl::Status old_client =
      CheckTogether(FirstVersion("worker"), Of("tracker", "0.4.0", 3, 4));
  EXPECT_THAT(
      old_client,
      StatusIs(absl::StatusCode::kFailedPrecondition,
               "worker 0.1 speaks protocol 1, tracker 0.4.0 speaks protocol 3 to 4: update the "
               "worker"));
  EXPECT_TRUE(IsProtocolRefusal(old_client));
  const absl::Status old_server =
      CheckTogether(Of("worker", "0.4.0", 3, 4), FirstVersion("tracker"));
  EXPECT_THAT(old_server,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("update the tracker")));
  EXPECT_TRUE(IsProtocolRefusal(old_server));
}

// The version that never said what it speaks, as docs/contracts.md promises.
TEST(ProtocolTest, ThisVersionDoesNotSpeakThatOfTheFirst) {
  EXPECT_TRUE(IsProtocolRefusal(CheckTogether(FirstVersion("worker"), ThisVersion("tracker"))));
  EXPECT_TRUE(IsProtocolRefusal(CheckTogether(ThisVersion("worker"), FirstVersion("tracker"))));
}

TEST(ProtocolTest, OtherFailedPreconditionsAreNoRefusal) {
  EXPECT_FALSE(IsProtocolRefusal(absl::FailedPreconditionError("a newer process has this id")));
  EXPECT_FALSE(IsProtocolRefusal(absl::OkStatus()));
}

TEST(ProtocolTest, OnlyWhatPatienceDoesNotMendIsFinal) {
  EXPECT_TRUE(IsFinalRefusal(ProtocolRefusal("another protocol")));
  EXPECT_TRUE(IsFinalRefusal(absl::PermissionDeniedError("a stranger")));
  EXPECT_TRUE(IsFinalRefusal(absl::UnauthenticatedError("no secret")));
  EXPECT_FALSE(IsFinalRefusal(absl::FailedPreconditionError("no worker can do the jobs")));
  EXPECT_FALSE(IsFinalRefusal(absl::UnavailableError("no tracker answers")));
  EXPECT_FALSE(IsFinalRefusal(absl::OkStatus()));
}

}  // namespace
}  // namespace burnish
