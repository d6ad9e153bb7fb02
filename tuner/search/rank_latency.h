// From a measurement to the one number that search compares.
#ifndef TUNER_SEARCH_RANK_LATENCY_H_
#define TUNER_SEARCH_RANK_LATENCY_H_

#include <cstdint>

#include "proto/measurement.h"

namespace burnish {

// The rank latency that a record of this one measurement has (db/record_summary.h); 0: it failed.
// Of the measurement alone, so that a later one of the same candidate does not change a replay.
int64_t RankLatencyNs(const Measurement& measurement);

}  // namespace burnish

#endif  // TUNER_SEARCH_RANK_LATENCY_H_
