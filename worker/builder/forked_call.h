// Runs a piece of work in a forked child: the compiler may abort, hang or eat all memory over a bad
// candidate, and must not take the builder along.
#ifndef WORKER_BUILDER_FORKED_CALL_H_
#define WORKER_BUILDER_FORKED_CALL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "proto/measurement.h"

namespace burnish {

struct ForkLimits {
  absl::Duration time_limit = absl::Seconds(10);  // Of the wall clock.
  int64_t memory_limit_bytes = 0;                 // Above what this process holds; 0: no limit.
};

// What `work` returned, or how it ended: BUILD_TIMEOUT, OUT_OF_MEMORY, or CRASHED with the end of
// what it wrote to stderr. Only for processes with one thread. The child sees this process's memory
// as it is now; nothing that it changes is seen here. Its stdout is its stderr.
std::variant<std::string, Failure> CallInFork(const ForkLimits& limits,
                                              const std::function<std::string()>& work);

}  // namespace burnish

#endif  // WORKER_BUILDER_FORKED_CALL_H_
