#include "tuner/search/rank_latency.h"

#include "db/record_summary.h"
#include "proto/record.h"

namespace burnish {

int64_t RankLatencyNs(const Measurement& measurement) {
  Record record;
  Summarize({&measurement, 1}, record);
  return record.successful() ? record.rank_ns : 0;
}

}  // namespace burnish
