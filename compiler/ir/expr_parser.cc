#include "compiler/ir/expr_parser.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/ir/expr_kinds.h"
#include "compiler/ir/expr_text.h"

namespace burnish {
namespace {

constexpr int kOperandsMax = 24;  // The greatest rank of a tensor.

// A tree and its height.
struct Tree {
  Expr e;
  int depth = 1;
};

class ExprParser {
 public:
  ExprParser(TokenCursor& cursor, const ParseScope& scope) : cursor_(cursor), scope_(scope) {}

  absl::StatusOr<Tree> ParseTernary() {
    // Bounds the recursion of the parser itself: "((((" has no tree yet.
    if (++nesting_ > kExprDepthMax) {
      return cursor_.Want(absl::StrCat("at most ", kExprDepthMax, " nested expressions"));
    }
    ASSIGN_OR_RETURN(Tree condition, ParseInfix(1));
    if (!cursor_.IsSymbol("?")) {
      --nesting_;
      return condition;
    }
    const Token token = cursor_.Peek();
    cursor_.Advance();
    ASSIGN_OR_RETURN(Tree if_true, ParseTernary());
    RETURN_IF_ERROR(cursor_.ExpectSymbol(":"));
    ASSIGN_OR_RETURN(Tree if_false, ParseTernary());
    --nesting_;
    if (if_true.e->dtype != if_false.e->dtype) {
      return TypesDiffer(token, if_true.e->dtype, if_false.e->dtype);
    }
    const DType dtype = if_true.e->dtype;
    return Make(token, {.kind = ExprKind::kSelect, .dtype = dtype},
                {std::move(condition), std::move(if_true), std::move(if_false)});
  }

 private:
  static absl::Status TypesDiffer(const Token& token, DType a, DType b) {
    return TokenCursor::ErrorAt(
        token, absl::StrCat("operands of one type, not ", DTypeName(a), " and ", DTypeName(b)));
  }

  absl::StatusOr<Tree> Make(const Token& token, ExprNode node, std::vector<Tree> operands) {
    Tree tree;
    for (Tree& operand : operands) {
      tree.depth = std::max(tree.depth, operand.depth + 1);
      node.operands.push_back(std::move(operand.e));
    }
    // The tree's depth as well as the text's: a + b + c + .. nests no bracket and is as deep as it
    // is long. All that walks a tree later does so by recursion.
    if (tree.depth > kExprDepthMax) {
      return TokenCursor::ErrorAt(token,
                                  absl::StrCat("an expression of depth at most ", kExprDepthMax));
    }
    tree.e = std::make_shared<const ExprNode>(std::move(node));
    return tree;
  }

  static std::optional<ExprKind> InfixKind(const Token& token) {
    if (token.kind != TokenKind::kSymbol) return std::nullopt;
    for (int kind = static_cast<int>(ExprKind::kAdd); kind <= static_cast<int>(ExprKind::kOr);
         ++kind) {
      const char* name = InfoOf(static_cast<ExprKind>(kind)).infix;
      if (name != nullptr && token.text == name) return static_cast<ExprKind>(kind);
    }
    return std::nullopt;
  }

  static bool IsComparison(ExprKind kind) { return kind >= ExprKind::kLt && kind <= ExprKind::kNe; }

  // Operations that bind at `level_min` or tighter, by precedence climbing.
  absl::StatusOr<Tree> ParseInfix(int level_min) {
    ASSIGN_OR_RETURN(Tree left, ParseUnary());
    while (true) {
      const Token token = cursor_.Peek();
      const std::optional<ExprKind> kind = InfixKind(token);
      if (!kind.has_value() || InfoOf(*kind).infix_level < level_min) return left;
      cursor_.Advance();
      // One level tighter: a - b - c is (a - b) - c.
      ASSIGN_OR_RETURN(Tree right, ParseInfix(InfoOf(*kind).infix_level + 1));
      if (left.e->dtype != right.e->dtype) {
        return TypesDiffer(token, left.e->dtype, right.e->dtype);
      }
      const bool logical = IsComparison(*kind) || *kind == ExprKind::kAnd || *kind == ExprKind::kOr;
      const DType dtype = logical ? DType::kBool : left.e->dtype;
      ASSIGN_OR_RETURN(
          left, Make(token, {.kind = *kind, .dtype = dtype}, {std::move(left), std::move(right)}));
      // a < b == c means one thing in C and another in Python.
      if (IsComparison(*kind)) {
        const std::optional<ExprKind> next = InfixKind(cursor_.Peek());
        if (next.has_value() && IsComparison(*next)) return cursor_.Want("no chained comparison");
      }
    }
  }

