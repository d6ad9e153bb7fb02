// All commands, in the order of `tuner --help`.
#ifndef TUNER_CLI_COMMANDS_COMMANDS_H_
#define TUNER_CLI_COMMANDS_COMMANDS_H_

#include <memory>
#include <string>
#include <vector>

#include "tuner/cli/command.h"

namespace burnish {

std::vector<std::unique_ptr<Command>> MakeCommands();

std::unique_ptr<Command> MakeBenchCommand();
std::unique_ptr<Command> MakeCancelCommand();
std::unique_ptr<Command> MakeCompareCommand();
std::unique_ptr<Command> MakeCompileCommand();
std::unique_ptr<Command> MakeCompletionCommand();
std::unique_ptr<Command> MakeConfigCommand();
std::unique_ptr<Command> MakeDescribeCommand();
std::unique_ptr<Command> MakeDoctorCommand();
std::unique_ptr<Command> MakeExplainCommand();
std::unique_ptr<Command> MakeFailuresCommand();
// `commands`: those that it can be asked for.
std::unique_ptr<Command> MakeHelpCommand(std::vector<std::string> commands);
std::unique_ptr<Command> MakeListCommand();
std::unique_ptr<Command> MakeQuantizeCommand();
std::unique_ptr<Command> MakeQueryCommand();
std::unique_ptr<Command> MakeResumeCommand();
std::unique_ptr<Command> MakeRetryCommand();
std::unique_ptr<Command> MakeRunCommand();
std::unique_ptr<Command> MakeServeCommand();
std::unique_ptr<Command> MakeStatusCommand();
std::unique_ptr<Command> MakeSubmitCommand();
std::unique_ptr<Command> MakeVersionCommand();
std::unique_ptr<Command> MakeWatchCommand();
std::unique_ptr<Command> MakeWorkersCommand();

}  // namespace burnish

#endif  // TUNER_CLI_COMMANDS_COMMANDS_H_
