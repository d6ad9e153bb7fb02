// All waiting jobs: one FairQueue for each set of demands (kind, device key, labels), and which of
// them a slot can serve.
#ifndef TRACKER_JOB_QUEUES_H_
#define TRACKER_JOB_QUEUES_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

bool Meets(const SlotInfo& slot, const Demands& demands);

// Why none of `slots` meets the demands, for people: names what the nearest one lacks.
std::string WhyUnmet(const Demands& demands, absl::Span<const SlotInfo* const> slots);

class JobQueues {
 public:
  // `quantum`: see FairQueue.
  explicit JobQueues(int quantum) : quantum_(quantum) {}

  void Push(const Demands& demands, const QueuedJob& job);
  bool Remove(const Demands& demands, const QueuedJob& job);
  // The next job for such a slot: of the highest priority; between queues of equal priority, of
  // the one that was served longest ago. A queue ages as a priority does (fair_queue.h). Nothing:
  // no job that it could do.
  std::optional<QueuedJob> PopFor(const SlotInfo& slot);

  int64_t size() const { return size_; }

 private:
  struct Queue {
    FairQueue jobs;
    uint64_t served_at = 0;  // By the count of all that were served.
    int passed_over = 0;     // By slots that it fits, since it was served.
  };

  int quantum_;
  int64_t size_ = 0;
  uint64_t served_count_ = 0;
  std::map<Demands, Queue> queues_;  // None is empty.
};

}  // namespace burnish

#endif  // TRACKER_JOB_QUEUES_H_
