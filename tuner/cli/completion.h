// What a shell may offer for a line that is being typed, and the scripts that make shells ask.
#ifndef TUNER_CLI_COMPLETION_H_
#define TUNER_CLI_COMPLETION_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace burnish {

// The first argument of a shell's question; the words behind "tuner" follow, the last unfinished.
// No command that a user has.
inline constexpr char kCompleteArgument[] = "__complete";

struct CompletionArgument {
  std::string name;                      // "--task"; empty: of an argument without a name.
  bool takes_value = true;               // Else a flag.
  bool is_study = false;                 // Its value is a study's id.
  bool is_worker = false;                // Or a worker's.
  std::vector<std::string> values = {};  // That are known; others may be allowed, such as files.
};

struct CompletionCommand {
  std::string name;
  std::vector<CompletionArgument> options;
  std::vector<CompletionArgument> positionals;  // In their order.
};

// What the last of `words` may become; empty where a shell offers files, or there is nothing.
// `ids`, those of an argument, is called only where one is due.
std::vector<std::string> Complete(
    const std::vector<CompletionCommand>& commands, const std::vector<std::string>& words,
    const std::function<std::vector<std::string>(const CompletionArgument& argument)>& ids);

// The values of options that `words` give, by name without dashes: {"db": "studies.db"}.
std::map<std::string, std::string> GivenValues(const std::vector<std::string>& words);

// "bash", "fish", "zsh".
std::vector<std::string> CompletionShells();
// `shell` is one of them. Its script asks the `tuner` that is completed.
std::string CompletionScript(absl::string_view shell);

}  // namespace burnish

#endif  // TUNER_CLI_COMPLETION_H_
