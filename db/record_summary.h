// How measurements become a record. A pure function, so that every store derives the same.
#ifndef DB_RECORD_SUMMARY_H_
#define DB_RECORD_SUMMARY_H_

#include "absl/types/span.h"
#include "proto/measurement.h"
#include "proto/record.h"

namespace burnish {

// The latest this many measurements with latencies count, so that a reference that is measured all
// day describes the machine as it is now.
inline constexpr int kSummaryMeasurementsMax = 32;

// A failure that speaks against the candidate itself, also when it ran well at other times. Out of
// memory, device errors and the like speak against the machine.
bool Disqualifies(FailureKind kind);

// Two workers of one kind of device agree where their times differ by less. Their clocks do by a
// tenth; a made-up time seldom comes out the same twice. Chosen.
inline constexpr double kAgreement = 1.25;

// Sets what is derived in `record`: latencies, failure, numerics, sizes, hashes; leaves the rest.
// `measurements`: all of one candidate by one method version, in the order of the log; at least
// one.
//
// Each process weighs the same, however many repeats it has. rank_ns is the 10 % quantile over all
// repeats: a low one, since interference only ever adds time. The interval is that of the median's
// order statistics (95 %), as if repeats were independent.
//
// Measurements with a network_factor count by that alone: their latencies have the neighbours of a
// model, and do not compare. rank_ns is multiplied by the latest one's.
//
// A record is confirmed by one measurement that is, or by two of different addresses; by those
// alone whose own time is that of the record (kAgreement).
void Summarize(absl::Span<const Measurement> measurements, Record& record);

}  // namespace burnish

#endif  // DB_RECORD_SUMMARY_H_
