// Traces are for ever: each file of testdata/corpus holds a definition, a trace that was once
// stored, and the SHA-256 of the lowered program's text. A difference means that stored records
// would silently get another meaning: give the primitive a new version instead. Only where lowering
// was meant to change, `./dev golden compiler/schedule` writes the new sums.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/golden.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/status_matchers.h"
#include "compiler/ir/access.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/lowered.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr char kFolder[] = "compiler/schedule/testdata/corpus";

struct Entry {
  std::string path;
  std::vector<std::string> parts;  // The definition, the trace, the sum.
  Program lowered;
};

std::vector<Entry> Corpus() {
  std::vector<Entry> corpus;
  for (const auto& file : std::filesystem::directory_iterator(kFolder)) {
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    Entry entry{.path = file.path().string(), .parts = absl::StrSplit(text.str(), "----\n")};
    EXPECT_EQ(entry.parts.size(), 3u) << entry.path;
    const auto defined = ParseProgram(entry.parts.at(0));
    const auto trace = ParseTrace(entry.parts.at(1));
    EXPECT_THAT(defined, IsOk()) << entry.path;
    EXPECT_EQ(PrintTrace(trace.value()), entry.parts.at(1));
    entry.lowered = Lower(ApplyTrace(*trace, *defined).value()).value();
    corpus.push_back(std::move(entry));
  }
  EXPECT_GE(corpus.size(), 60u);
  return corpus;
}

TEST(CorpusTest, StoredTracesLowerToTheSameProgramsForEver) {
  for (const Entry& entry : Corpus()) {
    EXPECT_TRUE(MatchesGolden(
        entry.path, absl::StrCat(entry.parts[0], "----\n", entry.parts[1], "----\nlowered ",
                                 Sha256Hex(Print(entry.lowered)), "\n")));
  }
}

// How many accesses of a program have lanes of each kind.
struct LaneCounts {
  int neighbours = 0, steps = 0, apart = 0;
};

// Compares the steps of a vectorized loop's accesses with where their elements lie, at random
// iterations of the loops around.
void CheckLanes(const Program& lowered, const Node& loop, Rng& rng, LaneCounts& counts) {
  const auto extent = [&](VarId var) { return MaxExtent(lowered, var); };
  const auto check = [&](BufferId buffer, const std::vector<Expr>& indices) {
    const Storage& storage = lowered.buffers[buffer].storage;
    const LinearForm address = AddressOf(
        storage, indices, [&](VarId var) { return std::optional(Range{0, extent(var) - 1}); });
    const std::optional<int64_t> step = address.StepOf(loop.var);
    if (!step.has_value()) {
      ++counts.apart;
      return;
    }
    ++(*step == 0 || *step == 1 ? counts.neighbours : counts.steps);
    for (int round = 0; round < 10; ++round) {
      std::vector<int64_t> values;
      for (size_t var = 0; var < lowered.vars.size(); ++var) {
        values.push_back(rng.Between(0, extent(static_cast<VarId>(var)) - 1));
      }
      const auto place = [&](int64_t lane) {
        values[loop.var] = lane;
        int64_t at = storage.offset;
        for (size_t d = 0; d < indices.size(); ++d) {
          at += storage.strides[d] * EvalInt(indices[d], [&](VarId var) { return values[var]; });
        }
        return at;
      };
      const int64_t first = place(0), last = extent(loop.var) - 1;
      EXPECT_EQ(place(last) - first, last * *step);
      EXPECT_EQ(place(last / 2) - first, last / 2 * *step);
    }
  };
  for (const NodeId child : loop.children) {
    for (const NodeId id : Subtree(lowered, child)) {
      const Node& node = lowered.nodes[id];
      const auto check_unless_data = [&](BufferId buffer, const std::vector<Expr>& indices) {
        bool has_data = false;
        for (const Expr& index : indices) {
          VisitExpr(index,
                    [&](const ExprNode& e) { has_data = has_data || e.kind == ExprKind::kLoad; });
        }
        if (!has_data) check(buffer, indices);
      };
      if (node.kind == NodeKind::kStore) check_unless_data(node.buffer, node.indices);
      VisitLoads(node, [&](const ExprNode& load) { check_unless_data(load.id, load.operands); });
    }
  }
}

TEST(CorpusTest, LanesOfStoredTracesLieWhereTheirStepsSay) {
  Rng rng(1);
  LaneCounts counts;
  for (const Entry& entry : Corpus()) {
    SCOPED_TRACE(entry.path);
    for (const Node& node : entry.lowered.nodes) {
      if (node.kind == NodeKind::kLoop && node.loop_kind == LoopKind::kVectorized) {
        CheckLanes(entry.lowered, node, rng, counts);
      }
    }
  }
  EXPECT_GT(counts.neighbours, 100);
  EXPECT_GT(counts.steps, 10);
  EXPECT_GT(counts.apart, 0);
}

}  // namespace
}  // namespace burnish
