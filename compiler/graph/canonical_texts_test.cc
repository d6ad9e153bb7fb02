// Which texts definitions get, by the names that databases know them by: the whole operator library
// and random graphs. The zoo's are in compiler/frontend:zoo_tasks_test.
//
// Who changes a definition or the canonical form (te/canonicalize.h) sees here whose records would
// be lost. `./dev golden compiler/graph` writes the new list where that is meant; a change of the
// canonical form is another version of the workload's text.
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/golden.h"
#include "base/sha256.h"
#include "base/status_matchers.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/fuse_pass.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/prepare.h"
#include "compiler/ir/printer.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator_cases.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Texts = std::set<std::string>;

// "name: how many different texts, the first 16 digits of the SHA-256 over them, sorted".
std::string Line(absl::string_view name, const Texts& texts) {
  return absl::StrCat(name, ": ", texts.size(), " ",
                      Sha256Hex(absl::StrJoin(texts, "")).substr(0, 16), "\n");
}

TEST(CanonicalTextsTest, DefinitionsHaveTheTextsThatAreOnRecord) {
  std::map<std::string, Texts> of_operator;
  for (const OperatorCase& c : ReadOperatorCases()) {
    if (c.op->fusion == FusionKind::kHost) continue;
    const Program program = DefineOperator(*c.op, c.attributes, TypesOf(c.inputs));
    of_operator[c.op->name()].insert(PrintWorkload(Canonicalize(program)));
  }
  std::string got;
  for (const auto& [name, texts] : of_operator) absl::StrAppend(&got, Line(name, texts));
  // Random graphs combine what the passes let into one task.
  constexpr uint64_t kGraphsPerLine = 100;
  for (uint64_t first = 0; first < 2000; first += kGraphsPerLine) {
    Texts texts;
    for (uint64_t seed = first; seed < first + kGraphsPerLine; ++seed) {
      Graph graph = RandomGraph(seed);
      if (seed % 2 == 0) {
        ASSERT_THAT(PrepareGraph(graph), IsOk());
      }
      ASSERT_OK_AND_ASSIGN(const TaskList list, ExtractTasks(graph, Fuse(graph)));
      for (const ExtractedTask& task : list.tasks) texts.insert(task.workload);
    }
    absl::StrAppend(&got, Line(absl::StrCat("random graphs from ", first), texts));
  }
  EXPECT_TRUE(MatchesGolden("compiler/graph/testdata/canonical_texts.txt", got));
}

}  // namespace
}  // namespace burnish
