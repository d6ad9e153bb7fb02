// The inverse of the printer. Input is hostile: every count and size is bounded, nesting too.
#ifndef COMPILER_IR_PARSER_H_
#define COMPILER_IR_PARSER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"

namespace burnish {

// INVALID_ARGUMENT with line, column, what was found and what was wanted. A parsed program is
// verified (see verifier.h).
absl::StatusOr<Program> ParseProgram(absl::string_view text);

}  // namespace burnish

#endif  // COMPILER_IR_PARSER_H_
