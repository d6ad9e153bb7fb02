// Two that are timed in turn: what a machine does to one of them it then does to both.
#ifndef TUNER_APP_TURNS_H_
#define TUNER_APP_TURNS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "compiler/runtime/session.h"

namespace burnish {

// Of rounds. `spread`: half of what lies between the quartiles, so about what another run would
// differ by.
struct Ratio {
  double median = 1;
  double spread = 0;
};

struct TurnTimes {
  double first_ns = 0, second_ns = 0;  // Of an inference; medians of rounds.
  Ratio ratio;                         // The first's time in the second's.
  Ratio control;                       // The first against itself, in the same rounds.
  int round_count = 0;
};

// One round, in which the first has its turn before and after the second. Nanoseconds.
struct Round {
  double first = 0, second = 0, first_again = 0;
};

// `rounds` must not be empty. A drift that lasts through a round is in both terms of its ratio,
// since the first's term is the mean of its two turns.
TurnTimes Judge(absl::Span<const Round> rounds);

// A turn: nanoseconds of an inference.
using Turn = std::function<absl::StatusOr<double>()>;

// `rounds` >= 1. The first error ends it.
absl::StatusOr<TurnTimes> TakeTurns(const Turn& first, const Turn& second, int rounds);

// The median of runs for about `duration`, one at least, after a fifth as long of warming up.
absl::StatusOr<double> SessionTurn(Session& session, absl::Duration duration);

}  // namespace burnish

#endif  // TUNER_APP_TURNS_H_
