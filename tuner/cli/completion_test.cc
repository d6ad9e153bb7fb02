#include "tuner/cli/completion.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::vector<CompletionCommand> Commands() {
  return {{.name = "submit",
           .options = {{.name = "--task", .values = {"resnet18", "resnet50", "vgg16"}},
                       {.name = "--json", .takes_value = false},
                       {.name = "--out"}},
           .positionals = {}},
          {.name = "status",
           .options = {{.name = "--db"}, {.name = "--json", .takes_value = false}},
           .positionals = {{.name = "", .is_study = true}}},
          {.name = "drain", .options = {}, .positionals = {{.name = "", .is_worker = true}}}};
}

// As of a shell; study ids that nobody needs are not asked for.
std::vector<std::string> Offered(const std::vector<std::string>& words, bool asks = false) {
  bool asked = false;
  const std::vector<std::string> found =
      Complete(Commands(), words, [&](const CompletionArgument& argument) {
        asked = true;
        if (argument.is_worker) return std::vector<std::string>{"w1"};
        return std::vector<std::string>{"s1", "s2", "x"};
      });
  EXPECT_EQ(asked, asks);
  return found;
}

TEST(CompletionTest, NamesOfCommandsAndOptions) {
  EXPECT_THAT(Offered({}), ElementsAre("submit", "status", "drain", "--help", "--version"));
  EXPECT_THAT(Offered({"s"}), ElementsAre("submit", "status"));
  EXPECT_THAT(Offered({"submit", "--"}), ElementsAre("--task", "--json", "--out"));
  EXPECT_THAT(Offered({"submit", ""}), ElementsAre("--task", "--json", "--out"));
  EXPECT_THAT(Offered({"nothing", "--"}), IsEmpty());
}

TEST(CompletionTest, ValuesOfOptions) {
  EXPECT_THAT(Offered({"submit", "--task", "res"}), ElementsAre("resnet18", "resnet50"));
  EXPECT_THAT(Offered({"submit", "--json", "--task", "v"}), ElementsAre("vgg16"));
  EXPECT_THAT(Offered({"submit", "--out", ""}), IsEmpty()) << "the shell offers files";
  EXPECT_THAT(Offered({"submit", "--json=", ""}), ElementsAre("--task", "--json", "--out"));
  EXPECT_THAT(Offered({"submit", "--unknown=v"}), IsEmpty());
}

TEST(CompletionTest, ValuesBehindEqualSigns) {
  EXPECT_THAT(Offered({"submit", "--task=v"}), ElementsAre("--task=vgg16")) << "zsh, fish";
  EXPECT_THAT(Offered({"submit", "--task", "=", "v"}), ElementsAre("vgg16")) << "bash";
  EXPECT_THAT(Offered({"submit", "--task", "="}).size(), 3);
  EXPECT_THAT(Offered({"submit", "--task", "=", "vgg16", "--j"}), ElementsAre("--json"));
  EXPECT_THAT(Offered({"=", "="}), IsEmpty());
}

TEST(CompletionTest, StudiesWhereOneIsDue) {
  EXPECT_THAT(Offered({"status", "s"}, /*asks=*/true), ElementsAre("s1", "s2"));
  EXPECT_THAT(Offered({"status", "--db", "a.db", ""}, /*asks=*/true), ElementsAre("s1", "s2", "x"));
  EXPECT_THAT(Offered({"status", "s1", "-"}), ElementsAre("--db", "--json"));
  EXPECT_THAT(Offered({"status", "--db", "s"}), IsEmpty());
}

TEST(CompletionTest, WorkersWhereOneIsDue) {
  EXPECT_THAT(Offered({"drain", "w"}, /*asks=*/true), ElementsAre("w1"));
  EXPECT_THAT(Offered({"drain", "s"}, /*asks=*/true), IsEmpty());
}

TEST(CompletionTest, SettingsOfTheLine) {
  EXPECT_THAT(GivenValues({"status", "--db", "a.db", "--server", "=", "h:1", "--cache=x", "--db"}),
              UnorderedElementsAre(Pair("db", "a.db"), Pair("server", "h:1"), Pair("cache", "x")));
}

TEST(CompletionTest, ScriptsAskTheHiddenCommand) {
  for (const std::string& shell : CompletionShells()) {
    EXPECT_THAT(CompletionScript(shell), ::testing::HasSubstr(kCompleteArgument)) << shell;
  }
}

}  // namespace
}  // namespace burnish
