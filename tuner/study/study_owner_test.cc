#include "tuner/study/study_owner.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/child.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(StudyOwnerTest, ThisProcessRunsAndNamesItself) {
  const std::string here = ThisProcess();
  EXPECT_THAT(here, ::testing::StartsWith(absl::StrCat("process ", getpid(), " on ")));
  EXPECT_EQ(ThisProcess(), here);
  EXPECT_FALSE(HasEnded(here));
}

// The id is still there, and is another's.
TEST(StudyOwnerTest, ProcessOfAnEarlierStartHasEnded) {
  std::string earlier = ThisProcess();
  earlier.insert(earlier.size() - 1, "9");
  EXPECT_TRUE(HasEnded(earlier));
}

TEST(StudyOwnerTest, ProcessThatWasKilledHasEnded) {
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<Child> child,
      Child::Start({.program = "/bin/sleep", .args = {"600"}, .dies_with_parent = false}));
  const std::string here = ThisProcess();
  // Its start time is not this process's; what counts is that the id is nobody's in the end.
  const std::string owner = absl::StrReplaceAll(
      here,
      {{absl::StrCat("process ", getpid(), " "), absl::StrCat("process ", child->pid(), " ")}});
  child->Kill();
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, child->Wait(absl::Seconds(10)));
  EXPECT_EQ(exit.signal, 9);
  EXPECT_TRUE(HasEnded(owner));
}

TEST(StudyOwnerTest, OfAnotherMachineOrContainerNobodyHereKnows) {
  const std::string here = ThisProcess();
  const size_t on = here.find(" on "), details = here.rfind(" (");
  std::string other = here;
  other.replace(on + 4, details - on - 4, "elsewhere.example");
  other.insert(other.size() - 1, "9");
  EXPECT_FALSE(HasEnded(other));
  // The last but one field is the container's.
  std::string contained = here;
  contained.insert(contained.rfind(' '), "9");
  contained.insert(contained.size() - 1, "9");
  EXPECT_FALSE(HasEnded(contained));
}

TEST(StudyOwnerTest, MachineThatHasStartedAgainHasNoneOfItsProcesses) {
  std::string before = ThisProcess();
  before.insert(before.rfind(" (") + 2, "f");
  EXPECT_TRUE(HasEnded(before));
}

TEST(StudyOwnerTest, OfWhatIsNoOwnersNameNothingIsKnown) {
  for (const char* text : {"", "process", "process 1 on (", "process x on a (b 1 2)",
                           "process 1 on a (b 1)", "a tuner"}) {
    EXPECT_FALSE(HasEnded(text)) << text;
  }
}

}  // namespace
}  // namespace burnish
