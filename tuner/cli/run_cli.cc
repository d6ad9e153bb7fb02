#include "tuner/cli/run_cli.h"

#include <sysexits.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <map>
#include <new>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/logging.h"
#include "tuner/app/error.h"
#include "tuner/cli/complete_line.h"
#include "tuner/cli/completion.h"
#include "tuner/cli/error_text.h"
#include "tuner/cli/nearest_name.h"
#include "tuner/cli/version.h"

namespace burnish {
namespace {

// One call of CommandOptions::OnlyWith.
struct OptionRule {
  std::string name;
  std::vector<std::string> conditions;
};

// The option that `condition` of an OptionRule is about. CLI11 throws where the command has none.
const CLI::Option* OptionOf(const CLI::App& command, const std::string& condition) {
  return command.get_option(condition.substr(0, condition.find_first_of("!=")));
}

// Whether the condition holds for a line that was parsed.
bool Holds(const CLI::App& command, const std::string& condition) {
  const CLI::Option* option = OptionOf(command, condition);
  const size_t equals = condition.find('=');
  if (equals == std::string::npos) return option->count() > 0;
  const bool other = condition[equals - 1] == '!';
  const std::string value =
      option->count() > 0 ? option->results().back() : option->get_default_str();
  return (value == condition.substr(equals + 1)) != other;
}

absl::Status CheckRules(const CLI::App& command, const std::vector<OptionRule>& rules) {
  for (const OptionRule& rule : rules) {
    const bool holds =
        std::any_of(rule.conditions.begin(), rule.conditions.end(),
                    [&](const std::string& condition) { return Holds(command, condition); });
    if (holds || command.get_option(rule.name)->count() == 0) continue;
    return MakeError(ErrorCode::kUsage,
                     absl::StrCat(rule.name, " does nothing here: it counts with ",
                                  absl::StrJoin(rule.conditions, " or "), " only"),
                     absl::StrCat("tuner ", command.get_name()),
                     absl::StrCat("leave out ", rule.name));
  }
  return absl::OkStatus();
}

class CliOptions : public CommandOptions {
 public:
  CliOptions(CLI::App* app, CommonFlags* common, std::map<std::string, std::string>* settings,
             std::vector<OptionRule>* rules)
      : app_(app), common_(common), settings_(settings), rules_(rules) {
    completion_.name = app->get_name();
  }

  // What was said so far, for a shell.
  CompletionCommand completion() const {
    CompletionCommand command = completion_;
    command.options.push_back({.name = "--help", .takes_value = false});
    return command;
  }

  const std::string& group() const { return group_; }

  void Group(const std::string& title) override { group_ = title; }
  void Flag(const std::string& name, bool* value, const std::string& help) override {
    app_->add_flag(name, *value, help)->group(group_);
    completion_.options.push_back({.name = name, .takes_value = false});
  }
  void Value(const std::string& name, const std::string& value_name, std::string* value,
             const std::string& help) override {
    CLI::Option* option =
        app_->add_option(name, *value, help)->type_name(value_name)->group(group_);
    completion_.options.push_back({.name = name, .is_study = value_name == "STUDY"});
    if (!value->empty()) option->capture_default_str();
  }
  void Value(const std::string& name, const std::string& value_name, int64_t* value, int64_t min,
             int64_t max, const std::string& help) override {
    AddNumber(name, value_name, value, min, max, help);
  }
  void Value(const std::string& name, const std::string& value_name, double* value, double min,
             double max, const std::string& help) override {
    AddNumber(name, value_name, value, min, max, help);
  }
  void Values(const std::string& name, const std::string& value_name,
              std::vector<std::string>* values, const std::string& help) override {
    completion_.options.push_back({.name = name});
    app_->add_option(name, *values, help)
        ->type_name(value_name)
        ->group(group_)
        ->expected(1)
        ->take_all()
        ->type_size(1);
  }
  void Choice(const std::string& name, std::string* value, const std::vector<std::string>& choices,
              const std::string& help) override {
    CLI::Option* option = app_->add_option(name, *value, help)->type_name("")->group(group_);
    option->check(CLI::IsMember(choices));
    completion_.options.push_back({.name = name, .values = choices});
    if (!value->empty()) option->capture_default_str();
  }
  void Positional(const std::string& value_name, std::string* value, bool required,
                  const std::string& help) override {
    app_->add_option(value_name, *value, help)->type_name("")->required(required);
    completion_.positionals.push_back({.name = value_name,
                                       .is_study = absl::StrContains(value_name, "STUDY"),
                                       .is_worker = absl::StrContains(value_name, "WORKER")});
  }
  void Suggest(const std::string& name, const std::vector<std::string>& values) override {
    for (auto* arguments : {&completion_.options, &completion_.positionals}) {
      for (CompletionArgument& argument : *arguments) {
        if (argument.name == name) argument.values = values;
      }
    }
  }
  void OnlyWith(const std::string& name, const std::vector<std::string>& conditions) override {
    // Here, so that a misspelled rule ends every run of `tuner` and not the line that meets it.
    for (const std::string& condition : conditions) OptionOf(*app_, condition);
    OptionOf(*app_, name);
    rules_->push_back({.name = name, .conditions = conditions});
  }
  void Setting(const std::string& key) override {
    const auto settings = AllSettings();
    const auto* info = std::find_if(settings.begin(), settings.end(),
                                    [&](const SettingInfo& known) { return key == known.key; });
    std::string flag = absl::StrCat("--", key);
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (app_->get_option_no_throw(flag) != nullptr) return;
    app_->add_option_function<std::string>(
            flag,
            [settings = settings_, key](const std::string& value) { (*settings)[key] = value; },
            absl::StrCat(info->help, " [", info->variable, "]"))
        ->type_name("TEXT")
        ->group(group_);
    completion_.options.push_back(
        {.name = flag, .values = absl::StrSplit(info->values, ' ', absl::SkipEmpty())});
  }
  void Json() override { Flag("--json", &common_->json, "print JSON on stdout"); }
  void Quiet() override { Flag("--quiet", &common_->quiet, "nothing on stderr but errors"); }

