#include "tuner/app/npy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kHeaderBytesMax = 64 << 10;  // NumPy itself refuses headers above 10,000 bytes.
constexpr int64_t kFileBytesMax = int64_t{16} << 30;
constexpr size_t kAlignment = 64;  // Of the data, as numpy.save has it.

struct DtypeName {
  absl::string_view name;
  ElementType type;
};
constexpr DtypeName kDtypes[] = {
    {"<f4", ElementType::kF32}, {"<f8", ElementType::kF64}, {"<f2", ElementType::kF16},
    {"|i1", ElementType::kI8},  {"|u1", ElementType::kU8},  {"<i2", ElementType::kI16},
    {"<u2", ElementType::kU16}, {"<i4", ElementType::kI32}, {"<u4", ElementType::kU32},
    {"<i8", ElementType::kI64}, {"<u8", ElementType::kU64}, {"|b1", ElementType::kBool},
};

absl::Status Bad(absl::string_view cause) {
  return absl::InvalidArgumentError(absl::StrCat("not a NumPy file that can be read: ", cause));
}

absl::StatusOr<ElementType> ParseDtype(absl::string_view text) {
  for (const DtypeName& dtype : kDtypes) {
    if (text == dtype.name) return dtype.type;
    // One byte has no order, and some writers say so in another way.
    if (dtype.name[0] == '|' && text.size() == 3 && text.substr(1) == dtype.name.substr(1)) {
      return dtype.type;
    }
  }
  if (!text.empty() && text[0] == '>') {
    return Bad(absl::StrCat("big-endian elements (", text,
                            "); hint: x.astype(x.dtype.newbyteorder('<'))"));
  }
  return Bad(absl::StrCat("element type ", text, "; hint: x.astype(numpy.float32)"));
}

