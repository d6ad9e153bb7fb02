#include "compiler/ir/lexer.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/ir/expr_text.h"

namespace burnish {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// A point is a part of a word: a name such as Y.i and a float are one token each.
bool IsWordPart(char c) { return IsLetter(c) || IsDigit(c) || c == '.'; }

template <typename Predicate>
size_t SpanOf(absl::string_view text, size_t from, Predicate part) {
  size_t size = from;
  while (size < text.size() && part(text[size])) ++size;
  return size;
}

// A sign belongs to a number after the p of a hexadecimal float only.
size_t NumberSize(absl::string_view text) {
  const bool hex = text.size() > 1 && text[0] == '0' && text[1] == 'x';
  size_t size = SpanOf(text, 1, IsWordPart);
  if (hex && size < text.size() && (text[size] == '+' || text[size] == '-') &&
      text[size - 1] == 'p') {
    size = SpanOf(text, size + 1, IsWordPart);
  }
  return size;
}

}  // namespace

void TokenCursor::SkipBlanks() {
  while (!rest_.empty()) {
    const char c = rest_[0];
    size_t size = 1;
    if (c == '\n') {
      ++line_;
      column_ = 0;
    } else if (c == '#') {
      size = std::min(rest_.find('\n'), rest_.size());
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
    rest_.remove_prefix(size);
    column_ += static_cast<int>(size);
  }
}

size_t TokenCursor::TokenSize(TokenKind* kind) const {
  const char c = rest_[0];
  if (IsLetter(c)) {
    *kind = TokenKind::kWord;
    return SpanOf(rest_, 1, IsWordPart);
  }
  if (IsDigit(c)) {
    *kind = TokenKind::kNumber;
    return NumberSize(rest_);
  }
  if (c == '$') {
    const size_t size = SpanOf(rest_, 1, IsDigit);
    *kind = size > 1 ? TokenKind::kTable : TokenKind::kBad;
    return size;
  }
  if (c == '"') {
    size_t size = 1;
    // It ends with its line, so that a missing quote is reported where it is missing.
    while (size < rest_.size() && rest_[size] != '"' && rest_[size] != '\n') {
      size += rest_[size] == '\\' && size + 1 < rest_.size() && rest_[size + 1] != '\n' ? 2 : 1;
    }
    const bool closed = size < rest_.size() && rest_[size] == '"';
    *kind = closed ? TokenKind::kQuoted : TokenKind::kBad;
    return closed ? size + 1 : size;
  }
  // Before single characters. // is a division here, which is why comments begin with #.
  constexpr absl::string_view kPairs[] = {"==", "!=", "<=", "&&", "||", "//", "+=", "*="};
  *kind = TokenKind::kSymbol;
  const absl::string_view two = rest_.substr(0, 2);
  if (std::find(std::begin(kPairs), std::end(kPairs), two) != std::end(kPairs)) return 2;
  if (absl::string_view("+-*/%<!?:,;=()[]{}").find(c) == absl::string_view::npos) {
    *kind = TokenKind::kBad;
  }
  return 1;
}

void TokenCursor::Advance() {
  SkipBlanks();
  token_ = {.kind = TokenKind::kEnd, .text = rest_.substr(0, 0), .line = line_, .column = column_};
  if (rest_.empty()) return;
  const size_t size = TokenSize(&token_.kind);
  token_.text = rest_.substr(0, size);
  rest_.remove_prefix(size);
  column_ += static_cast<int>(size);
}

bool TokenCursor::TakeSymbol(absl::string_view symbol) {
  if (!IsSymbol(symbol)) return false;
  Advance();
  return true;
}

bool TokenCursor::TakeWord(absl::string_view word) {
  if (!IsWord(word)) return false;
  Advance();
  return true;
}

absl::Status TokenCursor::ExpectSymbol(absl::string_view symbol) {
  return TakeSymbol(symbol) ? absl::OkStatus() : Want(absl::StrCat("'", symbol, "'"));
}

absl::Status TokenCursor::ExpectWord(absl::string_view word) {
  return TakeWord(word) ? absl::OkStatus() : Want(absl::StrCat("'", word, "'"));
}

absl::StatusOr<std::string> TokenCursor::ExpectName(absl::string_view what) {
  // Bytes. A text repeats a name at each use. A round number, not tuned.
  constexpr size_t kNameSizeMax = 1000;
  const Token token = token_;
  std::string name;
  if (token.kind == TokenKind::kWord && !IsReservedWord(token.text)) {
    name = std::string(token.text);
  } else if (token.kind == TokenKind::kQuoted) {
    // \" \\ and \xHH, nothing else.
    const absl::string_view quoted = token.text.substr(1, token.text.size() - 2);
    for (size_t i = 0; i < quoted.size(); ++i) {
      if (quoted[i] != '\\') {
        name += quoted[i];
      } else if (quoted[i + 1] == '"' || quoted[i + 1] == '\\') {
        name += quoted[++i];
      } else {
        const absl::string_view digits = quoted.substr(std::min(i + 2, quoted.size()), 2);
        const bool hex = quoted[i + 1] == 'x' && digits.size() == 2 &&
                         std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit);
        if (!hex) return Want(absl::StrCat(what, " with escapes \\\" \\\\ \\xHH only"));
        name += absl::HexStringToBytes(digits);
        i += 3;
      }
    }
  } else {
    return Want(what);
  }
  // Of the name, not of its spelling: an escape is longer than what it stands for.
  if (name.size() > kNameSizeMax) {
    return Want(absl::StrCat(what, " of at most ", kNameSizeMax, " bytes"));
  }
  Advance();
  return name;
}

absl::StatusOr<int64_t> TokenCursor::ExpectInt(absl::string_view what, int64_t min, int64_t max) {
  const Token start = token_;
  const bool negative = TakeSymbol("-");
  int64_t value = 0;
  if (token_.kind != TokenKind::kNumber || !absl::SimpleAtoi(token_.text, &value) ||
      (negative ? -value : value) < min || (negative ? -value : value) > max) {
    return ErrorAt(negative ? start : token_, absl::StrFormat("%s in [%d, %d]", what, min, max));
  }
  Advance();
  return negative ? -value : value;
}

absl::Status TokenCursor::ErrorAt(const Token& token, absl::string_view want) {
  // Bytes: a foreign text must not fill the message with one token.
  constexpr size_t kQuoteSizeMax = 40;
  std::string got = token.kind == TokenKind::kEnd
                        ? "the end of the text"
                        : absl::StrCat("'", absl::CHexEscape(token.text.substr(0, kQuoteSizeMax)),
                                       token.text.size() > kQuoteSizeMax ? "..'" : "'");
  if (token.kind == TokenKind::kBad && token.text[0] == '"') got += " (no closing quote)";
  return absl::InvalidArgumentError(
      absl::StrFormat("line %d, column %d: got %s, want %s", token.line, token.column, got, want));
}

}  // namespace burnish
