#include "tuner/cli/settings.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/xdg_folder.h"
#include "proto/door.h"
#include "proto/host_calibration.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

constexpr SettingInfo kSettings[] = {
    {"cache", "BURNISH_CACHE",
     "folder of what was compiled before, to compile it once; none: keep nothing", "none"},
    {"calibration", "BURNISH_CALIBRATION",
     "what is known of the device: auto (its row, measured once a boot), table, or a row's file",
     "auto table"},
    {"db", "BURNISH_DB", "the database: a path, sqlite:PATH or memory:"},
    {"log_level", "BURNISH_LOG_LEVEL", "debug, info, warning, error or off",
     "debug info warning error off"},
    {"python", "BURNISH_PYTHON",
     "the Python that has ONNX Runtime, for `tuner bench --against`, or torch, for .pt2 files"},
    {"server", "BURNISH_SERVER", "address of a running `tuner serve`"},
    {"target", "BURNISH_TARGET", "what to build for: host or a target's text", "host"},
    {"tracker", "BURNISH_TRACKER", "address of a farm's tracker; without it: this machine"},
};
constexpr int64_t kConfigBytesMax = 1 << 20;

std::string Default(absl::string_view key, const SettingSources& sources) {
  if (key == "target") return "host";
  if (key == "python") return "python3";
  if (key == "log_level") return "warning";
  if (key == "calibration") return kCalibrationAuto;
  if (key == "cache") {
    const std::string folder = XdgFolder(sources.getenv, "XDG_CACHE_HOME", ".cache");
    return folder.empty() ? "none" : absl::StrCat(folder, "/burnish/compiled");
  }
  if (key != "db") return "";
  const std::string folder = XdgFolder(sources.getenv, "XDG_DATA_HOME", ".local/share");
  return folder.empty() ? "" : absl::StrCat(folder, "/burnish/burnish.db");
}

// The first character of `text`, which is beyond ASCII, taken off; none where it is no UTF-8.
std::optional<uint32_t> TakeCharacter(absl::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC0 || first >= 0xF8 || text.size() < size) return std::nullopt;
  uint32_t character = first & (0x7F >> size);
  for (const char c : text.substr(1, size - 1)) {
    if ((c & 0xC0) != 0x80) return std::nullopt;
    character = character << 6 | (c & 0x3F);
  }
  text.remove_prefix(size);
  return character;
}

// The same TOML in ASCII: toml++ 3.3 runs into its own "unreachable" at some characters beyond it,
// also while it words an error. Within double quotes TOML has an escape for each character, in
// comments none is needed, and elsewhere there is no way to write one. Where this reads quotes
// otherwise than the parser does, the parser still sees nothing but ASCII.
absl::StatusOr<std::string> AsciiToml(const std::string& path, absl::string_view text) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // A byte order mark, which TOML takes.
  std::string ascii;
  int line = 1;
  absl::string_view quote;  // That ends the string we are in; empty: in none.
  bool comment = false;
  const auto take = [&](size_t count) {
    absl::StrAppend(&ascii, text.substr(0, count));
    text.remove_prefix(std::min(count, text.size()));
  };
  while (!text.empty()) {
    const char c = text[0];
    if (static_cast<unsigned char>(c) >= 0x80) {
      const std::optional<uint32_t> character = TakeCharacter(text);
      if (!character.has_value() || (!comment && !absl::StartsWith(quote, "\""))) {
        return MakeError(ErrorCode::kSettings,
                         character.has_value()
                             ? "not TOML: a character beyond ASCII outside of double quotes"
                             : "not UTF-8",
                         absl::StrCat(path, ":", line), "write it in double quotes, as UTF-8");
      }
      ascii += comment ? "?" : absl::StrFormat("\\U%08X", *character);
    } else if (c == '\n') {
      ++line;
      comment = false;
      if (quote.size() == 1) quote = "";  // Such a string ends with its line, or is no TOML.
      take(1);
    } else if (comment) {
      take(1);
    } else if (!quote.empty()) {
      const bool is_end = absl::StartsWith(text, quote);
      // What follows a backslash may be a quote. A line's end is counted above. The escape of what
      // is beyond ASCII would take the backslash for its own: such a pair is no TOML, nor
      // is "\_".
      const bool is_pair = c == '\\' && quote[0] == '"' && text.size() > 1 && text[1] != '\n';
      if (is_pair && !absl::ascii_isascii(text[1])) ascii += "\\_";
      take(is_end ? quote.size() : is_pair && absl::ascii_isascii(text[1]) ? 2 : 1);
      if (is_end) quote = "";
    } else {
      comment = c == '#';
      if (c == '"' || c == '\'') {
        quote = absl::StartsWith(text, std::string(3, c)) ? text.substr(0, 3) : text.substr(0, 1);
      }
      take(std::max<size_t>(quote.size(), 1));
    }
  }
  return ascii;
}

absl::Status ReadConfig(const std::string& path, absl::string_view text,
                        std::map<std::string, SettingValue, std::less<>>& values) {
  const auto where = [&](const toml::source_region& source) {
    return absl::StrCat(path, ":", source.begin.line);
  };
  ASSIGN_OR_RETURN(const std::string ascii, AsciiToml(path, text));
  toml::table table;
  try {
    table = toml::parse(ascii, path);
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
  for (const char* key : {"server", "tracker"}) {
    const SettingValue& setting = settings.Find(key);
    if (setting.value.empty()) continue;
    // An argument is not a setting's fault.
    const bool is_flag = sources.flags.contains(key);
    RETURN_IF_ERROR(WithError(CheckAddress(setting.value),
                              is_flag ? ErrorCode::kUsage : ErrorCode::kSettings, setting.origin,
                              "an address such as localhost:7171"));
  }
  return settings;
}

const SettingValue& Settings::Find(absl::string_view key) const {
  const auto found = values_.find(std::string(key));
  CHECK(found != values_.end()) << "no setting " << std::string(key);
  return found->second;
}

}  // namespace burnish
