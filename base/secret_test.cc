#include "base/secret.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>
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
