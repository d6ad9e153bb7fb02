// A command of `tuner`: its name, options, and what it does. One file each under commands/.
#ifndef TUNER_CLI_COMMAND_H_
#define TUNER_CLI_COMMAND_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace burnish {

class Context;

// Where a command says what it takes. The pointers are written when the line is parsed, before
// Run; the parser checks types and choices.
class CommandOptions {
 public:
  virtual ~CommandOptions() = default;

  // The heading in the help of the options that follow, such as "What to tune"; a heading may come
  // again. A command with few options has none.
  virtual void Group(const std::string& title) = 0;
  virtual void Flag(const std::string& name, bool* value, const std::string& help) = 0;
  // `name`: "--out". `value_name`: "FILE". What `value` holds is the default, and shown.
  virtual void Value(const std::string& name, const std::string& value_name, std::string* value,
                     const std::string& help) = 0;
  virtual void Value(const std::string& name, const std::string& value_name, int64_t* value,
                     int64_t min, int64_t max, const std::string& help) = 0;
  virtual void Value(const std::string& name, const std::string& value_name, double* value,
                     double min, double max, const std::string& help) = 0;
  // May be given several times.
  virtual void Values(const std::string& name, const std::string& value_name,
                      std::vector<std::string>* values, const std::string& help) = 0;
  virtual void Choice(const std::string& name, std::string* value,
                      const std::vector<std::string>& choices, const std::string& help) = 0;
  // An argument without a name: "FILE".
  virtual void Positional(const std::string& value_name, std::string* value, bool required,
                          const std::string& help) = 0;
  // What a shell may offer as the value of an option or argument that takes others, too.
  virtual void Suggest(const std::string& name, const std::vector<std::string>& values) = 0;
  // `name` counts only where one of `conditions` holds, of the same command's options: "--task" was
  // given, "--method=weights" has that value, "--trials!=0" has another one. Where it is called
  // several times for a name, all must hold. A line that gives `name` and does not meet them is
  // refused, B0101: who sets what does nothing believes in a result that he does not have.
  virtual void OnlyWith(const std::string& name, const std::vector<std::string>& conditions) = 0;
  // The flag of a setting (settings.h): Setting("db") is --db.
  virtual void Setting(const std::string& key) = 0;
  virtual void Json() = 0;
  virtual void Quiet() = 0;
};

class Command {
 public:
  virtual ~Command() = default;

  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;  // One line.
  virtual std::string example() const = 0;  // One line a command.
  virtual void AddOptions(CommandOptions& options) = 0;
  // What is printed for an error: FormatError; the exit code: ExitCodeOf (error_text.h).
  virtual absl::Status Run(Context& context) = 0;
};

}  // namespace burnish

#endif  // TUNER_CLI_COMMAND_H_
