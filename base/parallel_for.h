// Independent pieces of work on several threads.
#ifndef BASE_PARALLEL_FOR_H_
#define BASE_PARALLEL_FOR_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace burnish {

// Calls body(i) once for each i below `count`, on up to `threads` threads, of which the caller's is
// one; returns when all are done. Whoever is free takes the next i, so that pieces need not be
// alike. `body` must not throw.
void ParallelFor(size_t count, int threads, absl::FunctionRef<void(size_t)> body);

}  // namespace burnish

#endif  // BASE_PARALLEL_FOR_H_
