#include "compiler/driver/memory_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace burnish {
namespace {

// x86 compares the low 12 bits of addresses when a load looks for earlier stores (Intel
// optimization manual, "4-KByte aliasing"). 16 places, a line apart, are more than a step has
// buffers; the shift costs at most 960 bytes.
constexpr int64_t kPageBytes = 4096;
constexpr int kShiftCountMax = 16;  // Places of a page that are tried.

int64_t AlignUp(int64_t bytes) {
  return (bytes + kPlanAlignmentBytes - 1) / kPlanAlignmentBytes * kPlanAlignmentBytes;
}

// Memory that one or several buffers take in turn.
struct Slot {
  int64_t size_bytes = 0;
  int first_step = 0;
  int last_step = 0;
  std::string keeper;
  std::vector<int> buffers;
  int64_t offset_bytes = -1;
};

bool LiveTogether(const Slot& a, const Slot& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

// Buffers by pairs that share memory in place: one slot a chain.
std::vector<Slot> MakeChains(absl::Span<const PlanBuffer> buffers,
                             absl::Span<const InPlaceChoice> in_place) {
  std::vector<int> successor(buffers.size(), -1), predecessor(buffers.size(), -1);
  for (const InPlaceChoice& choice : in_place) {
    const PlanBuffer& input = buffers[choice.input];
    const PlanBuffer& output = buffers[choice.output];
    // Same size and keeper: the pair becomes one piece of memory. One successor each, since the
    // input dies once.
    if (input.last_step == output.first_step && input.first_step < output.first_step &&
        input.last_step != input.kept_through && input.size_bytes == output.size_bytes &&
        input.keeper == output.keeper && successor[choice.input] < 0 &&
        predecessor[choice.output] < 0) {
      successor[choice.input] = choice.output;
      predecessor[choice.output] = choice.input;
    }
  }
  std::vector<Slot> slots;
  for (int b = 0; b < static_cast<int>(buffers.size()); ++b) {
    if (predecessor[b] >= 0) continue;
    Slot slot{.size_bytes = AlignUp(buffers[b].size_bytes),
              .first_step = buffers[b].first_step,
              .keeper = buffers[b].keeper};
    for (int member = b; member >= 0; member = successor[member]) {
      slot.last_step = buffers[member].last_step;
      slot.buffers.push_back(member);
    }
    slots.push_back(std::move(slot));
  }
  return slots;
}

// Slots with a keeper take turns by themselves, and then keep their memory for ever.
std::vector<Slot> MergeKept(std::vector<Slot> slots) {
  std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) {
    return std::pair(a.first_step, a.buffers[0]) < std::pair(b.first_step, b.buffers[0]);
  });
  std::vector<Slot> merged;
  for (Slot& slot : slots) {
    Slot* home = nullptr;
    for (Slot& other : merged) {
      // Borders are written once, at the session's start. Only values that want the same border may
      // lie there, one after the other.
      if (!slot.keeper.empty() && other.keeper == slot.keeper &&
          other.size_bytes == slot.size_bytes && other.last_step < slot.first_step) {
        home = &other;
        break;
      }
    }
    if (home == nullptr) {
      merged.push_back(std::move(slot));
      continue;
    }
    home->last_step = slot.last_step;
    home->buffers.insert(home->buffers.end(), slot.buffers.begin(), slot.buffers.end());
  }
  for (Slot& slot : merged) {
    if (slot.keeper.empty()) continue;
    slot.first_step = 0;
    // For the whole inference and the next ones: nothing else may write to it.
    slot.last_step = std::numeric_limits<int>::max();
  }
  return merged;
}

// How many of the slots that live together with this one start at the same place of a page.
int CountAliases(absl::Span<const Slot* const> neighbours, int64_t offset_bytes) {
  int count = 0;
  for (const Slot* other : neighbours) {
    count += (offset_bytes - other->offset_bytes) % kPageBytes == 0;
  }
  return count;
}

// The start within a gap of at least the slot's size that meets the fewest aliases.
int64_t StartInGap(const Slot& slot, absl::Span<const Slot* const> neighbours, int64_t begin,
                   int64_t end) {
  int64_t best = begin;
  int fewest = std::numeric_limits<int>::max();
  for (int i = 0; i < kShiftCountMax; ++i) {
    const int64_t start = begin + i * kPlanAlignmentBytes;
    if (end - start < slot.size_bytes) break;
    const int aliases = CountAliases(neighbours, start);
    if (aliases < fewest) {
      best = start;
      fewest = aliases;
    }
  }
  return best;
}

// `neighbours`: placed, live together with the slot, by offset. Best fit: the smallest gap that is
// large enough; behind all of them otherwise.
int64_t FindOffset(const Slot& slot, absl::Span<const Slot* const> neighbours) {
  constexpr int64_t kEndless = std::numeric_limits<int64_t>::max() / 2;
  int64_t best_begin = -1, best_end = kEndless;
  int64_t begin = 0;
  for (const Slot* other : neighbours) {
    const int64_t gap = other->offset_bytes - begin;
    if (gap >= slot.size_bytes && (best_begin < 0 || gap < best_end - best_begin)) {
      best_begin = begin;
      best_end = other->offset_bytes;
    }
    begin = std::max(begin, other->offset_bytes + other->size_bytes);
  }
  if (best_begin < 0) best_begin = begin;
  return StartInGap(slot, neighbours, best_begin, best_end);
}

}  // namespace

MemoryPlan PlanMemory(absl::Span<const PlanBuffer> buffers,
                      absl::Span<const InPlaceChoice> in_place) {
  std::vector<Slot> slots = MergeKept(MakeChains(buffers, in_place));
  // Large ones first: small ones fit into the gaps that they leave.
  std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) {
    return std::pair(-a.size_bytes, a.buffers[0]) < std::pair(-b.size_bytes, b.buffers[0]);
  });
  MemoryPlan plan;
  plan.offset_bytes.resize(buffers.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    std::vector<const Slot*> neighbours;
    for (size_t k = 0; k < i; ++k) {
      // Offline, by decreasing size, best fit: a heuristic, since dynamic storage allocation is
      // NP-hard. Quadratic in some hundred buffers.
      if (LiveTogether(slots[i], slots[k])) neighbours.push_back(&slots[k]);
    }
    std::sort(neighbours.begin(), neighbours.end(),
              [](const Slot* a, const Slot* b) { return a->offset_bytes < b->offset_bytes; });
    slots[i].offset_bytes = FindOffset(slots[i], neighbours);
    plan.arena_bytes = std::max(plan.arena_bytes, slots[i].offset_bytes + slots[i].size_bytes);
    for (const int buffer : slots[i].buffers) plan.offset_bytes[buffer] = slots[i].offset_bytes;
  }
  return plan;
}

}  // namespace burnish
