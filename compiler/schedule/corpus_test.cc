// Traces are for ever: each file of testdata/corpus holds a definition, a trace that was once
// stored, and the SHA-256 of the lowered program's text. A difference means that stored records
// would silently get another meaning: give the primitive a new version instead. Only where lowering
// was meant to change, `./dev golden compiler/schedule` writes the new sums.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/golden.h"
#include "base/sha256.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr char kFolder[] = "compiler/schedule/testdata/corpus";

TEST(CorpusTest, StoredTracesLowerToTheSameProgramsForEver) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    paths.push_back(entry.path().string());
  }
  ASSERT_GE(paths.size(), 60u);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    const std::vector<std::string> parts = absl::StrSplit(text.str(), "----\n");
    ASSERT_EQ(parts.size(), 3u);
    ASSERT_OK_AND_ASSIGN(const Program defined, ParseProgram(parts[0]));
    ASSERT_OK_AND_ASSIGN(const Trace trace, ParseTrace(parts[1]));
    EXPECT_EQ(PrintTrace(trace), parts[1]);
    ASSERT_OK_AND_ASSIGN(const Program scheduled, ApplyTrace(trace, defined));
    ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(scheduled));
    EXPECT_TRUE(MatchesGolden(path, absl::StrCat(parts[0], "----\n", parts[1], "----\nlowered ",
                                                 Sha256Hex(Print(lowered)), "\n")));
  }
}

}  // namespace
}  // namespace burnish
