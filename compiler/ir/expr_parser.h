// Parses one expression of program text. Nodes are built as written, nothing is folded, so that
// printing gives the same text again.
#ifndef COMPILER_IR_EXPR_PARSER_H_
#define COMPILER_IR_EXPR_PARSER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "compiler/ir/expr.h"
#include "compiler/ir/lexer.h"

namespace burnish {

// A tree deeper than this is refused: everything that walks trees recurses.
inline constexpr int kExprDepthMax = 500;

// What names mean where the expression stands.
struct ParseScope {
  absl::flat_hash_map<std::string, VarId> vars;
  absl::flat_hash_map<std::string, BufferId> buffers;
  std::vector<DType> buffer_types;  // By BufferId.
  std::vector<std::shared_ptr<const ConstTable>> tables;
  // In a block that declares its axes itself: "n" means "Y.n", whatever else is named "n".
  absl::flat_hash_map<std::string, VarId> own_axes;
  std::optional<DType> self_type;  // Set in a finish.

  // -1 if there is no such variable.
  VarId FindVar(absl::string_view name) const;
};

// INVALID_ARGUMENT with line, column, what was found and what was wanted. The operands of a binary
// operation agree in type; all other rules of types are the verifier's.
absl::StatusOr<Expr> ParseExpr(TokenCursor& cursor, const ParseScope& scope);

// A number of type `dtype` without suffix, as in tables: integers are exact, floats may be inf and
// nan.
absl::StatusOr<double> ParseTableValue(TokenCursor& cursor, DType dtype);

}  // namespace burnish

#endif  // COMPILER_IR_EXPR_PARSER_H_
