// Whether this process has entered the sandbox: apart from base/sandbox.h, so that the runtime can
// ask without linking it.
#ifndef BASE_FILTER_STATE_H_
#define BASE_FILTER_STATE_H_

#include <atomic>

namespace burnish {

// Set by EnterSandbox alone, once the kernel has taken the filter for code of candidates. Filters
// stay.
inline std::atomic<bool> code_may_be_foreign = false;

inline bool CodeMayBeForeign() { return code_may_be_foreign.load(); }

}  // namespace burnish

#endif  // BASE_FILTER_STATE_H_
