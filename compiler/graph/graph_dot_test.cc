#include "compiler/graph/graph_dot.h"

#include <cstdint>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/random_control.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(GraphDotTest, QuotesNamesOfTheModel) {
  Graph graph;
  graph.name = "a \"b\" \\";
  graph.outputs = {AddInput(graph, "x\"", {DType::kF32, {2, 3}})};
  EXPECT_EQ(PrintDot(graph),
            "digraph \"a \\\"b\\\" \\\\\" {\n"
            "node [shape=box];\n"
            "\"v0\" [shape=ellipse, label=\"x\\\" f32[2,3]\"];\n"
            "\"o0\" [shape=ellipse, label=\"x\\\" f32[2,3]\"];\n"
            "\"v0\" -> \"o0\";\n"
            "}\n");
}

// Each end of an edge is declared once, and every cluster is closed.
TEST(GraphDotTest, EdgesJoinWhatIsThere) {
  const std::regex node("\"([^\"]+)\" \\[(shape|label).*"), edge("\"([^\"]+)\" -> \"([^\"]+)\".*");
  int edges = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string text = PrintDot(RandomControl(seed));
    std::set<std::string> nodes;
    std::vector<std::string> ends;
    int depth = 0;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      std::smatch match;
      const std::string whole(line);
      if (std::regex_match(whole, match, edge)) {
        ++edges;
        ends.insert(ends.end(), {match[1], match[2]});
      } else if (std::regex_match(whole, match, node)) {
        EXPECT_TRUE(nodes.insert(match[1]).second) << line;
      }
      depth += absl::EndsWith(line, "{") ? 1 : line == "}" ? -1 : 0;
    }
    for (const std::string& end : ends) EXPECT_TRUE(nodes.count(end)) << end << "\n" << text;
    EXPECT_EQ(depth, 0);
  }
  EXPECT_GT(edges, 200);
}

}  // namespace
}  // namespace burnish
