// All waiting jobs: one FairQueue for each line, and which of them a slot can serve.
#ifndef TRACKER_JOB_QUEUES_H_
#define TRACKER_JOB_QUEUES_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "proto/job.h"
#include "proto/synchronize.h"
#include "tracker/fair_queue.h"

namespace burnish {

// What a job demands of a slot.
struct Demands {
  JobKind kind = JobKind::kBuild;
  std::string device_key = "";  // Empty: any.
  Labels labels = {};

  auto operator<=>(const Demands&) const = default;
};

Demands DemandsOf(const JobSpec& job);

// What jobs have in common that the same slots may have. A look for a job goes through the lines,
// and never through the jobs of one: however many wait for what is not there, none is in the way of
// another line's.
struct Line {
  Demands demands = {};
  // Sorted: workers that get them only where no other could do them.
  std::vector<std::string> avoided = {};

  auto operator<=>(const Line&) const = default;
};

Line LineOf(const JobSpec& job);

bool Meets(const SlotInfo& slot, const Demands& demands);

// Why none of `slots` meets the demands, for people: names what the nearest one lacks.
std::string WhyUnmet(const Demands& demands, absl::Span<const SlotInfo* const> slots);

class JobQueues {
 public:
  // `quantum`: see FairQueue.
  explicit JobQueues(int quantum) : quantum_(quantum) {}

  // Who asks for a job.
  struct Asker {
    const SlotInfo& slot;
    const std::string& worker_id;
    // Whether another worker could do the jobs of a line that avoids this one. The answer holds
    // until the version changes.
    int64_t farm_version = 0;
    absl::FunctionRef<bool(const Line&)> has_other;
  };

  void Push(const Line& line, const QueuedJob& job);
  bool Remove(const Line& line, const QueuedJob& job);
  // The next job: of the highest priority; between lines of equal priority, of the client that was
  // served longest ago by such a slot, and of its line that was. A line ages as a priority does
  // (fair_queue.h).
  // Nothing: no job that it could do.
  std::optional<QueuedJob> PopFor(const Asker& asker);

  int64_t size() const { return size_; }

 private:
  struct Queue {
    FairQueue jobs;
    uint64_t served_at = 0;  // By the count of all that were served.
    int passed_over =
        0;  // By jobs of a higher priority to slots that it fits, since it was served.
    int64_t asked_at = -1;  // The version of the farm at which `has_other` was so.
    bool has_other = false;
  };
  using Queues = std::map<Line, Queue>;

  static bool MayServe(const Asker& asker, const Line& line, Queue& queue);

  int quantum_;
  int64_t size_ = 0;
  uint64_t served_count_ = 0;
  Queues queues_;                         // None is empty.
  std::vector<Queues::iterator> served_;  // Of one call: those that the slot may serve.
};

}  // namespace burnish

#endif  // TRACKER_JOB_QUEUES_H_
