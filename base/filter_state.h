// Whether this process has entered the sandbox: apart from base/sandbox.h, so that the runtime can
// ask without linking it.
#ifndef BASE_FILTER_STATE_H_
#define BASE_FILTER_STATE_H_

#include <atomic>

namespace burnish {

// Set by EnterSandbox alone, once the kernel has taken the filter of system calls. Filters stay.
inline std::atomic<bool> system_calls_are_filtered = false;

inline bool SystemCallsAreFiltered() { return system_calls_are_filtered.load(); }

}  // namespace burnish

#endif  // BASE_FILTER_STATE_H_
