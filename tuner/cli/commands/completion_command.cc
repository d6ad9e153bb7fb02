// tuner completion: the script that makes a shell complete lines of `tuner`.
#include <algorithm>
#include <string>
#include <vector>

#include "tuner/app/error.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/completion.h"
#include "tuner/cli/context.h"

namespace burnish {
namespace {

class ShellCommand : public Command {
 public:
  std::string name() const override { return "completion"; }
  std::string summary() const override { return "prints a shell's script of completion"; }
  std::string example() const override { return "eval \"$(tuner completion bash)\""; }
  void AddOptions(CommandOptions& options) override {
    options.Positional("SHELL", &shell_, true, "bash, fish or zsh");
    options.Suggest("SHELL", CompletionShells());
  }

  absl::Status Run(Context& context) override {
    const std::vector<std::string> shells = CompletionShells();
    if (std::find(shells.begin(), shells.end(), shell_) == shells.end()) {
      return MakeError(ErrorCode::kUsage, "no completion for \"" + shell_ + "\"",
                       "tuner completion", "bash, fish or zsh");
    }
    context.out() << CompletionScript(shell_);
    return absl::OkStatus();
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletionCommand() { return std::make_unique<ShellCommand>(); }

}  // namespace burnish
