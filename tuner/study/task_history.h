// What other studies know of a task: records of the same workload, of workloads of the same anchor,
// whose traces apply unchanged, and where there are none of these of the same program at other
// extents (near_workloads.h).
#ifndef TUNER_STUDY_TASK_HISTORY_H_
#define TUNER_STUDY_TASK_HISTORY_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"
#include "db/record_store.h"
#include "tuner/study/study_types.h"

namespace burnish {

// A stored candidate as search takes it.
struct HistoryRecord {
  std::string trace;
  std::string candidate_id;
  // Of one process and repeat at the rank latency alone, or the failure.
  Measurement measurement;
};

struct TaskHistory {
  // The same candidates as this study's: never measured again, and no trials. By row id.
  std::vector<HistoryRecord> known;
  // Successful candidates measured otherwise (same anchor, another contract, an older epoch): their
  // latencies do not compare exactly, but teach the model. By row id.
  std::vector<HistoryRecord> related;
  // Traces of the fastest related ones, each once, or else of the fastest of near workloads,
  // nearest first: worth a try.
  std::vector<std::string> seed_traces;
  // Where none of this target is known: traces of the same anchor on other targets, of the nearest
  // target first, there the fastest first. Worth a try where they are points of this target's
  // space.
  std::vector<std::string> elsewhere_traces;
  int64_t last_row_id = 0;  // The highest that was looked at; 0: none.
};

struct TaskHistoryQuery {
  Target target = {};
  int32_t codegen_epoch = 0;
  int32_t method_version = 0;
  // A resumed study looks at the same rows as when it began.
  int64_t row_id_max = std::numeric_limits<int64_t>::max();
  int record_count_max = 4096;
  int seed_count_max = 16;
};

// How far what was measured on `there` is from telling what is fast on `here`: |log2| of the ratio
// of threads, and one for another microarchitecture.
double TargetDistance(const Target& here, const Target& there);

absl::StatusOr<TaskHistory> ReadTaskHistory(const RecordStore& records, const StudyTaskSpec& task,
                                            const TaskHistoryQuery& query);

}  // namespace burnish

#endif  // TUNER_STUDY_TASK_HISTORY_H_
