// CPUs of a made-up machine on a made-up clock, with a scheduler like Linux's in small: tasks that
// share a CPU take turns of 3 ms, who slept goes before who ran, and an idle CPU takes a task that
// waits elsewhere. For wait_simulation_test.
#ifndef COMPILER_RUNTIME_SIMULATED_CPUS_H_
#define COMPILER_RUNTIME_SIMULATED_CPUS_H_

#include <cstdint>
#include <vector>

namespace burnish {

// By bits.
using CpuMask = uint32_t;

class SimulatedCpus {
 public:
  static constexpr int64_t kTickNs = 2'000, kTurnNs = 3'000'000;

  // `balance_ns`: how often an idle CPU looks for a task that waits elsewhere.
  SimulatedCpus(int cpu_count, int64_t balance_ns);

  // Tasks sleep at first. `is_first`: before all that are not (a real-time one).
  int AddTask(CpuMask mask, bool is_first = false);
  void Wake(int task, int64_t after_ns);
  // Until it is woken, also by a Wake that is under way.
  void Sleep(int task);
  // Does not run till then, whatever else happens, as under a debugger.
  void Stop(int task, int64_t until_ns) { tasks_[task].stopped_until_ns = until_ns; }
  // Whether the system does it: not without a CPU that is there.
  bool Move(int task, CpuMask mask);
  CpuMask MaskOf(int task) const { return tasks_[task].mask; }
  // The host gives the CPU to another machine: the task's CPU clock goes on, its work does not.
  void Steal(int cpu, int64_t until_ns) { cpus_[cpu].stolen_until_ns = until_ns; }
  // Who has no other CPU may use all.
  void TakeOffline(int cpu);

  void Tick();
  int64_t now_ns() const { return now_ns_; }
  // In the last tick: had a CPU, and that CPU was there.
  bool Ran(int task) const { return tasks_[task].ran; }
  bool Worked(int task) const { return tasks_[task].worked; }
  int64_t CpuNs(int task) const { return tasks_[task].cpu_ns; }
  int CpuOf(int task) const { return tasks_[task].cpu; }

 private:
  struct Task {
    CpuMask mask;
    bool is_first;
    bool is_awake = false, ran = false, worked = false;
    int cpu = 0;                      // Where it runs, waits or ran last.
    int64_t cpu_ns = 0, turn_ns = 0;  // Of all, which orders those of a CPU.
    int64_t wakes_ns = -1, stopped_until_ns = 0;
  };
  struct Cpu {
    bool is_online = true;
    int task = -1;  // That runs.
    int64_t turn_began_ns = 0;
    int64_t stolen_until_ns = 0, balances_ns = 0;
  };

  bool WantsCpu(const Task& task) const {
    return task.is_awake && task.stopped_until_ns <= now_ns_;
  }
  CpuMask Online() const;
  bool IsBusy(int cpu) const;
  void Place(int task);
  void Balance(int cpu);
  void Choose(int cpu);

  const int64_t balance_ns_;
  int64_t now_ns_ = 0;
  std::vector<Task> tasks_;
  std::vector<Cpu> cpus_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SIMULATED_CPUS_H_
