// The tuner: flags and wiring. What it does is in tuner/cli/commands.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/fd_stream.h"
#include "tuner/cli/run_cli.h"
#include "tuner/serve/study_process_main.h"

namespace {

// COLUMNS, which whoever sets it means, else the terminal's width, else `otherwise`.
int ColumnsOf(int fd, int otherwise) {
  const char* set = std::getenv("COLUMNS");
  int columns = 0;
  if (set != nullptr && absl::SimpleAtoi(set, &columns) && columns > 0) return columns;
  winsize size = {};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
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
  const bool takes_color = no_color == nullptr || *no_color == '\0';
  const burnish::CliEnvironment environment{
      .out = &out,
      .err = &std::cerr,
      .err_is_terminal = terminal,
      .color = terminal && takes_color,
      .columns = [] { return ColumnsOf(STDERR_FILENO, /*otherwise=*/80); },
      .table_columns = ColumnsOf(STDOUT_FILENO, /*otherwise=*/0),
      .table_color = takes_color && isatty(STDOUT_FILENO) == 1,
      .getenv = [](const char* name) -> const char* { return std::getenv(name); }};
  return burnish::RunCli(burnish::MakeCommands(), std::vector<std::string>(argv + 1, argv + argc),
                         environment);
}
