// What it costs cores to meet, and to read what another has written. Free of Abseil.
#ifndef WORKER_CALIBRATE_MEASURE_EXCHANGE_H_
#define WORKER_CALIBRATE_MEASURE_EXCHANGE_H_

#include <cstdint>

#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {

struct ExchangeSpeed {
  double barrier_ns = 0;       // All threads of the pool arrive together at the runtime's barrier.
  double peer_latency_ns = 0;  // A load of what the next thread has just written: the mean.
  double peer_gb_per_s = 0;  // A stream of that, a reader for each writer: of one reader, the mean.
};

// The pool has at least two threads. `bytes_each`: what a thread writes, so that its own cache
// holds it; a multiple of kReadGranuleBytes. kResourceExhausted: no memory.
RuntimeOr<ExchangeSpeed> MeasureExchange(ThreadPool& pool, int64_t bytes_each, int vector_bytes);

}  // namespace burnish

#endif  // WORKER_CALIBRATE_MEASURE_EXCHANGE_H_
