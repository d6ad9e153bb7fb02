#include "base/secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

TEST(SecretTest, AFingerprintIsOfOneSecret) {
  const std::string secret = NewSecret();
  EXPECT_THAT(secret, SizeIs(32));
  EXPECT_NE(secret, NewSecret());
  EXPECT_TRUE(IsFingerprintOf(FingerprintOf(secret), secret));
  EXPECT_FALSE(IsFingerprintOf(FingerprintOf(secret), NewSecret()));
  EXPECT_FALSE(IsFingerprintOf("", secret));
  EXPECT_FALSE(IsFingerprintOf(FingerprintOf(secret).substr(1), secret));
  std::string last_differs = FingerprintOf(secret);
  last_differs.back() ^= 1;
  EXPECT_FALSE(IsFingerprintOf(last_differs, secret));
}

TEST(SecretTest, EachNameHasASecretOfItsOwn) {
  const std::string secret = NewSecret();
  EXPECT_EQ(SecretFor(secret, "study"), SecretFor(secret, "study"));
  const std::set<std::string> all = {secret, SecretFor(secret, "study"),
                                     SecretFor(secret, "study/refine"),
                                     SecretFor(NewSecret(), "study")};
  EXPECT_THAT(all, SizeIs(4));
}

TEST(SecretTest, TextIsReadWithBoundsAndNeverRepeated) {
  EXPECT_THAT(ParseSecret(absl::StrCat(std::string(32, 'a'), "\n")),
              IsOkAndHolds(std::string(16, '\xaa')));
  for (const std::string& bad : {std::string(), std::string(30, 'a'), std::string(33, 'a'),
                                 std::string(130, 'a'), std::string(32, 'x')}) {
    EXPECT_THAT(ParseSecret(bad),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("hexadecimal"), Not(HasSubstr(std::string(20, 'x'))),
                               Not(HasSubstr(std::string(20, 'a'))))));
  }
}

class SecretFileTest : public ::testing::Test {
 protected:
  const TempDir folder_ = *TempDir::Create("secret-test");
  const std::string path_ = folder_.path() + "/new/secret";
};

TEST_F(SecretFileTest, IsMadeOnceAndForThisUserAlone) {
  ASSERT_OK_AND_ASSIGN(const std::string first, ReadOrMakeSecret(path_));
  EXPECT_THAT(first, SizeIs(32));
  EXPECT_THAT(ReadOrMakeSecret(path_), IsOkAndHolds(first));
  EXPECT_EQ(ModeOf(path_), 0600u);
  EXPECT_EQ(ModeOf(folder_.path() + "/new"), 0700u);
}

TEST_F(SecretFileTest, ThoseWhoMakeItAtATimeGetTheSame) {
  constexpr int kCount = 16;
  std::vector<std::string> got(kCount);
  std::vector<std::thread> threads;
  for (int i = 0; i < kCount; ++i) {
    threads.emplace_back([&, i] { got[i] = ReadOrMakeSecret(path_).value_or("none"); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(std::set<std::string>(got.begin(), got.end()), SizeIs(1));
}

TEST_F(SecretFileTest, OneThatOthersMayReadIsNotUsed) {
  ASSERT_THAT(ReadOrMakeSecret(path_), IsOk());
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  EXPECT_THAT(ReadOrMakeSecret(path_),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("chmod 600")));
}

TEST_F(SecretFileTest, AUsersIsOfAVariableOrOfTheirHome) {
  std::map<std::string, std::string> variables = {{"HOME", folder_.path()}};
  const auto getenv = [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  ASSERT_OK_AND_ASSIGN(const std::string secret, UserSecret(getenv, "THE_SECRET", "some"));
  EXPECT_EQ(UserSecretPath(getenv, "some"), folder_.path() + "/.local/state/burnish/some");
  EXPECT_THAT(ReadOrMakeSecret(UserSecretPath(getenv, "some")), IsOkAndHolds(secret));
  EXPECT_THAT(UserSecret(getenv, "THE_SECRET", "other"), IsOkAndHolds(::testing::Ne(secret)));
  // Root may give a file away, but not to everybody within a namespace of users.
  if (chown(UserSecretPath(getenv, "some").c_str(), 12345, 12345) == 0) {
    EXPECT_THAT(UserSecret(getenv, "THE_SECRET", "some"),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("to user 12345")));
  }
  variables = {{"THE_SECRET", std::string(32, '1')}};
  EXPECT_THAT(UserSecret(getenv, "THE_SECRET", "some"), IsOkAndHolds(std::string(16, '\x11')));
  variables["THE_SECRET"] = "no secret";
  EXPECT_THAT(UserSecret(getenv, "THE_SECRET", "some"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("THE_SECRET: got no secret")));
  variables.clear();
  EXPECT_THAT(UserSecret(getenv, "THE_SECRET", "some"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("set HOME")));
}

TEST_F(SecretFileTest, AnythingElseInItsPlaceIsSaid) {
  ASSERT_THAT(ReadOrMakeSecret(path_), IsOk());
  std::ofstream(path_) << "not a secret";
  EXPECT_THAT(ReadOrMakeSecret(path_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path_), HasSubstr("remove the file"))));
  EXPECT_THAT(ReadOrMakeSecret("/dev/null/secret"), Not(IsOk()));
}

}  // namespace
}  // namespace burnish
