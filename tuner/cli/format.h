// Times, hashes and tables for people.
#ifndef TUNER_CLI_FORMAT_H_
#define TUNER_CLI_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace burnish {

// "812 ns", "3.42 us", "12.3 ms", "1.20 s": three digits.
std::string FormatNs(double ns);
// "45 s", "3 min 20 s", "2 h 05 min"
std::string FormatPeriod(absl::Duration period);
// How long ago, in one unit: "45 s", "3 min", "20 h", "12 d".
std::string FormatAge(absl::Duration age);
// "2026-01-31 12:00:00" UTC; "-" for 0.
std::string FormatWallNs(int64_t wall_ns);
// The first 12 hexadecimal digits of raw bytes, as people name a hash.
std::string ShortHash(absl::string_view raw);
std::string HexString(absl::string_view raw);

// The text with control characters but line ends as "\\x1b": names come from models and networks
// that nobody vouches for, and must not reach a terminal as commands.
std::string Printable(absl::string_view text);

// False: the locale that is set (LC_ALL, LC_CTYPE, LANG) has no UTF-8, so that tables and bars keep
// to ASCII. Where none is set, as in a container, a terminal is taken to show it.
bool ShowsUtf8();

// The length of UTF-8, and its first `count` characters.
size_t CharacterCount(absl::string_view text);
absl::string_view FirstCharacters(absl::string_view text, size_t count);

// Columns as wide as their widest cell, two spaces between; numbers to the right. Where that is
// wider than the terminal, the widest texts are cut, with "…" at their end, or wrapped: a number
// never is.
class TextTable {
 public:
  enum Align { kLeft, kRight };
  enum Color { kPlain, kGood, kBad };
  struct Column {
    std::string title;
    Align align = kLeft;
    bool wraps = false;  // For sentences: all of it is shown, in as many lines as it takes.
    bool is_id = false;  // Never cut: people copy it.
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void AddRow(std::vector<std::string> cells);
  // Colours a cell of the last row.
  void SetColor(size_t column, Color color) { colors_.back().at(column) = color; }
  // `columns`: of the terminal; 0: as wide as it gets, as for a file or another program. `color`:
  // whether that shows colours.
  std::string ToText(int columns = 0, bool color = false) const;

 private:
  std::vector<size_t> Widths(size_t columns) const;
  void AddLines(const std::vector<std::string>& cells, const std::vector<Color>& colors,
                const std::vector<size_t>& widths, std::string& text) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::vector<Color>> colors_;  // By row.
};

// `gain`: a ratio of times before and after.
TextTable::Color ColorOfGain(double gain);

}  // namespace burnish

#endif  // TUNER_CLI_FORMAT_H_
