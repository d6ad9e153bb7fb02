#include "tracker/job_queues.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace burnish {
namespace {

bool HasDevice(const SlotInfo& slot, const std::string& device_key) {
  // Empty on either side means any: builders serve every device, since they cross-compile.
  return device_key.empty() || slot.device_keys.empty() ||
         std::find(slot.device_keys.begin(), slot.device_keys.end(), device_key) !=
             slot.device_keys.end();
}

// "epoch=7 (it has epoch=6)", for each label that the slot lacks.
std::vector<std::string> LackingLabels(const SlotInfo& slot, const Labels& labels) {
  std::vector<std::string> lacking;
  for (const auto& [name, value] : labels) {
    const auto own = slot.labels.find(name);
    if (own == slot.labels.end()) {
      lacking.push_back(absl::StrCat(name, "=", value));
    } else if (own->second != value) {
      lacking.push_back(absl::StrCat(name, "=", value, " (it has ", own->second, ")"));
    }
  }
  return lacking;
}

// Devices come and go, and a client may stay.
constexpr size_t kSlotKindsMax = 64;

// Slots with the same devices compete for the same jobs.
uint64_t KindOf(const SlotInfo& slot) { return absl::HashOf(slot.kind, slot.device_keys); }

// 0: not yet.
uint64_t ServedAt(const QueueClient* client, uint64_t slot_kind) {
  if (client == nullptr) return 0;
  const auto served = client->served_at.find(slot_kind);
  return served == client->served_at.end() ? 0 : served->second;
}

void Serve(QueueClient& client, uint64_t slot_kind, uint64_t count) {
  client.served_at[slot_kind] = count;
  if (client.served_at.size() <= kSlotKindsMax) return;
  client.served_at.erase(std::min_element(
      client.served_at.begin(), client.served_at.end(),
      [](const auto& one, const auto& other) { return one.second < other.second; }));
}

}  // namespace

Demands DemandsOf(const JobSpec& job) {
  return {.kind = job.kind, .device_key = job.device_key, .labels = job.labels};
}

Line LineOf(const JobSpec& job) {
  Line line{.demands = DemandsOf(job), .avoided = job.avoid_workers};
  std::sort(line.avoided.begin(), line.avoided.end());
  line.avoided.erase(std::unique(line.avoided.begin(), line.avoided.end()), line.avoided.end());
  return line;
}

bool Meets(const SlotInfo& slot, const Demands& demands) {
  const auto has_label = [&slot](const auto& label) {
    const auto own = slot.labels.find(label.first);
    return own != slot.labels.end() && own->second == label.second;
  };
  return slot.kind == demands.kind && HasDevice(slot, demands.device_key) &&
         std::all_of(demands.labels.begin(), demands.labels.end(), has_label);
}

std::string WhyUnmet(const Demands& demands, absl::Span<const SlotInfo* const> slots) {
  const absl::string_view kind = JobKindName(demands.kind);
  bool any_of_kind = false;
  std::optional<std::vector<std::string>> fewest;
  for (const SlotInfo* slot : slots) {
    if (slot->kind != demands.kind) continue;
    any_of_kind = true;
    if (!HasDevice(*slot, demands.device_key)) continue;
    std::vector<std::string> lacking = LackingLabels(*slot, demands.labels);
    // The slot that comes nearest tells the user what to change.
    if (!fewest.has_value() || lacking.size() < fewest->size()) fewest = std::move(lacking);
  }
  if (!any_of_kind) return absl::StrCat("no worker has a ", kind, " slot");
  if (!fewest.has_value()) {
    return absl::StrCat("no ", kind, " slot has the device key ", demands.device_key);
  }
  return absl::StrCat("no ", kind, " slot",
                      demands.device_key.empty() ? "" : absl::StrCat(" of ", demands.device_key),
                      " has the label ", absl::StrJoin(*fewest, " and "));
}

void JobQueues::Push(const Line& line, const QueuedJob& job) {
  auto queue = queues_.find(line);
  if (queue == queues_.end()) {
    // Counts as just served: else one that empties with each job would always come first.
    queue = queues_.emplace(line, Queue{FairQueue(quantum_), ++served_count_}).first;
  }
  queue->second.jobs.Push(job);
  ++size_;
}

bool JobQueues::Remove(const Line& line, const QueuedJob& job) {
  const auto queue = queues_.find(line);
  if (queue == queues_.end() || !queue->second.jobs.Remove(job)) return false;
  // Demands come from tuners' texts: queues that stayed would grow without bound.
  if (queue->second.jobs.empty()) queues_.erase(queue);
  --size_;
  return true;
}

bool JobQueues::MayServe(const Asker& asker, const Line& line, Queue& queue) {
  if (!Meets(asker.slot, line.demands)) return false;
  if (!std::binary_search(line.avoided.begin(), line.avoided.end(), asker.worker_id)) return true;
  // Else one sick worker that is quick would take a job three times, while others are busy.
  if (std::exchange(queue.asked_at, asker.farm_version) != asker.farm_version) {
    queue.has_other = asker.has_other(line);
  }
  return !queue.has_other;
}

std::optional<QueuedJob> JobQueues::PopFor(const Asker& asker) {
  auto best = queues_.end();
  const uint64_t slot_kind = KindOf(asker.slot);
  const auto rank = [slot_kind](const Queue& queue) {
    // Priority first. Within one the client, and then the queue, that was served longest ago: a
    // slot that several kinds of jobs fit must not serve one of them only. 64 bits, since
    // -INT32_MIN is none of 32.
    const int64_t aged = queue.passed_over >= kPassedOverMax ? -queue.passed_over : 0;
    return std::tuple(aged, -static_cast<int64_t>(queue.jobs.top_priority()),
                      ServedAt(queue.jobs.top_client(), slot_kind), queue.served_at);
  };
  served_.clear();
  for (auto queue = queues_.begin(); queue != queues_.end(); ++queue) {
    if (!MayServe(asker, queue->first, queue->second)) continue;
    served_.push_back(queue);
    if (best == queues_.end() || rank(queue->second) < rank(best->second)) best = queue;
  }
  if (best == queues_.end()) return std::nullopt;
  QueuedJob job = best->second.jobs.Pop();
  // Lines of one priority take turns: were they to age by each other's jobs, a client with many
  // would have as many turns.
  for (const Queues::iterator queue : served_) {
    const bool is_passed = queue != best && queue->second.jobs.top_priority() < job.priority;
    queue->second.passed_over += is_passed ? 1 : 0;
  }
  best->second.served_at = ++served_count_;
  if (job.client != nullptr) Serve(*job.client, slot_kind, served_count_);
  best->second.passed_over = 0;
  if (best->second.jobs.empty()) queues_.erase(best);
  --size_;
  return job;
}

}  // namespace burnish
