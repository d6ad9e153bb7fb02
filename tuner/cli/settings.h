// What a user may set in more than one place, and which place won: flag, BURNISH_* variable,
// $XDG_CONFIG_HOME/burnish/config.toml, /etc/burnish/config.toml, default.
#ifndef TUNER_CLI_SETTINGS_H_
#define TUNER_CLI_SETTINGS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace burnish {

struct SettingInfo {
  const char* key;       // In config.toml; the flag is "--" and the key with dashes.
  const char* variable;  // "BURNISH_DB"
  const char* help;
  const char* values = "";  // Words that it may be; a shell offers them.
};

// By key.
absl::Span<const SettingInfo> AllSettings();

struct SettingValue {
  std::string value;   // Empty: not set, and no default.
  std::string origin;  // "flag --db", "BURNISH_DB", a path with line, "default".
};

struct SettingSources {
  std::map<std::string, std::string> flags = {};  // By key; only those that were given.
  // The value of a variable of the environment, or nullptr.
  std::function<const char*(const char*)> getenv = {};
  std::string system_config = "/etc/burnish/config.toml";
};

class Settings {
 public:
  // A file that is not there is passed over. Errors (B0102): a file that is no TOML, an unknown key
  // or a value that is no string, with its line.
  static absl::StatusOr<Settings> Load(const SettingSources& sources);

  // `key` must be one of AllSettings().
  const std::string& Get(absl::string_view key) const { return Find(key).value; }
  const SettingValue& Find(absl::string_view key) const;

 private:
  std::map<std::string, SettingValue, std::less<>> values_;
};

}  // namespace burnish

#endif  // TUNER_CLI_SETTINGS_H_