// The header's dictionary: the literals that numpy.save writes, and no other Python.
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : rest_(text) {}

  absl::Status Parse(NpyArray& array) {
    bool seen_descr = false, seen_order = false, seen_shape = false;
    if (!Take('{')) return Bad("its header is no dictionary");
    while (!Take('}')) {
      ASSIGN_OR_RETURN(const std::string key, String());
      if (!Take(':')) return Bad("its header lacks a colon");
      if (key == "descr" && !std::exchange(seen_descr, true)) {
        if (Peek('[')) return Bad("a structured array; hint: save one field at a time");
        ASSIGN_OR_RETURN(const std::string descr, String());
        ASSIGN_OR_RETURN(array.type, ParseDtype(descr));
      } else if (key == "fortran_order" && !std::exchange(seen_order, true)) {
        RETURN_IF_ERROR(ParseOrder());
      } else if (key == "shape" && !std::exchange(seen_shape, true)) {
        RETURN_IF_ERROR(ParseShape(array.shape));
      } else {
        return Bad(absl::StrCat("unexpected key '", key, "' in its header"));
      }
      if (!Take(',') && !Peek('}')) return Bad("its header lacks a comma");
    }
    Skip();
    if (!rest_.empty()) return Bad("something follows its header's dictionary");
    if (!seen_descr || !seen_order || !seen_shape) return Bad("its header lacks a key");
    // With one axis at most, both orders are the same.
    if (fortran_order_ && array.shape.size() > 1) {
      return Bad("Fortran order; hint: numpy.ascontiguousarray(x)");
    }
    return absl::OkStatus();
  }

 private:
  void Skip() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool Peek(char c) {
    Skip();
    return !rest_.empty() && rest_[0] == c;
  }
  bool Take(char c) {
    if (!Peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  absl::StatusOr<std::string> String() {
    Skip();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) {
      return Bad("its header lacks a string");
    }
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return Bad("its header has a string without an end");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  absl::Status ParseOrder() {
    Skip();
    if (absl::ConsumePrefix(&rest_, "True")) {
      fortran_order_ = true;
    } else if (!absl::ConsumePrefix(&rest_, "False")) {
      return Bad("fortran_order is neither True nor False");
    }
    return absl::OkStatus();
  }

  absl::Status ParseShape(std::vector<int64_t>& shape) {
    if (!Take('(')) return Bad("its shape is no tuple");
    while (!Take(')')) {
      Skip();
      size_t length = 0;
      while (length < rest_.size() && absl::ascii_isdigit(rest_[length])) ++length;
      int64_t extent = 0;
      if (!absl::SimpleAtoi(rest_.substr(0, length), &extent)) {
        return Bad("its shape has something else than numbers");
      }
      rest_.remove_prefix(length);
      if (shape.size() == kRankMax) return Bad(absl::StrCat("more than ", kRankMax, " axes"));
      shape.push_back(extent);
      if (!Take(',') && !Peek(')')) return Bad("its shape lacks a comma");
    }
    return absl::OkStatus();
  }

  absl::string_view rest_;
  bool fortran_order_ = false;
};

// Nothing when it does not fit 63 bits.
std::optional<int64_t> ByteCount(const NpyArray& array) {
  int64_t bytes = ElementBytes(array.type);
  for (const int64_t extent : array.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

// Little-endian, as this machine is.
template <typename T>
size_t LengthField(absl::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

NpyArray WidenBfloat16(const NpyArray& array) {
  NpyArray wide{.type = ElementType::kF32, .shape = array.shape};
  wide.bytes.resize(array.bytes.size() * 2);
  for (size_t i = 0; i < array.bytes.size() / 2; ++i) {
    // The upper half of a float32.
    wide.bytes[i * 4 + 2] = array.bytes[i * 2];
    wide.bytes[i * 4 + 3] = array.bytes[i * 2 + 1];
  }
  return wide;
}

}  // namespace

absl::StatusOr<NpyArray> ParseNpy(absl::string_view file) {
  if (!absl::ConsumePrefix(&file, kMagic)) return Bad("it does not begin as one");
  if (file.size() < 4) return Bad("it is cut off in its header");
  const int version = static_cast<unsigned char>(file[0]);
  if (version < 1 || version > 3 || file[1] != 0) {
    return Bad(absl::StrCat("format version ", version, ".", static_cast<int>(file[1]),
                            ", known are 1.0 to 3.0"));
  }
  file.remove_prefix(2);
  const size_t field_bytes = version == 1 ? 2 : 4;
  if (file.size() < field_bytes) return Bad("it is cut off in its header");
  const size_t header_bytes =
      version == 1 ? LengthField<uint16_t>(file) : LengthField<uint32_t>(file);
  file.remove_prefix(field_bytes);
  if (header_bytes > kHeaderBytesMax) return Bad("its header is too long");
  if (file.size() < header_bytes) return Bad("it is cut off in its header");
  NpyArray array;
  RETURN_IF_ERROR(HeaderParser(file.substr(0, header_bytes)).Parse(array));
  file.remove_prefix(header_bytes);
  const std::optional<int64_t> bytes = ByteCount(array);
  if (!bytes.has_value()) return Bad("its shape is too large");
  if (static_cast<int64_t>(file.size()) != *bytes) {
    return Bad(absl::StrCat("got ", file.size(), " bytes of elements, its shape wants ", *bytes));
  }
  array.bytes = std::string(file);
  return array;
}

std::string SerializeNpy(const NpyArray& array) {
  if (array.type == ElementType::kBf16) return SerializeNpy(WidenBfloat16(array));
  const auto* dtype =
      std::find_if(std::begin(kDtypes), std::end(kDtypes),
                   [&](const DtypeName& known) { return known.type == array.type; });
  std::string header =
      absl::StrCat("{'descr': '", dtype->name, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(array.shape, ", "), array.shape.size() == 1 ? ",), }" : "), }");
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  const char prefix[] = {1, 0, static_cast<char>(header.size() & 0xff),
                         static_cast<char>(header.size() >> 8)};
  return absl::StrCat(kMagic, absl::string_view(prefix, sizeof(prefix)), header, array.bytes);
}

absl::StatusOr<NpyArray> ReadNpyFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string file, ReadFile(path, kFileBytesMax));
  return ParseNpy(file);
}

absl::Status WriteNpyFile(const std::string& path, const NpyArray& array) {
  return WriteFileAtomically(path, SerializeNpy(array));
}

}  // namespace burnish
