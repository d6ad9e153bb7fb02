#include "compiler/runtime/team_spread.h"

#include <sched.h>

namespace burnish {
namespace {

// Of a thread in a region: where somebody else keeps all other CPUs busy, the scheduler brings it
// back, and it shall not go to and fro.
constexpr int kMovesMax = 4;

}  // namespace

void TeamSpread::BeginRegion() {
  for (Thread& thread : threads_) {
    thread.cpu.store(-1, std::memory_order_relaxed);
    thread.moves = 0;
  }
}

void TeamSpread::Arrive(int number, int count) {
  count_.store(count, std::memory_order_relaxed);
  Look(number);
}

void TeamSpread::Look(int self) {
  const int count = count_.load(std::memory_order_relaxed);
  const int cpu = sched_getcpu();
  if (self >= count || cpu < 0 || cpu >= CPU_SETSIZE) return;
  threads_[self].cpu.store(cpu, std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) {
    if (i == self || threads_[i].cpu.load(std::memory_order_relaxed) != cpu) continue;
    if (threads_[self].moves++ < kMovesMax) Leave(cpu, self, count);
    return;
  }
}

void TeamSpread::Leave(int cpu, int number, int count) {
  cpu_set_t mask, others_left_out;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return;
  others_left_out = mask;
  CPU_CLR(cpu, &others_left_out);
  for (int i = 0; i < count; ++i) {
    const int taken = threads_[i].cpu.load(std::memory_order_relaxed);
    if (taken >= 0) CPU_CLR(taken, &others_left_out);
  }
  if (CPU_COUNT(&others_left_out) == 0) return;
  // The first call moves it, the second lets it stay there.
  if (sched_setaffinity(0, sizeof(others_left_out), &others_left_out) != 0) return;
  sched_setaffinity(0, sizeof(mask), &mask);
  threads_[number].cpu.store(sched_getcpu(), std::memory_order_relaxed);
}

}  // namespace burnish
