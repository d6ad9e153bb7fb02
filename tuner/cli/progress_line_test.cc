#include "tuner/cli/progress_line.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

// As much of a terminal as is wanted here: rows of so many columns, which break anew at a resize.
class Terminal {
 public:
  explicit Terminal(size_t columns) : columns_(columns) {}

  void Write(const std::string& text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\x1b') {
        i = Command(text, i + 2);
      } else if (text[i] == '\r') {
        column_ = 0;
      } else if (text[i] == '\n') {
        ++row_;
        column_ = 0;
        if (row_ == rows_.size()) rows_.emplace_back();
      } else {
        rows_[row_].resize(std::max(rows_[row_].size(), column_ + 1), ' ');
        rows_[row_][column_++] = text[i];
        EXPECT_LT(column_, columns_) << "a line that wraps";
      }
    }
  }

  // The cursor is at the beginning of the last row.
  void Resize(size_t columns) {
    columns_ = columns;
    std::vector<std::string> broken;
    for (std::string row : rows_) {
      while (row.size() > columns) {
        broken.push_back(row.substr(0, columns));
        row.erase(0, columns);
      }
      broken.push_back(row);
    }
    rows_ = std::move(broken);
    row_ = rows_.size() - 1;
  }

  const std::vector<std::string>& rows() const { return rows_; }

 private:
  // From behind the bracket on; the last character's place.
  size_t Command(const std::string& text, size_t i) {
    size_t number = 0;
    for (; text[i] >= '0' && text[i] <= '9'; ++i) number = 10 * number + (text[i] - '0');
    if (text[i] == 'A') {
      EXPECT_LE(number, row_);
      row_ -= number;
    } else if (text[i] == 'K') {
      rows_[row_].resize(std::min(rows_[row_].size(), column_));
    } else {
      EXPECT_EQ(text[i], 'J');
      rows_[row_].resize(std::min(rows_[row_].size(), column_));
      rows_.resize(row_ + 1);
    }
    return i;
  }

  size_t columns_, row_ = 0, column_ = 0;
  std::vector<std::string> rows_ = {""};
};

TEST(ProgressLineTest, LinesReplaceThoseBefore) {
  Terminal terminal(40);
  std::vector<size_t> drawn;
  terminal.Write("before\n");
  terminal.Write(Redraw({"one", "two", "three"}, 40, drawn));
  EXPECT_THAT(terminal.rows(), ElementsAre("before", "one", "two", "three", ""));
  terminal.Write(Redraw({"1", "2"}, 40, drawn));
  EXPECT_THAT(terminal.rows(), ElementsAre("before", "1", "2", ""));
  terminal.Write(Redraw({}, 40, drawn));
  EXPECT_THAT(terminal.rows(), ElementsAre("before", ""));
}

TEST(ProgressLineTest, ATerminalOfAnotherWidthIsDrawnWhole) {
  const std::vector<std::string> lines = {std::string(70, 'a'), std::string(7, 'b'),
                                          std::string(200, 'c')};
  for (const size_t before : {200, 80, 20, 3}) {
    for (const size_t after : {200, 80, 21, 20, 2}) {
      Terminal terminal(before);
      std::vector<size_t> drawn;
      terminal.Write(Redraw(lines, static_cast<int>(before), drawn));
      terminal.Resize(after);
      terminal.Write(Redraw(lines, static_cast<int>(after), drawn));
      std::vector<std::string> want;
      for (const std::string& line : lines) want.push_back(line.substr(0, after - 1));
      want.emplace_back();
      EXPECT_EQ(terminal.rows(), want) << before << " to " << after;
    }
  }
}

// Names come from models.
TEST(ProgressLineTest, NamesDoNotCommandTheTerminal) {
  std::vector<size_t> drawn;
  EXPECT_THAT(Redraw({"a\x1b[2Jb\nc"}, 40, drawn), ::testing::HasSubstr("a\\x1b[2Jb c\n"));
}

TEST(ProgressLineTest, CharactersStayWhole) {
  std::vector<size_t> drawn;
  EXPECT_THAT(Redraw({"größer"}, 5, drawn), ::testing::HasSubstr("größ\n"));
  EXPECT_THAT(drawn, ElementsAre(4u));
}

}  // namespace
}  // namespace burnish
