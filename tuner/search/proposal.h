// What search suggests and what it is told: values that can be rebuilt from stored records.
#ifndef TUNER_SEARCH_PROPOSAL_H_
#define TUNER_SEARCH_PROPOSAL_H_

#include <cstdint>
#include <string>

#include "tuner/sketch/sketch.h"

namespace burnish {

// A candidate of one task, not measured yet.
struct Proposal {
  static constexpr int kNoSketch = -1;

  int sketch_index = kNoSketch;   // kNoSketch: a trace from elsewhere that no sketch can say.
  Point point = {};               // Of that sketch; empty where there is none.
  std::string trace = {};         // Canonical text.
  std::string candidate_id = {};  // 32 raw bytes.

  bool operator==(const Proposal&) const = default;
};

// How a candidate turned out.
struct Observation {
  Proposal proposal = {};
  int64_t latency_ns = 0;        // The measurement's rank latency; 0: the candidate failed.
  std::string fingerprint = {};  // By the scorer, with whose hashes it is compared; or empty.

  bool failed() const { return latency_ns == 0; }

  bool operator==(const Observation&) const = default;
};

}  // namespace burnish

#endif  // TUNER_SEARCH_PROPOSAL_H_
