#include "tuner/cli/commands/commands.h"

#include <string>
#include <utility>

namespace burnish {

std::vector<std::unique_ptr<Command>> MakeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakeSubmitCommand());
  commands.push_back(MakeResumeCommand());
  commands.push_back(MakeRetryCommand());
  commands.push_back(MakeCompileCommand());
  commands.push_back(MakeQuantizeCommand());
  commands.push_back(MakeRunCommand());
  commands.push_back(MakeServeCommand());
  commands.push_back(MakeBenchCommand());
  commands.push_back(MakeCompareCommand());
  commands.push_back(MakeQueryCommand());
  commands.push_back(MakeExplainCommand());
  commands.push_back(MakeListCommand());
  commands.push_back(MakeStatusCommand());
  commands.push_back(MakeDescribeCommand());
  commands.push_back(MakeFailuresCommand());
  commands.push_back(MakeWatchCommand());
  commands.push_back(MakeCancelCommand());
  commands.push_back(MakeWorkersCommand());
  commands.push_back(MakeDoctorCommand());
  commands.push_back(MakeConfigCommand());
  commands.push_back(MakeVersionCommand());
  commands.push_back(MakeCompletionCommand());
  std::vector<std::string> names;
  for (const std::unique_ptr<Command>& command : commands) names.push_back(command->name());
  commands.push_back(MakeHelpCommand(std::move(names)));
  return commands;
}

}  // namespace burnish
