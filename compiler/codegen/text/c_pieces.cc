#include "compiler/codegen/text/c_pieces.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "compiler/codegen/math_coefficients.h"
#include "compiler/codegen/text/c_helpers.h"
#include "compiler/ir/expr_text.h"

namespace burnish {
namespace {

// Of C11, and names of every kernel.
constexpr char kKeywords[] =
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline "
    "int long register restrict return short signed sizeof static struct switch typedef union "
    "unsigned void volatile while KernelContext context error main worker workers";

std::vector<absl::string_view> WordsOf(absl::string_view text) {
  const auto is_letter = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::vector<absl::string_view> words;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end > i) words.push_back(text.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  return words;
}

struct Piece {
  std::string name;
  std::string text;
};

// Of "FUNCTION f64 name(..", "CONSTANT u64 name[..", "typedef struct { .. } name;".
Piece Named(std::string text) {
  const size_t end = absl::StartsWith(text, "typedef") ? text.size() : text.find_first_of("([");
  std::string name(WordsOf(absl::string_view(text).substr(0, end)).back());
  return {.name = std::move(name), .text = std::move(text)};
}

std::vector<DType> TypesOf(absl::string_view kind) {
  if (kind == "@floats") return {DType::kF32, DType::kF64};
  std::vector<DType> types = {DType::kU64, DType::kU32, DType::kU16, DType::kU8};
  if (kind == "@unsigned") return types;
  types.insert(types.end(), {DType::kI64, DType::kI32, DType::kI16, DType::kI8});
  if (kind == "@integers") types.push_back(DType::kBool);
  return kind == "@signed" ? std::vector<DType>(types.begin() + 4, types.end()) : types;
}

std::string ForType(absl::string_view text, DType type) {
  std::vector<std::pair<std::string, std::string>> signs = {{"$T", CTypeName(type)}};
  if (!IsFloat(type)) {
    const int bits = IntBits(type) - (IsUnsigned(type) ? 0 : 1);
    const IntLimits limits = LimitsOf(type);
    signs.insert(signs.end(), {{"$U", CWrapType(type)},
                               {"$L", CInteger(IsUnsigned(type) ? 0 : limits.least, type)},
                               {"$G", CInteger(type == DType::kU64 ? -1 : limits.greatest, type)},
                               {"$P", absl::StrCat("0x1p", bits)}});
  }
  return absl::StrReplaceAll(text, signs);
}

// Horner's way, a line a step.
Piece Polynomial(absl::string_view name, absl::Span<const double> coefficients) {
  std::string text = absl::StrCat("FUNCTION f64 ", name, "(f64 x) {\n  f64 sum = 0;\n");
  for (size_t i = coefficients.size(); i-- > 0;) {
    absl::StrAppend(&text, "  sum = sum * x + ", CFloat(coefficients[i], DType::kF64), ";\n");
  }
  return Named(absl::StrCat(text, "  return sum;\n}\n"));
}

std::vector<Piece> MakePieces() {
  const auto hex = [](std::string* out, uint64_t word) {
    absl::StrAppend(out, "0x", absl::Hex(word));
  };
  std::vector<Piece> pieces = {
      Polynomial("poly_exp", math::kExp64), Polynomial("poly_atanh", math::kAtanh64),
      Polynomial("poly_erf", math::kErf64), Polynomial("poly_erfcx", math::kErfcx64),
      // Its first coefficient is multiplied apart.
      Polynomial("poly_sin", absl::MakeConstSpan(math::kSin).subspan(1)),
      Polynomial("poly_cos", math::kCos),
      Named(absl::StrCat("CONSTANT u64 two_over_pi[] = {\n  ",
                         absl::StrJoin(math::kTwoOverPiWords, ",\n  ", hex), "};\n"))};
  std::vector<std::string> texts;
  for (const absl::string_view line : absl::StrSplit(kCHelpers, '\n', absl::SkipEmpty())) {
    const bool begins = line[0] != ' ' && line[0] != '}';
    if (begins) texts.emplace_back();
    absl::StrAppend(&texts.back(), line, "\n");
  }
  for (const std::string& text : texts) {
    if (text[0] != '@') {
      pieces.push_back(Named(text));
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(text, absl::MaxSplits(' ', 1));
    for (const DType type : TypesOf(parts.first)) {
      pieces.push_back(Named(ForType(parts.second, type)));
    }
  }
  return pieces;
}

const std::vector<Piece>& Pieces() {
  static const auto* const pieces = new std::vector<Piece>(MakePieces());
  return *pieces;
}

}  // namespace

std::string CTypeName(DType type) {
  return type == DType::kBool ? "b8" : std::string(DTypeName(type));
}

std::string CWrapType(DType type) { return SizeBytes(type) == 8 ? "u64" : "u32"; }

std::string CInteger(int64_t value, DType type) {
  if (type == DType::kU64) return absl::StrCat(static_cast<uint64_t>(value), "u");
  value = WrapInt(type, value);
  // C has no negative literals: the least number would be the negation of one that is too large.
  if (value == std::numeric_limits<int64_t>::min()) return absl::StrCat("(", value + 1, " - 1)");
  return absl::StrCat(value, type == DType::kU32 ? "u" : "");
}

std::string CFloat(double value, DType type) {
  if (type == DType::kBf16 || type == DType::kF16) {
    const auto narrow = static_cast<float>(value);
    return absl::StrCat(type == DType::kF16 ? Float16(narrow).bits : Bfloat16(narrow).bits);
  }
  if (type == DType::kF32) value = static_cast<float>(value);
  if (std::isnan(value)) return absl::StrCat("(", CTypeName(type), ")NAN");
  if (std::isinf(value)) return absl::StrCat("(", CTypeName(type), value < 0 ? ")-INF" : ")INF");
  return absl::StrCat(FloatText(value, type), type == DType::kF32 ? "f" : "");
}

std::string CPiecesFor(absl::string_view code, absl::string_view head) {
  std::set<absl::string_view> wanted;
  for (const absl::string_view word : WordsOf(code)) wanted.insert(word);
  std::vector<absl::string_view> chosen;
  // From the last one up: a piece mentions those before it alone.
  for (auto piece = Pieces().rbegin(); piece != Pieces().rend(); ++piece) {
    if (wanted.count(piece->name) == 0) continue;
    for (const absl::string_view word : WordsOf(piece->text)) wanted.insert(word);
    chosen.insert(chosen.begin(), piece->text);
  }
  return absl::StrCat(head, chosen.empty() ? "" : "\n", absl::StrJoin(chosen, ""));
}

bool IsCWord(absl::string_view name) {
  static const auto* const words = [] {
    auto* const all = new std::set<std::string>;
    for (const absl::string_view text : {kKeywords, kCTypes, kCDialect}) {
      for (const absl::string_view word : WordsOf(text)) all->emplace(word);
    }
    for (const Piece& piece : Pieces()) all->insert(piece.name);
    return all;
  }();
  return words->count(std::string(name)) > 0;
}

}  // namespace burnish
