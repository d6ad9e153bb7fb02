// Runs pieces of work in a forked child: the compiler may abort, hang or eat all memory over a bad
// candidate, and must not take the builder along. One child serves many calls, because a fresh fork
// pays for its pages again: a third of the time of a typical build.
#ifndef WORKER_BUILDER_FORKED_WORKER_H_
#define WORKER_BUILDER_FORKED_WORKER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/measuring_watch.h"
#include "base/unique_fd.h"
#include "proto/measurement.h"

namespace burnish {

struct ForkLimits {
  // Of the child's CPU time: on a busy host, or one on which it stands aside, the same candidate
  // takes longer by the clock.
  absl::Duration time_limit = absl::Seconds(10);
  // Of the wall clock: what got no CPU for so long is better tried elsewhere.
  absl::Duration wall_limit = absl::Seconds(40);
  int64_t memory_limit_bytes = 0;  // Above what the child holds; 0: no limit.
};

// Only for processes with one thread.
class ForkedWorker {
 public:
  using Work = std::function<std::string(const std::string& request)>;

  // The child sees this process's memory as it is at the first call after a child ended; nothing
  // that it changes is seen here. Its stdout is its stderr. A child is replaced after
  // `calls_max` calls, so that what a compiler leaks stays small.
  // Where `watch` is given the child keeps to CPUs on which nobody measures, and stands still where
  // there is none.
  explicit ForkedWorker(Work work, int calls_max = 64,
                        std::unique_ptr<MeasuringWatch> watch = nullptr);
  ForkedWorker(const ForkedWorker&) = delete;
  ForkedWorker& operator=(const ForkedWorker&) = delete;
  ~ForkedWorker();

  // What `work` returned, or how it ended: BUILD_TIMEOUT, OUT_OF_MEMORY, or CRASHED with the end of
  // what it wrote to stderr. A request that ends a child which had served others is tried once more
  // in a fresh one: a failure is never a neighbour's. So is one whose child somebody killed;
  // WORKER_LOST where that happens twice, and where the wall clock's limit came first.
  std::variant<std::string, Failure> Call(const ForkLimits& limits, absl::string_view request);

 private:
  struct Answer;

  // False: there is no child, and none can be forked.
  bool EnsureChild();
  Answer CallOnce(const ForkLimits& limits, absl::string_view request);
  Answer OutOfTime(const ForkLimits& limits, absl::Duration cpu_time);
  int EndChild();  // Kills it where it still runs; its wait status.
  // Of a child that closed its end; nothing: it did not end by itself, and was killed.
  std::optional<int> AwaitEnd();

  const Work work_;
  const int calls_max_;
  const std::unique_ptr<MeasuringWatch> watch_;  // May be null.
  pid_t pid_ = -1;                               // -1: no child.
  int calls_ = 0;                                // Of this child.
  UniqueFd socket_, talk_;
};

}  // namespace burnish

#endif  // WORKER_BUILDER_FORKED_WORKER_H_
