// Time as an interface, so that a test decides what time it is.
#ifndef BASE_CLOCK_H_
#define BASE_CLOCK_H_

#include "absl/time/time.h"

namespace burnish {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // For deadlines and durations: never goes back, does not jump with the date. Counts from an
  // arbitrary origin (CLOCK_MONOTONIC), so it means nothing to another process or after a reboot.
  // Of work behind a pacer (pacer.h) it stands still while that is stopped: nobody waits for
  // somebody who may not run.
  virtual absl::Time SteadyNow() const = 0;

  // The date, for records and people. May jump either way.
  virtual absl::Time WallNow() const = 0;

  // The system's clocks. Lives for ever.
  static const Clock& Real();
};

}  // namespace burnish

#endif  // BASE_CLOCK_H_