  absl::StatusOr<Tree> ParseUnary() {
    const Token token = cursor_.Peek();
    if (!cursor_.IsSymbol("-") && !cursor_.IsSymbol("!")) return ParsePrimary(/*negative=*/false);
    const bool negation = cursor_.IsSymbol("-");
    cursor_.Advance();
    // -1 is a literal and no negation of 1: the least integer has no positive that could be read
    // first.
    if (negation && IsLiteral(cursor_.Peek())) return ParsePrimary(/*negative=*/true);
    if (++nesting_ > kExprDepthMax) {
      return TokenCursor::ErrorAt(token,
                                  absl::StrCat("at most ", kExprDepthMax, " nested expressions"));
    }
    ASSIGN_OR_RETURN(Tree operand, ParseUnary());
    --nesting_;
    const DType dtype = negation ? operand.e->dtype : DType::kBool;
    return Make(token, {.kind = negation ? ExprKind::kNeg : ExprKind::kNot, .dtype = dtype},
                {std::move(operand)});
  }

  static bool IsLiteral(const Token& token) {
    return token.kind == TokenKind::kNumber ||
           (token.kind == TokenKind::kWord &&
            (token.text == "inf" || absl::StartsWith(token.text, "inf_")));
  }

  absl::StatusOr<Tree> ParsePrimary(bool negative) {
    const Token token = cursor_.Peek();
    switch (token.kind) {
      case TokenKind::kNumber:
        return ParseNumber(negative);
      case TokenKind::kTable:
        return ParseTableLoad();
      case TokenKind::kSymbol:
        if (cursor_.TakeSymbol("(")) {
          ASSIGN_OR_RETURN(Tree inner, ParseTernary());
          RETURN_IF_ERROR(cursor_.ExpectSymbol(")"));
          return inner;
        }
        return cursor_.Want("an expression");
      case TokenKind::kWord:
        if (std::optional<Tree> constant = ConstantWord(token.text, negative)) {
          cursor_.Advance();
          return *std::move(constant);
        }
        if (token.text == "self") return ParseSelf();
        [[fallthrough]];
      case TokenKind::kQuoted:
        return ParseNamed();
      default:
        return cursor_.Want("an expression");
    }
  }

  static std::optional<Tree> ConstantWord(absl::string_view word, bool negative) {
    if (word == "true") return Tree{Bool(true)};
    if (word == "false") return Tree{Bool(false)};
    // inf, nan, with the suffix of a type other than f32.
    const absl::string_view number = word.substr(0, 3);
    if (number != "inf" && number != "nan") return std::nullopt;
    DType dtype = DType::kF32;
    if (word.size() > 3 &&
        (word[3] != '_' || !ParseDType(word.substr(4), &dtype) || !IsFloat(dtype))) {
      return std::nullopt;
    }
    if (number == "nan") return Tree{Float(std::nan(""), dtype)};
    const double infinity = std::numeric_limits<double>::infinity();
    return Tree{Float(negative ? -infinity : infinity, dtype)};
  }

  absl::StatusOr<Tree> ParseSelf() {
    if (!scope_.self_type.has_value()) return cursor_.Want("'self' in a finish only");
    cursor_.Advance();
    return Tree{Self(*scope_.self_type)};
  }

