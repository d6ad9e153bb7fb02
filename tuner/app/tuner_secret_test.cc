#include "tuner/app/tuner_secret.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

TEST(TunerSecretTest, IsTheDatabasesWhoeverOpensIt) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("tuner-secret"));
  const std::string path = absl::StrCat(folder.path(), "/studies.db");
  ASSERT_OK_AND_ASSIGN(const std::string secret, TunerSecret(path));
  EXPECT_THAT(TunerSecret(absl::StrCat("sqlite:", path)), IsOkAndHolds(secret));
  EXPECT_THAT(TunerSecret(absl::StrCat(folder.path(), "/other.db")),
              IsOkAndHolds(::testing::Ne(secret)));
  struct stat info = {};
  ASSERT_EQ(stat(absl::StrCat(path, ".secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(TunerSecretTest, OneThatOthersMayReadIsAnErrorWithItsPlace) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("tuner-secret"));
  const std::string path = absl::StrCat(folder.path(), "/studies.db");
  ASSERT_THAT(TunerSecret(path), IsOk());
  ASSERT_EQ(chmod(absl::StrCat(path, ".secret").c_str(), 0644), 0);
  const absl::Status refused = TunerSecret(path).status();
  EXPECT_EQ(ErrorCodeOf(refused), ErrorCode::kPermission);
  EXPECT_EQ(PartsOf(refused).where, absl::StrCat(path, ".secret"));
}

TEST(TunerSecretTest, OneInMemoryIsItsProcesss) {
  ASSERT_OK_AND_ASSIGN(const std::string first, TunerSecret("memory:"));
  EXPECT_THAT(TunerSecret("memory:"), IsOkAndHolds(::testing::Ne(first)));
}

}  // namespace
}  // namespace burnish
