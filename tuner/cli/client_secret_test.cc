#include "tuner/cli/client_secret.h"

#include <sys/stat.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

class ClientSecretTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Secret() {
    return ClientSecret([this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    });
  }

  const TempDir folder_ = *TempDir::Create("client-secret");
  std::map<std::string, std::string> variables_ = {{"HOME", folder_.path()}};
};

TEST_F(ClientSecretTest, IsTheUsersAndStays) {
  ASSERT_OK_AND_ASSIGN(const std::string secret, Secret());
  EXPECT_THAT(Secret(), IsOkAndHolds(secret));
  const std::string path = absl::StrCat(folder_.path(), "/.local/state/burnish/client-secret");
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // Of this state folder.
  variables_["XDG_STATE_HOME"] = absl::StrCat(folder_.path(), "/elsewhere");
  EXPECT_THAT(Secret(), IsOkAndHolds(::testing::Ne(secret)));
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  variables_.erase("XDG_STATE_HOME");
  EXPECT_EQ(ErrorCodeOf(Secret().status()), ErrorCode::kPermission);
  EXPECT_EQ(PartsOf(Secret().status()).where, path);
}

TEST_F(ClientSecretTest, AVariableIsForThoseWithoutAHome) {
  variables_ = {{"BURNISH_CLIENT_SECRET", std::string(32, '1')}};
  EXPECT_THAT(Secret(), IsOkAndHolds(std::string(16, '\x11')));
  variables_["BURNISH_CLIENT_SECRET"] = "not hexadecimal";
  EXPECT_EQ(ErrorCodeOf(Secret().status()), ErrorCode::kSettings);
  EXPECT_THAT(Secret().status().message(), ::testing::Not(::testing::HasSubstr("not hexa")));
  variables_.clear();
  EXPECT_EQ(ErrorCodeOf(Secret().status()), ErrorCode::kSettings);
}

}  // namespace
}  // namespace burnish
