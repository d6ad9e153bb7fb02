// From the command line to a command and back to an exit code.
#ifndef TUNER_CLI_RUN_CLI_H_
#define TUNER_CLI_RUN_CLI_H_

#include <memory>
#include <string>
#include <vector>

#include "tuner/cli/command.h"
#include "tuner/cli/context.h"

namespace burnish {

// `arguments`: without the program's name. Returns the exit code; errors are printed.
int RunCli(const std::vector<std::unique_ptr<Command>>& commands,
           const std::vector<std::string>& arguments, const CliEnvironment& environment);

}  // namespace burnish

#endif  // TUNER_CLI_RUN_CLI_H_
