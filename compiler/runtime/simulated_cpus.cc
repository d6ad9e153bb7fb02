#include "compiler/runtime/simulated_cpus.h"

#include <algorithm>

namespace burnish {
namespace {

// Who slept is this much ahead of those who ran, and takes the CPU from one who is so much behind.
constexpr int64_t kAheadNs = 2'000'000, kPreemptNs = 1'000'000;

}  // namespace

SimulatedCpus::SimulatedCpus(int cpu_count, int64_t balance_ns)
    : balance_ns_(balance_ns), cpus_(cpu_count) {}

int SimulatedCpus::AddTask(CpuMask mask, bool is_first) {
  tasks_.push_back({.mask = mask, .is_first = is_first});
  return static_cast<int>(tasks_.size()) - 1;
}

void SimulatedCpus::Wake(int task, int64_t after_ns) {
  const int64_t at_ns = now_ns_ + after_ns;
  int64_t& wakes_ns = tasks_[task].wakes_ns;
  if (tasks_[task].is_awake) return;
  wakes_ns = wakes_ns < 0 ? at_ns : std::min(wakes_ns, at_ns);
}

void SimulatedCpus::Sleep(int task) {
  tasks_[task].is_awake = false;
  tasks_[task].wakes_ns = -1;
}

CpuMask SimulatedCpus::Online() const {
  CpuMask online = 0;
  for (size_t c = 0; c < cpus_.size(); ++c) online |= cpus_[c].is_online ? 1U << c : 0;
  return online;
}

bool SimulatedCpus::Move(int task, CpuMask mask) {
  if ((mask & Online()) == 0) return false;
  tasks_[task].mask = mask;
  if ((mask >> tasks_[task].cpu & 1) == 0 && tasks_[task].is_awake) Place(task);
  return true;
}

void SimulatedCpus::TakeOffline(int cpu) {
  cpus_[cpu].is_online = false;
  cpus_[cpu].task = -1;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    if ((tasks_[t].mask & Online()) == 0) tasks_[t].mask = ~CpuMask{0};
    if (tasks_[t].cpu == cpu) Place(static_cast<int>(t));
  }
}

bool SimulatedCpus::IsBusy(int cpu) const {
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [&](const Task& task) { return task.cpu == cpu && WantsCpu(task); });
}

// On an idle CPU, where it was or else the first; or where the fewest are.
void SimulatedCpus::Place(int task) {
  Task& placed = tasks_[task];
  int best = -1, fewest = 0;
  for (int c = 0; c < static_cast<int>(cpus_.size()); ++c) {
    if (!cpus_[c].is_online || (placed.mask >> c & 1) == 0) continue;
    int others = 0;
    for (const Task& other : tasks_)
      others += &other != &placed && other.cpu == c && WantsCpu(other);
    if (best < 0 || others < fewest || (others == fewest && c == placed.cpu)) {
      best = c;
      fewest = others;
    }
  }
  if (placed.cpu != best && cpus_[placed.cpu].task == task) cpus_[placed.cpu].task = -1;
  placed.cpu = best;
  int64_t least_ns = -1;
  for (const Task& other : tasks_) {
    if (&other == &placed || other.cpu != best || !WantsCpu(other)) continue;
    least_ns = least_ns < 0 ? other.turn_ns : std::min(least_ns, other.turn_ns);
  }
  if (least_ns < 0) return;
  placed.turn_ns = std::max(placed.turn_ns, least_ns - kAheadNs);
  Cpu& own = cpus_[best];
  const bool preempts =
      own.task >= 0 && own.task != task && tasks_[own.task].turn_ns - placed.turn_ns > kPreemptNs;
  if (preempts) own.turn_began_ns = now_ns_ - SimulatedCpus::kTurnNs;
}

void SimulatedCpus::Balance(int cpu) {
  Cpu& idle = cpus_[cpu];
  if (!idle.is_online || now_ns_ < idle.balances_ns) return;
  idle.balances_ns = now_ns_ + balance_ns_;
  if (IsBusy(cpu)) return;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    Task& task = tasks_[t];
    const bool waits = WantsCpu(task) && cpus_[task.cpu].task != static_cast<int>(t);
    if (!waits || (task.mask >> cpu & 1) == 0) continue;
    task.cpu = cpu;
    return;
  }
}

void SimulatedCpus::Choose(int cpu) {
  Cpu& own = cpus_[cpu];
  int best = -1;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    const Task& task = tasks_[t];
    if (task.cpu != cpu || !WantsCpu(task)) continue;
    const bool is_better =
        best < 0 || (task.is_first != tasks_[best].is_first ? task.is_first
                                                            : task.turn_ns < tasks_[best].turn_ns);
    if (is_better) best = static_cast<int>(t);
  }
  const int current = own.task;
  const bool stays =
      current >= 0 && best >= 0 && tasks_[current].cpu == cpu && WantsCpu(tasks_[current]) &&
      tasks_[best].is_first == tasks_[current].is_first && now_ns_ - own.turn_began_ns < kTurnNs;
  if (stays) return;
  own.task = best;
  own.turn_began_ns = now_ns_;
}

void SimulatedCpus::Tick() {
  for (size_t t = 0; t < tasks_.size(); ++t) {
    Task& task = tasks_[t];
    task.ran = task.worked = false;
    if (task.wakes_ns < 0 || task.wakes_ns > now_ns_) continue;
    task.wakes_ns = -1;
    task.is_awake = true;
    Place(static_cast<int>(t));
  }
  for (int c = 0; c < static_cast<int>(cpus_.size()); ++c) {
    Balance(c);
    if (!cpus_[c].is_online) continue;
    Choose(c);
    if (cpus_[c].task < 0) continue;
    Task& task = tasks_[cpus_[c].task];
    task.ran = true;
    task.worked = cpus_[c].stolen_until_ns <= now_ns_;
    task.cpu_ns += kTickNs;
    task.turn_ns += kTickNs;
  }
  now_ns_ += kTickNs;
}

}  // namespace burnish
