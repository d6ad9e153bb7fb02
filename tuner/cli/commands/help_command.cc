// tuner help: another way to write --help.
#include <string>
#include <utility>
#include <vector>

#include "tuner/app/error.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"

namespace burnish {
namespace {

class HelpCommand : public Command {
 public:
  explicit HelpCommand(std::vector<std::string> commands) : commands_(std::move(commands)) {}

  std::string name() const override { return "help"; }
  std::string summary() const override { return "shows the options of a command"; }
  std::string example() const override { return "tuner help submit"; }
  void AddOptions(CommandOptions& options) override {
    options.Positional("COMMAND", &command_, false, "one of those that tuner --help lists");
    options.Suggest("COMMAND", commands_);
  }
  // RunCli has the help, and turns "help COMMAND" into "COMMAND --help". What comes here has more.
  absl::Status Run(Context&) override {
    return MakeError(ErrorCode::kUsage, "help takes a command and no option", "tuner help",
                     "tuner help submit");
  }

 private:
  const std::vector<std::string> commands_;
  std::string command_;
};

}  // namespace

std::unique_ptr<Command> MakeHelpCommand(std::vector<std::string> commands) {
  return std::make_unique<HelpCommand>(std::move(commands));
}

}  // namespace burnish
