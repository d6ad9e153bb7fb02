// How much CPU time the process may use, as containers limit it. Free of Abseil.
#ifndef BASE_CPU_QUOTA_H_
#define BASE_CPU_QUOTA_H_

#include <string>

namespace burnish {

// CPUs' worth of time that the control groups of this process allow: the least of its group and
// those around it, of version 1 and 2. Infinity where nothing limits it, or the kernel does not
// say. `root`: before /proc and /sys, for tests.
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max) and scheduler/sched-bwc.rst.
double CpuQuota(const std::string& root = "");

}  // namespace burnish

#endif  // BASE_CPU_QUOTA_H_