 private:
  template <typename T>
  void AddNumber(const std::string& name, const std::string& value_name, T* value, T min, T max,
                 const std::string& help) {
    app_->add_option(name, *value, help)
        ->type_name(value_name)
        ->group(group_)
        ->check(CLI::Range(min, max, absl::StrCat(min, " to ", max)).description(""))
        ->capture_default_str();
    completion_.options.push_back({.name = name});
  }

  CLI::App* app_;
  CommonFlags* common_;
  std::map<std::string, std::string>* settings_;
  std::vector<OptionRule>* rules_;
  std::string group_ = "Options";
  CompletionCommand completion_;
};

std::string Examples(const std::string& text) {
  std::string footer = "Example:";
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::StrAppend(&footer, "\n  ", line);
  }
  return footer;
}

// Where everything that was printed leaves, and the exit code comes from.
int Finish(absl::Status status, bool json, const CliEnvironment& environment) {
  const absl::Status output = OutputStatus(*environment.out);
  // Whoever read it has gone, as `head` does. As a process that SIGPIPE ends: without a word.
  constexpr int kExitBrokenPipe = 128 + SIGPIPE;
  if (environment.out->error() == EPIPE) return kExitBrokenPipe;
  if (status.ok()) status = output;
  if (status.ok()) return EX_OK;
  *environment.err << (json ? ErrorJson(status) : FormatError(status, environment.color))
                   << std::flush;
  return ExitCodeOf(status);
}

// What the parser would have found in a line that it refused: a program that asked for JSON
// gets its mistake as JSON, too.
bool AsksForJson(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

std::string DidYouMean(const std::string& nearest, absl::string_view otherwise) {
  return nearest.empty() ? std::string(otherwise)
                         : absl::StrCat("did you mean ", nearest, "? ", otherwise);
}

// Of the first argument, where it is no command's name.
absl::Status UnknownCommand(const std::string& typed,
                            const std::vector<std::unique_ptr<Command>>& commands) {
  std::vector<std::string> names;
  for (const std::unique_ptr<Command>& command : commands) names.push_back(command->name());
  return MakeError(ErrorCode::kUsage, absl::StrCat("no command \"", typed, "\""), "tuner",
                   DidYouMean(NearestName(typed, names), "tuner --help lists the commands"));
}

// Of what the command was given and does not take: the option that it may have been.
std::string NearestOption(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& extra : command.remaining()) {
    const std::string typed = extra.substr(0, extra.find('='));
    if (absl::StartsWith(typed, "--")) return NearestName(typed, names);
  }
  return "";
}

absl::Status UsageError(const CLI::ParseError& error, const CLI::App& app) {
  std::string nearest;
  std::string command = "tuner";
  if (!app.get_subcommands().empty()) {
    const CLI::App& given = *app.get_subcommands().front();
    absl::StrAppend(&command, " ", given.get_name());
    nearest = NearestOption(given);
  }
  std::string cause = error.what();
  std::replace(cause.begin(), cause.end(), '\n', ' ');
  return MakeError(ErrorCode::kUsage, cause, command,
                   DidYouMean(nearest, absl::StrCat(command, " --help")));
}

// "help" and "help submit" as "--help" and "submit --help".
std::vector<std::string> AsHelpOption(const std::vector<std::string>& arguments) {
  const bool is_help = arguments.front() == "help" && arguments.size() <= 2 &&
                       !absl::StartsWith(arguments.back(), "-");
  if (!is_help) return arguments;
  if (arguments.size() == 1) return {"--help"};
  return {arguments[1], "--help"};
}

absl::Status RunCommand(Command& command, Context& context) {
  // The libraries below CLI11, JSON and TOML throw; we do not.
  try {
    return command.Run(context);
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return MakeError(ErrorCode::kInternal, error.what());
  }
}

// The command of a line that was parsed.
int RunGiven(Command& command, const CommonFlags& common, const SettingSources& sources,
             const CliEnvironment& environment) {
  absl::StatusOr<Settings> settings = Settings::Load(sources);
  if (!settings.ok()) return Finish(settings.status(), common.json, environment);
  const absl::StatusOr<LogLevel> level = ParseLogLevel(settings->Get("log_level"));
  if (!level.ok()) {
    return Finish(
        WithError(level.status(), ErrorCode::kSettings, settings->Find("log_level").origin),
        common.json, environment);
  }
  SetUpLogging({.level = *level, .color = environment.color, .program = "tuner"});
  Context context(environment, common, *std::move(settings));
  return Finish(RunCommand(command, context), common.json, environment);
}

}  // namespace

