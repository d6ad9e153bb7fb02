// Searches that are replayed on a table: what the product's search would have found, had it been
// given the table's points alone.
#ifndef TESTS_BENCH_SEARCH_REPLAY_TABLE_H_
#define TESTS_BENCH_SEARCH_REPLAY_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tests/bench/search/search_table.h"
#include "tuner/search/model_scorer.h"
#include "tuner/search/search_space.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

// What a search is told of a candidate before it runs.
enum class Guidance {
  kNothing,
  kPrior,    // The analytic model, which learns nothing.
  kLearned,  // The learned model, with the analytic one's estimates withheld.
  kBoth,     // The learned model on the residual of the analytic one: what a study has.
  kOracle,   // The table's latencies.
};

struct Arm {
  const char* name;
  const char* strategy;  // Of MakeSearchStrategy.
  Guidance guidance;
  // Points that joined by their estimate are not in its space: what does not know the analytic
  // model must not profit from it.
  bool uniform;
  uint64_t seed_offset;  // Arms that differ in nothing else are each other's A/A control.
  uint32_t spaces = kTemplates | kGenerator;  // Whose sketches it may suggest.
};

// Every arm. A further one is a line here.
absl::Span<const Arm> Arms();

// A table with what searches ask of its rows, made once. Thread-safe.
class ReplayedTable {
 public:
  // INVALID_ARGUMENT: the table's program does not parse, or none of its rows is in the space.
  static absl::StatusOr<std::unique_ptr<ReplayedTable>> Create(SearchTable table);

  const SearchTable& table() const { return table_; }
  int64_t dropped_count() const { return dropped_count_; }  // Rows that the rules no longer have.
  int64_t best_ns() const { return best_ns_; }
  // Whether the arm says something of the table: one that takes a part of the space wants a table
  // of the whole.
  bool Suits(const Arm& arm) const;

  // Best latency after each of the trials, 0 while all have failed; fewer where the space has fewer
  // points. Deterministic.
  absl::StatusOr<std::vector<int64_t>> Replay(const Arm& arm, uint64_t seed, int trials) const;

 private:
  ReplayedTable() = default;

  absl::StatusOr<Extraction> Extract(const Proposal& proposal) const;

  SearchTable table_;
  int64_t dropped_count_ = 0;
  int64_t best_ns_ = 0;
  // By (uniform rows alone, spaces).
  std::map<std::pair<bool, uint32_t>, std::shared_ptr<const SearchSpace>> spaces_;
  absl::flat_hash_map<std::string, size_t> row_of_;  // By candidate id.
  std::vector<Extraction> extractions_;              // Of each row.
};

}  // namespace burnish

#endif  // TESTS_BENCH_SEARCH_REPLAY_TABLE_H_
