#include "compiler/schedule/trace.h"

#include <cctype>
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

constexpr size_t kMaxSteps = 1000;
constexpr size_t kMaxStepBytes = 10000;

bool IsNameChar(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.'; }

// Names: one, or several in parentheses.
std::string PrintNames(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  return absl::StrCat("(", absl::StrJoin(names, ","), ")");
}

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

absl::StatusOr<Step> ParseStep(absl::string_view line) {
  Step step;
  std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  std::vector<absl::string_view> head = absl::StrSplit(words[0], '@');
  if (head.size() != 2 || !absl::SimpleAtoi(head[1], &step.version)) {
    return absl::InvalidArgumentError(
        absl::StrCat("got '", words[0], "', want primitive@version such as split@1"));
  }
  step.primitive = std::string(head[0]);
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals != absl::string_view::npos) {
      step.attributes.emplace_back(words[i].substr(0, equals), words[i].substr(equals + 1));
      continue;
    }
    if (i != 1) {
      return absl::InvalidArgumentError(absl::StrCat("got '", words[i], "', want key=value"));
    }
    std::vector<absl::string_view> sides = absl::StrSplit(words[i], absl::MaxSplits("->", 1));
    ASSIGN_OR_RETURN(step.inputs, ParseNames(sides[0]));
    if (sides.size() == 2) {
      ASSIGN_OR_RETURN(step.outputs, ParseNames(sides[1]));
    }
  }
  return step;
}

}  // namespace

bool Step::Has(absl::string_view key) const {
  for (const auto& [name, value] : attributes) {
    if (name == key) return true;
  }
  return false;
}

absl::StatusOr<std::string> Step::Get(absl::string_view key) const {
  for (const auto& [name, value] : attributes) {
    if (name == key) return value;
  }
  return absl::InvalidArgumentError(absl::StrCat(primitive, " needs ", key, "=.."));
}

absl::StatusOr<int64_t> Step::GetInt(absl::string_view key) const {
  ASSIGN_OR_RETURN(const std::string text, Get(key));
  int64_t value;
  if (!absl::SimpleAtoi(text, &value)) {
    return absl::InvalidArgumentError(absl::StrCat("got ", key, "=", text, ", want an integer"));
  }
  return value;
}

absl::StatusOr<std::vector<std::string>> Step::GetList(absl::string_view key) const {
  ASSIGN_OR_RETURN(const std::string text, Get(key));
  return ParseNames(text);
}

std::string PrintStep(const Step& step) {
  std::string text = absl::StrCat(step.primitive, "@", step.version);
  if (!step.inputs.empty()) absl::StrAppend(&text, " ", PrintNames(step.inputs));
  if (!step.outputs.empty()) absl::StrAppend(&text, "->", PrintNames(step.outputs));
  for (const auto& [key, value] : step.attributes) absl::StrAppend(&text, " ", key, "=", value);
  return text;
}

std::string PrintTrace(const Trace& trace) {
  std::string text;
  for (const Step& step : trace) absl::StrAppend(&text, PrintStep(step), "\n");
  return text;
}

absl::StatusOr<Trace> ParseTrace(absl::string_view text) {
  Trace trace;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    if (line.size() > kMaxStepBytes || trace.size() >= kMaxSteps) {
      return absl::InvalidArgumentError(absl::StrCat("trace line ", line_number, ": over ",
                                                     kMaxSteps, " steps or ", kMaxStepBytes,
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

absl::Status ApplyStepInPlace(const Step& step, Program& program) {
  const Primitive* primitive = FindPrimitive(step.primitive, step.version);
  if (primitive == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("no primitive ", step.primitive, "@", step.version));
  }
  return primitive->apply(step, program);
}

absl::Status RefusedStep(size_t index, const Step& step, const absl::Status& reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("step ", index + 1, ", ", PrintStep(step), ": ", reason.message()));
}

absl::Status ApplyStep(const Step& step, Program& program) {
  Program copy = program;
  RETURN_IF_ERROR(ApplyStepInPlace(step, copy));
  program = std::move(copy);
  return absl::OkStatus();
}

absl::StatusOr<Program> ApplyTrace(const Trace& trace, const Program& program) {
  Program scheduled = program;
  for (size_t i = 0; i < trace.size(); ++i) {
    const absl::Status status = ApplyStepInPlace(trace[i], scheduled);
    if (!status.ok()) return RefusedStep(i, trace[i], status);
  }
  return scheduled;
}

}  // namespace burnish