  absl::StatusOr<Tree> ParseNumber(bool negative) {
    const Token token = cursor_.Peek();
    absl::string_view digits = token.text;
    const bool floating =
        digits.find('.') != absl::string_view::npos || digits.find('p') != absl::string_view::npos;
    DType dtype = floating ? DType::kF32 : DType::kI64;
    if (const size_t underscore = digits.find('_'); underscore != absl::string_view::npos) {
      if (!ParseDType(digits.substr(underscore + 1), &dtype) || IsFloat(dtype) != floating) {
        return cursor_.Want("a number whose suffix fits it");
      }
      digits = digits.substr(0, underscore);
    }
    cursor_.Advance();
    if (floating) {
      ASSIGN_OR_RETURN(const double value, FloatValue(token, digits, dtype));
      return Tree{Float(negative ? -value : value, dtype)};
    }
    ASSIGN_OR_RETURN(const int64_t value, IntValue(token, digits, negative, dtype));
    return Tree{Int(value, dtype)};
  }

  absl::StatusOr<Tree> ParseTableLoad() {
    const Token token = cursor_.Peek();
    uint32_t index = 0;
    if (!absl::SimpleAtoi(token.text.substr(1), &index) || index >= scope_.tables.size()) {
      return cursor_.Want("a declared table");
    }
    cursor_.Advance();
    const auto& table = scope_.tables[index];
    RETURN_IF_ERROR(cursor_.ExpectSymbol("["));
    ASSIGN_OR_RETURN(std::vector<Tree> indices, ParseList("]"));
    if (indices.size() != table->shape.size()) {
      return TokenCursor::ErrorAt(
          token, absl::StrFormat("%d indices, not %d", table->shape.size(), indices.size()));
    }
    return Make(token, {.kind = ExprKind::kTable, .dtype = table->dtype, .table = table},
                std::move(indices));
  }

  // A call, a load or a variable.
  absl::StatusOr<Tree> ParseNamed() {
    const Token token = cursor_.Peek();
    if (token.kind == TokenKind::kWord) {
      DType dtype = DType::kI64;
      std::optional<ExprKind> call = CallKind(token.text);
      const bool cast = ParseDType(token.text, &dtype);
      if (call.has_value() || cast) {
        // A function only where a bracket follows: a buffer or a variable may have the same name.
        TokenCursor ahead = cursor_;
        ahead.Advance();
        if (ahead.IsSymbol("(")) {
          cursor_.Advance();
          cursor_.Advance();
          return ParseCall(token, cast ? ExprKind::kCast : *call, dtype);
        }
      }
    }
    ASSIGN_OR_RETURN(const std::string name, cursor_.ExpectName("an expression"));
    if (!cursor_.TakeSymbol("[")) {
      const VarId var = scope_.FindVar(name);
      if (var < 0) return TokenCursor::ErrorAt(token, "a declared variable");
      return Tree{VarRef(var)};
    }
    const auto buffer = scope_.buffers.find(name);
    if (buffer == scope_.buffers.end()) return TokenCursor::ErrorAt(token, "a declared buffer");
    ASSIGN_OR_RETURN(std::vector<Tree> indices, ParseList("]"));
    return Make(token,
                {.kind = ExprKind::kLoad,
                 .dtype = scope_.buffer_types[buffer->second],
                 .id = buffer->second},
                std::move(indices));
  }

  static std::optional<ExprKind> CallKind(absl::string_view word) {
    for (int kind = 0; kind < kExprKindCount; ++kind) {
      const char* name = InfoOf(static_cast<ExprKind>(kind)).call;
      if (name != nullptr && word == name) return static_cast<ExprKind>(kind);
    }
    return std::nullopt;
  }

  absl::StatusOr<Tree> ParseCall(const Token& token, ExprKind kind, DType cast_type) {
    ASSIGN_OR_RETURN(std::vector<Tree> operands, ParseList(")"));
    const auto want = static_cast<size_t>(InfoOf(kind).operand_count);
    if (operands.size() != want) {
      return TokenCursor::ErrorAt(token,
                                  absl::StrFormat("%d operands, not %d", want, operands.size()));
    }
    if (want == 2 && operands[0].e->dtype != operands[1].e->dtype) {
      return TypesDiffer(token, operands[0].e->dtype, operands[1].e->dtype);
    }
    DType dtype = operands[0].e->dtype;
    if (kind == ExprKind::kCast) dtype = cast_type;
    if (InfoOf(kind).gives_bool) dtype = DType::kBool;
    return Make(token, {.kind = kind, .dtype = dtype}, std::move(operands));
  }

