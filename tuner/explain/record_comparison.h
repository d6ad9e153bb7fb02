// What the records of one task say about its decisions: in what the runners-up differ from a
// schedule, what that costs, and which decision decides most.
// Source of the shares: Hutter et al., "An efficient approach for assessing hyperparameter
// importance", ICML 2014, with the variance among what was measured in place of a model's.
#ifndef TUNER_EXPLAIN_RECORD_COMPARISON_H_
#define TUNER_EXPLAIN_RECORD_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/record.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

// A schedule in the words of the space.
struct PlacedRecord {
  Record record;
  // Index of the first sketch that says its trace; -1: none does, as for a rule that is gone.
  int sketch = -1;
  Point point;
};

struct DecisionValue {
  std::string name;
  int64_t value = 0;
};

// One decision that another record takes otherwise.
struct Difference {
  std::string name;  // "structure" where the sketch is another: then the others are not compared.
  std::string here, there;
};

struct RunnerUp {
  Record record;
  double factor = 1;  // Its time in that of the subject, alone.
  std::vector<Difference> differences;
};

struct ValueStanding {
  std::string value;
  int64_t count = 0;       // Records that have it.
  double best_factor = 1;  // The best of them in the best of all.
};

struct DecisionStanding {
  std::string name;
  // Of the variance of ln(time) among the records, what the values of this decision alone explain:
  // epsilon squared, which expects 0 of chance. What decisions do together shows in none of them.
  double share = 0;
  std::vector<ValueStanding> values;  // The best first.
};

struct RecordComparison {
  std::string structure;  // The subject's sketch; empty: no rule says its trace.
  std::vector<DecisionValue> decisions;
  std::vector<RunnerUp> runners_up;
  // Of the records with the subject's structure; "structure" of all. The largest share first.
  std::vector<DecisionStanding> standings;
  int64_t record_count = 0;  // That took part, with the subject.
};

// By isolated rank latency: a verdict inside a network is none about the schedule alone. `others`:
// successful records of the same workload, target and method; the subject among them counts once.
// At most `runner_up_max` runners-up, the fastest first, none that has the subject's code or
// another's in front of it.
RecordComparison CompareRecords(absl::Span<const Sketch> sketches, const Record& subject,
                                absl::Span<const Record> others, int runner_up_max);

}  // namespace burnish

#endif  // TUNER_EXPLAIN_RECORD_COMPARISON_H_
