// How expressions, numbers and names are spelled in program text and in workload text. Part of
// workload text v1, which is stored and hashed: a change here is a new version of that text.
#ifndef COMPILER_IR_EXPR_TEXT_H_
#define COMPILER_IR_EXPR_TEXT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "compiler/ir/expr.h"

namespace burnish {

struct ExprSpelling {
  std::function<std::string(VarId)> var;
  std::function<std::string(BufferId)> buffer;
  // Null: a table is spelled out in place, for people; the parser reads declared tables only.
  std::function<std::string(const std::shared_ptr<const ConstTable>&)> table;
  // False: floats whose decimal form is exact and short are decimal ("0.5"), others hex.
  bool always_hex = false;
};

// Infix, with the parentheses that the tree needs and no others. Loosest to tightest:
// `c ? a : b`, `||`, `&&`, comparisons (not chained), `+ -`, `* / // %`, `- !`. A null expression
// is `<null>`.
std::string ExprText(const Expr& e, const ExprSpelling& spelling);

// `0x1.8p+0`, `0.5`, `-0.0`, `inf`, `-inf`, `nan`. f32 values are rounded to f32 first.
std::string FloatText(double value, DType dtype, bool always_hex = false);

// `i64[2, 3] {1, 2, 3, 4, 5, 6}`.
std::string TableText(const ConstTable& table, bool always_hex = false);

// A name as it is where it is an identifier ([A-Za-z_][A-Za-z0-9_.]*) and not a reserved word, else
// quoted, with \" \\ and \xHH for control characters.
std::string NameText(absl::string_view name);

bool IsReservedWord(absl::string_view word);

}  // namespace burnish

#endif  // COMPILER_IR_EXPR_TEXT_H_
