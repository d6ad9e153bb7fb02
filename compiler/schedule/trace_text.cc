#include "compiler/schedule/trace_text.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "compiler/schedule/primitive.h"

namespace burnish {
namespace {

// Far above what rules write (40 steps of 100 bytes), far below what would be slow to read.
constexpr size_t kStepsMax = 1000;
constexpr size_t kStepBytesMax = 10000;

bool IsNameChar(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.'; }

absl::StatusOr<std::vector<std::string>> ParseNames(absl::string_view text) {
  absl::string_view inner = text;
  if (absl::ConsumePrefix(&inner, "(") && !absl::ConsumeSuffix(&inner, ")")) {
    return absl::InvalidArgumentError(absl::StrCat("got '", text, "', want a closing ')'"));
  }
  std::vector<std::string> names;
  if (inner.empty()) return names;
  for (absl::string_view name : absl::StrSplit(inner, ',')) {
    for (char c : name) {
      if (!IsNameChar(c)) {
        return absl::InvalidArgumentError(absl::StrCat("got '", name, "', want a name"));
      }
    }
    if (name.empty()) return absl::InvalidArgumentError("got an empty name in a list");
    names.emplace_back(name);
  }
  return names;
}

absl::StatusOr<ArgumentValue> ParseValue(const ArgumentSpec& spec, absl::string_view text) {
  if (spec.type == ArgumentType::kInteger) {
    int64_t value;
    // One spelling for one value: the text is hashed.
    if (!absl::SimpleAtoi(text, &value) || absl::StrCat(value) != text) {
      return absl::InvalidArgumentError(
          absl::StrCat("got ", spec.key, "=", text, ", want an integer"));
    }
    return value;
  }
  ASSIGN_OR_RETURN(std::vector<std::string> names, ParseNames(text));
  if (spec.type == ArgumentType::kWords) return names;
  if (names.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("got ", spec.key, "=", text, ", want one name"));
  }
  return std::move(names[0]);
}

absl::StatusOr<Argument> ParseArgument(const Primitive& primitive, absl::string_view key,
                                       absl::string_view text) {
  std::vector<absl::string_view> known;
  for (const ArgumentSpec& spec : primitive.arguments) {
    known.push_back(spec.key);
    if (key != spec.key) continue;
    ASSIGN_OR_RETURN(ArgumentValue value, ParseValue(spec, text));
    return Argument{std::string(key), std::move(value)};
  }
  return absl::InvalidArgumentError(
      absl::StrCat(primitive.name, " has no argument ", key, ", want ",
                   known.empty() ? "none" : absl::StrCat("one of ", absl::StrJoin(known, ", "))));
}

absl::StatusOr<Step> ParseStep(absl::string_view line) {
  Step step;
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  const std::vector<absl::string_view> head = absl::StrSplit(words[0], '@');
  int version = 0;
  if (head.size() != 2 || !absl::SimpleAtoi(head[1], &version)) {
    return absl::InvalidArgumentError(
        absl::StrCat("got '", words[0], "', want primitive@version such as split@1"));
  }
  step.primitive = FindPrimitive(head[0], version);
  if (step.primitive == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no primitive ", head[0], "@", version));
  }
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals != absl::string_view::npos) {
      ASSIGN_OR_RETURN(Argument argument, ParseArgument(*step.primitive, words[i].substr(0, equals),
                                                        words[i].substr(equals + 1)));
      if (step.Has(argument.key)) {
        return absl::InvalidArgumentError(absl::StrCat("got ", argument.key, "= twice"));
      }
      step.arguments.push_back(std::move(argument));
      continue;
    }
    if (i != 1) {
      return absl::InvalidArgumentError(absl::StrCat("got '", words[i], "', want key=value"));
    }
    const std::vector<absl::string_view> sides = absl::StrSplit(words[i], absl::MaxSplits("->", 1));
    ASSIGN_OR_RETURN(step.inputs, ParseNames(sides[0]));
    if (sides.size() == 2) {
      ASSIGN_OR_RETURN(step.outputs, ParseNames(sides[1]));
    }
  }
  return step;
}

}  // namespace

absl::StatusOr<Trace> ParseTrace(absl::string_view text) {
  Trace trace;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    if (line.size() > kStepBytesMax || trace.size() >= kStepsMax) {
      return absl::InvalidArgumentError(absl::StrCat("trace line ", line_number, ": over ",
                                                     kStepsMax, " steps or ", kStepBytesMax,
                                                     " bytes in a step"));
    }
    absl::StatusOr<Step> step = ParseStep(line);
    if (!step.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("trace line ", line_number, ": ", step.status().message()));
    }
    trace.push_back(*std::move(step));
  }
  return trace;
}

}  // namespace burnish
