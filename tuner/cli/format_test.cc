#include "tuner/cli/format.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(FormatTest, TimesHaveThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(FormatNs(0), "0 ns");
  EXPECT_EQ(FormatNs(812), "812 ns");
  EXPECT_EQ(FormatNs(999.7), "1.00 us");
  EXPECT_EQ(FormatNs(3421), "3.42 us");
  EXPECT_EQ(FormatNs(12.34e6), "12.3 ms");
  EXPECT_EQ(FormatNs(999.6e6), "1.00 s");
  EXPECT_EQ(FormatNs(120e9), "120 s");
}

TEST(FormatTest, PeriodsHaveTwoUnitsAtMost) {
  EXPECT_EQ(FormatPeriod(absl::Seconds(45)), "45 s");
  EXPECT_EQ(FormatPeriod(absl::Seconds(200)), "3 min 20 s");
  EXPECT_EQ(FormatPeriod(absl::Minutes(125)), "2 h 05 min");
}

TEST(FormatTest, NamesDoNotCommandTheTerminal) {
  EXPECT_EQ(Printable("conv\x1b[2J\x07\x7f\n"), "conv\\x1b[2J\\x07\\x7f\n");
  EXPECT_EQ(Printable("größe"), "größe");
  TextTable table({{"task"}});
  table.AddRow({"\x1b]0;title"});
  EXPECT_EQ(table.ToText(), "task\n\\x1b]0;title\n");
}

TEST(FormatTest, TablesFitTheTerminal) {
  TextTable table({{"task"}, {"n", TextTable::kRight}, {"cure", TextTable::kLeft, /*wraps=*/true}});
  table.AddRow({"größer-als-alles-andere", "1234567", "turn it off and on again"});
  table.AddRow({"a", "1", ""});
  EXPECT_EQ(table.ToText(40),
            "task                  n  cure\n"
            "größer-als-al…  1234567  turn it off and\n"
            "                         on again\n"
            "a                     1\n");
  // Whole where nobody's terminal is at the other end, and where there is room.
  EXPECT_EQ(table.ToText(), table.ToText(200));
  EXPECT_THAT(table.ToText(),
              ::testing::HasSubstr("größer-als-alles-andere  1234567  turn it off"));
  // Numbers are never cut.
  EXPECT_THAT(table.ToText(5), ::testing::HasSubstr("1234567"));
}

TEST(FormatTest, ALocaleWithoutUtf8GetsAscii) {
  TextTable table({{"task"}, {"n", TextTable::kRight}});
  table.AddRow({"longer-than-there-is-room", "1"});
  setenv("LC_ALL", "C", /*overwrite=*/1);
  EXPECT_FALSE(ShowsUtf8());
  EXPECT_EQ(table.ToText(14), "task         n\nlonger-tha~  1\n");
  setenv("LC_ALL", "", /*overwrite=*/1);
  setenv("LC_CTYPE", "de_DE.utf8", /*overwrite=*/1);
  EXPECT_TRUE(ShowsUtf8());
  EXPECT_EQ(table.ToText(14), "task         n\nlonger-tha…  1\n");
  unsetenv("LC_CTYPE");
}

TEST(FormatTest, AgesHaveOneUnit) {
  EXPECT_EQ(FormatAge(absl::Seconds(-3)), "0 s");
  EXPECT_EQ(FormatAge(absl::Seconds(59)), "59 s");
  EXPECT_EQ(FormatAge(absl::Seconds(3599)), "59 min");
  EXPECT_EQ(FormatAge(absl::Hours(47)), "47 h");
  EXPECT_EQ(FormatAge(absl::Hours(48)), "2 d");
}

TEST(FormatTest, ColorsTakeNoRoomAndAreOnlyWhereTheyAreAskedFor) {
  TextTable table({{"state"}, {"gain", TextTable::kRight}, {""}});
  table.AddRow({"failed", "2.00x", "x"});
  table.SetColor(0, TextTable::kBad);
  table.SetColor(1, ColorOfGain(2));
  EXPECT_EQ(table.ToText(), "state    gain\nfailed  2.00x  x\n");
  EXPECT_EQ(table.ToText(0, /*color=*/true),
            "state    gain\n\x1b[31mfailed\x1b[0m  \x1b[32m2.00x\x1b[0m  x\n");
  EXPECT_EQ(ColorOfGain(1.005), TextTable::kPlain);
  EXPECT_EQ(ColorOfGain(0.9), TextTable::kBad);
}

TEST(FormatTest, IdsAreNeverCut) {
  TextTable table({{.title = "study", .is_id = true}, {"of"}});
  table.AddRow({"0123456789abcdef0123456789", "a model with a long name"});
  for (const int columns : {10, 20, 40}) {
    EXPECT_THAT(table.ToText(columns), ::testing::HasSubstr("\n0123456789abcdef0123456789  a"))
        << columns;
  }
  EXPECT_THAT(table.ToText(40), ::testing::Not(::testing::HasSubstr("long name")));
}

TEST(FormatTest, TablesAlignTheirColumns) {
  TextTable table({{"name"}, {"n", TextTable::kRight}});
  table.AddRow({"a", "1"});
  table.AddRow({"long name", "1000"});
  EXPECT_EQ(table.ToText(),
            "name          n\n"
            "a             1\n"
            "long name  1000\n");
}

}  // namespace
}  // namespace burnish
