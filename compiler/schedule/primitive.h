// What a schedule primitive is: a checked rewrite of a program, in a file of its own.
#ifndef COMPILER_SCHEDULE_PRIMITIVE_H_
#define COMPILER_SCHEDULE_PRIMITIVE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/step.h"

namespace burnish {

enum class ArgumentType : uint8_t { kInteger, kWord, kWords };

// An argument that a primitive may have; which of them it needs, `apply` says.
struct ArgumentSpec {
  const char* key;
  ArgumentType type;
};

struct Primitive {
  const char* name;
  int version;
  absl::Span<const ArgumentSpec> arguments;
  // Rewrites `program`, or refuses with INVALID_ARGUMENT and the precondition that does not hold;
  // `program` may then be half rewritten (ApplyStep works on a copy).
  absl::Status (*apply)(const Step& step, Program& program);
};

// Null where there is none of that name and version.
const Primitive* FindPrimitive(absl::string_view name, int version);
std::vector<const Primitive*> AllPrimitives();

// ApplyStep without its copy: a refused step leaves `program` half rewritten.
absl::Status ApplyStepInPlace(const Step& step, Program& program);
// The refusal of step `index` of a trace, counted from 0.
absl::Status RefusedStep(size_t index, const Step& step, const absl::Status& reason);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_PRIMITIVE_H_
