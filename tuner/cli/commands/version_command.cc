// tuner version: which program this is, as --version says.
#include <string>

#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/version.h"

namespace burnish {
namespace {

class VersionCommand : public Command {
 public:
  std::string name() const override { return "version"; }
  std::string summary() const override { return "says which version this is"; }
  std::string example() const override { return "tuner version --json"; }
  void AddOptions(CommandOptions& options) override { options.Json(); }

  absl::Status Run(Context& context) override {
    context.out() << (context.json() ? VersionJson() : VersionText()) << "\n";
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Command> MakeVersionCommand() { return std::make_unique<VersionCommand>(); }

}  // namespace burnish
