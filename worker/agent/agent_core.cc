#include "worker/agent/agent_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace burnish {
namespace {

// Of the outcomes in one report: far below what a message may have (proto/rpc.h), with one of the
// largest on top. After a tracker's restart all that a worker holds is asked for at once.
constexpr size_t kOutcomeBytesPerReport = 2 << 20;

bool Contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

AgentCore::AgentCore(const AgentIdentity& identity, const std::vector<SlotInfo>& slots)
    : identity_(identity) {
  CHECK_GT(identity.incarnation, 0);
  for (const SlotInfo& info : slots) slots_.emplace_back().info = info;
}

WorkerReport AgentCore::MakeReport() {
  WorkerReport report{.worker_id = identity_.worker_id,
                      .host = identity_.host,
                      .incarnation = identity_.incarnation,
                      .epoch = epoch_,
                      // Each report replaces all before it. Orders name the report that they
                      // answer, so that orders about a state that is over are known.
                      .sequence = ++sequence_,
                      .leaving = leaving_,
                      .calibration = identity_.calibration};
  has_news_ = has_more_ = false;
  size_t bytes = 0;
  for (const Slot& slot : slots_) {
    SlotReport& out = report.slots.emplace_back();
    out.info = slot.info;
    out.executing = slot.executing;
    out.cancelling = slot.cancelling;
    out.waiting = slot.waiting;
    if (!ReportResults(slot, bytes, out)) has_more_ = true;
  }
  return report;
}

bool AgentCore::ReportResults(const Slot& slot, size_t& bytes, SlotReport& out) const {
  bool all = true;
  for (const Held& held : slot.held) {
    const auto* payload = std::get_if<std::string>(&held.outcome);
    const size_t size = payload == nullptr ? 0 : payload->size();
    const bool fits = bytes == 0 || bytes + size <= kOutcomeBytesPerReport;
    if (!held.tracker_has_it && !fits) {
      all = false;
      // Not done yet, as far as the tracker knows.
      if (!held.was_received) {
        if (!out.executing.has_value()) out.executing = held.lease;
        continue;
      }
    }
    HeldResult& result = out.results.emplace_back();
    result.lease = held.lease;
    // The lease alone is reported else: an outcome may be large, and a tracker that was restarted
    // asks for it (`send`), as often as it takes.
    if (held.tracker_has_it || !fits) continue;
    result.outcome = held.outcome;
    bytes += size;
  }
  return all;
}

std::vector<SlotAction> AgentCore::Apply(const WorkerOrders& orders) {
  // Whatever report it answers: the next one says that this process lives.
  epoch_ = std::max(epoch_, orders.epoch);
  if (orders.sequence != sequence_ || orders.slots.size() != slots_.size()) return {};
  draining_ = orders.draining;
  if (has_more_) has_news_ = true;
  std::vector<SlotAction> actions;
  for (int i = 0; i < static_cast<int>(slots_.size()); ++i) {
    Slot& slot = slots_[i];
    const SlotOrders& wanted = orders.slots[i];
    // Results are kept and discarded also where the slot executes.
    ApplyToResults(wanted, slot);
    if (slot.executing.has_value()) {
      // No lease or another one: the tracker does not want what runs here.
      if (wanted.lease != slot.executing && !slot.cancelling) {
        slot.cancelling = true;
        has_news_ = true;
        actions.push_back({.kind = SlotAction::Kind::kCancel, .slot_index = i});
      }
      continue;  // A new job comes again when this slot is idle.
    }
    // Without a job the orders are about an execution that has ended since the report.
    if (!wanted.lease.has_value() || !wanted.job.has_value()) continue;
    slot.executing = wanted.lease;
    slot.cancelling = false;
    slot.waiting = false;
    has_news_ = true;
    actions.push_back({.kind = SlotAction::Kind::kStart,
                       .slot_index = i,
                       .job = *wanted.job,
                       .lease = *wanted.lease});
  }
  return actions;
}

void AgentCore::ApplyToResults(const SlotOrders& orders, Slot& slot) {
  std::erase_if(slot.held,
                [&](const Held& held) { return Contains(orders.discard, held.lease.job_id); });
  for (Held& held : slot.held) {
    if (Contains(orders.received, held.lease.job_id)) {
      held.tracker_has_it = held.was_received = true;
    }
    if (Contains(orders.send, held.lease.job_id)) {
      held.tracker_has_it = false;
      has_news_ = true;
    }
  }
}

void AgentCore::Finished(int slot_index, JobOutcome outcome) {
  Slot& slot = slots_[slot_index];
  CHECK(slot.executing.has_value()) << "slot " << slot_index << " executes nothing";
  const auto* payload = std::get_if<std::string>(&outcome);
  if (payload != nullptr && payload->size() > JobSpec::kPayloadBytesMax) {
    // A report with it would be malformed, and the worker turned away for it.
    outcome = WorkerFault{.message = absl::StrCat("its result has ", payload->size(),
                                                  " bytes, may have ", JobSpec::kPayloadBytesMax),
                          .refused = true};
  }
  // A job that was cancelled has a result already, or none that anybody wants. Its outcome could
  // only be the cancellation's.
  if (!slot.cancelling) {
    slot.held.push_back({.lease = *std::move(slot.executing), .outcome = std::move(outcome)});
  }
  slot.executing.reset();
  slot.cancelling = false;
  slot.waiting = false;
  has_news_ = true;
}

void AgentCore::SetWaiting(int slot_index, bool waiting) {
  Slot& slot = slots_[slot_index];
  if (!slot.executing.has_value() || slot.waiting == waiting) return;
  slot.waiting = waiting;
  has_news_ = true;
}

void AgentCore::Leave() {
  leaving_ = true;
  has_news_ = true;
}

bool AgentCore::IsEmpty() const {
  return std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return !slot.executing.has_value() && slot.held.empty();
  });
}

int AgentCore::executing_count() const {
  return static_cast<int>(std::count_if(
      slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.executing.has_value(); }));
}

}  // namespace burnish
