#include "tuner/cli/settings.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gtest/gtest.h"
#include "tuner/cli/error_text.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() {
    variables_["HOME"] = "/nowhere";
    variables_["XDG_CONFIG_HOME"] = folder_->path();
    variables_["XDG_DATA_HOME"] = "/data";
    std::filesystem::create_directory(folder_->path() + "/burnish");
    sources_.system_config = folder_->path() + "/system.toml";
    sources_.getenv = [this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    };
  }
  void WriteSystem(const std::string& text) {
    ASSERT_THAT(WriteFileAtomically(sources_.system_config, text), IsOk());
  }
  void WriteUser(const std::string& text) { ASSERT_THAT(WriteFileAtomically(user_, text), IsOk()); }

  absl::StatusOr<TempDir> folder_ = TempDir::Create("settings");
  std::string user_ = folder_->path() + "/burnish/config.toml";
  std::map<std::string, std::string> variables_;
  SettingSources sources_;
};

TEST_F(SettingsTest, EachPlaceWinsOverTheOnesBelowIt) {
  const auto db = [&] {
    const absl::StatusOr<Settings> settings = Settings::Load(sources_);
    EXPECT_THAT(settings, IsOk());
    return absl::StrCat(settings->Find("db").value, " from ", settings->Find("db").origin);
  };
  EXPECT_EQ(db(), "/data/burnish/burnish.db from default");
  WriteSystem("db = 'system.db'");
  EXPECT_EQ(db(), absl::StrCat("system.db from ", sources_.system_config, ":1"));
  WriteUser("# mine\ndb = 'user.db'");
  EXPECT_EQ(db(), absl::StrCat("user.db from ", user_, ":2"));
  variables_["BURNISH_DB"] = "variable.db";
  EXPECT_EQ(db(), "variable.db from BURNISH_DB");
  sources_.flags["db"] = "flag.db";
  EXPECT_EQ(db(), "flag.db from flag --db");
}

TEST_F(SettingsTest, AnEmptyVariableIsNone) {
  variables_["BURNISH_TARGET"] = "";
  ASSERT_OK_AND_ASSIGN(const Settings settings, Settings::Load(sources_));
  EXPECT_EQ(settings.Get("target"), "host");
}

TEST_F(SettingsTest, MistakesInAFileAreNamedWithTheirLine) {
  const auto refused = [&](const std::string& text, const std::string& cause,
                           const std::string& line) {
    WriteUser(text);
    const absl::Status status = Settings::Load(sources_).status();
    EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kSettings);
    EXPECT_THAT(FormatError(status, false), HasSubstr(cause));
    EXPECT_THAT(FormatError(status, false), HasSubstr(absl::StrCat(user_, ":", line)));
  };
  refused("db = 'a'\ntraget = 'host'", "unknown setting \"traget\"", "2");
  refused("db = 7", "\"db\" is no string", "1");
  refused("\n\ndb = ", "not TOML", "3");
}

// Some of them end in what toml++ calls unreachable, as the fuzzer found; the last also where the
// parser is in another string than we are.
TEST_F(SettingsTest, CharactersBeyondAsciiAreForDoubleQuotesAndComments) {
  const std::string before =
      "# \xC3\xA4\ntarget = \"\\\"\xC3\xA4\"\nserver = \"\"\"\n\xC3\xA4\"\"\"\n";
  for (const std::string text : {"tragke\xEF\xBA\xBFr = 'a'", "db = \xC3\xA4", "\xC3\xA4 = 'a'",
                                 "db = '\xC3\xA4'", "db = \"\xC3\"", "# \xFF"}) {
    WriteUser(before + text);
    const absl::Status status = Settings::Load(sources_).status();
    EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kSettings);
    EXPECT_THAT(FormatError(status, false), HasSubstr("in double quotes, as UTF-8")) << text;
    EXPECT_THAT(FormatError(status, false), HasSubstr(absl::StrCat(user_, ":5")));
  }
  WriteUser("db = [0, 2.5t\"\xEF\xB3\xBFug\"er\"\"\"\xEF\xBB\xBDug\"");
  EXPECT_THAT(FormatError(Settings::Load(sources_).status(), false), HasSubstr("not TOML"));
  WriteUser(
      "\xEF\xBB\xBF"
      "db = \"\xC3\xA4.db\" # \xC3\xA4\ntarget = \"\\\xC3\xA4\"");
  EXPECT_THAT(FormatError(Settings::Load(sources_).status(), false), HasSubstr("not TOML"));
  WriteUser(
      "\xEF\xBB\xBF"
      "db = \"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80.db\" # \xC3\xA4");
  ASSERT_OK_AND_ASSIGN(const Settings settings, Settings::Load(sources_));
  EXPECT_EQ(settings.Get("db"), "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80.db");
}

TEST_F(SettingsTest, WithoutAHomeThereIsNoDefaultDatabase) {
  variables_.erase("HOME");
  variables_.erase("XDG_DATA_HOME");
  ASSERT_OK_AND_ASSIGN(const Settings settings, Settings::Load(sources_));
  EXPECT_EQ(settings.Get("db"), "");
}

}  // namespace
}  // namespace burnish
