// What a process that serves, the pacer of work behind it and that work tell each other: a page of
// memory in a file. Free of Abseil.
#ifndef BASE_PACE_PAGE_H_
#define BASE_PACE_PAGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace burnish {

// Zeros at first. Offsets are part of what Python writes (python/burnish/_pace.py).
struct PacePage {
  // Of the server.
  std::atomic<uint32_t> running;  // Calls that it is in.
  std::atomic<uint32_t> begun;    // Calls so far; wraps.
  // Of the pacer.
  std::atomic<uint32_t> stops;  // One more before the work is stopped, and before it goes on.
  std::atomic<uint32_t> unused;
  std::atomic<int64_t> stopped_ns;  // For so long in all the work stood still.
  // Of all programs that were paced, one after the other: what they and the pacer took, in how
  // long.
  std::atomic<int64_t> cpu_ns;
  std::atomic<int64_t> wall_ns;
};
static_assert(offsetof(PacePage, begun) == 4 && offsetof(PacePage, stopped_ns) == 16 &&
              offsetof(PacePage, cpu_ns) == 24 && sizeof(PacePage) == 40);

// The environment's name for the file, in the work's processes.
inline constexpr char kPaceVariable[] = "BURNISH_PACE";

// Never unmapped. nullptr: no path, no such file, or one that is too short.
PacePage* MapPacePage(const char* path, bool writes);
// Of an open file, which may be closed afterwards; -1: none.
PacePage* MapPacePage(int descriptor, bool writes);

// Tells whether what was timed between two looks had the machine for itself: the marks are equal
// then. While a call runs no two marks are.
class PaceMark {
 public:
  explicit PaceMark(const PacePage* page) : page_(page) {}
  uint64_t Now();

 private:
  const PacePage* page_;
  uint64_t looks_ = 0;
};

}  // namespace burnish

#endif  // BASE_PACE_PAGE_H_
