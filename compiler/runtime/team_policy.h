// Which threads of a pool take part in regions, by how often loans did not help them. ADR 14.
#ifndef COMPILER_RUNTIME_TEAM_POLICY_H_
#define COMPILER_RUNTIME_TEAM_POLICY_H_

#include <cstdint>
#include <vector>

namespace burnish {

// A thread that stalls again and again stays out for a while, twice as long each time, and comes
// back to see whether its CPU is free again.
class TeamPolicy {
 public:
  // A region without a CPU within this time or this number of regions after the last one, or after
  // a thread came back, says that this goes on. Rarer ones, which any machine has, cost less than
  // to go on without the thread. The number is for inferences that are far apart.
  static constexpr int64_t kCalmNs = 10'000'000;
  static constexpr uint32_t kCalmRegions = 3;
  // A try costs one inference some 0.1 ms beyond what it takes without the thread; a CPU that is
  // free again is taken up within a quarter of a second.
  static constexpr int64_t kFirstOutNs = 4'000'000, kLongestOutNs = 256'000'000;

  explicit TeamPolicy(int thread_count) : records_(thread_count) {}

  void OnStall(int thread, int64_t now_ns, uint32_t region);
  // Lets those come back whose time is over; whether there are any.
  bool BringBack(int64_t now_ns, uint32_t region);
  bool IsOut(int thread) const { return records_[thread].out_until_ns != 0; }
  int out_count() const { return out_count_; }

 private:
  struct Record {
    int stalls = 0;        // In a row.
    int64_t since_ns = 0;  // When it last stalled or came back.
    uint32_t since_region = 0;
    int64_t out_until_ns = 0;  // 0: not out.
  };
  std::vector<Record> records_;
  int out_count_ = 0;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_TEAM_POLICY_H_
