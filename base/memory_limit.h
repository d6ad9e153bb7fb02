// How much memory the process may use, as containers limit it. Free of Abseil.
#ifndef BASE_MEMORY_LIMIT_H_
#define BASE_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace burnish {

// Bytes that the control groups of this process allow: the least of its group and those around it,
// of version 1 and 2. Infinity where nothing limits it. `root`: before /proc and /sys, for tests.
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst (memory.max) and cgroup-v1/memory.rst.
double MemoryLimit(const std::string& root = "");

// The machine's memory, or what the control groups allow of it.
int64_t UsableMemoryBytes();

}  // namespace burnish

#endif  // BASE_MEMORY_LIMIT_H_
