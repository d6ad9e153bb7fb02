#include "tuner/cli/settings.h"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/xdg_folder.h"
#include "proto/host_calibration.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

constexpr SettingInfo kSettings[] = {
    {"calibration", "BURNISH_CALIBRATION",
     "what is known of the device: auto (its row, measured once a boot), table, or a row's file"},
    {"db", "BURNISH_DB", "the database: a path, sqlite:PATH or memory:"},
    {"log_level", "BURNISH_LOG_LEVEL", "debug, info, warning, error or off"},
    {"server", "BURNISH_SERVER", "address of a running `tuner serve`"},
    {"target", "BURNISH_TARGET", "what to build for: host or a target's text"},
    {"tracker", "BURNISH_TRACKER", "address of a farm's tracker; without it: this machine"},
};
constexpr int64_t kConfigBytesMax = 1 << 20;

std::string Default(absl::string_view key, const SettingSources& sources) {
  if (key == "target") return "host";
  if (key == "log_level") return "warning";
  if (key == "calibration") return kCalibrationAuto;
  if (key != "db") return "";
  const std::string folder = XdgFolder(sources.getenv, "XDG_DATA_HOME", ".local/share");
  return folder.empty() ? "" : absl::StrCat(folder, "/burnish/burnish.db");
}

// The line of the first character beyond ASCII that is in no string and no comment; 0: none. TOML
// has no such text, and toml++ 3.3 runs into its own "unreachable" on some of them.
int StrayLine(absl::string_view text) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // A byte order mark, which TOML takes.
  int line = 1;
  absl::string_view quote;  // That ends the string we are in; empty: in none.
  bool comment = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      comment = false;
      if (quote.size() == 1) quote = "";  // Such a string ends with its line, or is no TOML.
    } else if (comment) {
      continue;
    } else if (!quote.empty()) {
      if (c == '\\' && quote[0] == '"') {
        i += text.substr(i + 1, 1) == "\n" ? 0 : 1;  // The line is counted above.
      } else if (text.substr(i, quote.size()) == quote) {
        i += quote.size() - 1;
        quote = "";
      }
    } else if (c == '#') {
      comment = true;
    } else if (c == '"' || c == '\'') {
      const bool is_long = text.substr(i, 3) == std::string(3, c);
      quote = text.substr(i, is_long ? 3 : 1);
      i += quote.size() - 1;
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return line;
    }
  }
  return 0;
}

absl::Status ReadConfig(const std::string& path, absl::string_view text,
                        std::map<std::string, SettingValue, std::less<>>& values) {
  const auto where = [&](const toml::source_region& source) {
    return absl::StrCat(path, ":", source.begin.line);
  };
  if (const int line = StrayLine(text); line > 0) {
    return MakeError(ErrorCode::kSettings, "not TOML: a character beyond ASCII outside of quotes",
                     absl::StrCat(path, ":", line));
  }
  toml::table table;
  try {
    table = toml::parse(std::string_view(text.data(), text.size()), path);
  } catch (const toml::parse_error& error) {
    return MakeError(ErrorCode::kSettings,
                     absl::StrCat("not TOML: ", std::string(error.description())),
                     where(error.source()));
  }
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::none_of(std::begin(kSettings), std::end(kSettings),
                     [&](const SettingInfo& info) { return name == info.key; })) {
      return MakeError(ErrorCode::kSettings, absl::StrCat("unknown setting \"", name, "\""),
                       where(node.source()), "tuner config show lists the settings");
    }
    const auto* value = node.as_string();
    if (value == nullptr) {
      return MakeError(ErrorCode::kSettings, absl::StrCat("setting \"", name, "\" is no string"),
                       where(node.source()), absl::StrCat("write ", name, " = \"...\""));
    }
    values[name] = {.value = value->get(), .origin = where(node.source())};
  }
  return absl::OkStatus();
}

}  // namespace

absl::Span<const SettingInfo> AllSettings() { return kSettings; }

absl::StatusOr<Settings> Settings::Load(const SettingSources& sources) {
  Settings settings;
  for (const SettingInfo& info : kSettings) {
    settings.values_[info.key] = {.value = Default(info.key, sources), .origin = "default"};
  }
  std::vector<std::string> files = {sources.system_config};
  if (const std::string folder = XdgFolder(sources.getenv, "XDG_CONFIG_HOME", ".config");
      !folder.empty()) {
    files.push_back(absl::StrCat(folder, "/burnish/config.toml"));
  }
  for (const std::string& path : files) {
    const absl::StatusOr<std::string> text = ReadFile(path, kConfigBytesMax);
    if (absl::IsNotFound(text.status())) continue;
    if (!text.ok()) return WithError(text.status(), ErrorCode::kSettings, path);
    RETURN_IF_ERROR(ReadConfig(path, *text, settings.values_));
  }
  for (const SettingInfo& info : kSettings) {
    if (const char* value = sources.getenv(info.variable); value != nullptr && *value != '\0') {
      settings.values_[info.key] = {.value = value, .origin = info.variable};
    }
  }
  for (const auto& [key, value] : sources.flags) {
    std::string flag = absl::StrCat("flag --", key);
    std::replace(flag.begin(), flag.end(), '_', '-');
    settings.values_[key] = {.value = value, .origin = flag};
  }
  return settings;
}

const SettingValue& Settings::Find(absl::string_view key) const {
  const auto found = values_.find(std::string(key));
  CHECK(found != values_.end()) << "no setting " << std::string(key);
  return found->second;
}

}  // namespace burnish
