// The best schedules on record, by what people call them: `tuner query`, here or behind a daemon.
#ifndef TUNER_APP_QUERY_RECORDS_H_
#define TUNER_APP_QUERY_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "db/open.h"
#include "proto/record.h"

namespace burnish {

// Without `task` and without a model: all tasks. A daemon knows model files by their bytes only.
struct RecordsQuestion {
  // A model or operator as submitted, a task's name, or the beginning of a workload's hash in
  // hexadecimal digits.
  std::string task;
  std::string model_path;    // Absolute.
  std::string model_sha256;  // Of such a file.
  std::string target;        // Canonical text; empty: all.
  int top = 1;               // Records of each task.
  int64_t tasks_max = 100;
  int64_t tasks_skipped = 0;  // Those of the pages before.
  // Of records; the task that goes beyond is the last one. Unset: no bound.
  std::optional<int64_t> bytes_max;
};

struct RecordedTask {
  std::string name;                   // Empty: no study says how the workload is called.
  std::optional<int64_t> flop_count;  // Unset: a workload that this version cannot read.
  std::vector<Record> records;        // Best first.
};

struct RecordsAnswer {
  std::vector<RecordedTask> tasks;  // With at least one record each.
  int64_t tasks_left = 0;           // Behind the last one that was looked at.
  int64_t tasks_next = 0;           // `tasks_skipped` of the next page.
};

// Which tasks there are is asked anew for each page: while studies run, a page may miss a task or
// have it again. Errors: B05xx.
absl::StatusOr<RecordsAnswer> QueryRecords(const Database& database,
                                           const RecordsQuestion& question);

}  // namespace burnish

#endif  // TUNER_APP_QUERY_RECORDS_H_
