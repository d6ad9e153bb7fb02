// The pieces of c_helpers.h that a C text needs.
#ifndef COMPILER_CODEGEN_TEXT_C_PIECES_H_
#define COMPILER_CODEGEN_TEXT_C_PIECES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "compiler/ir/dtype.h"

namespace burnish {

// "f32", "i64", .. and "b8".
std::string CTypeName(DType type);
// The unsigned type in which integers of `type` are computed, so that they wrap: "u32" or "u64".
std::string CWrapType(DType type);
// `value` as a literal; negative ones begin with a sign or a parenthesis.
std::string CInteger(int64_t value, DType type);
// "0.5f", "0x1.8p+0", "(f32)INF".
std::string CFloat(double value, DType type);

// Behind `head`, the words of a dialect: what `code` mentions and what that mentions, in an order
// that C takes.
std::string CPiecesFor(absl::string_view code, absl::string_view head);
// Whether a name stands for something else already: a word of C or of a piece.
bool IsCWord(absl::string_view name);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEXT_C_PIECES_H_