  // Up to and with `close`.
  absl::StatusOr<std::vector<Tree>> ParseList(absl::string_view close) {
    std::vector<Tree> list;
    if (cursor_.TakeSymbol(close)) return list;
    do {
      if (list.size() == kOperandsMax) {
        return cursor_.Want(absl::StrCat("at most ", kOperandsMax, " operands"));
      }
      ASSIGN_OR_RETURN(Tree operand, ParseTernary());
      list.push_back(std::move(operand));
    } while (cursor_.TakeSymbol(","));
    RETURN_IF_ERROR(cursor_.ExpectSymbol(close));
    return list;
  }

 public:
  // `digits` without sign and suffix.
  static absl::StatusOr<double> FloatValue(const Token& token, absl::string_view digits,
                                           DType dtype) {
    const std::string text(digits);
    char* end = nullptr;
    // Rounded once, to the literal's own type.
    const double value =
        dtype == DType::kF32 ? strtof(text.c_str(), &end) : strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size() || !std::isfinite(value)) {
      return TokenCursor::ErrorAt(token, absl::StrCat("a finite ", DTypeName(dtype)));
    }
    return value;
  }

  static absl::StatusOr<int64_t> IntValue(const Token& token, absl::string_view digits,
                                          bool negative, DType dtype) {
    uint64_t magnitude = 0;
    const uint64_t positive_max = dtype == DType::kU64
                                      ? std::numeric_limits<uint64_t>::max()
                                      : static_cast<uint64_t>(LimitsOf(dtype).greatest);
    // Two's complement: there is one more number below 0 than above.
    const uint64_t max = !negative ? positive_max : IsUnsigned(dtype) ? 0 : positive_max + 1;
    if (!absl::SimpleAtoi(digits, &magnitude) || magnitude > max) {
      return TokenCursor::ErrorAt(token, absl::StrCat("a number of type ", DTypeName(dtype)));
    }
    return static_cast<int64_t>(negative ? -magnitude : magnitude);
  }

 private:
  TokenCursor& cursor_;
  const ParseScope& scope_;
  int nesting_ = 0;
};

}  // namespace

VarId ParseScope::FindVar(absl::string_view name) const {
  if (const auto axis = own_axes.find(name); axis != own_axes.end()) return axis->second;
  const auto var = vars.find(name);
  return var == vars.end() ? -1 : var->second;
}

absl::StatusOr<Expr> ParseExpr(TokenCursor& cursor, const ParseScope& scope) {
  ASSIGN_OR_RETURN(Tree tree, ExprParser(cursor, scope).ParseTernary());
  return std::move(tree.e);
}

absl::StatusOr<double> ParseTableValue(TokenCursor& cursor, DType dtype) {
  const bool negative = cursor.TakeSymbol("-");
  const Token token = cursor.Peek();
  const double sign = negative ? -1 : 1;
  if (IsFloat(dtype) && cursor.TakeWord("inf")) {
    return sign * std::numeric_limits<double>::infinity();
  }
  if (IsFloat(dtype) && cursor.TakeWord("nan")) return std::nan("");
  if (token.kind != TokenKind::kNumber) return cursor.Want("a number");
  cursor.Advance();
  if (IsFloat(dtype)) {
    ASSIGN_OR_RETURN(const double value, ExprParser::FloatValue(token, token.text, dtype));
    return sign * value;
  }
  ASSIGN_OR_RETURN(const int64_t value, ExprParser::IntValue(token, token.text, negative, dtype));
  // A table holds all of its values as doubles.
  constexpr int64_t kExactMax = int64_t{1} << 53;
  if (value > kExactMax || value < -kExactMax) {
    return TokenCursor::ErrorAt(token, "an integer that a double holds");
  }
  return static_cast<double>(value);
}

}  // namespace burnish
