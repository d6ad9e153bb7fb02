// On which CPUs a thread may run. Free of Abseil.
#ifndef BASE_USABLE_CPUS_H_
#define BASE_USABLE_CPUS_H_

#include <sys/types.h>

#include <vector>

namespace burnish {

// Those of the calling thread, ascending: what this process was given, not what the machine has.
// Empty: the kernel does not say.
std::vector<int> UsableCpus();
// How many; 1 where the kernel does not say.
int UsableCpuCount();

// Moves a thread (0: the calling one), or a process that has one, to these CPUs. False and errno:
// the kernel refuses, as where none of them is there.
bool MoveToCpus(pid_t thread, const std::vector<int>& cpus);

}  // namespace burnish

#endif  // BASE_USABLE_CPUS_H_
