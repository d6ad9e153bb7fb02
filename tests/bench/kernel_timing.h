// What benchmarks of single kernels share: compiling for this host, timing with cold weights, and
// the machine's own limits measured in the same run.
#ifndef TESTS_BENCH_KERNEL_TIMING_H_
#define TESTS_BENCH_KERNEL_TIMING_H_

#include <string>

#include "compiler/codegen/backend.h"
#include "compiler/ir/program.h"
#include "compiler/runtime/shared_object.h"
#include "compiler/target/target.h"

namespace burnish {

// A steady clock.
double Seconds();

// GFLOP/s of pure multiply-adds of `lanes` floats on `threads` threads at once, the best of a few
// tries.
double FmaPeak(int lanes, int threads);

// GB/s of reads from DRAM on `threads` threads at once.
double ReadBandwidth(int threads);

// This host with `threads` threads, without AVX-512 if `avx2`.
Target BenchTarget(int threads, bool avx2);

struct Compiled {
  SharedObject library;
  KernelInfo info;
  Program lowered;
};

// Compiles for the host, without AVX-512 if `avx2`.
Compiled Compile(const Program& lowered, bool avx2);

// Seconds of one call, the fastest of many short repeats: other work on the machine only adds.
// Weights lie in as many copies as exceed the last-level cache, used in turn.
double Time(Compiled& compiled, int threads);

}  // namespace burnish

#endif  // TESTS_BENCH_KERNEL_TIMING_H_
