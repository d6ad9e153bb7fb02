// A step: one schedule primitive with what it works on. Typed: programs hold steps, text is made of
// them at the border only (disk, wire, tests, people; see trace_text.h).
#ifndef COMPILER_SCHEDULE_STEP_H_
#define COMPILER_SCHEDULE_STEP_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/expr.h"

namespace burnish {

struct Primitive;

// The value of an argument:
//   an integer          a decision that was made: max=6
//   a word              a loop, a buffer, or one of a primitive's own words: inside=mt, tail=shift
//   words               a list of loops: dims=(op,q,oi)
//   an expression       over the decisions of a sketch, whose numbers are the expression's
//                       variables: steps of a sketch only. A trace has none.
using ArgumentValue = std::variant<int64_t, std::string, std::vector<std::string>, Expr>;

// An integer where the expression is one: then nothing is open.
ArgumentValue ValueOf(const Expr& e);

struct Argument {
  std::string key;
  ArgumentValue value;

  // Expressions are equal when they are the same tree.
  bool operator==(const Argument& other) const;
};

struct Step {
  const Primitive* primitive = nullptr;  // Of the table of all primitives; lives for ever.
  std::vector<std::string> inputs;       // Names of loops, blocks or buffers.
  std::vector<std::string> outputs;      // Names that the step defines.
  std::vector<Argument> arguments;       // In the order in which they are printed.

  // Null where the step has no such argument.
  const ArgumentValue* Find(absl::string_view key) const;
  bool Has(absl::string_view key) const { return Find(key) != nullptr; }
  // The value of an argument. INVALID_ARGUMENT names the primitive and the key: not there, of
  // another type, or still an expression.
  absl::StatusOr<int64_t> GetInt(absl::string_view key) const;
  absl::StatusOr<std::string> GetWord(absl::string_view key) const;
  absl::StatusOr<std::vector<std::string>> GetWords(absl::string_view key) const;

  bool operator==(const Step&) const = default;
};

// A trace: the steps that turn a definition into one schedule, in order.
using Trace = std::vector<Step>;

// `split@1 m->(mt,mi) max=6`: the primitive and its version, inputs, outputs, arguments. A step of
// a sketch prints its expressions with the decisions' numbers as variables: `max=$0`.
std::string PrintStep(const Step& step);
// One step a line. The text is the schedule's identity: candidate ids hash it, records store it.
std::string PrintTrace(const Trace& trace);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_STEP_H_
