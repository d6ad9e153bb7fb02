#include "compiler/runtime/team_policy.h"

#include <algorithm>

namespace burnish {

void TeamPolicy::OnStall(int thread, int64_t now_ns, uint32_t region) {
  Record& record = records_[thread];
  // Region numbers wrap around.
  if (now_ns - record.since_ns > kCalmNs && region - record.since_region >= kCalmRegions) {
    record.stalls = 0;
  }
  record.stalls = std::min(record.stalls + 1, 32);
  record.since_ns = now_ns;
  record.since_region = region;
  if (record.stalls < 2 || IsOut(thread)) return;
  record.out_until_ns = now_ns + std::min(kFirstOutNs << (record.stalls - 2), kLongestOutNs);
  ++out_count_;
}

bool TeamPolicy::BringBack(int64_t now_ns, uint32_t region) {
  const int before = out_count_;
  for (Record& record : records_) {
    if (record.out_until_ns == 0 || now_ns < record.out_until_ns) continue;
    record.out_until_ns = 0;
    record.since_ns = now_ns;
    record.since_region = region;
    --out_count_;
  }
  return out_count_ != before;
}

}  // namespace burnish
