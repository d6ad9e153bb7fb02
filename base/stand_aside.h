// Background work of this process stands aside while somebody measures on its CPUs: it keeps to
// those on which nobody does, and waits where there is none.
#ifndef BASE_STAND_ASIDE_H_
#define BASE_STAND_ASIDE_H_

#include <string>

#include "absl/functional/function_ref.h"

namespace burnish {

// Runs `function` on a thread of its own, and waits for it. Meanwhile whatever comes to a
// StandAsidePoint stands aside. `folder`: see base/measuring_files.h. One at a time in a process.
void RunStandingAside(const std::string& folder, absl::FunctionRef<void()> function);

// Between two pieces of background work that take a few milliseconds at most: moves the calling
// thread to CPUs on which nobody measures, or waits until there is one. A nanosecond where nothing
// has changed since the thread's last point.
void StandAsidePoint();

}  // namespace burnish

#endif  // BASE_STAND_ASIDE_H_
