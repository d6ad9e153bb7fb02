// The tuner: flags and wiring. What it does is in tuner/cli/commands.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/fd_stream.h"
#include "tuner/cli/run_cli.h"
#include "tuner/serve/study_process_main.h"

namespace {

int TerminalColumns() {
  winsize size = {};
  constexpr int kUsual = 80;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace

int main(int argc, char** argv) {
  // Of `tuner serve`, and of nobody else: no command that a user has.
  if (argc == 2 && absl::string_view(argv[1]) == burnish::kStudyProcessArgument) {
    return burnish::StudyProcessMain({});
  }
  burnish::FillStandardFds();
  burnish::FdStream out(STDOUT_FILENO);
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  const burnish::CliEnvironment environment{
      .out = &out,
      .err = &std::cerr,
      .err_is_terminal = terminal,
      .color = terminal && (no_color == nullptr || *no_color == '\0'),
      .columns = TerminalColumns(),
      .getenv = [](const char* name) -> const char* { return std::getenv(name); }};
  return burnish::RunCli(burnish::MakeCommands(), std::vector<std::string>(argv + 1, argv + argc),
                         environment);
}
