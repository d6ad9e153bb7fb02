#include "compiler/ir/expr_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "compiler/ir/expr_kinds.h"

namespace burnish {
namespace {

// Levels around the infix ones (1..5).
constexpr int kTernaryLevel = 0;
constexpr int kCompareLevel = 3;
constexpr int kUnaryLevel = 6;
constexpr int kPrimaryLevel = 7;

constexpr absl::string_view kReservedWords[] = {
    "align",     "barrier",  "bind",     "block",   "border",   "const",    "else",    "false",
    "finish",    "for",      "global",   "guarded", "if",       "in",       "inf",     "init",
    "input",     "kernel",   "local",    "lowered", "max",      "min",      "nan",     "numerics",
    "offset",    "output",   "pack",     "packed",  "parallel", "prefetch", "program", "reduce",
    "register",  "repeats",  "run",      "scratch", "self",     "seq",      "shared",  "stage",
    "step",      "streamed", "strides",  "table",   "temp",     "true",     "unroll",  "var",
    "vectorize", "when",     "workload",
};

// Spells one tree. Recursion is as deep as the tree.
class Speller {
 public:
  explicit Speller(const ExprSpelling& spelling) : spelling_(spelling) {}

  // Parenthesised when `e` binds looser than `level`.
  void Write(const Expr& e, int level) {
    if (e == nullptr) {
      text_ += "<null>";
      return;
    }
    const int own_level = LevelOf(*e);
    if (own_level < level) text_ += '(';
    WriteBare(*e, own_level);
    if (own_level < level) text_ += ')';
  }

  std::string Take() { return std::move(text_); }

 private:
  static int LevelOf(const ExprNode& e) {
    if (e.kind == ExprKind::kSelect) return kTernaryLevel;
    if (e.kind == ExprKind::kNeg || e.kind == ExprKind::kNot) return kUnaryLevel;
    return InfoOf(e.kind).infix != nullptr ? InfoOf(e.kind).infix_level : kPrimaryLevel;
  }

  void WriteBare(const ExprNode& e, int level) {
    switch (e.kind) {
      case ExprKind::kIntImm:
        return WriteInt(e);
      case ExprKind::kFloatImm:
        text_ += FloatText(e.float_value, e.dtype, spelling_.always_hex);
        if (e.dtype != DType::kF32) absl::StrAppend(&text_, "_", DTypeName(e.dtype));
        return;
      case ExprKind::kVar:
        text_ += spelling_.var(e.id);
        return;
      case ExprKind::kSelf:
        text_ += "self";
        return;
      case ExprKind::kNeg:
      case ExprKind::kNot: {
        text_ += e.kind == ExprKind::kNeg ? '-' : '!';
        // "-5" is a literal: the negation of a literal is "-(5)".
        const ExprKind inner = e.operands[0] ? e.operands[0]->kind : ExprKind::kVar;
        const bool literal = inner == ExprKind::kIntImm || inner == ExprKind::kFloatImm;
        return Write(e.operands[0], literal ? kPrimaryLevel + 1 : kUnaryLevel);
      }
      case ExprKind::kSelect:
        Write(e.operands[0], kTernaryLevel + 1);
        text_ += " ? ";
        Write(e.operands[1], kTernaryLevel);
        text_ += " : ";
        return Write(e.operands[2], kTernaryLevel);
      case ExprKind::kLoad:
        text_ += spelling_.buffer(e.id);
        return WriteList(e, '[', ']');
      case ExprKind::kTable:
        text_ += e.table == nullptr ? "<null>"
                 : spelling_.table  ? spelling_.table(e.table)
                                    : TableText(*e.table, spelling_.always_hex);
        return WriteList(e, '[', ']');
      case ExprKind::kCast:
        absl::StrAppend(&text_, DTypeName(e.dtype));
        return WriteList(e, '(', ')');
      default:
        break;
    }
    if (const char* infix = InfoOf(e.kind).infix) {
      // Left-associative; comparisons do not chain.
      Write(e.operands[0], level == kCompareLevel ? level + 1 : level);
      absl::StrAppend(&text_, " ", infix, " ");
      return Write(e.operands[1], level + 1);
    }
    text_ += InfoOf(e.kind).call;
    WriteList(e, '(', ')');
  }

  void WriteInt(const ExprNode& e) {
    if (e.dtype == DType::kBool && (e.int_value == 0 || e.int_value == 1)) {
      text_ += e.int_value != 0 ? "true" : "false";
      return;
    }
    if (e.dtype == DType::kU64) {
      absl::StrAppend(&text_, static_cast<uint64_t>(e.int_value));
    } else {
      absl::StrAppend(&text_, e.int_value);
    }
    if (e.dtype != DType::kI64) absl::StrAppend(&text_, "_", DTypeName(e.dtype));
  }

  void WriteList(const ExprNode& e, char open, char close) {
    text_ += open;
    for (size_t i = 0; i < e.operands.size(); ++i) {
      if (i > 0) text_ += ", ";
      Write(e.operands[i], kTernaryLevel);
    }
    text_ += close;
  }

  const ExprSpelling& spelling_;
  std::string text_;
};

}  // namespace

std::string ExprText(const Expr& e, const ExprSpelling& spelling) {
  Speller speller(spelling);
  speller.Write(e, kTernaryLevel);
  return speller.Take();
}

std::string FloatText(double value, DType dtype, bool always_hex) {
  if (dtype == DType::kF32) value = static_cast<float>(value);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (!always_hex) {
    // Sixty digits are the exact value where they end in zeros, which %g drops.
    char text[80];
    const int size = snprintf(text, sizeof(text), "%.60g", value);
    if (size <= 8 && strpbrk(text, "e") == nullptr) {
      return strchr(text, '.') != nullptr ? text : absl::StrCat(text, ".0");
    }
  }
  char text[40];
  snprintf(text, sizeof(text), "%a", value);
  return text;
}

std::string TableText(const ConstTable& table, bool always_hex) {
  std::vector<std::string> values;
  values.reserve(table.values.size());
  for (const double value : table.values) {
    values.push_back(IsFloat(table.dtype) ? FloatText(value, table.dtype, always_hex)
                                          : absl::StrCat(static_cast<int64_t>(value)));
  }
  return absl::StrCat(DTypeName(table.dtype), "[", absl::StrJoin(table.shape, ", "), "] {",
                      absl::StrJoin(values, ", "), "}");
}

std::string NameText(absl::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto follows = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  if (!name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), follows) &&
      !IsReservedWord(name)) {
    return std::string(name);
  }
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&text, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text + "\"";
}

bool IsReservedWord(absl::string_view word) {
  return std::find(std::begin(kReservedWords), std::end(kReservedWords), word) !=
             std::end(kReservedWords) ||
         word == "inf_f64" || word == "nan_f64";
}

}  // namespace burnish
