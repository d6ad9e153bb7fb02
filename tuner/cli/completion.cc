#include "tuner/cli/completion.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

struct Line {
  std::vector<std::string> words;
  bool value_apart = false;  // The shell takes the last word's value for a word of its own.
};

// bash divides "--task=res" at "=", others do not.
Line Joined(const std::vector<std::string>& words) {
  Line line;
  for (const std::string& word : words) {
    std::string* last = line.words.empty() ? nullptr : &line.words.back();
    const bool open = last != nullptr && absl::StartsWith(*last, "--");
    const bool begins_value = open && word == "=" && !absl::StrContains(*last, '=');
    const bool is_value = open && line.value_apart && absl::EndsWith(*last, "=");
    line.value_apart = begins_value || is_value;
    if (line.value_apart) {
      absl::StrAppend(last, word);
    } else {
      line.words.push_back(word);
    }
  }
  if (line.words.empty()) line.words.emplace_back();
  return line;
}

const CompletionArgument* FindOption(const CompletionCommand& command, absl::string_view name) {
  const auto found =
      std::find_if(command.options.begin(), command.options.end(),
                   [&](const CompletionArgument& option) { return option.name == name; });
  return found == command.options.end() ? nullptr : &*found;
}

std::vector<std::string> OptionNames(const CompletionCommand& command) {
  std::vector<std::string> names;
  for (const CompletionArgument& option : command.options) names.push_back(option.name);
  return names;
}

}  // namespace

std::vector<std::string> Complete(
    const std::vector<CompletionCommand>& commands, const std::vector<std::string>& words,
    const std::function<std::vector<std::string>(const CompletionArgument& argument)>& ids) {
  const Line line = Joined(words);
  std::string typed = line.words.back();
  std::string before;  // Of each candidate: what the shell counts to the word.
  const auto matching = [&](const std::vector<std::string>& all) {
    std::vector<std::string> found;
    for (const std::string& each : all) {
      if (absl::StartsWith(each, typed)) found.push_back(absl::StrCat(before, each));
    }
    return found;
  };
  const auto values = [&](const CompletionArgument& argument) {
    return matching(argument.is_study || argument.is_worker ? ids(argument) : argument.values);
  };
  if (line.words.size() == 1) {
    std::vector<std::string> names;
    for (const CompletionCommand& command : commands) names.push_back(command.name);
    names.insert(names.end(), {"--help", "--version"});
    return matching(names);
  }
  const auto command =
      std::find_if(commands.begin(), commands.end(),
                   [&](const CompletionCommand& each) { return each.name == line.words[0]; });
  if (command == commands.end()) return {};
  const CompletionArgument* open = nullptr;  // The option whose value is next.
  size_t positional = 0;
  for (size_t i = 1; i + 1 < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    const bool is_value = open != nullptr;
    open = nullptr;
    if (is_value) continue;
    if (!absl::StartsWith(word, "-")) {
      ++positional;
    } else if (const CompletionArgument* option = FindOption(*command, word);
               option != nullptr && option->takes_value) {
      open = option;
    }
  }
  if (open != nullptr) return values(*open);
  if (const size_t equals = typed.find('=');
      absl::StartsWith(typed, "--") && equals != typed.npos) {
    const CompletionArgument* option = FindOption(*command, typed.substr(0, equals));
    if (option == nullptr || !option->takes_value) return {};
    if (!line.value_apart) before = typed.substr(0, equals + 1);
    typed = typed.substr(equals + 1);
    return values(*option);
  }
  if (absl::StartsWith(typed, "-")) return matching(OptionNames(*command));
  if (positional < command->positionals.size()) return values(command->positionals[positional]);
  return matching(OptionNames(*command));
}

std::map<std::string, std::string> GivenValues(const std::vector<std::string>& words) {
  const Line line = Joined(words);
  std::map<std::string, std::string> values;
  for (size_t i = 0; i + 1 < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    if (!absl::StartsWith(word, "--")) continue;
    const size_t equals = word.find('=');
    values[word.substr(2, equals == word.npos ? equals : equals - 2)] =
        equals == word.npos ? line.words[i + 1] : word.substr(equals + 1);
  }
  return values;
}

std::vector<std::string> CompletionShells() { return {"bash", "fish", "zsh"}; }

std::string CompletionScript(absl::string_view shell) {
  if (shell == "bash") {
    return R"sh(# Completion of tuner for bash: eval "$(tuner completion bash)"
_tuner() {
  mapfile -t COMPREPLY < <(
    "${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _tuner tuner
)sh";
  }
  if (shell == "fish") {
    return R"sh(# Completion of tuner for fish: tuner completion fish | source
function __tuner_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] __complete $words[2..-1] 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c tuner -f -a '(__tuner_complete)'
)sh";
  }
  return R"sh(#compdef tuner
# Completion of tuner for zsh: source <(tuner completion zsh)
_tuner() {
  local -a found
  found=(${(f)"$("$words[1]" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -- $found; else _files; fi
}
if [[ $funcstack[1] == _tuner ]]; then _tuner "$@"; else compdef _tuner tuner; fi
)sh";
}

}  // namespace burnish
