// Tokens of program text. Input is hostile: nothing here allocates more than the token in hand.
#ifndef COMPILER_IR_LEXER_H_
#define COMPILER_IR_LEXER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

enum class TokenKind : uint8_t {
  kWord,    // [A-Za-z_][A-Za-z0-9_.]*, a name or a keyword
  kQuoted,  // "..", always a name
  kNumber,  // starts with a digit; sign not included, type suffix (`_i32`) included
  kTable,   // $0
  kSymbol,  // punctuation, one or two characters
  kEnd,
  kBad,  // not a token; `text` is the offending character or string
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  absl::string_view text;  // As written; quotes included.
  int line = 1;            // From 1.
  int column = 1;          // From 1, in bytes.
};

// One token of look-ahead over `text`, which must outlive it. `#` starts a comment.
class TokenCursor {
 public:
  explicit TokenCursor(absl::string_view text) : rest_(text) { Advance(); }

  const Token& Peek() const { return token_; }
  void Advance();

  bool IsSymbol(absl::string_view symbol) const {
    return token_.kind == TokenKind::kSymbol && token_.text == symbol;
  }
  bool IsWord(absl::string_view word) const {
    return token_.kind == TokenKind::kWord && token_.text == word;
  }
  // Advances over the symbol or word if it is next.
  bool TakeSymbol(absl::string_view symbol);
  bool TakeWord(absl::string_view word);

  absl::Status ExpectSymbol(absl::string_view symbol);
  absl::Status ExpectWord(absl::string_view word);
  // A word that is not reserved, or a quoted name.
  absl::StatusOr<std::string> ExpectName(absl::string_view what);
  // An unsuffixed decimal integer, perhaps negative, in [min, max].
  absl::StatusOr<int64_t> ExpectInt(absl::string_view what, int64_t min, int64_t max);

  // "line 3, column 5: got "x", want WHAT", at the next token.
  absl::Status Want(absl::string_view what) const { return ErrorAt(token_, what); }
  static absl::Status ErrorAt(const Token& token, absl::string_view want);

 private:
  void SkipBlanks();
  size_t TokenSize(TokenKind* kind) const;

  absl::string_view rest_;
  int line_ = 1;
  int column_ = 1;
  Token token_;
};

}  // namespace burnish

#endif  // COMPILER_IR_LEXER_H_
