// On which CPUs a thread may run. Free of Abseil.
#ifndef BASE_USABLE_CPUS_H_
#define BASE_USABLE_CPUS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace burnish {

// Those of the calling thread, ascending: what this process was given, not what the machine has.
// Empty: the kernel does not say.
std::vector<int> UsableCpus();
// Those, and what the process's first thread may run on: a thread that has been pinned can leave
// its CPU for these. Empty: the kernel does not say.
std::vector<int> ProcessCpus();
// "0-3,8", as ParseCpuList (cpu_info.h) reads it. `cpus`: ascending.
std::string FormatCpuList(const std::vector<int>& cpus);
// How many threads of this process can run at once: those CPUs, and no more than its control groups
// give it time for (cpu_quota.h). At least 1.
int UsableCpuCount();
// The same of `cpus` CPUs and a quota. Whole ones: threads that meet at barriers run at the pace of
// the one that is stopped, so two of them on one and a half CPUs wait for each other.
int WholeCpus(int cpus, double quota);

// Moves a thread (0: the calling one), or a process that has one, to these CPUs. False and errno:
// the kernel refuses, as where none of them is there.
bool MoveToCpus(pid_t thread, const std::vector<int>& cpus);

}  // namespace burnish

#endif  // BASE_USABLE_CPUS_H_
