#include "tuner/cli/format.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace burnish {
namespace {

// Three digits: 1.23, 12.3, 123.
std::string Digits(double value) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f", decimals, value);
}

// The length in characters, where text is UTF-8.
size_t Width(absl::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

}  // namespace

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
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToText() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(Width(column.title));
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - Width(cells[i]), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", columns_[i].align == kRight ? padding : "",
                      cells[i], columns_[i].align == kLeft ? padding : "");
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  add_line(titles);
  for (const std::vector<std::string>& row : rows_) add_line(row);
  return text;
}

}  // namespace burnish