int RunCli(const std::vector<std::unique_ptr<Command>>& commands,
           const std::vector<std::string>& arguments, const CliEnvironment& environment) {
  CLI::App app("Burnish tunes tensor programs on the machines that run them, and builds models.",
               "tuner");
  app.get_formatter()->column_width(34);
  app.set_version_flag("--version", VersionText());
  app.require_subcommand(1);
  app.footer("`tuner COMMAND --help` says more about one.");
  CommonFlags common;
  app.add_flag("--json", common.json, "with --version: print JSON");
  SettingSources sources{.getenv = environment.getenv, .system_config = environment.system_config};
  struct Parsed {
    Command* command;
    std::vector<OptionRule> rules;
  };
  std::map<const CLI::App*, Parsed> by_app;
  std::vector<CompletionCommand> completions;
  for (const std::unique_ptr<Command>& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    sub->footer(Examples(command->example()));
    Parsed& parsed = by_app[sub];
    parsed.command = command.get();
    CliOptions options(sub, &common, &sources.flags, &parsed.rules);
    command->AddOptions(options);
    options.Setting("log_level");  // Every command may have something to log.
    sub->get_help_ptr()->group(options.group());
    completions.push_back(options.completion());
  }
  if (!arguments.empty() && arguments.front() == kCompleteArgument) {
    CompleteLine(completions, {arguments.begin() + 1, arguments.end()}, environment);
    return Finish(absl::OkStatus(), /*json=*/false, environment);
  }
  const bool json = AsksForJson(arguments);
  if (arguments.empty() || (json && arguments.size() == 1)) {
    // Whoever types it wants to know what there is; a script whose variable was empty must not
    // take it for success.
    if (!json) *environment.err << app.help() << "\n";
    return Finish(MakeError(ErrorCode::kUsage, "no command", "tuner"), json, environment);
  }
  std::vector<std::string> line = AsHelpOption(arguments);
  const std::string first = line.front();
  const bool is_command = std::any_of(
      commands.begin(), commands.end(),
      [&](const std::unique_ptr<Command>& command) { return command->name() == first; });
  if (!is_command && !absl::StartsWith(first, "-")) {
    return Finish(UnknownCommand(first, commands), json, environment);
  }
  try {
    std::reverse(line.begin(), line.end());
    app.parse(std::move(line));
  } catch (const CLI::CallForHelp&) {
    // CLI11 leaves two lines free between groups.
    *environment.out << absl::StrReplaceAll(app.help(), {{"\n\n\n", "\n\n"}});
    return Finish(absl::OkStatus(), /*json=*/false, environment);
  } catch (const CLI::CallForVersion&) {
    *environment.out << (json ? VersionJson() : VersionText()) << "\n";
    return Finish(absl::OkStatus(), /*json=*/false, environment);
  } catch (const CLI::ParseError& error) {
    return Finish(UsageError(error, app), json, environment);
  }
  const CLI::App* const given = app.get_subcommands().front();
  const Parsed& parsed = by_app.at(given);
  if (const absl::Status rules = CheckRules(*given, parsed.rules); !rules.ok()) {
    return Finish(rules, common.json, environment);
  }
  return RunGiven(*parsed.command, common, sources, environment);
}

}  // namespace burnish
