// Which thread of a parallel region this one is, for what a generated kernel calls without saying
// so.
#ifndef COMPILER_RUNTIME_REGION_THREAD_H_
#define COMPILER_RUNTIME_REGION_THREAD_H_

namespace burnish {

// From 0 to below the region's number of threads. Each thread writes its own when it begins a
// region (ThreadPool), and reads it in that region alone.
inline thread_local int region_thread = 0;

}  // namespace burnish

#endif  // COMPILER_RUNTIME_REGION_THREAD_H_
