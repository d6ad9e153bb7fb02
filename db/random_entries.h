// Measurements of made-up candidates, for the tests and benchmarks of stores.
#ifndef DB_RANDOM_ENTRIES_H_
#define DB_RANDOM_ENTRIES_H_

#include <cstdint>
#include <string>

#include "base/rng.h"
#include "proto/record.h"

namespace burnish {

// Small numbers make candidates, anchors and twins meet each other.
struct RandomEntryOptions {
  int workload_count = 4;  // Two workloads each share an anchor.
  int target_count = 3;    // The first two share an isa key.
  int contract_count = 2;
  int sketch_count = 3;
  int decision_count = 5;     // Values per decision; each sketch has four decisions.
  int trial_count = 1 << 30;  // Trial ids drawn from; a small one makes duplicates.
  double failure_share = 0.2;
  bool only_trials = false;  // No references, probes and refinements.
};

// One entry; a pure function of `rng` and `options`.
MeasurementEntry RandomEntry(Rng& rng, const RandomEntryOptions& options);

// The parts, for queries that should find something.
Workload RandomEntryWorkload(int index);
Target RandomEntryTarget(int index);

}  // namespace burnish

#endif  // DB_RANDOM_ENTRIES_H_
