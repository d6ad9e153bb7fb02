#include "compiler/schedule/step.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/schedule/primitive.h"

namespace burnish {
namespace {

// One name stands as it is, several in parentheses.
void AppendNames(const std::vector<std::string>& names, std::string& text) {
  if (names.size() == 1) {
    text += names[0];
  } else {
    absl::StrAppend(&text, "(", absl::StrJoin(names, ","), ")");
  }
}

// For people and tests: decisions have no names here, only numbers.
std::string DecisionText(const Expr& e) {
  if (e->kind == ExprKind::kVar) return absl::StrCat("$", e->id);
  if (IsConstInt(e)) return absl::StrCat(e->int_value);
  std::string mentioned;
  for (VarId decision : FreeVars(e)) absl::StrAppend(&mentioned, " $", decision);
  return absl::StrCat("{of", mentioned, "}");
}

void AppendValue(const ArgumentValue& value, std::string& text) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    absl::StrAppend(&text, *integer);
  } else if (const auto* word = std::get_if<std::string>(&value)) {
    text += *word;
  } else if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
    absl::StrAppend(&text, "(", absl::StrJoin(*words, ","), ")");
  } else {
    text += DecisionText(std::get<Expr>(value));
  }
}

void AppendStep(const Step& step, std::string& text) {
  absl::StrAppend(&text, step.primitive->name, "@", step.primitive->version);
  if (!step.inputs.empty()) {
    text += ' ';
    AppendNames(step.inputs, text);
  }
  if (!step.outputs.empty()) {
    text += "->";
    AppendNames(step.outputs, text);
  }
  for (const Argument& argument : step.arguments) {
    absl::StrAppend(&text, " ", argument.key, "=");
    AppendValue(argument.value, text);
  }
}

absl::Status Wanted(const Step& step, absl::string_view key, absl::string_view type) {
  const ArgumentValue* value = step.Find(key);
  if (value == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(step.primitive->name, " needs ", key, "=.."));
  }
  std::string got;
  AppendValue(*value, got);
  return absl::InvalidArgumentError(absl::StrCat("got ", key, "=", got, ", want ", type));
}

}  // namespace

ArgumentValue ValueOf(const Expr& e) {
  if (IsConstInt(e)) return e->int_value;
  return e;
}

bool Argument::operator==(const Argument& other) const {
  if (key != other.key || value.index() != other.value.index()) return false;
  const Expr* e = std::get_if<Expr>(&value);
  return e != nullptr ? StructurallyEqual(*e, std::get<Expr>(other.value)) : value == other.value;
}

const ArgumentValue* Step::Find(absl::string_view key) const {
  for (const Argument& argument : arguments) {
    if (argument.key == key) return &argument.value;
  }
  return nullptr;
}

absl::StatusOr<int64_t> Step::GetInt(absl::string_view key) const {
  const ArgumentValue* value = Find(key);
  if (value == nullptr || !std::holds_alternative<int64_t>(*value)) {
    return Wanted(*this, key, "an integer");
  }
  return std::get<int64_t>(*value);
}

absl::StatusOr<std::string> Step::GetWord(absl::string_view key) const {
  const ArgumentValue* value = Find(key);
  if (value == nullptr || !std::holds_alternative<std::string>(*value)) {
    return Wanted(*this, key, "one name");
  }
  return std::get<std::string>(*value);
}

absl::StatusOr<std::vector<std::string>> Step::GetWords(absl::string_view key) const {
  const ArgumentValue* value = Find(key);
  if (value == nullptr || !std::holds_alternative<std::vector<std::string>>(*value)) {
    return Wanted(*this, key, "names");
  }
  return std::get<std::vector<std::string>>(*value);
}

std::string PrintStep(const Step& step) {
  std::string text;
  AppendStep(step, text);
  return text;
}

std::string PrintTrace(const Trace& trace) {
  std::string text;
  for (const Step& step : trace) {
    AppendStep(step, text);
    text += '\n';
  }
  return text;
}

}  // namespace burnish
