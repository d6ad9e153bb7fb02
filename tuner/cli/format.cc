#include "tuner/cli/format.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace burnish {
namespace {

// Three digits: 1.23, 12.3, 123.
std::string Digits(double value) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f", decimals, value);
}

// Of a column that is cut: with fewer letters it would say nothing. A guess.
constexpr size_t kNarrowest = 8;

std::string Cut(absl::string_view text, size_t width) {
  if (CharacterCount(text) <= width || width == 0) return std::string(text);
  return absl::StrCat(FirstCharacters(text, width - 1), ShowsUtf8() ? "…" : "~");
}

// ECMA-48, SGR: green, red.
std::string Colored(absl::string_view text, TextTable::Color color) {
  if (color == TextTable::kPlain || text.empty()) return std::string(text);
  return absl::StrCat(color == TextTable::kGood ? "\x1b[32m" : "\x1b[31m", text, "\x1b[0m");
}

// Lines of at most `width` characters, broken at spaces; a word that is longer is broken inside.
std::vector<std::string> Wrap(absl::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (CharacterCount(text) > width && width > 0) {
    const absl::string_view most = FirstCharacters(text, width + 1);
    const size_t space = most.rfind(' ');
    const bool at_space = space != absl::string_view::npos && space > 0;
    const absl::string_view line = at_space ? text.substr(0, space) : FirstCharacters(text, width);
    lines.emplace_back(line);
    text.remove_prefix(line.size() + (at_space ? 1 : 0));
  }
  lines.emplace_back(text);
  return lines;
}

}  // namespace

bool ShowsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = std::getenv(name);
    if (locale == nullptr || *locale == '\0') continue;
    const std::string name_of_set = absl::AsciiStrToUpper(locale);
    return absl::StrContains(name_of_set, "UTF-8") || absl::StrContains(name_of_set, "UTF8");
  }
  return true;
}

size_t CharacterCount(absl::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

absl::string_view FirstCharacters(absl::string_view text, size_t count) {
  size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && count-- == 0) break;
  }
  return text.substr(0, end);
}

std::string FormatNs(double ns) {
  if (ns < 999.5) return absl::StrFormat("%.0f ns", ns);
  if (ns < 999.5e3) return absl::StrCat(Digits(ns * 1e-3), " us");
  if (ns < 999.5e6) return absl::StrCat(Digits(ns * 1e-6), " ms");
  return absl::StrCat(Digits(ns * 1e-9), " s");
}

std::string FormatPeriod(absl::Duration period) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(period));
  if (seconds < 60) return absl::StrCat(seconds, " s");
  if (seconds < 3600) return absl::StrFormat("%d min %02d s", seconds / 60, seconds % 60);
  return absl::StrFormat("%d h %02d min", seconds / 3600, seconds / 60 % 60);
}

std::string FormatAge(absl::Duration age) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(age));
  constexpr int64_t kMinute = 60, kHour = 3600, kDay = 24 * kHour;
  if (seconds < kMinute) return absl::StrCat(seconds, " s");
  if (seconds < kHour) return absl::StrCat(seconds / kMinute, " min");
  if (seconds < 2 * kDay) return absl::StrCat(seconds / kHour, " h");
  return absl::StrCat(seconds / kDay, " d");
}

std::string FormatWallNs(int64_t wall_ns) {
  if (wall_ns == 0) return "-";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixNanos(wall_ns), absl::UTCTimeZone());
}

std::string HexString(absl::string_view raw) { return absl::BytesToHexString(raw); }

std::string ShortHash(absl::string_view raw) { return HexString(raw.substr(0, 6)); }

std::string Printable(absl::string_view text) {
  std::string printable;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kFirstPrintable = 0x20, kDelete = 0x7f;
    if ((byte < kFirstPrintable && c != '\n') || byte == kDelete) {
      absl::StrAppend(&printable, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      printable.push_back(c);
    }
  }
  return printable;
}

void TextTable::AddRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = Printable(cell);
  colors_.emplace_back(cells.size(), kPlain);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> TextTable::Widths(size_t columns) const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(CharacterCount(column.title));
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], CharacterCount(row[i]));
  }
  if (columns == 0) return widths;
  size_t total = 2 * (widths.size() - 1);
  for (const size_t width : widths) total += width;
  while (total > columns) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      const bool shrinks = columns_[i].align == kLeft && !columns_[i].is_id &&
                           widths[i] > std::max(kNarrowest, CharacterCount(columns_[i].title));
      if (shrinks && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    // A terminal that is too narrow even so wraps the lines itself.
    if (widest == widths.size()) break;
    --widths[widest];
    --total;
  }
  return widths;
}

void TextTable::AddLines(const std::vector<std::string>& cells, const std::vector<Color>& colors,
                         const std::vector<size_t>& widths, std::string& text) const {
  std::vector<std::vector<std::string>> parts;
  size_t lines = 1;
  for (size_t i = 0; i < cells.size(); ++i) {
    parts.push_back(columns_[i].wraps ? Wrap(cells[i], widths[i])
                                      : std::vector<std::string>{Cut(cells[i], widths[i])});
    lines = std::max(lines, parts.back().size());
  }
  for (size_t n = 0; n < lines; ++n) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string part = n < parts[i].size() ? parts[i][n] : "";
      const std::string padding(widths[i] - std::min(widths[i], CharacterCount(part)), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", columns_[i].align == kRight ? padding : "",
                      Colored(part, colors[i]), columns_[i].align == kLeft ? padding : "");
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
}

std::string TextTable::ToText(int columns, bool color) const {
  const std::vector<size_t> widths = Widths(static_cast<size_t>(std::max(columns, 0)));
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text;
  const std::vector<Color> plain(columns_.size(), kPlain);
  AddLines(titles, plain, widths, text);
  for (size_t i = 0; i < rows_.size(); ++i) {
    AddLines(rows_[i], color ? colors_[i] : plain, widths, text);
  }
  return text;
}

TextTable::Color ColorOfGain(double gain) {
  // Within what two measurements of one thing differ by it is neither.
  constexpr double kNothing = 0.01;
  if (gain > 1 + kNothing) return TextTable::kGood;
  return gain < 1 - kNothing ? TextTable::kBad : TextTable::kPlain;
}

}  // namespace burnish
