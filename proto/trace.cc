#include "proto/trace.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/trace.pb.h"

namespace burnish {
namespace {

constexpr size_t kDigitsMax = 18;  // Any such number fits a uint64.

bool TouchesNumber(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '@' ||
         c == '$';
}

// Length of the number that begins at `begin`, or 0.
size_t NumberLength(absl::string_view text, size_t begin) {
  if (begin > 0 && TouchesNumber(text[begin - 1])) return 0;
  size_t end = begin;
  while (end < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) ++end;
  const size_t length = end - begin;
  if (length == 0 || length > kDigitsMax || (text[begin] == '0' && length > 1)) return 0;
  return end < text.size() && TouchesNumber(text[end]) ? 0 : length;
}

void AppendVarint(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

// Takes one varint off the front. False: none is there, or it is no number that a split writes.
bool ConsumeVarint(absl::string_view& bytes, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 63 && !bytes.empty(); shift += 7) {
    const uint64_t byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

absl::Status Malformed(absl::string_view what, size_t at) {
  return absl::InvalidArgumentError(absl::StrFormat("split trace: %s at byte %d", what, at));
}

}  // namespace

SplitTrace SplitTraceText(absl::string_view text) {
  SplitTrace split;
  for (size_t i = 0; i < text.size();) {
    if (const size_t length = NumberLength(text, i); length > 0) {
      uint64_t value = 0;
      for (const char digit : text.substr(i, length)) value = value * 10 + (digit - '0');
      AppendVarint(value, split.decisions);
      split.sketch += "$#";
      i += length;
    } else {
      if (text[i] == '$') split.sketch.push_back('$');
      split.sketch.push_back(text[i++]);
    }
  }
  return split;
}

absl::StatusOr<std::string> JoinTrace(const SplitTrace& split) {
  std::string text;
  absl::string_view decisions = split.decisions;
  for (size_t i = 0; i < split.sketch.size(); ++i) {
    if (split.sketch[i] != '$') {
      text.push_back(split.sketch[i]);
      continue;
    }
    const char kind = ++i < split.sketch.size() ? split.sketch[i] : '\0';
    if (kind == '$') {
      text.push_back('$');
    } else if (kind == '#') {
      uint64_t value = 0;
      if (!ConsumeVarint(decisions, value)) return Malformed("no decision for the hole", i - 1);
      absl::StrAppend(&text, value);
    } else {
      return Malformed("got '$' alone, want $# or $$", i - 1);
    }
  }
  if (!decisions.empty()) return Malformed("more decisions than holes", split.sketch.size());
  return text;
}

v1::SplitTrace ToProto(const SplitTrace& split) {
  v1::SplitTrace message;
  message.set_sketch(split.sketch);
  message.set_decisions(split.decisions);
  return message;
}

absl::StatusOr<SplitTrace> FromProto(const v1::SplitTrace& message) {
  SplitTrace split = {.sketch = message.sketch(), .decisions = message.decisions()};
  RETURN_IF_ERROR(JoinTrace(split).status());
  return split;
}

}  // namespace burnish
