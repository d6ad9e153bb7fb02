// tuner config show: which settings hold, and where they come from.
#include <nlohmann/json.hpp>
#include <string>

#include "tuner/app/error.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

class ConfigCommand : public Command {
 public:
  std::string name() const override { return "config"; }
  std::string summary() const override { return "shows the settings that hold"; }
  std::string example() const override { return "tuner config show --origin"; }
  void AddOptions(CommandOptions& options) override {
    options.Positional("ACTION", &action_, true, "show");
    options.Suggest("ACTION", {"show"});
    options.Flag("--origin", &origin_, "also say where each value comes from");
    for (const SettingInfo& info : AllSettings()) options.Setting(info.key);
    options.Json();
  }

  absl::Status Run(Context& context) override {
    if (action_ != "show") {
      return MakeError(ErrorCode::kUsage, "unknown action \"" + action_ + "\"", "tuner config",
                       "tuner config show");
    }
    Json json = {{"schema", 1}, {"settings", Json::object()}};
    std::vector<TextTable::Column> columns = {{"setting"},
                                              {"value", TextTable::kLeft, /*wraps=*/true}};
    if (origin_) columns.push_back({"origin"});
    TextTable table(columns);
    for (const SettingInfo& info : AllSettings()) {
      const SettingValue& value = context.settings().Find(info.key);
      json["settings"][info.key] = {{"value", value.value}, {"origin", value.origin}};
      std::vector<std::string> row = {info.key, value.value.empty() ? "-" : value.value};
      if (origin_) row.push_back(value.origin);
      table.AddRow(row);
    }
    context.out() << (context.json() ? json.dump() + "\n" : table.ToText(context.table_columns()));
    return absl::OkStatus();
  }

 private:
  std::string action_;
  bool origin_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeConfigCommand() { return std::make_unique<ConfigCommand>(); }

}  // namespace burnish
